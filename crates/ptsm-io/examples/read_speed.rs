//! How fast recordings are read: `cargo run --release -p ptsm-io --example read_speed -- FILE...`
//!
//! Each file is opened and all its main signals are read, several times over; the best round counts.

#![allow(clippy::print_stdout)]

use std::path::PathBuf;
use std::time::Instant;

use ptsm_io::Result;

fn main() -> Result<()> {
    let paths: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let (mut best_open_s, mut best_read_s) = (f64::INFINITY, f64::INFINITY);
    let (mut bytes, mut values) = (0, 0);
    let mut samples: Vec<f32> = vec![];
    for _ in 0..5 {
        let (mut open_s, mut read_s) = (0.0, 0.0);
        (bytes, values) = (0, 0);
        for path in &paths {
            let start = Instant::now();
            let opened = ptsm_io::open(path)?;
            open_s += start.elapsed().as_secs_f64();
            samples.resize(opened.length() * opened.main().len(), 0.0);
            let start = Instant::now();
            opened.read(opened.main(), 0, &mut samples)?;
            read_s += start.elapsed().as_secs_f64();
            bytes += std::fs::metadata(path).map_or(0, |about| about.len());
            values += samples.len();
        }
        best_open_s = best_open_s.min(open_s);
        best_read_s = best_read_s.min(read_s);
    }
    let megabytes = bytes as f64 / 1e6;
    println!("{} files, {megabytes:.0} MB, {values} samples", paths.len());
    println!("open {:.1} us a file", best_open_s / paths.len() as f64 * 1e6);
    println!(
        "read {:.0} MB/s of file, {:.0} million samples/s",
        megabytes / best_read_s,
        values as f64 / best_read_s / 1e6
    );
    Ok(())
}
