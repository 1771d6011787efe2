//! One line per score: the results file of a run.

use std::path::Path;

use ptsm_signal::{SubjectId, TargetAccess};
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::scores::Scores;
use crate::splits::Units;

/// One subject's scores, with all that is needed to read them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Record {
    /// The data set.
    pub data: String,
    /// The decoder.
    pub model: String,
    /// What tells it from the same decoder with other settings or other trials.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// How subjects were split, such as `loso` or `kfold:5`.
    pub protocol: String,
    /// The sessions and runs that were trained on; none for all.
    #[serde(rename = "learnt", default, skip_serializing_if = "Option::is_none")]
    pub trained_on: Option<Units>,
    /// The sessions and runs that were scored; none for all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tested: Option<Units>,
    /// The target access: what was seen of this subject before it was scored.
    pub target_access: TargetAccess,
    /// The subject.
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
    /// The class that F1, sensitivity and specificity call positive; none with more than two classes, and in older files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub positive_class: Option<String>,
    /// The number of trials `n` and the scores, beside the other fields in JSON.
    #[serde(flatten)]
    pub scores: Scores,
}

/// Few-shot adaptation by labelled trials of the scored subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FewShot {
    /// Labelled trials per class that were used.
    pub shots: usize,
    /// Trials per class that were set aside and not scored: the same for all numbers of shots that are compared, 0 among them.
    pub set_aside: usize,
}

/// The records of a results file, a line each.
pub fn read_records(path: &Path) -> Result<Vec<Record>> {
    let text = std::fs::read_to_string(path).map_err(Error::file(path, "read"))?;
    let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
    let record = |(i, line)| {
        serde_json::from_str(line).map_err(|source| Error::Record {
            path: path.to_owned(),
            line: i + 1,
            source,
        })
    };
    lines.map(record).collect()
}

/// Writes a results file, whole or not at all.
pub fn write_records(path: &Path, records: &[Record]) -> Result<()> {
    let mut text = vec![];
    for record in records {
        serde_json::to_writer(&mut text, record).map_err(|e| Error::file(path, "written")(e.into()))?;
        text.push(b'\n');
    }
    Ok(ptsm_io::atomic::replace(path, &text)?)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn record(subject: u32) -> Record {
        Record {
            data: "simulated".into(),
            model: "csp-lda".into(),
            variant: Some("four filters".into()),
            protocol: "loso".into(),
            trained_on: Some("s1".parse().unwrap()),
            tested: None,
            target_access: TargetAccess::Unlabelled { fraction: 0.2 },
            subject: SubjectId(subject),
            session: None,
            fold: 3,
            seed: u64::MAX,
            precision: None,
            adapt: Some(FewShot { shots: 0, set_aside: 20 }),
            positive_class: Some("left".into()),
            scores: Scores::of(&[0, 1, 1], &[0.9, 0.1, 0.4, 0.6, 0.7, 0.3], 2, 0).unwrap(),
        }
    }

    #[test]
    fn what_is_written_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        assert!(read_records(&path).unwrap_err().to_string().contains("results.jsonl"));
        let records: Vec<Record> = (1..=3).map(record).collect();
        write_records(&path, &records).unwrap();
        assert_eq!(read_records(&path).unwrap(), records);
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
        write_records(&path, &[Record { scores, ..record(1) }]).unwrap();
        let read = read_records(&path).unwrap();
        assert!(read[0].scores.auc.is_nan() && read[0].scores.sensitivity == 1.0);
    }

    #[test]
    fn a_line_that_is_no_record_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("results.jsonl");
        write_records(&path, &[record(1)]).unwrap();
        fs::write(&path, [&fs::read(&path).unwrap()[..], b"{\"data\": 1}\n"].concat()).unwrap();
        let error = read_records(&path).unwrap_err();
        assert!(error.to_string().contains("line 2"), "{error}");
        assert!(error.hint().is_some());
    }
}
