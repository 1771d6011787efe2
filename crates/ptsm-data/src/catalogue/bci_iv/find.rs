//! Files of the two distributions.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ptsm_signal::SubjectId;

use super::SUBJECT_COUNT;
use super::graz::{Graz, SessionHalf};
use crate::catalogue::disk::{file_name, files, numbers, once, size, under};
use crate::catalogue::{DataSetFiles, Options, RecordingItem, matlab};
use crate::error::Result;

/// The variable of a file of labels.
pub(super) const LABELS: &str = "classlabel";

/// What is under a folder, each file once.
struct FoundFiles {
    /// Files of BNCI Horizon 2020.
    mats: BTreeMap<(u32, SessionHalf), PathBuf>,
    /// Files of the competition, by subject and session.
    gdfs: BTreeMap<(u32, u32), PathBuf>,
    /// Labels of the competition's files.
    labels: BTreeMap<(u32, u32), PathBuf>,
    /// Files that are there more than once.
    doubled: Vec<(SubjectId, PathBuf)>,
}

/// Looks for what was chosen.
pub(super) fn find(set: &Graz, root: &Path, options: &Options) -> Result<DataSetFiles> {
    let present = FoundFiles::new(set, root)?;
    let classes = set.classes.iter().map(|(_, class)| class.to_string()).collect();
    let mut found = DataSetFiles { classes, doubled: present.doubled.clone(), ..DataSetFiles::default() };
    let (mut both, mut anybody) = (false, false);
    for subject in 1..=SUBJECT_COUNT {
        let Some(sibling) = present.of(subject) else { continue };
        anybody = true;
        for half in SessionHalf::ALL {
            let sessions = set.chosen(half, options);
            let Some(&first) = sessions.first() else { continue };
            let gdf = |session: &u32| present.gdfs.get(&(subject, *session));
            if let Some(path) = present.mats.get(&(subject, half)) {
                both |= sessions.iter().any(|session| gdf(session).is_some());
                found.items.push(item(subject, first, vec![path.clone()], 5));
                continue;
            }
            let beside = |name: String| under(root, sibling.with_file_name(name));
            if file_name(sibling).to_lowercase().ends_with(".mat") {
                found.missing.push((SubjectId(subject), beside(set.mat(subject, half))));
                continue;
            }
            for session in sessions {
                match gdf(&session) {
                    Some(path) => {
                        let labels = present.labels.get(&(subject, session)).cloned();
                        let files = [path.clone()].into_iter().chain(labels).collect();
                        found.items.push(item(subject, session, files, 4));
                    }
                    None => {
                        let name = format!("{}.gdf", set.gdf(subject, session, half));
                        found.missing.push((SubjectId(subject), beside(name)));
                    }
                }
            }
        }
    }
    if both {
        found
            .notes
            .push("MATLAB and GDF files of the same sessions are there; the MATLAB ones are read".into());
    }
    if !anybody {
        let halves = SessionHalf::ALL.into_iter().filter(|&half| !set.chosen(half, options).is_empty());
        let halves: Vec<SessionHalf> = halves.collect();
        let all = (1..=SUBJECT_COUNT).flat_map(|subject| halves.iter().map(move |&half| (subject, half)));
        let file = |(subject, half)| (SubjectId(subject), PathBuf::from(set.mat(subject, half)));
        found.missing = all.map(file).collect();
    }
    found.items.sort_by_key(|item| (item.subject, item.session));
    Ok(found)
}

impl FoundFiles {
    fn new(set: &Graz, root: &Path) -> Result<FoundFiles> {
        let (mut mats, mut gdfs, mut labels) = (vec![], vec![], vec![]);
        for path in files(set.id, root, &[".mat", ".gdf"])? {
            let name = file_name(&path);
            let Some(file) = Name::parse(set, &name) else { continue };
            if !(1..=SUBJECT_COUNT).contains(&file.subject) {
                continue;
            }
            let is_mat = name.to_lowercase().ends_with(".mat");
            match (is_mat, file.session) {
                (false, Some(session)) => gdfs.push(((file.subject, session), path)),
                // A file of labels is called like the recording: only a look inside tells them apart.
                (true, Some(session)) if matlab::holds(&path, LABELS) => {
                    labels.push(((file.subject, session), path));
                }
                (true, _) if file.whole => mats.push(((file.subject, file.half), path)),
                _ => {}
            }
        }
        let ((mats, a), (gdfs, b), (labels, c)) = (once(mats), once(gdfs), once(labels));
        let whose = |subject: u32, path| (SubjectId(subject), path);
        let mut doubled: Vec<(SubjectId, PathBuf)> =
            a.into_iter().map(|((subject, _), path)| whose(subject, path)).collect();
        doubled.extend(b.into_iter().chain(c).map(|((subject, _), path)| whose(subject, path)));
        Ok(FoundFiles { mats, gdfs, labels, doubled })
    }

    /// A recording of a subject.
    fn of(&self, subject: u32) -> Option<&Path> {
        let mat =
            self.mats.range((subject, SessionHalf::Training)..=(subject, SessionHalf::Evaluation)).next();
        let gdf = self.gdfs.range((subject, 0)..=(subject, u32::MAX)).next();
        mat.map(|(_, path)| path.as_path()).or(gdf.map(|(_, path)| path.as_path()))
    }
}

/// What a file's name tells.
struct Name {
    subject: u32,
    half: SessionHalf,
    /// The session of a file that holds one.
    session: Option<u32>,
    /// Whether it can be a file of BNCI Horizon 2020, which holds all sessions of a half.
    whole: bool,
}

impl Name {
    fn parse(set: &Graz, name: &str) -> Option<Name> {
        let ending = name.get(name.len().checked_sub(4)?..)?;
        SessionHalf::ALL.into_iter().find_map(|half| {
            let (first, last) = (set.letter, half.letter());
            let sessions = set.sessions[half as usize];
            if let Some(&[subject]) = numbers(&format!("{first}##{last}{ending}"), name).as_deref() {
                // Of 2b there is no competition file with all sessions.
                let session = (sessions.len() == 1).then(|| sessions[0]);
                return Some(Name { subject, half, session, whole: true });
            }
            match numbers(&format!("{first}####{last}{ending}"), name).as_deref() {
                Some(&[both]) if sessions.len() > 1 && sessions.contains(&(both % 100)) => {
                    Some(Name { subject: both / 100, half, session: Some(both % 100), whole: false })
                }
                _ => None,
            }
        })
    }
}

fn item(subject: u32, session: u32, files: Vec<PathBuf>, factor: u64) -> RecordingItem {
    // MATLAB's numbers of eight bytes are packed, GDF's of two are not.
    let memory = factor * files.first().map_or(0, |path| size(path));
    RecordingItem { subject: SubjectId(subject), session, run: 1, files, part: String::new(), memory }
}
