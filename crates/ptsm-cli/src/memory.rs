//! How much memory reading recordings may take.

use crate::exit::fail;

/// Bytes that recordings being read may take together: `8G`, `500M`.
const MEMORY: &str = "PTSM_MEMORY";

/// What the environment says; none where it says nothing.
pub(crate) fn bound() -> anyhow::Result<Option<u64>> {
    let Ok(text) = std::env::var(MEMORY) else { return Ok(None) };
    match bytes(&text) {
        Some(bytes) => Ok(Some(bytes)),
        None => {
            Err(fail(format!("`{MEMORY}={text}` is no amount of memory"), "write it like `8G` or `500M`"))
        }
    }
}

/// `8G`, `500M`, `1000000`.
fn bytes(text: &str) -> Option<u64> {
    let text = text.trim().trim_end_matches(['B', 'b', 'i']);
    let (number, shift) = match text.char_indices().last()? {
        (at, 'k' | 'K') => (&text[..at], 10),
        (at, 'm' | 'M') => (&text[..at], 20),
        (at, 'g' | 'G') => (&text[..at], 30),
        _ => (text, 0),
    };
    number.trim().parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_of_memory() {
        for (text, value) in
            [("8G", 8 << 30), ("500M", 500 << 20), ("3 KiB", 3 << 10), ("17", 17), (" 2gb ", 2 << 30)]
        {
            assert_eq!(bytes(text), Some(value), "{text}");
        }
        for text in ["", "G", "x", "-1", "1.5G", "99999999999999G"] {
            assert_eq!(bytes(text), None, "{text}");
        }
    }
}
