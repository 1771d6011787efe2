//! Trials of one's own recordings that are kept.

use std::fs;

use ptsm_data::arrays::LabelHandling;
use ptsm_data::{Cache, LoadOptions, LoadedData};
use ptsm_io::mat::{self, Value};

use crate::common::{Place, noise, plain};

const MANIFEST: &str = "[events]\ngo = [\"*go\"]\n[[recording]]\nfile = \"FILE\"\nsubject = 1\n";

/// Loads with a cache in the same place.
fn load(place: &Place, id: &str) -> LoadedData {
    let cache = Cache::open(&place.at("cache")).unwrap();
    let options = LoadOptions { cache: Some(&cache), ..LoadOptions::default() };
    place.source(id, &[]).unwrap().load_with(Some(&plain()), None, LabelHandling::Own, &options).unwrap()
}

/// Whether other samples in a file give other trials, though trials are kept.
fn samples_are_looked_at(place: &Place, samples: &str) {
    let before = load(place, "files:m.toml");
    assert_eq!(load(place, "files:m.toml"), before);
    let bytes: Vec<u8> = noise(2, 1000, 99).iter().flat_map(|x| x.to_le_bytes()).collect();
    place.write(samples, bytes);
    let after = load(place, "files:m.toml");
    assert_ne!(after.trials, before.trials);
    assert_ne!(after.fingerprint, before.fingerprint);
}

#[test]
fn samples_count_wherever_a_header_says_they_are() {
    for named in ["C:\\rec\\other.eeg", "/home/somebody/other.eeg", "other.eeg"] {
        let place = Place::new();
        place.write("m.toml", MANIFEST.replace("FILE", "a.vhdr"));
        place.recording("a", &["C3", "C4"], &[(100, "go"), (300, "go")]);
        let header = fs::read_to_string(place.at("a.vhdr")).unwrap();
        place.write("a.vhdr", header.replace("=a.eeg", &format!("={named}")));
        fs::rename(place.at("a.eeg"), place.at("other.eeg")).unwrap();
        samples_are_looked_at(&place, "other.eeg");
    }
}

#[test]
fn samples_count_whatever_a_set_calls_them() {
    let place = Place::new();
    place.write("m.toml", MANIFEST.replace("FILE", "a.set"));
    let number = |x: f64| Value::row(vec![x]);
    let text = |text: &str| Value::Text(vec![text.into()]);
    let event = Value::record(vec![("type", text("go")), ("latency", number(101.0))]);
    let set = Value::record(vec![
        ("nbchan", number(2.0)),
        ("pnts", number(1000.0)),
        ("trials", number(1.0)),
        ("srate", number(100.0)),
        ("data", text("other.fdt")),
        ("event", event),
    ]);
    mat::write(&place.at("a.set"), &[("EEG", &set)]).unwrap();
    let bytes: Vec<u8> = noise(2, 1000, 1).iter().flat_map(|x| x.to_le_bytes()).collect();
    place.write("other.fdt", bytes);
    samples_are_looked_at(&place, "other.fdt");
}
