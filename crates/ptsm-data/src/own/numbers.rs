//! Numbers in the place of labels: subjects are known by a number and nothing else.

use std::collections::BTreeMap;

use crate::walk::natural;

/// A number for each label: its own where every label is a number and no two are the same, else its place in the sorted list,
/// counted from 1.
pub(super) fn numbers<'a>(labels: impl IntoIterator<Item = &'a str>) -> BTreeMap<String, u32> {
    let mut labels: Vec<&str> = labels.into_iter().collect();
    labels.sort_by(|a, b| natural(a, b));
    labels.dedup();
    let own: Option<BTreeMap<u32, &str>> =
        labels.iter().map(|&label| Some((number(label)?, label))).collect();
    match own.filter(|own| own.len() == labels.len()) {
        Some(own) => own.into_iter().map(|(number, label)| (label.to_string(), number)).collect(),
        None => (1..).zip(labels).map(|(place, label)| (label.to_string(), place)).collect(),
    }
}

/// The number a label of digits stands for.
pub(super) fn number(label: &str) -> Option<u32> {
    label.bytes().all(|byte| byte.is_ascii_digit()).then(|| label.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(labels: &[&str]) -> Vec<(String, u32)> {
        numbers(labels.iter().copied()).into_iter().collect()
    }

    #[test]
    fn numbers_stay_and_names_are_counted() {
        assert_eq!(of(&["03", "01", "01"]), [("01".into(), 1), ("03".into(), 3)]);
        assert_eq!(of(&["p2", "p10", "p1"]), [("p1".into(), 1), ("p10".into(), 3), ("p2".into(), 2)]);
        // The same number twice is no number of their own.
        assert_eq!(of(&["01", "1"]), [("01".into(), 1), ("1".into(), 2)]);
        assert_eq!(of(&["7", "99999999999"]), [("7".into(), 1), ("99999999999".into(), 2)]);
        assert_eq!(number(""), None);
    }
}
