//! Names that were mistyped.

/// The name that was most likely meant, of those that can be typed, each with what it is called in a message; none where nothing is
/// near.
pub fn nearest<'a, T>(typed: &str, known: impl IntoIterator<Item = (&'a str, T)>) -> Option<T> {
    let near = |(name, value): (&str, T)| {
        (strsim::normalized_damerau_levenshtein(&name.to_lowercase(), &typed.to_lowercase()), value)
    };
    let all = known.into_iter().map(near).filter(|(likeness, _)| *likeness >= 0.5);
    all.max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, value)| value)
}

/// The same as the beginning of a hint.
pub fn suggestion<'a>(typed: &str, known: impl IntoIterator<Item = (&'a str, &'a str)>) -> String {
    nearest(typed, known).map_or_else(String::new, |name| format!("is `{name}` meant? "))
}
