//! What `--sbatch` says: options for the array, some of which are for the job that collects, too.

use crate::error::{Error, Result};

/// Options that say where and for whom a job runs, not what it needs.
const PLACES: [(&str, Option<&str>); 6] = [
    ("--partition", Some("-p")),
    ("--account", Some("-A")),
    ("--qos", Some("-q")),
    ("--clusters", Some("-M")),
    ("--reservation", None),
    ("--export", None),
];

/// The words of all texts that were given. Those that would undo the array are refused.
pub(super) fn of(given: &[String]) -> Result<Vec<String>> {
    let words: Vec<String> =
        given.iter().flat_map(|text| text.split_whitespace().map(String::from)).collect();
    let own = |word: &&String| named(word, "--array", Some("-a")) || *word == "--test-only";
    match words.iter().find(own) {
        Some(word) => Err(Error::request(
            format!("`--sbatch` cannot have `{word}`: the array is made of what is to be done"),
            "leave it out; `--jobs` says how many tasks run at once",
        )),
        None => Ok(words),
    }
}

/// Of some options those that say where a job runs, with their values.
pub(super) fn places(options: &[String]) -> Vec<String> {
    chosen(options, &PLACES)
}

/// Of some options the one that names the cluster, where there are several.
pub(super) fn cluster(options: &[String]) -> Vec<String> {
    chosen(options, &[("--clusters", Some("-M"))])
}

fn chosen(options: &[String], names: &[(&str, Option<&str>)]) -> Vec<String> {
    let mut kept = vec![];
    let mut words = options.iter();
    while let Some(word) = words.next() {
        if !names.iter().any(|(long, short)| named(word, long, *short)) {
            continue;
        }
        kept.push(word.clone());
        // `--partition gpu` and `-p gpu`: the value is the next word.
        if names.iter().any(|(long, short)| word == long || Some(word.as_str()) == *short) {
            kept.extend(words.next().cloned());
        }
    }
    kept
}

/// `--name`, `--name=value`, `-n` or `-nvalue`.
fn named(word: &str, long: &str, short: Option<&str>) -> bool {
    let value = word.strip_prefix(long);
    value.is_some_and(|value| value.is_empty() || value.starts_with('='))
        || short.is_some_and(|short| word.starts_with(short))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        of(&[text.into()]).unwrap()
    }

    #[test]
    fn the_job_that_collects_goes_to_the_same_place() {
        let kept = |text: &str| places(&words(text)).join(" ");
        assert_eq!(
            kept("--partition=gpu --gres=gpu:1 --account=me --time=2:00:00"),
            "--partition=gpu --account=me"
        );
        assert_eq!(kept("-p gpu -c 4 --qos high -Ame --mem 4G"), "-p gpu --qos high -Ame");
        assert_eq!(kept("--export=NONE --exclusive --partitions=x"), "--export=NONE");
        assert_eq!(cluster(&words("-p gpu -M far --mem=1")).join(" "), "-M far");
    }

    #[test]
    fn another_array_is_refused() {
        for text in ["--array=0-3", "--array 0-3", "-a0-3", "--mem=1 --test-only"] {
            assert!(of(&[text.into()]).is_err(), "{text}");
        }
        assert_eq!(words("--acctg-freq=30").len(), 1);
    }
}
