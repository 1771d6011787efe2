//! Names of files: `sub-01_ses-1_task-mi_run-1_eeg.edf`.

/// A name, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entities {
    /// Keys with their labels, in the order of the name.
    pairs: Vec<(String, String)>,
    /// What it is: `eeg`, `events`.
    pub(super) suffix: String,
    /// What follows the first dot, in lower case: `edf`, `edf.gz`.
    pub(super) extension: String,
}

impl Entities {
    /// Takes a name apart.
    pub(super) fn parse(name: &str) -> Entities {
        let (stem, extension) = name.split_once('.').unwrap_or((name, ""));
        let mut entities = Entities { extension: extension.to_lowercase(), ..Entities::default() };
        for part in stem.split('_') {
            match part.split_once('-') {
                Some((key, label)) => entities.pairs.push((key.to_string(), label.to_string())),
                None => entities.suffix = part.to_string(),
            }
        }
        entities
    }

    /// The label of a key.
    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.pairs.iter().find(|(known, _)| known == key).map(|(_, label)| label.as_str())
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Whether a table of this name is about a recording of that name: all its entities are the recording's. The coordinate
    /// system (`space`) that positions are in is nothing a recording has.
    pub(super) fn applies_to(&self, recording: &Entities) -> bool {
        self.pairs.iter().all(|(key, label)| key == "space" || recording.get(key) == Some(label))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let name = Entities::parse("sub-01_ses-a+b_task-mi_acq-x_run-02_split-1_eeg.edf.GZ");
        assert_eq!(name.get("ses"), Some("a+b"));
        assert_eq!((name.get("run"), name.get("echo")), (Some("02"), None));
        assert_eq!((&*name.suffix, &*name.extension, name.len()), ("eeg", "edf.gz", 6));
        assert_eq!(Entities::parse("sub-a-b_eeg").get("sub"), Some("a-b"));
        assert_eq!(Entities::parse("README").suffix, "README");
    }

    #[test]
    fn tables_apply_to_recordings_that_share_their_entities() {
        let recording = Entities::parse("sub-01_task-mi_run-1_eeg.edf");
        for (table, applies) in [
            ("task-mi_eeg.json", true),
            ("events.tsv", true),
            ("sub-01_task-mi_run-1_events.tsv", true),
            ("sub-01_space-CapTrak_electrodes.tsv", true),
            ("sub-01_task-rest_events.tsv", false),
            ("sub-02_task-mi_events.tsv", false),
            ("sub-01_task-mi_run-1_acq-x_channels.tsv", false),
        ] {
            assert_eq!(Entities::parse(table).applies_to(&recording), applies, "{table}");
        }
    }
}
