//! Files of text that people write: manifests, configurations, tables.

use std::path::Path;

use crate::bytes::Bytes;
use crate::error::{Error, Place, Result};

/// Reads a file of UTF-8, a byte order mark left out. One of another encoding is refused in these words.
pub fn read_text(path: &Path) -> Result<String> {
    text(Bytes::open(path)?, path)
}

/// The same of a file that cannot be empty.
pub fn read_filled_text(path: &Path) -> Result<String> {
    text(Bytes::open_filled(path)?, path)
}

fn text(bytes: Bytes, path: &Path) -> Result<String> {
    let place = Place::from(path);
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&bytes);
    if bytes.starts_with(b"\xff\xfe") || bytes.starts_with(b"\xfe\xff") {
        return Err(Error::format(&place, "is text in UTF-16, not in UTF-8").with_hint(SAVE));
    }
    match str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_string()),
        Err(error) => {
            let good = &bytes[..error.valid_up_to()];
            let line = 1 + good.iter().filter(|&&byte| byte == b'\n').count();
            let wrong = bytes.get(error.valid_up_to()).copied().unwrap_or_default();
            let message = format!("line {line} is no text in UTF-8 (byte {wrong:#04x})");
            Err(Error::format(&place, message).with_hint(SAVE))
        }
    }
}

const SAVE: &str = "save it as UTF-8; if it should be text at all, it may be damaged or another file";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_is_reported() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.toml");
        let read = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            read_filled_text(&path)
        };
        assert_eq!(read(b"\xef\xbb\xbfa = 1\n").unwrap(), "a = 1\n");
        for (bytes, says, hint) in [
            (&b""[..], "a.toml: is empty: 0 bytes", "copy or download it again"),
            (b"a\nb = \"\xb5V\"\n", "a.toml: line 2 is no text in UTF-8 (byte 0xb5)", "save it as UTF-8"),
            (b"\xff\xfea\0", "a.toml: is text in UTF-16", "save it as UTF-8"),
        ] {
            let error = read(bytes).unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
            assert!(error.hint().unwrap().contains(hint), "{:?}", error.hint());
        }
        std::fs::write(&path, "").unwrap();
        assert_eq!(read_text(&path).unwrap(), "");
        assert!(read_text(&folder.path().join("b")).unwrap_err().to_string().contains("cannot open"));
    }
}
