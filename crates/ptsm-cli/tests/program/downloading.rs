//! `data get`, from a server on this machine in place of the publisher's.

use crate::common::{Case, Place, Test, check, random, wait};
use crate::server::{Manner, Server};

/// Bytes of each file.
const LENGTH: usize = 60_000;

/// Two subjects' files of a data set, published on a server of our own.
struct Published {
    place: Place,
    server: Server,
}

const NAMES: [&str; 2] = ["S1.mat", "S2.mat"];

/// What a file should be.
fn contents(file: usize) -> Vec<u8> {
    let mut random = random(file as u64);
    (0..LENGTH).map(|_| (256.0 * random()) as u8).collect()
}

impl Published {
    fn new() -> Published {
        let (place, server) = (Place::new(), Server::new());
        for (i, name) in NAMES.iter().enumerate() {
            server.publish(&published(name), &contents(i));
        }
        server.publish("/api/records/4004271", b"{\"files\": []}");
        Published { place, server }
    }

    fn get(&self) -> Test {
        self.place.ptsm("data get kul-aad --subjects 1-2 --out kul").env("PTSM_MIRROR", &self.server.url())
    }

    /// All files are there and right, and nothing is left over.
    fn check(&self) {
        for (i, name) in NAMES.iter().enumerate() {
            assert!(self.place.read(&format!("kul/{name}")) == contents(i), "{name} is wrong");
        }
        assert_eq!(self.place.list(), ["kul/", "kul/.ptsm-lock.json", "kul/S1.mat", "kul/S2.mat"]);
    }

    /// Bytes that have arrived of files that are not there.
    fn arrived(&self) -> Vec<usize> {
        let part = |name| self.place.path(&format!("kul/{name}.part"));
        NAMES.map(|name| std::fs::metadata(part(name)).map_or(0, |part| part.len() as usize)).to_vec()
    }

    /// Starts it with a slow server and waits until something of both files has arrived.
    fn begin(&self) -> std::process::Child {
        self.server.answer(|_| Manner::Slow(2000, 50));
        let before = self.arrived();
        let mut child = self.get().spawn();
        wait(&mut child, "something of both files arrived", || {
            self.arrived().iter().zip(&before).all(|(now, before)| now > before)
        });
        child
    }

    /// Lets it end, asking only for what is missing.
    fn go_on(&self, mut arrived: Vec<usize>) {
        self.server.answer(|_| Manner::Well);
        let before = self.server.requests().len();
        self.get().succeed();
        self.check();
        let requests = &self.server.requests()[before..];
        let mut offsets: Vec<usize> = requests.iter().filter_map(|request| request.from).collect();
        offsets.sort_unstable();
        arrived.sort_unstable();
        assert_eq!(offsets, arrived);
    }
}

fn published(name: &str) -> String {
    format!("/records/4004271/files/{name}?download=1")
}

#[test]
fn all_of_it_and_then_no_server_is_contacted() {
    let published = Published::new();
    let dry = published.get().args(["--dry-run"]).succeed();
    assert_eq!(
        dry.stdout,
        NAMES
            .map(|name| format!("{name} https://zenodo.org/records/4004271/files/{name}?download=1\n"))
            .concat()
    );
    assert!(published.server.requests().is_empty() && published.place.list().is_empty());

    let first = published.get().succeed();
    assert_eq!(first.stdout, "kul-aad in kul: 2 files, 0 there before, 2 downloaded (120.00 kB)\n");
    for words in ["kul-aad: ", "licence: CC BY-NC 4.0", "cite: Das", "2 files, 0 there"] {
        assert!(first.stderr.contains(words), "{}", first.stderr);
    }
    published.check();
    let requested = published.server.requests().len();

    let second = published.get().args(["--json", "--quiet"]).succeed();
    assert_eq!(second.stderr, "");
    let json = second.json();
    for (i, name) in NAMES.iter().enumerate() {
        let file = &json["files"][i];
        assert_eq!(
            (&file["path"], &file["bytes"], &file["status"]),
            (&(*name).into(), &LENGTH.into(), &"present".into())
        );
    }
    assert!(json["about"]["licence"].as_str().unwrap().contains("CC BY-NC"));
    assert_eq!(published.get().args(["--dry-run"]).succeed().stdout, "");
    assert_eq!(published.server.requests().len(), requested, "somebody was asked");
}

#[test]
fn a_file_that_cannot_be_had_is_reported_and_the_others_are_there() {
    let published = Published::new();
    published.server.answer(|request| {
        if request.path.contains("S1.mat") { Manner::Status(404, "") } else { Manner::Well }
    });
    let text = published.get().run();
    assert_eq!(text.code, Some(1));
    assert_eq!(text.stdout, "kul-aad in kul: 2 files, 0 there before, 1 downloaded (60.00 kB), 1 failed\n");
    let (error, hint) = text.stderr.split_once("\nhint: ").unwrap();
    assert!(error.contains("error: 1 of 2 files could not be had:\n"), "{error}");
    assert!(error.contains("S1.mat?download=1: the server answers 404"), "{error}");
    assert!(hint.contains("PTSM_MIRROR"), "{hint}");
    let json = published.get().args(["--json"]).run();
    assert_eq!(json.code, Some(1));
    let files = &json.json()["files"];
    assert_eq!((&files[0]["status"], &files[1]["status"]), (&"failed".into(), &"present".into()));
    assert!(files[0]["error"].as_str().unwrap().contains("404") && files[0]["hint"].is_string());
}

#[test]
fn killed_in_the_middle_it_goes_on() {
    let published = Published::new();
    for _ in 0..3 {
        let mut child = published.begin();
        // On Unix this is signal 9.
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(
            !NAMES.iter().any(|name| published.place.path(&format!("kul/{name}")).exists()),
            "it was over"
        );
    }
    published.go_on(published.arrived());
}

#[cfg(unix)]
#[test]
fn stopped_by_a_signal_it_goes_on() {
    for signal in ["-INT", "-TERM"] {
        let published = Published::new();
        let child = published.begin();
        let kill = std::process::Command::new("kill").args([signal, &child.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let stopped = crate::common::Outcome::from(child.wait_with_output().unwrap());
        assert_eq!((stopped.code, &*stopped.stdout), (Some(130), ""), "{}", stopped.stderr);
        assert!(
            stopped.stderr.ends_with(
                "stopping; once more stops at once\n\
                 stopped; what has arrived stays, and the same command goes on with it\n"
            ),
            "{}",
            stopped.stderr
        );
        published.go_on(published.arrived());
    }
}

#[test]
fn two_at_once_download_no_file_twice() {
    let published = Published::new();
    published.server.answer(|_| Manner::Slow(4000, 10));
    let children = [published.get().spawn(), published.get().spawn(), published.get().spawn()];
    for child in children {
        let outcome = child.wait_with_output().unwrap();
        assert!(outcome.status.success(), "{outcome:?}");
    }
    published.check();
    for name in NAMES {
        let requests = published.server.requests();
        assert_eq!(requests.iter().filter(|request| request.path == self::published(name)).count(), 1);
    }
}

#[cfg(unix)]
#[test]
fn a_full_disk_is_reported_and_with_room_it_goes_on() {
    let published = Published::new();
    // Room for half a file.
    let line = "data get kul-aad --subjects 1-2 --out kul";
    let cramped = crate::disk_full::cramped(&published.place, LENGTH / 1024, line);
    let outcome = cramped.env("PTSM_MIRROR", &published.server.url()).run();
    assert_eq!(outcome.code, Some(1));
    let (error, hint) = outcome.stderr.split_once("\nhint: ").unwrap();
    assert!(error.contains("S1.mat: the disk is full") && hint.contains("make room"), "{}", outcome.stderr);
    assert!(!NAMES.iter().any(|name| published.place.path(&format!("kul/{name}")).exists()));
    let arrived: Vec<usize> = published.arrived().into_iter().filter(|&n| n > 0).collect();
    assert!(!arrived.is_empty());
    published.go_on(arrived);
}

#[test]
fn what_cannot_be_downloaded_is_refused() {
    let place = Place::new();
    check(
        &place,
        &[
            Case::new("data get kul-add --out kul", &["no data set"], &["is `kul-aad` meant?"]),
            Case::new("data get simulated --out kul", &["`simulated` is not downloaded"], &["data simulate"]),
            Case::new("data get kul-aad --out kul --subjects 1,99", &["no subject 99"], &["choose among"]),
            Case::new(
                "data get kul-aad --out kul --with colour=red",
                &["no choice `colour`"],
                &["known are"],
            ),
            Case::line("data get kul-aad", &["--out <DIR>"]),
            Case::line("data get --out kul", &["<ID>"]),
            Case::line("data get kul-aad --out kul --connections 0", &["0 is not in 1..=32"]),
        ],
    );
    let mirror = place.ptsm("data get kul-aad --out kul --mirror lab").run();
    assert_eq!(mirror.code, Some(1));
    assert!(mirror.stderr.ends_with("such as `https://mirror.example.org`\n"), "{}", mirror.stderr);
}

/// A range may reach over subjects whom the data set leaves out; naming one of them is a mistake.
#[test]
fn ranges_skip_who_is_left_out() {
    let place = Place::new();
    let output =
        place.ptsm("data get physionet-mi --out eegmmidb --subjects 87-89 --dry-run --json").succeed();
    assert!(
        output.stderr.contains("note: left out: S88 (recorded at 128 Hz with other timing)\n"),
        "{}",
        output.stderr
    );
    let files = output.json()["files"].as_array().unwrap().clone();
    assert_eq!(files.len(), 6);
    let output = place.ptsm("data get physionet-mi --out eegmmidb --subjects 1-3 --dry-run").succeed();
    assert!(!output.stderr.contains("left out"), "{}", output.stderr);
    check(
        &place,
        &[
            Case::new(
                "data get physionet-mi --out eegmmidb --subjects 87,88,89 --dry-run",
                &["the data leave out S88 (recorded at 128 Hz with other timing)"],
                &["leave them out of the list", "`--with`"],
            ),
            Case::new(
                "data get physionet-mi --out eegmmidb --subjects 105-110 --dry-run",
                &["there is no subject 110"],
                &["choose among"],
            ),
        ],
    );
}
