//! What the user should know, the same things said once.

/// More remarks than this nobody reads.
const MOST: usize = 20;

/// Remarks about recordings. Each is kept with how often it was made and where first.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Notes(Vec<Note>);

#[derive(Clone, Debug, PartialEq)]
struct Note {
    text: String,
    count: usize,
    first: String,
}

impl Notes {
    /// A remark about one recording.
    pub(crate) fn add(&mut self, text: impl Into<String>, place: &str) {
        let text = text.into();
        match self.0.iter_mut().find(|note| note.text == text) {
            Some(note) => note.count += 1,
            None => self.0.push(Note { text, count: 1, first: place.to_string() }),
        }
    }

    /// One line each.
    pub(crate) fn lines(self) -> Vec<String> {
        let line = |note: Note| match note.count {
            1 => format!("{} ({})", note.text, note.first),
            count => format!("{} ({count} recordings, {} is the first)", note.text, note.first),
        };
        let more = self.0.len().saturating_sub(MOST);
        let more = (more > 0).then(|| format!("and {more} other remarks about single recordings"));
        self.0.into_iter().take(MOST).map(line).chain(more).collect()
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
        assert_eq!(notes.clone().lines(), ["is odd (3 recordings, S01 is the first)", "is short (S02)"]);
        (0..30).for_each(|i| notes.add(format!("is number {i}"), "S04"));
        let lines = notes.lines();
        assert_eq!((lines.len(), &*lines[20]), (21, "and 12 other remarks about single recordings"));
    }
}
