//! `ptsm data get`

use std::collections::VecDeque;
use std::path::Path;
use std::time::{Duration, Instant};

use indicatif::{DecimalBytes, ProgressBar};
use ptsm::data::catalogue::DataSetInfo;
use ptsm::data::download::{
    Download, DownloadObserver, DownloadProgress, DownloadReport, DownloadedFile, FileStatus, Settings,
};
use ptsm::data::{Recordings, Source};
use serde_json::{Value, json};

use crate::args::GetArgs;
use crate::commands::Session;
use crate::exit::{StoppedByUser, fail};
use crate::progress;
use ptsm::eval::phrases::{count, duration};
use ptsm::eval::{Cancellation, parse_pairs};

/// How many files that could not be had are told of one by one.
const LISTED: usize = 5;

pub(super) fn run(args: &GetArgs, session: &Session) -> anyhow::Result<()> {
    let recordings = recordings(args)?;
    let about = recordings.set().about();
    let download = Download::plan(&recordings, args.subjects.as_ref())?;
    introduce(&about, &download, session);
    if args.dry_run {
        return list(&about, &download, session);
    }
    let settings =
        Settings { connections: args.connections.into(), mirror: args.mirror.clone(), ..Settings::default() };
    let mut live = ProgressLine::new(&about.id, session);
    let report = download.run(&settings, &mut live)?;
    live.bar.finish_and_clear();
    for note in &report.notes {
        session.output.note(format!("note: {note}"));
    }
    if report.stopped {
        return Err(StoppedByUser("what has arrived stays, and the same command goes on with it").into());
    }
    tell(&about, &download, &report, session)?;
    let failed: Vec<_> = report.failed().map(|(_, error)| error).collect();
    let Some(first) = failed.first() else { return Ok(()) };
    let mut message = format!("{} of {} could not be had:", failed.len(), count(report.files.len(), "file"));
    for error in failed.iter().take(LISTED) {
        message += &format!("\n  {error}");
    }
    if failed.len() > LISTED {
        message += &format!("\n  and {} more; `--json` lists them all", failed.len() - LISTED);
    }
    Err(fail(message, first.hint().unwrap_or("give the same command again: it goes on where it was")))
}

/// The data set that is meant.
fn recordings(args: &GetArgs) -> anyhow::Result<Recordings> {
    match Source::parse_with(&args.id, Some(&args.out), &parse_pairs(&args.with)?)? {
        Source::Recordings(recordings) => Ok(recordings),
        Source::Simulated { .. } => {
            Err(fail("`simulated` is not downloaded", "`ptsm data simulate --out DIR` writes it"))
        }
        Source::File(_) | Source::Folder(_) => Err(fail(
            format!("`{}` is no data set that is published", args.id),
            "`ptsm data list` has those that are",
        )),
    }
}

/// What should be known before it is downloaded.
fn introduce(about: &DataSetInfo, download: &Download, session: &Session) {
    let mut lines = vec![format!("{}: {}", about.id, about.title)];
    for (name, text) in [("licence", &about.licence), ("cite", &about.citation), ("from", &about.home)] {
        if !text.is_empty() {
            lines.push(format!("{name}: {text}"));
        }
    }
    let files = download.files();
    let there = files.iter().filter(|file| file.found.is_some()).count();
    let arrived: u64 = files.iter().map(|file| file.arrived).sum();
    let mut line = format!("{}, {there} there", count(files.len(), "file"));
    if arrived > 0 {
        line += &format!(", {} of the others", DecimalBytes(arrived));
    }
    lines.push(line);
    if !download.left_out().is_empty() {
        lines.push(format!("note: left out: {}", ptsm::data::reasons(download.left_out())));
    }
    session.output.note(lines.join("\n"));
}

/// What would be downloaded.
fn list(about: &DataSetInfo, download: &Download, session: &Session) -> anyhow::Result<()> {
    let folder = download.folder();
    let missing = download.files().iter().filter(|file| file.found.is_none());
    let text: String =
        missing.map(|file| format!("{} {}\n", file.remote.path.display(), file.remote.url)).collect();
    let files: Vec<Value> = download
        .files()
        .iter()
        .map(|file| {
            let path = below(folder, file.found.as_ref().unwrap_or(&file.path));
            let status = if file.found.is_some() { "present" } else { "missing" };
            json!({ "path": path, "url": file.remote.url, "status": status, "arrived": file.arrived })
        })
        .collect();
    session
        .output
        .result(text, &json!({ "data": about.id, "folder": folder, "about": about, "files": files }))
}

/// What came of it.
fn tell(
    about: &DataSetInfo,
    download: &Download,
    report: &DownloadReport,
    session: &Session,
) -> anyhow::Result<()> {
    let folder = download.folder();
    let with = |word: &'static str| report.files.iter().filter(move |file| status(file) == word);
    let bytes = with("downloaded").map(|file| file.bytes).sum();
    let mut text = format!(
        "{} in {}: {}, {} there before, {} downloaded",
        about.id,
        folder.display(),
        count(report.files.len(), "file"),
        with("present").count(),
        with("downloaded").count(),
    );
    if bytes > 0 {
        text += &format!(" ({})", DecimalBytes(bytes));
    }
    if with("failed").count() > 0 {
        text += &format!(", {} failed", with("failed").count());
    }
    let file = |file: &DownloadedFile| {
        let mut value = json!({
            "path": below(folder, &file.path),
            "url": file.url,
            "bytes": file.bytes,
            "status": status(file),
        });
        if let FileStatus::Failed(error) = &file.status {
            value["error"] = error.to_string().into();
            value["hint"] = error.hint().into();
        }
        value
    };
    session.output.result(
        format!("{text}\n"),
        &json!({
            "data": about.id,
            "folder": folder,
            "about": about,
            "files": report.files.iter().map(file).collect::<Vec<_>>(),
            "notes": report.notes,
        }),
    )
}

fn status(file: &DownloadedFile) -> &'static str {
    match file.status {
        FileStatus::Present => "present",
        FileStatus::Downloaded => "downloaded",
        FileStatus::Failed(_) => "failed",
        FileStatus::Unfinished => "unfinished",
    }
}

/// A path as seen from the folder.
fn below<'a>(folder: &Path, path: &'a Path) -> &'a Path {
    path.strip_prefix(folder).unwrap_or(path)
}

/// The live line: bytes, files, speed, time left.
struct ProgressLine<'a> {
    bar: ProgressBar,
    cancellation: &'a Cancellation,
    /// When how many bytes had been received, over the last seconds.
    recent: VecDeque<(Instant, u64)>,
}

/// How long a speed is measured.
const RECENT: Duration = Duration::from_secs(10);

impl<'a> ProgressLine<'a> {
    fn new(title: &str, session: &'a Session) -> ProgressLine<'a> {
        let bar = progress::bar(session.output, title, 1, "{prefix} [{bar:16}] {wide_msg}");
        ProgressLine { bar, cancellation: &session.env.cancellation, recent: VecDeque::new() }
    }

    /// Bytes per second.
    fn speed(&mut self, received: u64) -> f64 {
        let now = Instant::now();
        self.recent.push_back((now, received));
        while self.recent.len() > 2 && self.recent[1].0 + RECENT < now {
            self.recent.pop_front();
        }
        let (then, before) = self.recent[0];
        (received - before) as f64 / (now - then).as_secs_f64().max(0.1)
    }
}

impl DownloadObserver for ProgressLine<'_> {
    fn progress(&mut self, progress: &DownloadProgress) {
        let speed = self.speed(progress.received);
        self.bar.set_length(progress.size.unwrap_or(0).max(1));
        self.bar.set_position(progress.bytes);
        self.bar.set_message(line(progress, speed));
    }

    fn stop(&self) -> bool {
        self.cancellation.is_cancelled()
    }
}

/// The most wanted first: a narrow terminal cuts the line.
fn line(progress: &DownloadProgress, speed: f64) -> String {
    let mut parts = vec![match progress.size {
        Some(size) => format!("{} of about {}", DecimalBytes(progress.bytes), DecimalBytes(size)),
        None => DecimalBytes(progress.bytes).to_string(),
    }];
    if let Some(left) = progress.size.map(|size| size.saturating_sub(progress.bytes))
        && speed >= 1.0
    {
        parts.push(format!("{} left", duration(Duration::from_secs((left as f64 / speed) as u64))));
    }
    parts.push(format!("{} of {}", progress.done, count(progress.files, "file")));
    if speed >= 1.0 {
        parts.push(format!("{}/s", DecimalBytes(speed as u64)));
    }
    if progress.waiting > 0 {
        parts.push(format!("{} to try again", progress.waiting));
    }
    parts.join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_what_is_known() {
        let mut progress = DownloadProgress { files: 10, done: 2, ..DownloadProgress::default() };
        assert_eq!(line(&progress, 0.0), "0 B  2 of 10 files");
        progress.waiting = 4;
        assert_eq!(line(&progress, 0.0), "0 B  2 of 10 files  4 to try again");
        progress.waiting = 0;
        progress.bytes = 1_200_000_000;
        progress.size = Some(3_400_000_000);
        assert_eq!(
            line(&progress, 5e6),
            "1.20 GB of about 3.40 GB  7 min 20 s left  2 of 10 files  5.00 MB/s"
        );
    }
}
