//! Whose recording a file is, by its name and the folders it is in.

use std::collections::{BTreeMap, BTreeSet};

use super::super::numbers::{number, numbers};
use crate::walk::natural;

/// What names tell. Labels are as they were written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct NameParts {
    subject: Option<String>,
    session: Option<String>,
    run: Option<String>,
}

/// Whose a recording is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RecordingOwner {
    pub(super) subject: u32,
    pub(super) session: u32,
    pub(super) run: u32,
}

/// Where the subjects' numbers come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NumberingSource {
    /// Names tell, and the numbers are theirs.
    Numbers,
    /// Names tell, but their numbers are not different or not numbers: subjects are counted.
    Labels,
    /// Each folder is a subject.
    Folders,
    /// Nothing tells: each file is a subject.
    Files,
}

/// Words before a subject's number, a session's and a run's.
const SUBJECT: [&str; 12] =
    ["sub", "subj", "subject", "participant", "patient", "person", "proband", "pp", "vp", "id", "s", "p"];
const SESSION: [&str; 6] = ["ses", "sess", "session", "day", "visit", "sitting"];
const RUN: [&str; 6] = ["run", "r", "block", "part", "rec", "recording"];
/// Short words that stand before numbers of anything but subjects.
const NO_SUBJECT: [&str; 12] =
    ["eeg", "erp", "mi", "raw", "bci", "eog", "emg", "ch", "v", "hz", "exp", "new"];

/// Finds out whose each file is; paths are from the folder that was given on, with `/` between their parts.
pub(super) fn infer_owners(paths: &[String]) -> (Vec<RecordingOwner>, NumberingSource) {
    let name_parts: Vec<NameParts> = paths.iter().map(|path| of_path(path)).collect();
    let (labels, numbering) = subject_labels(paths, &name_parts);
    let subjects = subject_numbers(&labels);
    let numbering = match numbering {
        NumberingSource::Numbers
            if subjects.iter().any(|(label, number)| trailing(label) != Some(*number)) =>
        {
            NumberingSource::Labels
        }
        numbering => numbering,
    };
    let of = |labels: &[Option<&String>]| numbers(labels.iter().flatten().map(|label| label.as_str()));
    let sessions = of(&name_parts.iter().map(|parts| parts.session.as_ref()).collect::<Vec<_>>());
    let runs = of(&name_parts.iter().map(|parts| parts.run.as_ref()).collect::<Vec<_>>());

    let mut taken = BTreeSet::new();
    let mut all = vec![None; paths.len()];
    // Runs that are told go before runs that are counted.
    let mut order: Vec<usize> = (0..paths.len()).collect();
    order.sort_by_key(|&at| name_parts[at].run.is_none());
    for at in order {
        let subject = subjects[&labels[at]];
        let session = name_parts[at].session.as_ref().map_or(1, |label| sessions[label]);
        let first = name_parts[at].run.as_ref().map_or(1, |label| runs[label]);
        let run = (first..).find(|&run| taken.insert((subject, session, run))).unwrap_or(u32::MAX);
        all[at] = Some(RecordingOwner { subject, session, run });
    }
    (all.into_iter().flatten().collect(), numbering)
}

/// The label of the subject of each file.
fn subject_labels(paths: &[String], name_parts: &[NameParts]) -> (Vec<String>, NumberingSource) {
    if name_parts.iter().any(|parts| parts.subject.is_some()) {
        let label =
            |(path, parts): (&String, &NameParts)| parts.subject.clone().unwrap_or_else(|| path.clone());
        return (paths.iter().zip(name_parts).map(label).collect(), NumberingSource::Numbers);
    }
    // The first folder in which paths differ.
    let folders: Vec<Vec<&str>> = paths
        .iter()
        .map(|path| path.rsplit_once('/').map_or_else(Vec::new, |(folders, _)| folders.split('/').collect()))
        .collect();
    let shared = (0..)
        .take_while(|&at| folders.iter().all(|f| f.get(at).is_some() && f.get(at) == folders[0].get(at)));
    let level = if paths.is_empty() { 0 } else { shared.count() };
    let labels: Option<Vec<String>> =
        folders.iter().map(|folders| Some(folders.get(level)?.to_string())).collect();
    match labels.filter(|labels| labels.iter().any(|label| *label != labels[0])) {
        Some(labels) => (labels, NumberingSource::Folders),
        None => (paths.to_vec(), NumberingSource::Files),
    }
}

/// A number for each label: the one it ends with where all have one and all are different, else its place in the sorted list.
fn subject_numbers(labels: &[String]) -> BTreeMap<String, u32> {
    let distinct: BTreeSet<&String> = labels.iter().collect();
    let own: Option<BTreeMap<u32, &String>> =
        distinct.iter().map(|label| Some((trailing(label)?, *label))).collect();
    if let Some(own) = own.filter(|own| own.len() == distinct.len()) {
        return own.into_iter().map(|(number, label)| (label.clone(), number)).collect();
    }
    let mut sorted: Vec<&String> = distinct.into_iter().collect();
    sorted.sort_by(|a, b| natural(a, b));
    sorted.into_iter().cloned().zip(1..).collect()
}

/// The number at the end of a label.
fn trailing(label: &str) -> Option<u32> {
    let start = label
        .rfind(|c: char| !c.is_ascii_digit())
        .map_or(0, |at| at + label[at..].chars().next().map_or(1, char::len_utf8));
    number(label.get(start..)?).filter(|_| start < label.len())
}

/// The file's own name first, then the folders from the innermost on.
fn of_path(path: &str) -> NameParts {
    let mut parts = path.split('/').rev();
    let name = parts.next().unwrap_or_default();
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    parts.fold(of_name(stem), |known, folder| {
        let more = of_name(folder);
        NameParts {
            subject: known.subject.or(more.subject),
            session: known.session.or(more.session),
            run: known.run.or(more.run),
        }
    })
}

/// What one name tells.
fn of_name(name: &str) -> NameParts {
    entities(name).or_else(|| competition(name)).unwrap_or_else(|| words(name))
}

/// `sub-XX_ses-YY_run-ZZ`
fn entities(name: &str) -> Option<NameParts> {
    let label = |key: &str| {
        let found = name.split('_').filter_map(|part| part.split_once('-')).find(|(found, _)| *found == key);
        found.map(|(_, label)| label.to_string()).filter(|label| !label.is_empty())
    };
    let parts = NameParts { subject: label("sub"), session: label("ses"), run: label("run") };
    (parts.subject.is_some() || parts.session.is_some()).then_some(parts)
}

/// `A01T`, `B0103E`: a letter, the subject, the session in the second set, and whether it was for training or evaluation.
fn competition(name: &str) -> Option<NameParts> {
    let mut letters = name.chars();
    let (first, last) = (letters.next()?, letters.next_back()?);
    let digits = letters.as_str();
    let fits =
        first.is_ascii_uppercase() && "TE".contains(last) && digits.bytes().all(|b| b.is_ascii_digit());
    let label = |digits: &str| Some(format!("{first}{digits}"));
    match (fits, digits.len()) {
        (true, 1..=3) => {
            let session = if last == 'T' { "1" } else { "2" };
            Some(NameParts { subject: label(digits), session: Some(session.into()), run: None })
        }
        (true, 4) => {
            Some(NameParts { subject: label(&digits[..2]), session: Some(digits[2..].into()), run: None })
        }
        _ => None,
    }
}

/// A name cut where letters, digits and others meet.
fn tokens(name: &str) -> Vec<&str> {
    let kind = |c: char| {
        if c.is_ascii_digit() {
            1
        } else if c.is_alphabetic() {
            2
        } else {
            3
        }
    };
    let mut tokens = vec![];
    let mut start = 0;
    let mut before = None;
    for (at, c) in name.char_indices() {
        if before.is_some_and(|before| before != kind(c)) {
            tokens.push(&name[start..at]);
            start = at;
        }
        before = Some(kind(c));
    }
    if start < name.len() {
        tokens.push(&name[start..]);
    }
    tokens
}

/// Words with numbers behind them: `S001R04`, `sess01_subj02`, `P01-2`.
fn words(name: &str) -> NameParts {
    let tokens = tokens(name);
    let mut parts = NameParts::default();
    let mut after = None;
    for (at, token) in tokens.iter().enumerate() {
        let key = token.to_lowercase();
        // A number behind the word, with at most one sign between them.
        let behind = |step: usize| {
            tokens.get(at + step).filter(|next| number(next).is_some()).map(|next| (*next, at + step))
        };
        let sign = tokens.get(at + 1).is_some_and(|sign| ["-", "_", " "].contains(sign));
        let Some((digits, place)) = behind(1).or_else(|| behind(2).filter(|_| sign && key.len() > 1)) else {
            continue;
        };
        if SUBJECT.contains(&&*key) && parts.subject.is_none() {
            parts.subject = Some(format!("{key}{digits}"));
            after = Some(place);
        } else if SESSION.contains(&&*key) && parts.session.is_none() {
            parts.session = Some(digits.to_string());
        } else if RUN.contains(&&*key) && parts.run.is_none() {
            parts.run = Some(digits.to_string());
        }
    }
    if parts.subject.is_none() {
        (parts.subject, after) = short(&tokens);
    }
    // `P01-2`: what is left at the end counts the subject's recordings.
    if let (None, Some(after)) = (&parts.run, after)
        && let [sign, digits] = tokens[after + 1..]
        && ["-", "_", " "].contains(&sign)
        && number(digits).is_some()
    {
        parts.run = Some(digits.to_string());
    }
    parts
}

/// A name that begins with a few letters and a number (`VP03`, `c12`), or with a number alone.
fn short(tokens: &[&str]) -> (Option<String>, Option<usize>) {
    let digits = |at: usize| tokens.get(at).filter(|token| number(token).is_some());
    if let Some(first) = digits(0) {
        return (Some(first.to_string()), Some(0));
    }
    let word = tokens.first().map(|word| word.to_lowercase()).unwrap_or_default();
    let letters = word.len() <= 3 && word.chars().all(|c| c.is_ascii_alphabetic());
    let other = NO_SUBJECT.iter().chain(&SESSION).chain(&RUN).any(|known| *known == word);
    match digits(1).filter(|_| letters && !other) {
        Some(number) => (Some(format!("{word}{number}")), Some(1)),
        None => (None, None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owners(paths: &[&str]) -> (Vec<(u32, u32, u32)>, NumberingSource) {
        let paths: Vec<String> = paths.iter().map(|path| path.to_string()).collect();
        let (all, numbering) = infer_owners(&paths);
        (all.iter().map(|w| (w.subject, w.session, w.run)).collect(), numbering)
    }

    #[test]
    fn names_of_known_kinds_tell_whose_they_are() {
        for (paths, expected) in [
            (
                &["sub-01/ses-2/eeg/sub-01_ses-2_task-x_run-3_eeg.edf", "sub-04/eeg/sub-04_task-x_eeg.edf"][..],
                &[(1, 2, 3), (4, 1, 1)][..],
            ),
            (
                &["S001/S001R04.edf", "S001/S001R08.edf", "S109/S109R04.edf"],
                &[(1, 1, 4), (1, 1, 8), (109, 1, 4)],
            ),
            (&["sess01_subj02_EEG_MI.mat", "sess02_subj02_EEG_MI.mat"], &[(2, 1, 1), (2, 2, 1)]),
            (&["subj01.edf", "subj12.edf"], &[(1, 1, 1), (12, 1, 1)]),
            (&["s1.edf", "s10.edf", "s2.edf"], &[(1, 1, 1), (10, 1, 1), (2, 1, 1)]),
            (&["A01T.gdf", "A01E.gdf", "A09T.gdf"], &[(1, 1, 1), (1, 2, 1), (9, 1, 1)]),
            (&["B0103T.gdf", "B0205E.gdf"], &[(1, 3, 1), (2, 5, 1)]),
            (&["P01-1.bdf", "P01-2.bdf", "P02-1.bdf"], &[(1, 1, 1), (1, 1, 2), (2, 1, 1)]),
            (&["Subject_3_Session_2.edf", "Subject_4_Session_1.edf"], &[(3, 2, 1), (4, 1, 1)]),
            (&["VP03/day2/rec1.vhdr", "VP04/day1/rec2.vhdr"], &[(3, 2, 1), (4, 1, 2)]),
            (&["01.edf", "02.edf"], &[(1, 1, 1), (2, 1, 1)]),
        ] {
            assert_eq!(owners(paths), (expected.to_vec(), NumberingSource::Numbers), "{paths:?}");
        }
    }

    #[test]
    fn subjects_without_numbers_of_their_own_are_counted() {
        assert_eq!(
            owners(&["p01.edf", "s01.edf", "s02.edf"]),
            (vec![(1, 1, 1), (2, 1, 1), (3, 1, 1)], NumberingSource::Labels)
        );
        assert_eq!(
            owners(&["sub-xy_eeg.edf", "sub-ab_eeg.edf"]),
            (vec![(2, 1, 1), (1, 1, 1)], NumberingSource::Labels)
        );
        // One file that tells nothing is somebody else.
        assert_eq!(owners(&["S01.edf", "rest.edf"]).0, [(2, 1, 1), (1, 1, 1)]);
    }

    #[test]
    fn folders_stand_for_subjects_where_names_tell_nothing() {
        let (all, numbering) = owners(&["x/anna/left.edf", "x/anna/right.edf", "x/bert/left.edf"]);
        assert_eq!((all, numbering), (vec![(1, 1, 1), (1, 1, 2), (2, 1, 1)], NumberingSource::Folders));
        assert_eq!(owners(&["a/x.edf", "a/y.edf"]), (vec![(1, 1, 1), (2, 1, 1)], NumberingSource::Files));
        assert_eq!(owners(&["left.edf", "right.edf"]), (vec![(1, 1, 1), (2, 1, 1)], NumberingSource::Files));
        assert_eq!(owners(&["calibration1.edf", "calibration2.edf"]).1, NumberingSource::Files);
        assert_eq!(owners(&["eeg1.edf"]).1, NumberingSource::Files);
        assert_eq!(owners(&[]), (vec![], NumberingSource::Files));
    }

    #[test]
    fn the_same_run_twice_is_numbered_on() {
        let paths = ["S1/a_run1.edf", "S1/b_run1.edf", "S1/c.edf", "S2/a_run1.edf"];
        assert_eq!(owners(&paths).0, [(1, 1, 1), (1, 1, 2), (1, 1, 3), (2, 1, 1)]);
        // A run that is told is not taken by one that is counted.
        assert_eq!(owners(&["S1/a.edf", "S1/b_run1.edf"]).0, [(1, 1, 2), (1, 1, 1)]);
    }

    #[test]
    fn odd_names_do_no_harm() {
        for name in ["", "é1", "s", "1", "---", "A99999T", "run", "s99999999999999.edf", "日本01.edf"] {
            let _ = owners(&[name, "x/y"]);
        }
        assert_eq!(tokens("S001R04-x"), ["S", "001", "R", "04", "-", "x"]);
        assert_eq!(
            (trailing("é1"), trailing("1"), trailing("é"), trailing("")),
            (Some(1), Some(1), None, None)
        );
    }
}
