//! Text as MATLAB holds it: a matrix of characters, column by column, whose rows are strings.

/// The rows of a matrix of UTF-16 units. Halves of a character that stand alone become U+FFFD. None where the sizes do not fit.
pub(super) fn rows_of_units(units: &[u16], dims: &[usize]) -> Option<Vec<String>> {
    Some(rows(units, dims)?.iter().map(|row| String::from_utf16_lossy(row)).collect())
}

/// The rows of a matrix of characters.
pub(super) fn rows_of_chars(chars: &[char], dims: &[usize]) -> Option<Vec<String>> {
    Some(rows(chars, dims)?.into_iter().map(|row| row.into_iter().collect()).collect())
}

/// Text that does not say which of its bytes belong to which character of the matrix: sizes count UTF-16 units in files of MATLAB and
/// characters in files of others. A single row may have any length.
pub(super) fn rows_of_text(text: &str, dims: &[usize]) -> Option<Vec<String>> {
    if let [1, _] = dims {
        return Some(vec![text.to_string()]);
    }
    let units: Vec<u16> = text.encode_utf16().collect();
    rows_of_units(&units, dims).or_else(|| rows_of_chars(&text.chars().collect::<Vec<_>>(), dims))
}

/// Rows of a matrix, page after page where it has more than two dimensions. Rows of no length are one empty row however many they are.
fn rows<T: Copy>(all: &[T], dims: &[usize]) -> Option<Vec<Vec<T>>> {
    let (&height, rest) = dims.split_first()?;
    let (&width, pages) = rest.split_first()?;
    let pages = pages.iter().try_fold(1_usize, |n, &d| n.checked_mul(d))?;
    let page = height.checked_mul(width)?;
    if page.checked_mul(pages)? != all.len() {
        return None;
    }
    if all.is_empty() {
        return Some(vec![vec![]; height.min(1)]);
    }
    let row = |page: &[T], i: usize| page[i..].iter().step_by(height).copied().collect();
    Some(all.chunks(page).flat_map(|page| (0..height).map(move |i| row(page, i))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_lie_across_columns() {
        let units: Vec<u16> = "aAbBcC".encode_utf16().collect();
        assert_eq!(rows_of_units(&units, &[2, 3]).unwrap(), ["abc", "ABC"]);
        assert_eq!(rows_of_units(&units, &[3, 2]).unwrap(), ["aB", "Ac", "bC"]);
        assert_eq!(rows_of_units(&units, &[1, 3, 2]).unwrap(), ["aAb", "BcC"]);
        assert_eq!(rows_of_units(&units, &[2, 2]), None);
        assert_eq!(rows_of_units(&[], &[0, 0]).unwrap(), Vec::<String>::new());
        assert_eq!(rows_of_units(&[], &[1, 0]).unwrap(), [""]);
        assert_eq!(rows_of_units(&[], &[usize::MAX, 0]).unwrap(), [""]);
        assert_eq!(rows_of_units(&[], &[usize::MAX, usize::MAX]), None);
    }

    #[test]
    fn characters_of_two_units_are_one() {
        let units: Vec<u16> = "µ😀".encode_utf16().collect();
        assert_eq!(rows_of_units(&units, &[1, 3]).unwrap(), ["µ😀"]);
        assert_eq!(rows_of_units(&units[1..2], &[1, 1]).unwrap(), ["\u{FFFD}"]);
        // Sizes in units, in characters, or neither.
        assert_eq!(rows_of_text("aµb😀c", &[2, 3]).unwrap(), ["ab\u{FFFD}", "µ\u{FFFD}c"]);
        assert_eq!(rows_of_text("a😀bµ", &[2, 2]).unwrap(), ["ab", "😀µ"]);
        assert_eq!(rows_of_text("µV", &[1, 3]).unwrap(), ["µV"]);
    }
}
