//! `ptsm report --from`: a page drawn again from its numbers.

use crate::common::{Case, Place, check};

const GOLDEN: &str = include_str!("../../../ptsm-report/tests/golden/report.json");

fn text(place: &Place, file: &str) -> String {
    String::from_utf8(place.read(file)).unwrap()
}

/// What stands between the numbers of a page, and the numbers.
fn parts(page: &str) -> (Vec<&str>, Vec<f64>) {
    let is_number = |c: char| c.is_ascii_digit() || c == '.' || c == '-';
    let words = page.split(is_number).filter(|word| !word.is_empty()).collect();
    let numbers = page.split(|c| !is_number(c)).filter_map(|number| number.parse().ok()).collect();
    (words, numbers)
}

/// Seven digits are kept, and drawings have tenths of a pixel: what is rounded there may fall to either side.
fn is_same(page: &str, again: &str) -> bool {
    let ((words, numbers), (words_again, again)) = (parts(page), parts(again));
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 0.11_f64.max(1e-5 * a.abs());
    let far = numbers.iter().zip(&again).filter(|pair| !near(*pair)).count();
    words == words_again && numbers.len() == again.len() && far == 0
}

#[test]
fn a_page_is_the_same_when_it_is_rendered_again() {
    let place = Place::with_data();
    place.ptsm("train --data a.npz --subjects 1-5 --model csp-lda --set band_hz=none --out run").succeed();
    place
        .ptsm("benchmark --data a.npz --models csp-lda,mdm --set band_hz=none --protocol kfold:4 --out bench")
        .succeed();
    for line in
        ["report run --data a.npz --benchmark bench", "explain run --data a.npz", "report --benchmark bench"]
    {
        place.ptsm(&format!("{line} --numbers numbers.json --out page.html")).succeed();
        place.ptsm("report --from numbers.json --out again.html").succeed();
        let [page, again] = ["page.html", "again.html"].map(|file| text(&place, file));
        assert!(is_same(&page, &again), "{line}: two pages");
        assert!(!is_same(&page, &again.replacen("100.0", "99.0", 1)) || !page.contains("100.0"));
    }
    // What was not asked for was not looked for, and nothing else is said of it.
    place.ptsm("report run --data a.npz --sections short --numbers short.json --out short.html").succeed();
    place.ptsm("report --from short.json --sections short,subspaces,card --out some.html").succeed();
    let some = text(&place, "some.html");
    assert!(some.contains("does not hold this section") && !some.contains("no features"));
}

#[test]
fn stored_numbers_make_every_section_and_every_figure() {
    let place = Place::new();
    place.write("report.json", GOLDEN);
    // What stands in the environment for other commands does not matter.
    let output =
        place.ptsm("report --from report.json --out page.html").env("PTSM_DATA", "simulated").succeed();
    assert!(output.stdout.contains("Summary;") && output.stdout.contains("Model card"), "{}", output.stdout);
    assert_eq!(text(&place, "page.html").matches("<section").count(), 14);
    let names = place.ptsm("report --from report.json --figure list").succeed().stdout;
    assert!(names.lines().count() > 30, "{names}");
    assert_eq!(place.ptsm("report --from report.json --figure list --out x").succeed().stdout, names);
    assert!(!place.path("x").exists());
    let output = place.ptsm("report --from report.json --figure list --json").succeed().json();
    assert_eq!(output["figures"].as_array().unwrap().len(), names.lines().count());
    place.ptsm("report --from report.json --figure spatial-masks --out masks.svg").succeed();
    assert!(text(&place, "masks.svg").starts_with("<svg"));
    let output = place.ptsm("report --from report.json --sections people,card --out some.html").succeed();
    assert!(output.stdout.contains("Scores of each subject; Model card)"), "{}", output.stdout);
}

#[test]
fn files_that_are_no_numbers_are_refused() {
    let place = Place::new();
    place.write("report.json", GOLDEN);
    place.write("short.json", &GOLDEN[..GOLDEN.len() / 2]);
    place.write("empty.json", "");
    place.write("bent.json", GOLDEN.replacen("\"material\":{", "\"material\":{{", 1));
    place.write("binary.json", b"\x89PNG\r\n");
    place.write("foreign.json", r#"{"kind": "other", "format": 1}"#);
    place.write("list.json", "[1, 2]");
    place.write("newer.json", GOLDEN.replacen("\"format\":1,", "\"format\":2,", 1));
    place.write("never.json", GOLDEN.replacen("\"format\":1,", "\"format\":-1,", 1));
    place.write("key.json", GOLDEN.replacen("\"title\":", "\"titel\":", 1));
    place.write("kind.json", GOLDEN.replacen("\"samples\":512", "\"samples\":1.5", 1));
    place.write("ragged.json", ragged());
    place.write("folds.json", changed("/compared/readings/0/fold", 30_000_000.into()));
    check(
        &place,
        &[
            Case::new(
                "report --from nowhere.json --out x.html",
                &["nowhere.json cannot be read"],
                &["--numbers"],
            ),
            Case::new(
                "report --from short.json --out x.html",
                &["short.json is cut short after"],
                &["again"],
            ),
            Case::new(
                "report --from empty.json --out x.html",
                &["empty.json is cut short after 0"],
                &["again"],
            ),
            Case::new(
                "report --from bent.json --out x.html",
                &["bent.json is no JSON", "line 1"],
                &["--numbers"],
            ),
            Case::new("report --from binary.json --out x.html", &["binary.json is no JSON"], &["--numbers"]),
            Case::new(
                "report --from foreign.json --out x.html",
                &["does not hold the numbers"],
                &["--numbers"],
            ),
            Case::new("report --from list.json --out x.html", &["does not hold the numbers"], &["--numbers"]),
            Case::new("report --from newer.json --out x.html", &["format 2"], &["or later"]),
            Case::new("report --from never.json --out x.html", &["the format -1"], &["write it again"]),
            Case::new("report --from key.json --out x.html", &["material", "titel"], &["write it again"]),
            Case::new(
                "report --from kind.json --out x.html",
                &["material.layout", "1.5"],
                &["write it again"],
            ),
            Case::new(
                "report --from ragged.json --out x.html",
                &["other channels, times"],
                &["write it again"],
            ),
            Case::new("report --from folds.json --out x.html", &["too many folds"], &["write it again"]),
            Case::new(
                "report --from report.json --out report.json",
                &["the page and its numbers"],
                &["two files"],
            ),
            Case::new("report --from report.json --out nowhere/x.html", &["nowhere is no folder"], &["make"]),
            Case::new(
                "report --from report.json --figure spatial-masks",
                &["no file is named for the figure `spatial-masks`"],
                &["--out spatial-masks.svg"],
            ),
            Case::line("report --from report.json", &["--out <FILE>"]),
            Case::line("report run --from report.json --out x.html", &["cannot be used with"]),
            Case::line("report --from report.json --benchmark b --out x.html", &["cannot be used with"]),
            Case::line("report --from report.json --shots 1 --out x.html", &["cannot be used with"]),
            Case::line("report --from report.json --nulls 1 --out x.html", &["cannot be used with"]),
            Case::line("report --from report.json --numbers y.json --out x.html", &["cannot be used with"]),
        ],
    );
}

/// The numbers with one of them changed.
fn changed(path: &str, value: serde_json::Value) -> String {
    let mut document: serde_json::Value = serde_json::from_str(GOLDEN).unwrap();
    *document["material"].pointer_mut(path).unwrap() = value;
    document.to_string()
}

/// The numbers with one subject's mask a sample short.
fn ragged() -> String {
    let mut document: serde_json::Value = serde_json::from_str(GOLDEN).unwrap();
    document["material"]["looked"]["all"][0]["time"][0].as_array_mut().unwrap().pop();
    document.to_string()
}
