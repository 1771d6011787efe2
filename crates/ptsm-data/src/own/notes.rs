//! What the user should know, the same things said once.

/// Remarks about recordings. Each is kept with how often it was made and where first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Notes(Vec<Note>);

#[derive(Clone, Debug, PartialEq)]
struct Note {
    text: String,
    count: usize,
    first: String,
}

impl Notes {
    /// A remark about one recording.
    pub(super) fn add(&mut self, text: impl Into<String>, place: &str) {
        let text = text.into();
        match self.0.iter_mut().find(|note| note.text == text) {
            Some(note) => note.count += 1,
            None => self.0.push(Note { text, count: 1, first: place.to_string() }),
        }
    }

    /// One line each.
    pub(super) fn lines(self) -> Vec<String> {
        let line = |note: Note| match note.count {
            1 => format!("{} ({})", note.text, note.first),
            count => format!("{} ({count} recordings, {} is the first)", note.text, note.first),
        };
        self.0.into_iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_is_said_once() {
        let mut notes = Notes::default();
        for place in ["S01", "S02", "S03"] {
            notes.add("is odd", place);
        }
        notes.add("is short", "S02");
        assert_eq!(notes.lines(), ["is odd (3 recordings, S01 is the first)", "is short (S02)"]);
    }
}
