//! Speed of training on a GPU: `cargo run --release --example gpu -- ptsm 64 400 20 [tf32|bf16] [profile]`: model, channels, time, replicas.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use ptsm_decode::{Model, TrialShape, deepconvnet::DeepConvNet, eegnet::EegNet, ptsm::Pool, ptsm::Ptsm};
use ptsm_engine::{Adam, Cuda, Decay, Feed, Parameters, Precision, Step, Table};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, channels, time, replicas, rest @ ..] = &words[..] else {
        return Err("usage: gpu MODEL CHANNELS TIME REPLICAS [tf32|bf16] [profile]".into());
    };
    let (channels, time, replicas): (usize, usize, usize) =
        (channels.parse()?, time.parse()?, replicas.parse()?);
    let batch = 64;
    let model = match name.as_str() {
        "ptsm" => Model::Ptsm(Ptsm::default()),
        "ptsm-each" => Model::Ptsm(Ptsm { pool: Pool::Each, ..Ptsm::default() }),
        "eegnet" => Model::EegNet(EegNet::default()),
        "deepconvnet" => Model::DeepConvNet(DeepConvNet::default()),
        other => return Err(format!("no model `{other}`").into()),
    };
    let kernels = std::env::temp_dir().join("ptsm-kernels");
    let precision: Precision = rest.iter().find_map(|word| word.parse().ok()).unwrap_or_default();
    let cuda = Cuda::new(Some(&kernels))?.with_precision(precision)?;
    let shape = TrialShape { channels, time, classes: 2, subjects: 84 };
    let network = model.build(shape, batch)?;
    let adam = Adam { decay: Decay::Gradient(1e-4), clip: Some(5.0), ..Adam::default() };
    let start = Instant::now();
    let mut step = Step::<f32>::new(&network.graph, &network.step(adam), replicas, &cuda)?;
    let ready = start.elapsed().as_secs_f64();
    let seeds: Vec<u64> = (0..replicas as u64).collect();
    let mut parameters = Parameters::new(&network.graph, &seeds)?;
    let trials = 1024;
    let x: Vec<f32> =
        (0..trials * channels * time).map(|i| ((i * 7919 % 10_007) as f32 * 0.61).sin()).collect();
    let table = Table::new(x.chunks(channels * time).collect())?;
    let y: Vec<u32> = (0..trials as u32).map(|i| i % 2).collect();
    let s: Vec<u32> = (0..trials as u32).map(|i| i % 84).collect();
    let rates = vec![1e-3; replicas];
    let active = vec![true; replicas];
    let rows: Vec<u32> = (0..replicas * batch).map(|i| (i * 37 % trials) as u32).collect();
    let mut feeds = vec![
        ("x", Feed::Table { table: &table, rows: &rows }),
        ("task", Feed::LabelRows { data: &y, rows: &rows }),
    ];
    if name.starts_with("ptsm") {
        feeds.push(("subject", Feed::LabelRows { data: &s, rows: &rows }));
    }
    for _ in 0..5 {
        step.run(&mut parameters, &feeds, &rates, &active)?;
    }
    let mut times: Vec<f64> = vec![];
    for _ in 0..50 {
        let start = Instant::now();
        step.run(&mut parameters, &feeds, &rates, &active)?;
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    let median = times[25];
    println!(
        "{name} {channels} {time} {precision} R={replicas}: {:.3} ms, {:.1} k trials/s, {} kernels, {:.0} MiB, ready in {ready:.2} s, loss {:.4}",
        median * 1e3,
        (replicas * batch) as f64 / median / 1e3,
        step.program().len(),
        step.bytes() as f64 / 1048576.0,
        step.output(&parameters, 0, 0)[0],
    );
    if rest.iter().any(|w| w == "profile") {
        let spent = step.profile(&parameters, &feeds)?;
        println!("sum of kernels {:.3} ms", spent.iter().map(|(_, s)| s).sum::<f64>() * 1e3);
        for (what, seconds) in spent.iter().take(40) {
            println!("{:9.1} us  {}", seconds * 1e6, &what[..what.len().min(200)]);
        }
    }
    Ok(())
}
