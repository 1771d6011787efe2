//! Writes a page of made-up numbers, for looking at the figures: `cargo run -p ptsm-report --example page -- page.html`

use ptsm_report::colour::Ramp;
use ptsm_report::scale::Axis;
use ptsm_report::*;

const NAMES: &str = "Fp1 Fpz Fp2 AF7 AF3 AFz AF4 AF8 F7 F5 F3 F1 Fz F2 F4 F6 F8 FT7 FC5 FC3 FC1 FCz FC2 FC4 FC6 FT8 \
    T7 C5 C3 C1 Cz C2 C4 C6 T8 T9 T10 TP7 CP5 CP3 CP1 CPz CP2 CP4 CP6 TP8 P7 P5 P3 P1 Pz P2 P4 P6 P8 PO7 PO3 POz PO4 PO8 O1 Oz O2 Iz";
const FEW: &str = "Fz FC3 FC1 FCz FC2 FC4 C5 C3 C1 Cz C2 C4 C6 CP3 CP1 CPz CP2 CP4 P1 Pz P2 POz";

/// A number between -1 and 1 that looks random and is always the same.
fn wobble(seed: usize) -> f64 {
    let value = (seed as f64 * 12.9898 + 4.1414).sin() * 43758.5453;
    (value - value.floor()) * 2.0 - 1.0
}

fn bump(distance: f64, width: f64) -> f64 {
    (-(distance / width).powi(2)).exp()
}

fn map(title: &str, names: &str, ramp: Ramp, unit: &str) -> ScalpMap {
    let place = |name: &str| ptsm_signal::position(name);
    let electrodes = names
        .split_whitespace()
        .enumerate()
        .filter_map(|(index, name)| {
            let position = place(name)?;
            let to = |other: &str| place(other).map_or(9.0, |other| other.distance(position));
            let noise = 0.06 * wobble(index);
            let value = match ramp {
                Ramp::Sequential => {
                    0.08 + 0.8 * bump(to("C3"), 0.45) + 0.7 * bump(to("C4"), 0.45) + noise.abs()
                }
                Ramp::Diverging => 2.1 * (bump(to("C4"), 0.6) - bump(to("C3"), 0.6)) + 3.0 * noise,
            };
            let ringed = ["C3", "C4", "CP3", "CP4"].contains(&name);
            Some(Electrode {
                name: name.into(),
                position,
                value: if name == "FC2" { f64::NAN } else { value },
                ringed,
            })
        })
        .collect();
    let range = (ramp == Ramp::Sequential).then_some([0.0, 1.0]);
    let ring_meaning = "where the made-up task is".to_string();
    ScalpMap { title: title.into(), electrodes, range, unit: unit.into(), ramp, ring_meaning }
}

fn learning() -> Curve {
    let series = |name: &str, offset: f64, height: f64, spread: f64| Series {
        name: name.into(),
        points: (1..=60)
            .map(|epoch| {
                let x = f64::from(epoch);
                let y = height - (height - 0.5) * (-x / 13.0).exp()
                    + 0.012 * wobble(epoch as usize + offset as usize);
                Point { x, y, band: (spread > 0.0).then_some([y - spread, y + spread]) }
            })
            .collect(),
    };
    Curve {
        title: "Accuracy while learning".into(),
        x: Axis::new("epoch"),
        y: Axis::percent("accuracy"),
        series: vec![
            series("training people", 0.0, 0.93, 0.0),
            series("validation people", 100.0, 0.81, 0.025),
        ],
        levels: vec![Reference { at: 0.5, label: "chance".into() }],
        marks: vec![Reference { at: 44.0, label: "best epoch".into() }],
        ..Curve::default()
    }
}

fn time_course() -> Curve {
    let points = (0..200).map(|index| {
        let time = f64::from(index) / 50.0 - 1.0;
        let y = 0.15 + 0.7 * bump(time - 1.2, 0.7) + 0.03 * wobble(index as usize);
        let y = if (90..96).contains(&index) { f64::NAN } else { y };
        Point { x: time, y, band: Some([y - 0.07, y + 0.07]) }
    });
    Curve {
        title: "When the decoder listens".into(),
        x: Axis::new("time after the cue (s)"),
        y: Axis::new("temporal mask, mean and spread over people").from_to(0.0, 1.0),
        series: vec![Series { name: "mask".into(), points: points.collect() }],
        windows: vec![Window { from: 0.5, to: 2.0, label: "task".into() }],
        marks: vec![Reference { at: 0.0, label: "cue".into() }],
        ..Curve::default()
    }
}

fn scores(people: usize) -> Dots {
    let model = |name: &str, shift: f64, mean: f64| Scores {
        name: name.into(),
        subjects: (1..=people)
            .map(|who| {
                (format!("S{who:02}"), mean + 0.14 * wobble(who) + 0.05 * wobble(who + shift as usize))
            })
            .collect(),
        mean: Some(Estimate { value: mean, interval: Some([mean - 0.05, mean + 0.05]) }),
    };
    Dots {
        title: "Accuracy in people the decoder never saw".into(),
        axis: Axis::percent("accuracy").from_to(0.4, 1.0),
        models: vec![model("ptsm", 50.0, 0.78), model("eegnet", 90.0, 0.72), model("csp-lda", 130.0, 0.63)],
        chance: Some(Chance { level: 0.5, threshold: Some(0.58) }),
    }
}

fn fact(label: &str, value: &str, note: &str) -> Fact {
    Fact { label: label.into(), value: value.into(), note: note.into() }
}

fn figures(drawings: Vec<Figure>) -> Vec<Part> {
    drawings.into_iter().map(Part::Figure).collect()
}

fn page() -> Page {
    let section = |heading: &str, lead: &str, parts: Vec<Part>| Section {
        heading: heading.into(),
        lead: lead.into(),
        parts,
    };
    let settings = Table {
        columns: vec![Column::text("setting"), Column::text("value"), Column::number("weight")],
        rows: vec![
            vec!["band".into(), "4 to 38 Hz".into(), "1".into()],
            vec!["window".into(), "0.5 to 2.5 s after the cue".into(), "0.25".into()],
        ],
        note: "These settings are made up as well.".into(),
    };
    let facts = vec![
        fact("Accuracy in unseen people", "78.1 %", "95 % interval 73 to 83 %"),
        fact("People better than chance", "11 of 12", "at p < 0.05 each"),
        fact("Chance", "50 %", "two classes, balanced"),
        fact("Seen of the new person", "nothing", "zero-shot"),
    ];
    Page {
        title: "Decoding people nobody trained on".into(),
        subtitle: "Left or right hand, imagined; 12 people, each decoded by a network that never saw them."
            .into(),
        notice: "Every number on this page is made up. It shows what the figures look like.".into(),
        sections: vec![
            section("In short", "The main result and what it is compared with.", vec![Part::Facts(facts)]),
            section(
                "Scores and learning",
                "How well each person was decoded, and how the network got there.",
                figures(vec![Figure::new(scores(12)), Figure::new(learning())]),
            ),
            section(
                "Where and when the decoder listens",
                "The masks the network learned, over the scalp and over time.",
                figures(vec![
                    Figure::new(map(
                        "Where the decoder listens",
                        NAMES,
                        Ramp::Sequential,
                        "spatial mask (0 to 1)",
                    )),
                    Figure::new(time_course()),
                    Figure::new(map("Right minus left", NAMES, Ramp::Diverging, "pattern (µV)")),
                    Figure::new(map(
                        "The same with 22 electrodes",
                        FEW,
                        Ramp::Sequential,
                        "spatial mask (0 to 1)",
                    )),
                    Figure::new(map(
                        "Three electrodes",
                        "C3 Cz C4",
                        Ramp::Sequential,
                        "spatial mask (0 to 1)",
                    )),
                    Figure::new(scores(109)),
                ]),
            ),
            section(
                "Settings",
                "What was used.",
                vec![
                    Part::Text("A table stands alone where there is nothing to draw.".into()),
                    Part::Table("Settings".into(), settings),
                ],
            ),
        ],
        footer: "Written by the example `page` of ptsm-report.".into(),
    }
}

fn main() -> std::io::Result<()> {
    let path = std::env::args().nth(1).unwrap_or_else(|| "page.html".into());
    std::fs::write(path, page().html())
}
