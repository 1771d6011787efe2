//! Rust source as words, signs and literals, without comments: as much of the language as the checks of the source need.

/// A word, a sign or a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) text: &'a str,
    /// The number of its line, from 1.
    pub(crate) line: usize,
}

/// All tokens of a source.
pub(crate) fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut found = vec![];
    let (mut rest, mut line) = (source, 1);
    while let Some(c) = rest.chars().next() {
        let (length, kept) = match c {
            '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), false),
            '/' if rest.starts_with("/*") => (block_comment(rest), false),
            '"' => (text(rest), true),
            '\'' => (character(rest), true),
            _ if c == '_' || c.is_alphanumeric() => {
                let word = rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len());
                (raw_text(rest, word).unwrap_or(word), true)
            }
            _ => (c.len_utf8(), !c.is_whitespace()),
        };
        let (piece, after) = rest.split_at(length);
        if kept {
            found.push(Token { text: piece, line });
        }
        line += piece.matches('\n').count();
        rest = after;
    }
    found
}

/// Length of a block comment; they nest.
fn block_comment(rest: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < rest.len() {
        let here = &rest.as_bytes()[at..];
        if here.starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if here.starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}

/// Length of a string with escapes.
fn text(rest: &str) -> usize {
    let mut escaped = true; // the opening quote
    for (at, c) in rest.char_indices() {
        match c {
            '"' if !escaped => return at + 1,
            '\\' if !escaped => escaped = true,
            _ => escaped = false,
        }
    }
    rest.len()
}

/// Length of a raw string whose prefix is the word at the beginning, if it is one: `r"`, `br#"`.
fn raw_text(rest: &str, word: usize) -> Option<usize> {
    if !matches!(&rest[..word], "r" | "br" | "cr") {
        return None;
    }
    let hashes = rest[word..].bytes().take_while(|b| *b == b'#').count();
    let inside = rest[word + hashes..].strip_prefix('"')?;
    let end = format!("\"{}", "#".repeat(hashes));
    let length = inside.find(&end).map_or(inside.len(), |at| at + end.len());
    Some(word + hashes + 1 + length)
}

/// Length of a character; of a lifetime only the mark.
fn character(rest: &str) -> usize {
    let mut inside = rest[1..].char_indices();
    match inside.next() {
        Some((_, '\\')) => rest[3..].find('\'').map_or(rest.len(), |at| 3 + at + 1),
        Some(_) => match inside.next() {
            Some((at, '\'')) => 1 + at + 1,
            _ => 1,
        },
        None => 1,
    }
}
