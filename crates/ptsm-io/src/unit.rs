//! Units of voltage: the one table of the workspace.

/// A voltage's plain name and how many microvolts it is; none for anything else. Knows the micro sign, the Greek letter, and both as
/// they look when UTF-8 is taken for Latin-1, and the words written out.
pub fn voltage(unit: &str) -> Option<(&'static str, f64)> {
    let unit = unit.trim();
    let prefix = match unit.to_lowercase() {
        words if words.ends_with("volts") => unit.get(..unit.len() - 5)?,
        words if words.ends_with("volt") => unit.get(..unit.len() - 4)?,
        _ => unit.strip_suffix(['V', 'v'])?,
    };
    match prefix {
        "" => Some(("V", 1e6)),
        "m" | "milli" | "Milli" => Some(("mV", 1e3)),
        "u" | "U" | "micro" | "Micro" | "\u{b5}" | "\u{3bc}" | "\u{c2}\u{b5}" | "\u{ce}\u{bc}" => {
            Some(("uV", 1.0))
        }
        "n" | "nano" | "Nano" => Some(("nV", 1e-3)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::latin1;

    #[test]
    fn voltages_are_known_however_micro_is_spelled() {
        for bytes in [&b"uV"[..], b"\xb5V", "\u{b5}V".as_bytes(), "\u{3bc}V".as_bytes(), b"UV"] {
            assert_eq!(voltage(&latin1(bytes)), Some(("uV", 1.0)), "{bytes:?}");
        }
        for text in
            ["µV", "μV", "ÂµV", "Î¼V", "microV", "microvolt", "Microvolts", " uV ", "uv", "µVolt", "uVolts"]
        {
            assert_eq!(voltage(text), Some(("uV", 1.0)), "{text}");
        }
        for text in ["V", "v", "volt", "Volts"] {
            assert_eq!(voltage(text), Some(("V", 1e6)), "{text}");
        }
        assert_eq!(voltage("mV"), Some(("mV", 1000.0)));
        assert_eq!(voltage("millivolts"), Some(("mV", 1000.0)));
        assert_eq!(voltage("nV"), Some(("nV", 1e-3)));
        // Mega is not milli.
        for other in ["", "%", "Ohm", "MV", "Mvolt", "degC", "V/s", "uV/mm", "volts?", "İvolt"] {
            assert_eq!(voltage(other), None, "{other}");
        }
    }
}
