//! One line per score: the results file of a run.

use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::Path;

use ptsm_signal::{SubjectId, TargetAccess};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::scores::Scores;

/// One person's scores, with all that is needed to read them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The data set.
    pub data: String,
    /// The decoder.
    pub model: String,
    /// How people were split, such as `loso` or `kfold:5`.
    pub protocol: String,
    /// What was seen of this person before.
    pub target_access: TargetAccess,
    /// The person.
    pub subject: SubjectId,
    /// The session; none for all sessions together.
    pub session: Option<u32>,
    /// The fold, counted from 0.
    pub fold: usize,
    /// The seed of initialisation, batch order and augmentation.
    pub seed: u64,
    /// What operands of large products were rounded to on a GPU when the decoder was trained; none for f32.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<String>,
    /// Few-shot tuning; none where some was never a part of the protocol.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adapt: Option<FewShot>,
    /// The number of trials `n` and the scores, beside the other fields in JSON.
    #[serde(flatten)]
    pub scores: Scores,
}

/// Few-shot tuning on labelled trials of the scored person.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FewShot {
    /// Labelled trials per class that were used.
    pub shots: usize,
    /// Trials per class that were set aside and not scored: the same for all numbers of shots that are compared, 0 among them.
    pub set_aside: usize,
}

/// The content of a results file: a record a line, in the order they were written.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Records {
    /// All whole lines.
    pub records: Vec<Record>,
    /// Whether the last line was torn by a kill and left out. The next [`Records::append`] removes it.
    pub torn: bool,
}

impl Records {
    /// Adds a line at the end; makes the file where there is none. The line is one write, so that a kill tears the
    /// last line at most, and several processes may write to one file.
    pub fn append(path: &Path, record: &Record) -> Result<()> {
        let mut line = serde_json::to_vec(record).map_err(|e| Error::file(path, "written")(e.into()))?;
        line.push(b'\n');
        let append = || {
            let mut file = OpenOptions::new().read(true).append(true).create(true).open(path)?;
            // Some network file systems have no locks; a single writer needs none.
            match file.lock() {
                Err(error) if error.kind() != ErrorKind::Unsupported => return Err(error),
                _ => {}
            }
            remove_torn_line(path, &mut file)?;
            file.write_all(&line)
        };
        append().map_err(Error::file(path, "written"))
    }

    /// Reads all records; a last line without its end is left out.
    pub fn read(path: &Path) -> Result<Records> {
        let bytes = std::fs::read(path).map_err(Error::file(path, "read"))?;
        let whole = whole_lines(&bytes);
        let records = bytes[..whole]
            .split_inclusive(|&b| b == b'\n')
            .enumerate()
            .filter(|(_, line)| !line.trim_ascii().is_empty())
            .map(|(i, line)| {
                serde_json::from_slice(line).map_err(|source| Error::Record {
                    path: path.to_owned(),
                    line: i + 1,
                    source,
                })
            })
            .collect::<Result<_>>()?;
        Ok(Records { records, torn: whole < bytes.len() })
    }
}

/// How many bytes belong to lines that have their end.
fn whole_lines(bytes: &[u8]) -> usize {
    bytes.iter().rposition(|&b| b == b'\n').map_or(0, |end| end + 1)
}

/// A new line after a torn one would be lost with it.
fn remove_torn_line(path: &Path, file: &mut File) -> std::io::Result<()> {
    let length = file.metadata()?.len();
    if length == 0 {
        return Ok(());
    }
    let mut last = [0];
    file.seek(SeekFrom::Start(length - 1))?;
    file.read_exact(&mut last)?;
    if last == *b"\n" {
        return Ok(());
    }
    let mut bytes = Vec::new();
    file.rewind()?;
    file.read_to_end(&mut bytes)?;
    // A handle that appends may not shorten on every system.
    OpenOptions::new().write(true).open(path)?.set_len(whole_lines(&bytes) as u64)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn record(subject: u32) -> Record {
        Record {
            data: "simulated".into(),
            model: "csp-lda".into(),
            protocol: "loso".into(),
            target_access: TargetAccess::Unlabelled { fraction: 0.2 },
            subject: SubjectId(subject),
            session: None,
            fold: 3,
            seed: u64::MAX,
            precision: None,
            adapt: Some(FewShot { shots: 0, set_aside: 20 }),
            scores: Scores::of(&[0, 1, 1], &[0.9, 0.1, 0.4, 0.6, 0.7, 0.3], 2, 0).unwrap(),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        assert!(Records::read(&path).unwrap_err().to_string().contains("results.jsonl"));
        for subject in 1..=3 {
            Records::append(&path, &record(subject)).unwrap();
        }
        let read = Records::read(&path).unwrap();
        assert_eq!(read, Records { records: (1..=3).map(record).collect(), torn: false });
        let line: serde_json::Value =
            serde_json::from_str(fs::read_to_string(&path).unwrap().lines().next().unwrap()).unwrap();
        assert_eq!(
            (line["n"].as_u64(), line["subject"].as_u64(), &line["session"]),
            (Some(3), Some(1), &().into())
        );
        assert_eq!(line["accuracy"].as_f64(), Some(2.0 / 3.0));
        assert_eq!(line["target_access"]["unlabelled"]["fraction"].as_f64(), Some(0.2));
    }

    #[test]
    fn undefined_scores_are_read_back_as_undefined() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        let scores = Scores::of(&[0], &[0.9, 0.1], 2, 0).unwrap();
        Records::append(&path, &Record { scores, ..record(1) }).unwrap();
        let read = Records::read(&path).unwrap();
        assert!(read.records[0].scores.auc.is_nan() && read.records[0].scores.sensitivity == 1.0);
    }

    #[test]
    fn a_kill_at_any_byte_costs_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        Records::append(&path, &record(1)).unwrap();
        let first = fs::read(&path).unwrap();
        Records::append(&path, &record(2)).unwrap();
        let both = fs::read(&path).unwrap();
        for length in (first.len() + 1..both.len()).step_by(7).chain([both.len() - 1]) {
            fs::write(&path, &both[..length]).unwrap();
            let read = Records::read(&path).unwrap();
            assert_eq!((read.records.len(), read.torn), (1, true));
            Records::append(&path, &record(3)).unwrap();
            let read = Records::read(&path).unwrap();
            assert_eq!(read, Records { records: vec![record(1), record(3)], torn: false });
        }
    }

    #[test]
    fn several_writers_do_not_mix_their_lines() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        std::thread::scope(|scope| {
            for writer in 0..4 {
                let path = &path;
                scope.spawn(move || {
                    (0..25).for_each(|i| Records::append(path, &record(100 * writer + i)).unwrap())
                });
            }
        });
        assert_eq!(Records::read(&path).unwrap().records.len(), 100);
    }

    #[test]
    fn a_line_that_is_no_record_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        Records::append(&path, &record(1)).unwrap();
        fs::write(&path, [&fs::read(&path).unwrap()[..], b"{\"data\": 1}\n"].concat()).unwrap();
        let error = Records::read(&path).unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
        assert!(error.hint().is_some());
    }
}
