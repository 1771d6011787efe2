//! Numbers in the place of labels: people are known by a number and nothing else.

use std::cmp::Ordering;
use std::collections::BTreeMap;

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

/// Which comes first when digits are read as numbers: `run-2` before `run-10`.
pub(super) fn natural(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    loop {
        match (left.chars().next(), right.chars().next()) {
            (Some(x), Some(y)) if x.is_ascii_digit() && y.is_ascii_digit() => {
                let (first, second) = (digits(&mut left), digits(&mut right));
                // Without leading zeros the longer number is the larger one.
                let order = first.len().cmp(&second.len()).then_with(|| first.cmp(second));
                if order.is_ne() {
                    return order;
                }
            }
            (Some(x), Some(y)) if x == y => {
                (left, right) = (&left[x.len_utf8()..], &right[y.len_utf8()..]);
            }
            // Names that differ in leading zeros alone are still two names.
            (None, None) => return a.cmp(b),
            (x, y) => return x.cmp(&y),
        }
    }
}

/// Takes the digits off the front of a text; gives them without leading zeros.
fn digits<'a>(text: &mut &'a str) -> &'a str {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, rest) = text.split_at(end);
    *text = rest;
    number.trim_start_matches('0')
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

    #[test]
    fn digits_sort_as_numbers() {
        let mut names = ["b", "run-10", "run-2", "run-02", "a", "run", "9", "10", "ü"];
        names.sort_by(|a, b| natural(a, b));
        assert_eq!(names, ["9", "10", "a", "b", "run", "run-02", "run-2", "run-10", "ü"]);
    }
}
