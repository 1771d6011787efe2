//! Trials of recordings that are kept between runs.

use crate::common::{Outcome, Place};

/// A folder with recordings of two subjects, four files.
fn recordings() -> Place {
    let place = Place::new();
    place
        .ptsm("data simulate --to c --subjects 2 --sessions 1 --runs 2 --trials 4 --channels C3,Cz,C4 --format edf")
        .succeed();
    place
}

fn show(place: &Place, more: &str, environment: &[(&str, &str)]) -> Outcome {
    let test = place.ptsm(&format!("data show files:c/recordings.toml --json {more}"));
    environment.iter().fold(test, |test, (name, value)| test.env(name, value)).run()
}

/// Entries in a folder of kept trials.
fn kept(place: &Place, folder: &str) -> usize {
    let inside = format!("{folder}/trials/");
    place.list().iter().filter(|name| name.starts_with(&inside) && name.ends_with(".trials")).count()
}

#[test]
fn trials_are_kept_where_the_user_says() {
    let place = recordings();
    let plain = show(&place, "", &[]);
    assert_eq!(plain.code, Some(0), "{}", plain.stderr);
    let before = place.list();
    assert_eq!(show(&place, "--cache none", &[("PTSM_CACHE", "elsewhere")]), plain);
    assert_eq!(place.list(), before);
    for _ in 0..2 {
        assert_eq!(show(&place, "--cache kept", &[]), plain);
        assert_eq!(kept(&place, "kept"), 4);
    }
    assert_eq!(show(&place, "", &[("PTSM_CACHE", "named")]), plain);
    assert_eq!(kept(&place, "named"), 4);
    let system = place.path("system");
    let usual = place.ptsm("data show files:c/recordings.toml --json").without_env("PTSM_CACHE");
    let usual = usual.env("XDG_CACHE_HOME", system.to_str().unwrap()).env("HOME", system.to_str().unwrap());
    assert_eq!(usual.run(), plain);
    if cfg!(target_os = "linux") {
        assert_eq!(kept(&place, "system/ptsm"), 4);
    }
}

#[test]
fn a_damaged_entry_is_made_again_without_a_word() {
    let place = recordings();
    let plain = show(&place, "--cache kept", &[]);
    let all = place.list();
    let entry = all.iter().find(|name| name.ends_with(".trials")).unwrap();
    let whole = place.read(entry);
    for length in [0, 100, whole.len() - 1] {
        place.write(entry, &whole[..length]);
        assert_eq!(show(&place, "--cache kept", &[]), plain);
        assert_eq!(place.read(entry), whole);
    }
    assert_eq!(place.list(), all);
}

#[test]
fn where_trials_cannot_be_kept_there_is_a_note() {
    let place = recordings();
    place.write("file", "");
    let outcome = show(&place, "--cache file/kept", &[]);
    assert_eq!(outcome.code, Some(0));
    assert!(outcome.stderr.contains("note: trials are not kept: file/kept"), "{}", outcome.stderr);
    assert_eq!(outcome.stdout, show(&place, "", &[]).stdout);
}

#[test]
fn memory_is_a_number() {
    let place = recordings();
    assert_eq!(show(&place, "", &[("PTSM_MEMORY", "1M")]), show(&place, "", &[]));
    let refused = show(&place, "", &[("PTSM_MEMORY", "plenty")]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""));
    assert!(
        refused.stderr.contains("PTSM_MEMORY") && refused.stderr.contains("hint: write it like"),
        "{}",
        refused.stderr
    );
}
