//! Whole pages and figures: well-formed, safe, complete without network, small, and calm with strange input.

use std::collections::HashSet;

use ptsm_report::colour::ColourRamp;
use ptsm_report::scale::Axis;
use ptsm_report::*;
use quick_xml::Reader;
use quick_xml::events::Event;

const HOSTILE: &str = "</text><script>alert(\"x\")</script>&amp;' onload='y' \u{1b}[0m \u{0}";
const NAMES: [&str; 21] = [
    "Fp1", "Fp2", "F7", "F3", "Fz", "F4", "F8", "T7", "C3", "Cz", "C4", "T8", "P7", "P3", "Pz", "P4", "P8",
    "O1", "O2", "T9", "T10",
];

fn map(title: &str, names: &[&str], value: impl Fn(usize) -> f64) -> ScalpMap {
    let electrodes = names
        .iter()
        .enumerate()
        .map(|(index, name)| Electrode {
            name: name.to_string(),
            position: ptsm_signal::position(name).unwrap(),
            value: value(index),
            ringed: index == 2,
        })
        .collect();
    ScalpMap {
        title: title.into(),
        electrodes,
        unit: "µV".into(),
        ring_meaning: title.into(),
        ..ScalpMap::default()
    }
}

fn curve(title: &str, value: impl Fn(usize) -> f64) -> LineChart {
    let points = (0..640)
        .map(|index| {
            let y = value(index);
            Point { x: index as f64 / 256.0, y, band: Some([y - 0.1, y + 0.1]) }
        })
        .collect();
    LineChart {
        title: title.into(),
        x: Axis::new(title),
        y: Axis::percent(title),
        series: vec![Series { name: title.into(), points }, Series::line("other", [(0.0, 0.2), (2.0, 0.4)])],
        windows: vec![ShadedSpan { from: 0.5, to: 1.5, label: title.into() }],
        levels: vec![ReferenceLine { at: 0.5, label: title.into() }],
        marks: vec![
            ReferenceLine { at: 0.0, label: title.into() },
            ReferenceLine { at: f64::NAN, label: "nowhere".into() },
        ],
        null: Some(Series::line("shuffled", [(0.0, 0.3), (2.0, f64::NAN)])),
        ..LineChart::default()
    }
}

fn dots(title: &str, subjects: usize, value: impl Fn(usize) -> f64) -> DotPlot {
    let subjects = (0..subjects).map(|index| (format!("{title}{index}"), value(index))).collect();
    let mean = Some(PointEstimate { value: value(0), interval: Some([value(0) - 0.1, value(0) + 0.1]) });
    DotPlot {
        title: title.into(),
        axis: Axis::percent(title),
        models: vec![ModelScores { name: title.into(), subjects, mean, ..ModelScores::default() }],
        chance: Some(ChanceLevel { level: 0.5, threshold: Some(0.58) }),
    }
}

fn conditions(title: &str, value: impl Fn(usize) -> f64) -> ConditionPlot {
    let row = |group: usize| ConditionScores {
        name: format!("{title}{group}"),
        subjects: (0..7).map(|i| value(group + i)).collect(),
        mean: Some(PointEstimate { value: value(group), interval: Some([value(group), value(group + 1)]) }),
        group,
    };
    ConditionPlot {
        title: title.into(),
        axis: Axis::percent(title),
        rows: (0..3).map(row).collect(),
        groups: vec![title.into(); 3],
        chance: Some(value(0)),
    }
}

fn heat(title: &str, rows: usize, columns: usize, value: impl Fn(usize) -> f64) -> HeatMap {
    HeatMap {
        title: title.into(),
        row_label: title.into(),
        rows: (0..rows).map(|row| format!("{title}{row}")).collect(),
        columns: (0..columns).map(|column| format!("{title}{column}")).collect(),
        values: (0..rows).map(|row| (0..columns).map(|c| value(row * columns + c)).collect()).collect(),
        unit: title.into(),
        ..HeatMap::default()
    }
}

fn scatter(title: &str, groups: usize, each: usize, value: impl Fn(usize) -> f64) -> ScatterPlot {
    let points = |group: usize| (0..each).map(|i| (value(group + i), value(group * each + 3 * i))).collect();
    ScatterPlot {
        title: title.into(),
        x: Axis::new(title),
        y: Axis::new(title),
        groups: (0..groups).map(|g| PointGroup { name: format!("{title}{g}"), points: points(g) }).collect(),
    }
}

fn small(title: &str, count: usize, value: impl Fn(usize) -> f64 + Copy) -> SmallMaps {
    let one = |index: usize| SmallMap {
        name: format!("{title}{index}"),
        electrodes: map(title, &NAMES, |electrode| value(electrode + index)).electrodes,
    };
    SmallMaps {
        title: title.into(),
        maps: (0..count).map(one).collect(),
        unit: title.into(),
        ring_meaning: title.into(),
        ..SmallMaps::default()
    }
}

fn reliability(title: &str, value: impl Fn(usize) -> f64) -> LineChart {
    let points = (0..10).map(|bin| Point {
        x: bin as f64 / 10.0,
        y: value(bin),
        band: Some([value(bin) - 0.1, value(bin) + 0.1]),
    });
    LineChart::reliability(title, vec![Series { name: title.into(), points: points.collect() }])
}

/// The other kinds of figures, from the same values.
fn others(title: &str, value: impl Fn(usize) -> f64 + Copy) -> Vec<Figure> {
    let counts: Vec<Vec<f64>> = (0..3).map(|row| (0..3).map(|c| value(row * 3 + c)).collect()).collect();
    let names = || ["a", "b", title].map(String::from).to_vec();
    vec![
        Figure::new(heat(title, 6, 8, value)),
        Figure::new(heat(title, 40, 64, value)),
        Figure::new(HeatMap::confusion(title, names(), &counts)),
        Figure::new(HeatMap::pairwise(title, names(), &counts, |row, column| row > column, title)),
        Figure::new(scatter(title, 3, 20, value)),
        Figure::new(conditions(title, value)),
        Figure::new(small(title, 3, value)),
        Figure::new(reliability(title, value)),
    ]
}

fn page(title: &str, figures: Vec<Figure>) -> Page {
    let table = Table {
        columns: vec![Column::text(title), Column::number("n")],
        rows: vec![vec![title.into(), "1".into()], vec![]],
        note: title.into(),
    };
    let fact = Fact { label: title.into(), value: title.into(), note: title.into() };
    let mut parts: Vec<SectionPart> = figures.into_iter().map(SectionPart::Figure).collect();
    parts.extend([
        SectionPart::Table(title.into(), table),
        SectionPart::Text(title.into()),
        SectionPart::Facts(vec![fact]),
    ]);
    parts.push(SectionPart::Absent(title.into()));
    let section = |parts| Section { heading: title.into(), lead: title.into(), parts };
    Page {
        title: title.into(),
        subtitle: title.into(),
        notice: title.into(),
        sections: vec![section(parts), section(vec![]), section(vec![]), Section::absent(title, title)],
        footer: title.into(),
    }
}

fn typical(title: &str) -> Page {
    let diverging =
        ScalpMap { ramp: ColourRamp::Diverging, ..map(title, &NAMES, |index| (index as f64).sin()) };
    page(
        title,
        vec![
            Figure::new(dots(title, 20, |index| 0.5 + 0.02 * index as f64)),
            Figure::new(curve(title, |index| 0.5 + 0.3 * (index as f64 / 90.0).sin())),
            Figure::new(map(title, &NAMES, |index| (index as f64 * 0.7).cos())),
            Figure::new(diverging),
        ],
    )
}

/// Parses as XML; hands back every element's name and attributes.
fn elements(text: &str) -> Vec<(String, Vec<(String, String)>)> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = true;
    let mut found = Vec::new();
    let mut depth = 0;
    loop {
        let event =
            reader.read_event().unwrap_or_else(|error| panic!("{error} at {}", reader.buffer_position()));
        let (tag, empty) = match &event {
            Event::Start(tag) => (tag, false),
            Event::Empty(tag) => (tag, true),
            Event::End(_) => {
                depth -= 1;
                continue;
            }
            Event::Eof => break,
            _ => continue,
        };
        depth += i32::from(!empty);
        let attributes = tag.attributes().map(|attribute| {
            let attribute = attribute.unwrap();
            let value = String::from_utf8(attribute.value.to_vec()).unwrap();
            (String::from_utf8(attribute.key.as_ref().to_vec()).unwrap(), value)
        });
        found.push((String::from_utf8(tag.name().as_ref().to_vec()).unwrap(), attributes.collect()));
    }
    assert_eq!(depth, 0, "an element is not closed");
    found
}

fn check(page: &Page) -> String {
    let html = page.html();
    let elements = elements(&html);
    let mut ids = HashSet::new();
    for (name, attributes) in &elements {
        assert!(!["link", "img", "iframe", "object"].contains(&name.as_str()), "{name}");
        for (key, value) in attributes {
            assert!(!key.starts_with("on") && key != "src", "{key}={value}");
            if key == "id" {
                assert!(ids.insert(value.clone()), "id {value} twice");
            }
            for word in ["NaN", "inf"] {
                assert!(
                    !["d", "x", "y", "cx", "cy", "width", "viewBox"].contains(&key.as_str())
                        || !value.contains(word)
                );
            }
        }
    }
    for (name, attributes) in &elements {
        for (key, value) in attributes {
            let targets: Vec<&str> = match key.as_str() {
                "aria-labelledby" => value.split(' ').collect(),
                "href" if value.starts_with('#') => vec![&value[1..]],
                "clip-path" => vec![value.trim_start_matches("url(#").trim_end_matches(')')],
                _ => vec![],
            };
            for target in targets {
                assert!(ids.contains(target), "{name} points to {target}");
            }
            if key == "href" {
                assert!(value.starts_with('#') || value.starts_with("data:text/csv"), "{value}");
            }
        }
    }
    let outside = html.replace("xmlns=\"http://www.w3.org/2000/svg\"", "").replace("http-equiv", "");
    assert!(!outside.contains("http") && !outside.contains("@import"));
    assert!(!html.contains("NaN"), "NaN is written");
    assert!(!html.replace("url(#", "").contains("url("));
    html
}

#[test]
fn a_typical_page_is_whole_and_small() {
    let html = check(&typical("A page"));
    assert!(html.len() < 300_000, "{} bytes", html.len());
    assert!(html.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"));
    assert_eq!(html.matches("role=\"img\"").count(), 4);
    assert_eq!(html.matches("<figcaption>").count(), 4);
    assert_eq!(html.matches("Show the numbers").count(), 4);
    assert_eq!(html.matches("data:text/csv").count(), 5);
    assert_eq!(
        (html.matches("<h1>").count(), html.matches("<h2 ").count(), html.matches("<h3>").count()),
        (1, 4, 1)
    );
}

#[test]
fn hostile_names_stay_text() {
    check(&page(HOSTILE, others(HOSTILE, |index| index as f64)));
    let html = check(&typical(HOSTILE));
    assert!(html.matches("<script").count() == 1 && !html.contains('\u{1b}') && !html.contains('\u{0}'));
    assert!(html.contains("&lt;script&gt;"));
}

#[test]
fn missing_values_are_gaps() {
    let nothing = |_: usize| f64::NAN;
    let some = |index: usize| [0.5, f64::NAN, f64::INFINITY, 0.7, 0.6, 0.2][index % 6];
    check(&page(
        "Gaps",
        vec![
            Figure::new(map("all", &NAMES, nothing)),
            Figure::new(map("some", &NAMES, some)),
            Figure::new(curve("all", nothing)),
            Figure::new(curve("some", some)),
            Figure::new(dots("all", 5, nothing)),
            Figure::new(dots("some", 5, some)),
        ],
    ));
    check(&page("Gaps", others("all", nothing)));
    check(&page("Gaps", others("some", some)));
    let gap = LineChart {
        series: vec![Series::line("a", [(0.0, 1.0), (1.0, f64::NAN), (2.0, 3.0)])],
        ..LineChart::default()
    };
    let svg = gap.svg("a");
    let line = elements(&svg)
        .into_iter()
        .find(|(_, a)| a.iter().any(|(k, v)| k == "class" && v.starts_with("line")));
    let data = line.unwrap().1.into_iter().find(|(key, _)| key == "d").unwrap().1;
    assert_eq!((data.matches('M').count(), data.matches('l').count()), (2, 0), "{data}");
    assert_eq!(gap.table().rows[1], ["1", ""]);
}

#[test]
fn little_and_much_do_not_matter() {
    for value in [0.0, 1.0, -1e300, 1e300, 1e-300, f64::MAX] {
        check(&page(
            "Few",
            vec![
                Figure::new(map("one", &["Cz"], |_| value)),
                Figure::new(map("two", &["C3", "C4"], |_| value)),
                Figure::new(map("same everywhere", &NAMES, |_| value)),
                Figure::new(map("twice the same place", &["C3", "C3", "C4", "C4", "Cz", "Pz"], |i| {
                    value * i as f64
                })),
                Figure::new(dots("one", 1, |_| value)),
                Figure::new(dots("many", 400, |index| value * index as f64)),
                Figure::new(LineChart {
                    series: vec![Series::line("one", [(1.0, value)])],
                    ..LineChart::default()
                }),
                Figure::new(LineChart { series: vec![Series::default(); 14], ..LineChart::default() }),
            ],
        ));
    }
    for value in [0.0, 1.0, -1e300, 1e300, 1e-300, f64::MAX] {
        check(&page("Much", others("much", |index| value * index as f64)));
        check(&page("Same", others("same", |_| value)));
    }
    check(&page(
        "Empty",
        vec![
            Figure::new(ScalpMap::default()),
            Figure::new(SmallMaps::default()),
            Figure::new(HeatMap::default()),
            Figure::new(LineChart::default()),
            Figure::new(DotPlot::default()),
            Figure::new(ConditionPlot::default()),
            Figure::new(ScatterPlot::default()),
            Figure::new(HeatMap::confusion("none", vec![], &[])),
            Figure::new(HeatMap { texts: vec![vec!["x".into()]], ..heat("short", 2, 2, |_| 1.0) }),
            Figure::new(HeatMap { values: vec![vec![], vec![1.0; 9]], ..heat("ragged", 2, 2, |_| 1.0) }),
        ],
    ));
    check(&Page::default());
    let nowhere = ptsm_signal::Position { x: f64::NAN, y: 0.0, z: 0.0 };
    let lost = Electrode { name: "lost".into(), position: nowhere, value: 1.0, ringed: true };
    check(&page("Lost", vec![Figure::new(ScalpMap { electrodes: vec![lost; 6], ..ScalpMap::default() })]));
}

#[test]
fn tables_hold_what_is_drawn() {
    let scores = dots("S", 3, |index| [0.6, 0.9, f64::NAN][index]);
    let rows: Vec<String> = scores.table().rows.iter().map(|row| row.join(" ")).collect();
    assert_eq!(rows, ["S1 0.9", "S0 0.6", "S2 ", "mean 0.6", "mean, low end 0.5", "mean, high end 0.7"]);
    let rows = map("m", &["C3", "Cz", "C4"], |index| index as f64).table().rows;
    assert_eq!(rows, [["C4", "2", "yes"], ["Cz", "1", "no"], ["C3", "0", "no"]]);
    let course = curve("c", |index| index as f64).table();
    assert_eq!((course.columns.len(), course.rows.len()), (6, 640));
    assert_eq!(course.rows[0][4], "0.2");
}

#[test]
fn values_outside_the_requested_range_widen_it() {
    let fixed = DotPlot {
        axis: Axis::percent("accuracy").from_to(0.4, 1.0),
        ..dots("S", 2, |index| 0.1 + 0.5 * index as f64)
    };
    assert!(fixed.svg("a").contains(">0 %<"));
}

/// A map always uses all colours, so it must say between which numbers, and those must differ.
#[test]
fn legends_of_maps_tell_their_ends_apart() {
    let small = map("m", &NAMES, |index| 0.5 + 1e-5 * index as f64);
    assert!(small.svg("m").contains(">0.5002<") && small.svg("m").contains(">0.5001<"));
    assert!(small.caution().contains("Colours span only 0.5 to 0.5002"), "{}", small.caution());
    let range = Some([-1.0, 3.0]);
    let diverging = ScalpMap { ramp: ColourRamp::Diverging, range, ..small };
    assert!(diverging.caution().contains("only \u{2212}3 to 3"), "{}", diverging.caution());
}

#[test]
fn shaded_scores_name_their_error_rate() {
    assert!(dots("S", 3, |_| 0.6).svg("a").contains("within chance: up to 58 % (p &lt; 0.05 each)"));
}

#[test]
fn figures_stand_alone_with_their_styles() {
    let svg = svg::standalone(&map("m", &NAMES, |index| index as f64).svg("m"));
    assert_eq!(elements(&svg)[1].0, "style");
    assert!(svg.contains(".q0{fill:#"));
    // Not every program that draws SVG knows variables.
    assert!(!svg.contains("var("));
    assert!(svg.len() < 40_000, "{} bytes", svg.len());
}

#[test]
fn heat_maps_say_what_they_show() {
    let counts = [vec![3.0, 1.0], vec![0.0, 2.0]];
    let confusion = HeatMap::confusion("c", ["a", "b"].map(String::from).to_vec(), &counts);
    assert_eq!(confusion.table().rows[1], ["a", "b", "0.25", "1, 25 %"]);
    assert!(confusion.svg("a").contains("<title>a, b: 0.25</title>"));
    let difference = [vec![0.0, 0.2], vec![-0.2, 0.0]];
    let duels = |real: bool| {
        HeatMap::pairwise("d", ["a", "b"].map(String::from).to_vec(), &difference, |_, _| real, "accuracy")
            .texts
    };
    assert_eq!(duels(true), [["", "+"], ["\u{2212}", ""]]);
    assert_eq!(duels(false), [["", "·"], ["·", ""]]);
    let plain = heat("h", 2, 3, |index| index as f64).table();
    assert_eq!(plain.rows, [["h0", "0", "1", "2"], ["h1", "3", "4", "5"]]);
}

/// Neighbours of one colour are one shape, and every cell is in one.
#[test]
fn large_maps_stay_small_and_whole() {
    let large = heat("h", 40, 64, |index| (index as f64 * 0.3).sin());
    let svg = large.svg("a");
    assert!(svg.len() < 60_000, "{} bytes", svg.len());
    let same = heat("h", 40, 64, |_| 1.0).svg("a");
    assert!(same.len() < svg.len() / 2);
    let tiles = elements(&same).into_iter().filter(|(_, attributes)| {
        attributes.iter().any(|(key, value)| key == "class" && value.starts_with("tiles"))
    });
    assert_eq!(tiles.count(), 1);
}

#[test]
fn thousands_of_points_are_a_small_text() {
    let svg = scatter("s", 4, 500, |index| (index as f64).sin()).svg("a");
    assert!(svg.len() < 100_000, "{} bytes", svg.len());
}

#[test]
fn small_maps_share_one_scale() {
    let maps = small("m", 2, |index| index as f64);
    let svg = maps.svg("a");
    assert_eq!(svg.matches("class=\"head\"").count(), 4);
    assert!(svg.contains(">0<") && svg.contains(">21<"));
    assert_eq!(maps.table().rows[0], ["Fp1", "0", "1"]);
}

#[test]
fn intervals_of_subjects_are_in_picture_and_table() {
    let mut scores = dots("S", 2, |index| [0.6, 0.9][index]);
    scores.models[0].intervals = vec![[0.5, 0.7], [0.8, f64::NAN]];
    assert_eq!(scores.svg("a").matches("class=\"bar").count(), 1);
    assert_eq!(scores.table().rows[1], ["S0", "0.6", "0.5", "0.7"]);
    assert_eq!(scores.table().rows[0], ["S1", "0.9", "", ""]);
}

/// The browser runs the script only if its text has the sum that the page promises.
#[test]
fn the_page_names_the_sum_of_its_only_script() {
    use sha2::Digest;
    let html = typical("A page").html();
    let script = html.split("<script>").nth(1).unwrap().split("</script>").next().unwrap();
    let promised = html.split("'sha256-").nth(1).unwrap().split('\'').next().unwrap();
    let sum = sha2::Sha256::digest(script.as_bytes());
    let bits = |text: &str| -> Vec<u8> {
        let signs = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        let places = text.chars().filter_map(|sign| signs.find(sign));
        let bits: Vec<u8> = places.flat_map(|p| (0..6).rev().map(move |bit| (p >> bit & 1) as u8)).collect();
        bits.chunks_exact(8).map(|byte| byte.iter().fold(0, |value, bit| value << 1 | bit)).collect()
    };
    assert_eq!(bits(promised), sum.to_vec());
    assert!(!script.contains("http") && !script.contains("fetch") && !script.contains("eval"));
}
