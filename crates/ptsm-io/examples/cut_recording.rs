//! Cuts some channels and seconds out of a recording and writes them as EDF+ with their annotations: `cut_recording FROM TO CHANNELS SECONDS`.
//!
//! The fixture of real data in `ptsm-data/tests/fixtures/physionet-mi` was made with it; the command stands beside it.

use std::path::Path;

use ptsm_signal::{Recording, normalise};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [from, to, names, seconds] = &arguments[..] else {
        return Err("give FROM TO CHANNELS SECONDS, such as `a.edf b.edf C3,Cz,C4 60`".into());
    };
    let whole = ptsm_io::open(Path::new(from))?.recording(None)?;
    let length = ((seconds.parse::<f64>()? * whole.rate_hz) as usize).min(whole.length());
    let (mut channels, mut samples) = (vec![], vec![]);
    for name in names.split(',') {
        let place = whole.channels.iter().position(|channel| normalise(&channel.name) == normalise(name));
        let place = place.ok_or_else(|| format!("there is no channel `{name}`"))?;
        channels.push(whole.channels[place].clone());
        samples.extend_from_slice(&whole.channel(place)[..length]);
    }
    let events = whole.events.into_iter().filter(|event| event.sample + event.samples <= length).collect();
    ptsm_io::edf::write(Path::new(to), &Recording::new(whole.rate_hz, channels, samples, events)?)?;
    Ok(())
}
