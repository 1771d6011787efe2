//! Writes a page of made-up numbers, for looking at the figures: `cargo run -p ptsm-report --example page -- page.html`
//!
//! With a folder after it every figure is written into a file of its own, and with `--features png` as a picture too.

use ptsm_report::colour::ColourRamp;
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

fn map(title: &str, names: &str, ramp: ColourRamp, unit: &str) -> ScalpMap {
    let place = |name: &str| ptsm_signal::position(name);
    let electrodes = names
        .split_whitespace()
        .enumerate()
        .filter_map(|(index, name)| {
            let position = place(name)?;
            let to = |other: &str| place(other).map_or(9.0, |other| other.distance(position));
            let noise = 0.06 * wobble(index);
            let value = match ramp {
                ColourRamp::Sequential => {
                    0.08 + 0.8 * bump(to("C3"), 0.45) + 0.7 * bump(to("C4"), 0.45) + noise.abs()
                }
                ColourRamp::Diverging => 2.1 * (bump(to("C4"), 0.6) - bump(to("C3"), 0.6)) + 3.0 * noise,
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
    let range = (ramp == ColourRamp::Sequential).then_some([0.0, 1.0]);
    let ring_meaning = "where the made-up task is".to_string();
    ScalpMap { title: title.into(), electrodes, range, unit: unit.into(), ramp, ring_meaning }
}

fn learning() -> LineChart {
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
    LineChart {
        title: "Accuracy while learning".into(),
        x: Axis::new("epoch"),
        y: Axis::percent("accuracy"),
        series: vec![
            series("training subjects", 0.0, 0.93, 0.0),
            series("validation subjects", 100.0, 0.81, 0.025),
        ],
        levels: vec![ReferenceLine { at: 0.5, label: "chance level".into() }],
        marks: vec![ReferenceLine { at: 44.0, label: "best epoch".into() }],
        ..LineChart::default()
    }
}

fn time_course() -> LineChart {
    let points = (0..200).map(|index| {
        let time = f64::from(index) / 50.0 - 1.0;
        let y = 0.15 + 0.7 * bump(time - 1.2, 0.7) + 0.03 * wobble(index as usize);
        let y = if (90..96).contains(&index) { f64::NAN } else { y };
        Point { x: time, y, band: Some([y - 0.07, y + 0.07]) }
    });
    LineChart {
        title: "Temporal mask".into(),
        x: Axis::new("time after the cue (s)"),
        y: Axis::new("temporal mask, mean and spread over subjects").from_to(0.0, 1.0),
        series: vec![Series { name: "mask".into(), points: points.collect() }],
        windows: vec![ShadedSpan { from: 0.5, to: 2.0, label: "task".into() }],
        marks: vec![ReferenceLine { at: 0.0, label: "cue".into() }],
        ..LineChart::default()
    }
}

fn scores(subjects: usize) -> DotPlot {
    let model = |name: &str, shift: f64, mean: f64| ModelScores {
        name: name.into(),
        subjects: (1..=subjects)
            .map(|subject| {
                (
                    format!("S{subject:02}"),
                    mean + 0.14 * wobble(subject) + 0.05 * wobble(subject + shift as usize),
                )
            })
            .collect(),
        mean: Some(PointEstimate { value: mean, interval: Some([mean - 0.05, mean + 0.05]) }),
        ..ModelScores::default()
    };
    DotPlot {
        title: "Accuracy of each unseen subject".into(),
        axis: Axis::percent("accuracy").from_to(0.4, 1.0),
        models: vec![model("ptsm", 50.0, 0.78), model("eegnet", 90.0, 0.72), model("csp-lda", 130.0, 0.63)],
        chance: Some(ChanceLevel { level: 0.5, threshold: Some(0.58) }),
    }
}

fn subjects_by_channels() -> HeatMap {
    let columns: Vec<String> = NAMES.split_whitespace().map(String::from).collect();
    let place = |name: &str| ptsm_signal::position(name);
    let value = |subject: usize, channel: usize| {
        let to = |other: &str| match (place(&columns[channel]), place(other)) {
            (Some(one), Some(other)) => one.distance(other),
            _ => 9.0,
        };
        let own = 0.35 + 0.25 * wobble(subject + 7);
        let noise = 0.08 * wobble(subject * 64 + channel).abs();
        if (subject, channel) == (5, 20) {
            f64::NAN
        } else {
            own * (bump(to("C3"), 0.5) + bump(to("C4"), 0.5)) + noise
        }
    };
    HeatMap {
        title: "Spatial mask of each subject".into(),
        row_label: "subject".into(),
        column_label: "channel".into(),
        rows: (1..=40).map(|subject| format!("S{subject:02}")).collect(),
        values: (0..40)
            .map(|subject| (0..columns.len()).map(|channel| value(subject, channel)).collect())
            .collect(),
        columns: columns.clone(),
        unit: "spatial mask (0 to 1)".into(),
        ..HeatMap::default()
    }
}

fn confusion() -> HeatMap {
    let classes = ["left hand", "right hand", "feet", "tongue"].map(String::from).to_vec();
    let counts =
        [[41.0, 9.0, 3.0, 2.0], [12.0, 38.0, 4.0, 1.0], [4.0, 3.0, 40.0, 8.0], [2.0, 0.0, 11.0, 42.0]];
    HeatMap::confusion("Confusion matrix", classes, &counts.map(|row| row.to_vec()))
}

fn pairwise() -> HeatMap {
    let names = ["ptsm", "eegnet", "fbcsp", "riemann", "csp-lda"].map(String::from).to_vec();
    let means = [0.78, 0.74, 0.72, 0.735, 0.63];
    let differences: Vec<Vec<f64>> =
        means.iter().map(|one| means.iter().map(|other| one - other).collect()).collect();
    let real = |row: usize, column: usize| f64::abs(means[row] - means[column]) > 0.035;
    HeatMap::pairwise("Pairwise comparison", names, &differences, real, "difference of mean accuracy")
}

fn reliability() -> LineChart {
    let series = |name: &str, bend: f64| Series {
        name: name.into(),
        points: (0..8)
            .map(|bin| {
                let x = 0.525 + 0.0625 * f64::from(bin);
                let y = 0.5 + (x - 0.5) * bend + 0.01 * wobble(bin as usize);
                let half = 0.03 + 0.01 * f64::from(bin % 3);
                Point { x, y, band: Some([y - half, y + half]) }
            })
            .collect(),
    };
    LineChart::reliability(
        "Reliability diagram",
        vec![series("as trained", 0.6), series("with temperature", 0.95)],
    )
}

fn deletion() -> LineChart {
    let series = |name: &str, speed: f64, spread: f64| Series {
        name: name.into(),
        points: (0..=20)
            .map(|step| {
                let x = f64::from(step) / 20.0;
                let y = 0.5 + 0.3 * (1.0 - x).powf(speed) + 0.004 * wobble(step as usize);
                Point { x, y, band: (spread > 0.0).then_some([y - spread, y + spread]) }
            })
            .collect(),
    };
    let flat = |step: usize| 0.5 + 0.003 * wobble(step);
    let null = (0..=20).map(|step| Point {
        x: step as f64 / 20.0,
        y: flat(step),
        band: Some([flat(step) - 0.03, flat(step) + 0.03]),
    });
    LineChart {
        title: "Deletion test: accuracy without channels".into(),
        x: Axis::percent("share of channels deleted"),
        y: Axis::percent("accuracy"),
        series: vec![
            series("highest mask first", 4.0, 0.02),
            series("at random", 1.4, 0.015),
            series("lowest mask first", 0.35, 0.0),
        ],
        null: Some(Series { name: "shuffled labels".into(), points: null.collect() }),
        ..LineChart::default()
    }
}

fn embedding(title: &str, names: Vec<String>, each: usize, spread: f64) -> ScatterPlot {
    let groups = names.into_iter().enumerate().map(|(group, name)| {
        let (x, y) = (3.0 * (group as f64 * 2.4).cos(), 3.0 * (group as f64 * 2.4).sin());
        let point = |index: usize| {
            let seed = group * 5000 + index * 4;
            let near = |seed: usize| spread * (wobble(seed) + wobble(seed + 1) + wobble(seed + 2));
            (x + near(seed), y + near(seed + 1000))
        };
        PointGroup { name, points: (0..each).map(point).collect() }
    });
    ScatterPlot {
        title: title.into(),
        x: Axis::new("first dimension"),
        y: Axis::new("second dimension"),
        groups: groups.collect(),
    }
}

fn personal_and_common() -> SmallMaps {
    let one = |name: &str, ramp: ColourRamp| SmallMap {
        name: name.into(),
        electrodes: map("", NAMES, ramp, "").electrodes,
    };
    SmallMaps {
        title: "Personal and common masks".into(),
        maps: vec![
            one("common", ColourRamp::Sequential),
            one("personal, S01", ColourRamp::Sequential),
            SmallMap {
                name: "personal, S02".into(),
                electrodes: map("", FEW, ColourRamp::Sequential, "").electrodes,
            },
        ],
        range: Some([0.0, 1.0]),
        unit: "spatial mask (0 to 1)".into(),
        ring_meaning: "where the made-up task is".into(),
        ..SmallMaps::default()
    }
}

fn time_by_channel() -> HeatMap {
    let columns: Vec<String> = FEW.split_whitespace().map(String::from).collect();
    let value = |channel: usize, time: f64| {
        (if channel.is_multiple_of(2) { 1.0 } else { -1.0 }) * bump(time - 1.2 - 0.02 * channel as f64, 0.5)
            + 0.1 * wobble(channel * 999 + (time * 50.0) as usize)
    };
    HeatMap {
        title: "Attribution over time".into(),
        row_label: "channel".into(),
        column_label: "time after the cue (s)".into(),
        values: (0..columns.len())
            .map(|channel| (0..150).map(|index| value(channel, f64::from(index) / 50.0)).collect())
            .collect(),
        rows: columns,
        columns: (0..150).map(|index| format!("{:.2}", f64::from(index) / 50.0)).collect(),
        unit: "attribution (a.u.)".into(),
        ramp: ColourRamp::Diverging,
        ..HeatMap::default()
    }
}

fn with_intervals(subjects: usize) -> DotPlot {
    let mut dots = scores(subjects);
    dots.title = format!("{subjects} subjects with their intervals");
    dots.models.truncate(1);
    for model in &mut dots.models {
        model.intervals =
            model.subjects.iter().map(|(_, score)| [score - 0.07, (score + 0.06).min(1.0)]).collect();
    }
    dots
}

fn fact(label: &str, value: &str, note: &str) -> Fact {
    Fact { label: label.into(), value: value.into(), note: note.into() }
}

fn figures(drawings: Vec<Figure>) -> Vec<SectionPart> {
    drawings.into_iter().map(SectionPart::Figure).collect()
}

fn page() -> Page {
    let section = |heading: &str, lead: &str, parts: Vec<SectionPart>| Section {
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
        fact("Accuracy on unseen subjects", "78.1 %", "95 % interval 73 to 83 %"),
        fact("Subjects above chance", "11 of 12", "at p < 0.05 each"),
        fact("Chance level", "50 %", "two classes, balanced"),
        fact("Target access", "none", "zero-shot"),
    ];
    Page {
        title: "Cross-subject decoding".into(),
        subtitle: "Imagined left or right hand; 12 subjects, each decoded by a network that was not trained on them."
            .into(),
        notice: "Every number on this page is made up. It shows what the figures look like.".into(),
        sections: vec![
            section(
                "Summary",
                "The main result and what it is compared with.",
                vec![SectionPart::Facts(facts)],
            ),
            section(
                "Scores and training curves",
                "How well each subject was decoded, and the training curves.",
                figures(vec![Figure::new(scores(12)), Figure::new(learning())]),
            ),
            section(
                "Masks",
                "The masks that the network learnt, over the scalp and over time.",
                figures(vec![
                    Figure::new(map(
                        "Spatial mask",
                        NAMES,
                        ColourRamp::Sequential,
                        "spatial mask (0 to 1)",
                    )),
                    Figure::new(time_course()),
                    Figure::new(map("Right minus left", NAMES, ColourRamp::Diverging, "pattern (µV)")),
                    Figure::new(map(
                        "The same with 22 electrodes",
                        FEW,
                        ColourRamp::Sequential,
                        "spatial mask (0 to 1)",
                    )),
                    Figure::new(map(
                        "Three electrodes",
                        "C3 Cz C4",
                        ColourRamp::Sequential,
                        "spatial mask (0 to 1)",
                    )),
                    Figure::new(personal_and_common()),
                    Figure::new(time_by_channel()),
                    Figure::new(subjects_by_channels()),
                    Figure::new(deletion()),
                ]),
            ),
            section(
                "Scores of each subject",
                "The score of each subject, the confusion matrix and the calibration.",
                figures(vec![
                    Figure::new(with_intervals(40)),
                    Figure::new(confusion()),
                    Figure::new(pairwise()),
                    Figure::new(reliability()),
                    Figure::new(scores(109)),
                ]),
            ),
            section(
                "Disentanglement",
                "An embedding of the trials in two dimensions, by class and by subject.",
                figures(vec![
                    Figure::new(embedding(
                        "By class",
                        ["left hand", "right hand", "feet", "tongue"].map(String::from).to_vec(),
                        60,
                        0.9,
                    )),
                    Figure::new(embedding(
                        "By subject",
                        (1..=40).map(|subject| format!("S{subject:02}")).collect(),
                        50,
                        0.3,
                    )),
                ]),
            ),
            Section::absent(
                "Few-shot adaptation",
                "This run was adapted to no subject. `ptsm evaluate --shots 1,5,10` makes these numbers.",
            ),
            section(
                "Settings",
                "What was used.",
                vec![
                    SectionPart::Text("A table stands alone where there is nothing to draw.".into()),
                    SectionPart::Table("Settings".into(), settings),
                ],
            ),
        ],
        footer: "Written by the example `page` of ptsm-report.".into(),
    }
}

/// Every figure in a file of its own.
fn write_figures(page: &Page, folder: &str) -> std::io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let parts = page.sections.iter().flat_map(|section| &section.parts);
    let figures =
        parts.filter_map(|part| if let SectionPart::Figure(figure) = part { Some(figure) } else { None });
    for (index, figure) in figures.enumerate() {
        let drawing = svg::standalone(&figure.drawing.svg("figure"));
        #[cfg(feature = "png")]
        std::fs::write(
            format!("{folder}/{index:02}.png"),
            png(&drawing, 2.0).map_err(std::io::Error::other)?,
        )?;
        std::fs::write(format!("{folder}/{index:02}.svg"), drawing)?;
    }
    Ok(())
}

fn main() -> std::io::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments.next().unwrap_or_else(|| "page.html".into());
    let page = page();
    if let Some(folder) = arguments.next() {
        write_figures(&page, &folder)?;
    }
    std::fs::write(path, page.html())
}
