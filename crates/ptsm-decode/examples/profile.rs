//! Where the time goes: `cargo run --release -p ptsm-decode --example profile -- ptsm 64 64 640 last [threads] [equivariant] [infer]`.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use ptsm_decode::{
    Architecture, Mirror, Network, TrialBatch, TrialShape, deepconvnet::DeepConvNet,
    eegconformer::EegConformer, eegnet::EegNet, ptsm::MaskSelection, ptsm::PoolPlacement, ptsm::Ptsm,
    shallowconvnet::ShallowConvNet,
};
use ptsm_engine::{Adam, Cpu, Decay, Feed, Isa, Mode, Parameters, ProfileEntry, Program, Step};
use ptsm_signal::{Channel, Layout};

/// The channels of PhysioNet's EEG Motor Movement/Imagery data, which an equivariant network is built for.
const CHANNELS: &str = "FC5 FC3 FC1 FCz FC2 FC4 FC6 C5 C3 C1 Cz C2 C4 C6 CP5 CP3 CP1 CPz CP2 CP4 CP6 Fp1 Fpz Fp2 AF7 AF3 AFz AF4 AF8 F7 F5 F3 F1 \
                        Fz F2 F4 F6 F8 FT7 FT8 T7 T8 T9 T10 TP7 TP8 P7 P5 P3 P1 Pz P2 P4 P6 P8 PO7 PO3 POz PO4 PO8 O1 Oz O2 Iz";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, batch, channels, time, rest @ ..] = &words[..] else {
        return Err(
            "usage: profile MODEL BATCH CHANNELS TIME [last|each] [THREADS] [equivariant] [infer]".into()
        );
    };
    let (batch, channels, time): (usize, usize, usize) = (batch.parse()?, channels.parse()?, time.parse()?);
    let pool =
        if rest.first().is_some_and(|p| p == "each") { PoolPlacement::Each } else { PoolPlacement::Last };
    let model: Box<dyn Architecture> = match name.as_str() {
        "ptsm" => Box::new(Ptsm { pool, ..Ptsm::default() }),
        "ptsm-unmasked" => Box::new(Ptsm { pool, masks: MaskSelection::None, ..Ptsm::default() }),
        "eegnet" => Box::new(EegNet::default()),
        "deepconvnet3" => Box::new(DeepConvNet { maps: vec![25, 50, 100], ..DeepConvNet::default() }),
        "deepconvnet" => Box::new(DeepConvNet::default()),
        "shallowconvnet" => Box::new(ShallowConvNet::default()),
        "eegconformer" => Box::new(EegConformer::default()),
        other => {
            let known =
                "ptsm, ptsm-unmasked, eegnet, deepconvnet, deepconvnet3, shallowconvnet or eegconformer";
            return Err(format!("no model `{other}`: {known}").into());
        }
    };
    let threads = rest.get(1).map_or(Ok(2), |t| t.parse())?;
    let cpu = Cpu::with(threads, Isa::best())?;
    let shape = TrialShape { channels, time, classes: 2, subjects: 84 };
    let mirror = rest.iter().any(|w| w == "equivariant").then(|| mirror(shape)).transpose()?;
    let network = model.build(TrialBatch { mirror: mirror.as_ref(), ..shape.batch(batch) })?;
    if rest.last().is_some_and(|w| w == "infer") {
        return infer(&network, batch * channels * time, &cpu);
    }
    let adam = Adam { decay: Decay::Gradient(1e-4), clip: Some(5.0), ..Adam::default() };
    let mut step = Step::<f32>::new(&network.graph, &network.step(adam), 1, &cpu)?;
    let mut parameters = Parameters::new(&network.graph, &[1])?;
    let trials = 256;
    let x: Vec<f32> =
        (0..trials * channels * time).map(|i| ((i * 7919 % 10_007) as f32 * 0.61).sin()).collect();
    let y: Vec<u32> = (0..trials as u32).map(|i| i % 2).collect();
    let s: Vec<u32> = (0..trials as u32).map(|i| i % 84).collect();
    let rows: Vec<u32> = (0..batch as u32).map(|i| i * 37 % trials as u32).collect();
    let mut feeds = vec![
        ("x", Feed::Rows { data: &x, rows: &rows }),
        ("task", Feed::LabelRows { data: &y, rows: &rows }),
    ];
    if name.starts_with("ptsm") {
        feeds.push(("subject", Feed::LabelRows { data: &s, rows: &rows }));
    }
    let mut times: Vec<f64> = (0..15)
        .map(|_| {
            let start = Instant::now();
            step.run(&mut parameters, &feeds, &[1e-3], &[true]).map(|()| start.elapsed().as_secs_f64() * 1e3)
        })
        .collect::<Result<_, _>>()?;
    times.sort_by(f64::total_cmp);
    println!("{name} {batch} {channels} {time}: median {:.1} ms, least {:.1} ms", times[7], times[0]);
    println!("memory {:.1} MiB, {} operations", step.bytes() as f64 / 1048576.0, step.program().len());
    report(&step.profile(&parameters, &feeds)?);
    Ok(())
}

fn mirror(shape: TrialShape) -> Result<Mirror, Box<dyn std::error::Error>> {
    let channels: Vec<Channel> = CHANNELS.split_whitespace().map(Channel::named).collect();
    if shape.channels != channels.len() {
        return Err(format!("`equivariant` is for {} channels", channels.len()).into());
    }
    let mut layout = Layout {
        channels,
        samples: shape.time,
        rate_hz: 160.0,
        start_s: 0.0,
        classes: vec!["left_hand".into(), "right_hand".into()],
        task: Default::default(),
    };
    layout.task.symmetry = "left_hand=right_hand".parse()?;
    Ok(Mirror::new(&layout)?)
}

fn infer(network: &Network, size: usize, cpu: &Cpu) -> Result<(), Box<dyn std::error::Error>> {
    let mut program = Program::<f32>::new(&network.graph, Mode::Infer, &[network.logits], 1, cpu)?;
    let parameters = Parameters::new(&network.graph, &[1])?;
    let x: Vec<f32> = (0..size).map(|i| ((i * 7919 % 10_007) as f32 * 0.61).sin()).collect();
    let mut times: Vec<f64> = (0..400)
        .map(|_| {
            let start = Instant::now();
            program.run(&parameters, &[("x", Feed::Each(&x))]).map(|()| start.elapsed().as_secs_f64() * 1e6)
        })
        .collect::<Result<_, _>>()?;
    times.sort_by(f64::total_cmp);
    println!(
        "inference: median {:.0} us, least {:.0} us, {} operations",
        times[200],
        times[0],
        program.len()
    );
    report(&program.profile(&parameters, &[("x", Feed::Each(&x))])?);
    Ok(())
}

fn report(spent: &[ProfileEntry]) {
    let total: f64 = spent.iter().map(|s| s.seconds).sum();
    println!("one profiled run: {:.1} ms", total * 1e3);
    for ProfileEntry { name, seconds, multiply_adds, bytes, .. } in spent.iter().take(30) {
        let [gflops, gigabytes] = [2 * multiply_adds, *bytes].map(|n| n as f64 / seconds / 1e9);
        println!("{:8.3} ms  {gflops:6.1} GFLOP/s {gigabytes:6.1} GB/s  {name}", seconds * 1e3);
    }
}
