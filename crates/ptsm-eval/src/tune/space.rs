//! What is tried: settings by their keys, and the values of each.

use std::collections::BTreeSet;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::error::{Error, Result};

/// More candidates than anybody waits for; most likely a slip of the hand.
const MOST: usize = 10_000;
/// How often a value is drawn anew, for each candidate, before the space counts as exhausted.
const DRAWS: usize = 50;

/// One setting that is tried.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dimension {
    /// Its full key, such as `training.rate`.
    pub key: String,
    /// What it may be.
    pub values: SettingValues,
}

/// What a setting may be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SettingValues {
    /// One of these.
    List(Vec<Value>),
    /// A number between two, its logarithm evenly spread.
    Logarithmic(f64, f64),
    /// A number between two, evenly spread.
    Linear(f64, f64),
    /// A whole number between two, both among them.
    Whole(i64, i64),
}

/// How candidates are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SearchStrategy {
    /// Every combination.
    Grid,
    /// So many, at random.
    Random(usize),
}

impl SettingValues {
    /// Refuses a range that holds nothing.
    pub fn check(&self, key: &str) -> Result<()> {
        let refuse = |message: String, hint: &str| Err(Error::tuning(format!("`{key}`: {message}"), hint));
        match *self {
            SettingValues::List(ref all) if all.is_empty() => {
                refuse("there is nothing to try".into(), "write `KEY=1,2,3`")
            }
            SettingValues::Logarithmic(low, high) | SettingValues::Linear(low, high)
                if !(low < high && low.is_finite() && high.is_finite()) =>
            {
                refuse(format!("{low}..{high} is no range"), "give two numbers, the smaller one first")
            }
            SettingValues::Logarithmic(low, _) if low <= 0.0 => {
                refuse(format!("{low} has no logarithm"), "begin above 0, or write `lin:`")
            }
            SettingValues::Whole(low, high) if low >= high => {
                refuse(format!("{low}..{high} is no range"), "give two whole numbers, the smaller one first")
            }
            _ => Ok(()),
        }
    }

    fn draw(&self, random: &mut ChaCha8Rng) -> Value {
        match *self {
            SettingValues::List(ref all) => all[random.random_range(0..all.len())].clone(),
            SettingValues::Linear(low, high) => {
                rounded(random.random_range(low..high)).clamp(low, high).into()
            }
            SettingValues::Logarithmic(low, high) => {
                let value = libm::exp(random.random_range(libm::log(low)..libm::log(high)));
                rounded(value).clamp(low, high).into()
            }
            SettingValues::Whole(low, high) => random.random_range(low..=high).into(),
        }
    }
}

/// Four digits: more say nothing, and nobody wants to read them.
fn rounded(value: f64) -> f64 {
    format!("{value:.3e}").parse().unwrap_or(value)
}

/// All candidates in their order: a value for each dimension. The same seed draws the same, and more of them begin with the same.
pub fn draw_candidates(space: &[Dimension], choice: SearchStrategy, seed: u64) -> Result<Vec<Vec<Value>>> {
    if space.is_empty() {
        return Err(Error::tuning("nothing is tried", "give `--try training.rate=1e-4,1e-3`"));
    }
    for (i, Dimension { key, values }) in space.iter().enumerate() {
        values.check(key)?;
        if space[..i].iter().any(|other| other.key == *key) {
            return Err(Error::tuning(format!("`{key}` is tried twice"), "give all its values at once"));
        }
    }
    match choice {
        SearchStrategy::Grid => grid(space),
        SearchStrategy::Random(0) => Err(Error::tuning("no candidate is drawn", "ask for at least 1")),
        SearchStrategy::Random(n) if n > MOST => Err(too_many(n)),
        SearchStrategy::Random(n) => Ok(random(space, n, seed)),
    }
}

fn too_many(n: usize) -> Error {
    Error::tuning(format!("{n} candidates are too many"), format!("try {MOST} or fewer"))
}

fn grid(space: &[Dimension]) -> Result<Vec<Vec<Value>>> {
    let mut all = vec![vec![]];
    for Dimension { key, values } in space {
        let SettingValues::List(values) = values else {
            return Err(Error::tuning(
                format!("`{key}` is a range, of which a grid cannot have every value"),
                "list its values, or give `--search random:30`",
            ));
        };
        if all.len() * values.len() > MOST {
            return Err(too_many(all.len() * values.len()));
        }
        if let Some(twice) = (1..values.len()).find(|&i| values[..i].contains(&values[i])) {
            return Err(Error::tuning(
                format!("`{key}` is tried twice as {}", values[twice]),
                "give it once",
            ));
        }
        let with = |chosen: &Vec<Value>, value: &Value| chosen.iter().chain([value]).cloned().collect();
        all = all.iter().flat_map(|chosen| values.iter().map(move |value| with(chosen, value))).collect();
    }
    Ok(all)
}

/// No candidate comes twice: a small space may have fewer than are asked for.
fn random(space: &[Dimension], n: usize, seed: u64) -> Vec<Vec<Value>> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut all: Vec<Vec<Value>> = vec![];
    let mut known = BTreeSet::new();
    let mut draws = 0;
    while all.len() < n && draws < DRAWS * n {
        draws += 1;
        let values: Vec<Value> = space.iter().map(|dimension| dimension.values.draw(&mut random)).collect();
        if known.insert(Value::from(values.clone()).to_string()) {
            all.push(values);
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn dimension(key: &str, values: SettingValues) -> Dimension {
        Dimension { key: key.into(), values }
    }

    #[test]
    fn a_grid_has_every_combination_in_order() {
        let space = [
            dimension("a", SettingValues::List(vec![json!(1), json!(2)])),
            dimension("b", SettingValues::List(vec![json!("x"), json!(null), json!([3])])),
        ];
        let all = draw_candidates(&space, SearchStrategy::Grid, 1).unwrap();
        assert_eq!(all.len(), 6);
        assert_eq!((&all[0], &all[5]), (&vec![json!(1), json!("x")], &vec![json!(2), json!([3])]));
    }

    #[test]
    fn what_is_drawn_lies_in_its_range_and_is_drawn_again() {
        let space = [
            dimension("log", SettingValues::Logarithmic(1e-4, 1.0)),
            dimension("lin", SettingValues::Linear(-2.0, 3.0)),
            dimension("int", SettingValues::Whole(2, 4)),
            dimension("list", SettingValues::List(vec![json!(true), json!(false)])),
        ];
        let all = draw_candidates(&space, SearchStrategy::Random(200), 7).unwrap();
        let column = |i: usize| all.iter().map(move |c| c[i].as_f64().unwrap());
        assert!(column(0).all(|x| (1e-4..=1.0).contains(&x)));
        assert!(column(1).all(|x| (-2.0..=3.0).contains(&x)));
        let small = column(0).filter(|x| *x < 1e-2).count();
        assert!((70..130).contains(&small), "half of the logarithms are below the middle: {small}");
        assert!([2, 3, 4].iter().all(|n| all.iter().any(|c| c[2] == json!(n))));
        assert_eq!(all, draw_candidates(&space, SearchStrategy::Random(200), 7).unwrap());
        assert_eq!(all[..20], draw_candidates(&space, SearchStrategy::Random(20), 7).unwrap()[..]);
        assert_ne!(all, draw_candidates(&space, SearchStrategy::Random(200), 8).unwrap());
    }

    #[test]
    fn a_small_space_is_exhausted_without_repeats() {
        let space = [dimension("n", SettingValues::Whole(1, 3))];
        let mut all = draw_candidates(&space, SearchStrategy::Random(30), 1).unwrap();
        all.sort_by_key(|c| c[0].as_i64());
        assert_eq!(all, [[json!(1)], [json!(2)], [json!(3)]]);
    }

    #[test]
    fn what_makes_no_sense_is_refused() {
        let list = |n: i64| SettingValues::List((0..n).map(Value::from).collect());
        for (values, choice, says) in [
            (SettingValues::List(vec![]), SearchStrategy::Grid, "nothing to try"),
            (SettingValues::Linear(2.0, 1.0), SearchStrategy::Random(3), "no range"),
            (SettingValues::Linear(0.0, f64::NAN), SearchStrategy::Random(3), "no range"),
            (SettingValues::Logarithmic(0.0, 1.0), SearchStrategy::Random(3), "no logarithm"),
            (SettingValues::Whole(3, 3), SearchStrategy::Random(3), "no range"),
            (SettingValues::Whole(1, 3), SearchStrategy::Grid, "a range"),
            (SettingValues::List(vec![json!(1), json!(1)]), SearchStrategy::Grid, "twice"),
            (list(3), SearchStrategy::Random(0), "no candidate"),
            (list(1_000_000), SearchStrategy::Grid, "too many"),
        ] {
            let error = draw_candidates(&[dimension("k", values)], choice, 1).unwrap_err();
            assert!(error.to_string().contains(says), "{error}");
            assert!(error.hint().is_some());
        }
        assert!(draw_candidates(&[], SearchStrategy::Grid, 1).is_err());
        let twice = [dimension("k", list(2)), dimension("k", list(2))];
        assert!(
            draw_candidates(&twice, SearchStrategy::Grid, 1).unwrap_err().to_string().contains("tried twice")
        );
    }
}
