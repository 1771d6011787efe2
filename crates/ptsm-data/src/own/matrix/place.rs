//! Where a value is in a MATLAB file, written as in MATLAB: `EEG.data`, `data{1,3}.X`, `runs(2).y`, `y(9,:)`. Counting begins with 1.

use std::fmt;
use std::path::Path;

use ptsm_io::mat::{MatFile, Value};

use crate::error::{Error, Result};

/// The way to a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct ValuePlace {
    variable: String,
    steps: Vec<Step>,
}

/// One step of it.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    /// `.name`
    Field(String),
    /// `{1,3}`, or `(2)` of structs, counted from 1 as they are written.
    Element(Vec<usize>),
    /// `(9,:)` of numbers.
    RecordingPart(Vec<Indices>),
}

/// Which rows, columns and so on, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Indices {
    /// `:`
    All,
    /// `9`
    One(usize),
    /// `end`
    Last,
    /// `1:8` or `2:end`
    Range(usize, Option<usize>),
}

impl Indices {
    /// As places counted from 0, of so many.
    pub(super) fn of(self, count: usize) -> Option<Vec<usize>> {
        let (first, last) = match self {
            Indices::All => (1, count),
            Indices::One(one) => (one, one),
            Indices::Last => (count, count),
            Indices::Range(first, last) => (first, last.unwrap_or(count)),
        };
        (first >= 1 && last <= count && first <= last).then(|| (first - 1..last).collect())
    }

    fn parse(text: &str) -> Option<Indices> {
        let number = |text: &str| text.trim().parse::<usize>().ok().filter(|&number| number > 0);
        match text.trim() {
            ":" => Some(Indices::All),
            "end" => Some(Indices::Last),
            text => match text.split_once(':') {
                None => number(text).map(Indices::One),
                Some((first, last)) if last.trim() == "end" => Some(Indices::Range(number(first)?, None)),
                Some((first, last)) => Some(Indices::Range(number(first)?, Some(number(last)?))),
            },
        }
    }
}

impl fmt::Display for Indices {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Indices::All => f.write_str(":"),
            Indices::One(one) => write!(f, "{one}"),
            Indices::Last => f.write_str("end"),
            Indices::Range(first, Some(last)) => write!(f, "{first}:{last}"),
            Indices::Range(first, None) => write!(f, "{first}:end"),
        }
    }
}

impl fmt::Display for ValuePlace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.variable)?;
        let list = |all: Vec<String>| all.join(",");
        for step in &self.steps {
            match step {
                Step::Field(name) => write!(f, ".{name}")?,
                Step::Element(at) => write!(f, "{{{}}}", list(at.iter().map(usize::to_string).collect()))?,
                Step::RecordingPart(part) => {
                    write!(f, "({})", list(part.iter().map(Indices::to_string).collect()))?
                }
            }
        }
        Ok(())
    }
}

impl ValuePlace {
    /// Understands what a person wrote; none where nobody can.
    pub(in super::super) fn parse(text: &str) -> Option<ValuePlace> {
        let end_of_name = |text: &str| text.find(['.', '{', '(']).unwrap_or(text.len());
        let (variable, mut rest) = text.trim().split_at(end_of_name(text.trim()));
        let mut steps = vec![];
        while let Some(sign) = rest.chars().next() {
            let behind = &rest[1..];
            if sign == '.' {
                let (name, more) = behind.split_at(end_of_name(behind));
                steps.push(Step::Field(Some(name.trim()).filter(|name| !name.is_empty())?.to_string()));
                rest = more;
                continue;
            }
            let (inside, more) = behind.split_once(if sign == '{' { '}' } else { ')' })?;
            let list: Vec<Indices> = inside.split(',').map(Indices::parse).collect::<Option<_>>()?;
            let numbers = || -> Option<Vec<usize>> {
                list.iter().map(|one| if let Indices::One(one) = one { Some(*one) } else { None }).collect()
            };
            // Parentheses in front of a field are an element of structs.
            let element = sign == '{' || more.starts_with(['.', '{']);
            steps.push(if element { Step::Element(numbers()?) } else { Step::RecordingPart(list) });
            rest = more;
        }
        (!variable.trim().is_empty()).then(|| ValuePlace { variable: variable.trim().to_string(), steps })
    }

    /// The variable it begins with.
    pub(in super::super) fn variable(&self) -> &str {
        &self.variable
    }

    /// The way to what is inside of this one.
    pub(super) fn inside(&self, inner: &ValuePlace) -> ValuePlace {
        let field = std::iter::once(Step::Field(inner.variable.clone()));
        let steps = self.steps.iter().cloned().chain(field).chain(inner.steps.iter().cloned());
        ValuePlace { variable: self.variable.clone(), steps: steps.collect() }
    }

    /// Where this is one row or column of another: which dimension, and which of it, counted from 0.
    pub(super) fn row_of(&self, whole: &ValuePlace, dims: &[usize]) -> Option<(usize, usize)> {
        let (Step::RecordingPart(part), before) = self.steps.split_last()? else { return None };
        if self.variable != whole.variable || before != whole.steps || part.len() != dims.len() {
            return None;
        }
        let single = |at: &usize| matches!(part[*at], Indices::One(_) | Indices::Last);
        let mut singles = (0..part.len()).filter(single);
        let (dim, None) = (singles.next()?, singles.next()) else { return None };
        Some((dim, *part[dim].of(dims[dim])?.first()?))
    }

    /// Reads the value.
    pub(in super::super) fn read(&self, file: &MatFile, path: &Path) -> Result<Value> {
        let fields: Vec<&str> = self.fields().collect();
        // Fields beside the way to the wanted one cost nothing.
        let on_the_way = |at: &[&str]| at.iter().zip(&fields).all(|(a, b)| a == b);
        self.follow(file.read_some(&self.variable, &on_the_way)?, path)
    }

    /// Its sizes, without reading numbers.
    pub(super) fn dims(&self, file: &MatFile, path: &Path) -> Result<Vec<usize>> {
        Ok(self.follow(file.read_sizes(&self.variable)?, path)?.dims())
    }

    fn fields(&self) -> impl Iterator<Item = &str> {
        self.steps.iter().filter_map(|step| match step {
            Step::Field(name) => Some(name.as_str()),
            _ => None,
        })
    }

    /// Goes the way through a variable.
    pub(super) fn follow(&self, mut value: Value, path: &Path) -> Result<Value> {
        let mut so_far = ValuePlace { variable: self.variable.clone(), steps: vec![] };
        for step in &self.steps {
            value = take_step(value, step).map_err(|(message, hint)| Error::Content {
                path: path.to_path_buf(),
                message: format!("has no `{self}`: `{so_far}` {message}"),
                hint: Some(hint),
            })?;
            so_far.steps.push(step.clone());
        }
        Ok(value)
    }
}

/// One step into a value. What does not fit is told with what to do.
fn take_step(value: Value, step: &Step) -> Result<Value, (String, String)> {
    let kind = described(&value);
    let count = value.count();
    match (step, value) {
        (Step::Field(name), Value::Struct { fields, values, .. }) => {
            let Some(at) = fields.iter().position(|field| field == name) else {
                return Err((format!("has the fields `{}`", fields.join("`, `")), "name one of them".into()));
            };
            if count != 1 {
                let hint = format!("name one of them: `(1).{name}` is the first");
                return Err((format!("is {count} structs"), hint));
            }
            Ok(values.into_iter().nth(at).unwrap_or(Value::LeftOut))
        }
        (Step::Element(at), Value::Cell { dims, values }) => match linear(at, &dims) {
            Some(at) => Ok(values.into_iter().nth(at).unwrap_or(Value::LeftOut)),
            None => Err((format!("is {kind}"), "counting begins with 1".into())),
        },
        (Step::Element(at), Value::Struct { dims, fields, values }) => match linear(at, &dims) {
            Some(at) => {
                let values = values.into_iter().skip(at * fields.len()).take(fields.len()).collect();
                Ok(Value::Struct { dims: vec![1, 1], fields, values })
            }
            None => Err((format!("is {kind}"), "counting begins with 1".into())),
        },
        (Step::RecordingPart(part), value) => {
            let dims = value.dims();
            let lists: Option<Vec<Vec<usize>>> = (part.len() == dims.len())
                .then(|| part.iter().zip(&dims).map(|(part, &count)| part.of(count)).collect())
                .flatten();
            let Some(lists) = lists else {
                let hint = "counting begins with 1, `:` is all of a dimension and `end` the last";
                return Err((format!("is {kind}"), hint.into()));
            };
            let sizes: Vec<usize> = lists.iter().map(Vec::len).collect();
            match value {
                Value::Sizes(_) => Ok(Value::Sizes(sizes)),
                Value::Array { real, imaginary: None, .. } => {
                    let numbers = real.to_f64();
                    let picked = offsets(&dims, &lists).into_iter().map(|at| numbers[at]).collect();
                    Ok(Value::matrix(sizes, picked))
                }
                _ => Err((format!("is {kind}"), "parts are taken of real numbers".into())),
            }
        }
        (Step::Field(name), _) => {
            Err((format!("is {kind}"), format!("only structs have fields such as `{name}`")))
        }
        (Step::Element(_), _) => Err((format!("is {kind}"), "only cells and structs have elements".into())),
    }
}

/// Where the numbers at some places of each dimension are, the first dimension running fastest.
fn offsets(dims: &[usize], lists: &[Vec<usize>]) -> Vec<usize> {
    let mut all = vec![0];
    let mut stride: usize = dims.iter().product();
    for (list, &count) in lists.iter().zip(dims).rev() {
        stride /= count.max(1);
        // Later dimensions run slower: they are the outer ones.
        all = all.iter().flat_map(|&outer| list.iter().map(move |&at| outer + at * stride)).collect();
    }
    all
}

/// The place of an element, counted from 0; indices count from 1.
fn linear(at: &[usize], dims: &[usize]) -> Option<usize> {
    let count: usize = dims.iter().product();
    match at {
        [one] => one.checked_sub(1).filter(|&at| at < count),
        several if several.len() == dims.len() => {
            several.iter().zip(dims).rev().try_fold(0, |sum, (&at, &count)| {
                Some(sum * count + at.checked_sub(1).filter(|&at| at < count)?)
            })
        }
        _ => None,
    }
}

/// What a value is, for messages.
pub(in super::super) fn described(value: &Value) -> String {
    let sizes = sizes(&value.dims());
    match value {
        Value::Array { .. } | Value::Sizes(_) => sizes,
        Value::Text(rows) if rows.len() == 1 => "text".into(),
        Value::Text(rows) => format!("{} texts", rows.len()),
        Value::Cell { .. } => format!("{sizes} cells"),
        Value::Struct { fields, .. } => {
            format!("{sizes} struct of {}", fields.iter().take(12).cloned().collect::<Vec<_>>().join(", "))
        }
        Value::Sparse { .. } => format!("{sizes}, sparse"),
        Value::LeftOut => "not read".into(),
        Value::Opaque(what) => what.clone(),
    }
}

/// `40 x 64 x 512`
pub(in super::super) fn sizes(dims: &[usize]) -> String {
    dims.iter().map(usize::to_string).collect::<Vec<_>>().join(" x ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn follow(value: &Value, place: &str) -> Result<Value> {
        ValuePlace::parse(place).unwrap().follow(value.clone(), Path::new("a.mat"))
    }

    #[test]
    fn places_are_written_as_in_matlab() {
        for place in [
            "y",
            "a.b.c",
            "data{1,3}.X",
            "data{3}.X",
            "y(9,:)",
            "y(:,end)",
            "y(1:8,:)",
            "c{2}{1}",
            "s{2}.y(2:end,:)",
        ] {
            assert_eq!(ValuePlace::parse(place).unwrap().to_string(), place);
        }
        // An element of structs may be written either way.
        assert_eq!(ValuePlace::parse("data(3).X"), ValuePlace::parse("data{3}.X"));
        for wrong in ["", ".a", "a.", "a{0}", "a{:}", "a{1", "a(x)", "a()", "a(0,:)", "a{1}b"] {
            assert_eq!(ValuePlace::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_way_leads_through_cells_and_structs() {
        let record = |x: f64| {
            Value::record(vec![
                ("X", Value::row(vec![x])),
                ("z", Value::record(vec![("t", Value::row(vec![-x]))])),
            ])
        };
        let cells = Value::Cell { dims: vec![1, 3], values: [1.0, 2.0, 3.0].map(record).to_vec() };
        for (place, number) in [("d{1,3}.X", 3.0), ("d{2}.X", 2.0), ("d{2}.z.t", -2.0)] {
            assert_eq!(follow(&cells, place).unwrap().number(), Some(number), "{place}");
        }
        let structs = Value::Struct {
            dims: vec![1, 2],
            fields: vec!["a".into(), "b".into()],
            values: [1.0, 2.0, 3.0, 4.0].map(|x| Value::row(vec![x])).to_vec(),
        };
        assert_eq!(follow(&structs, "s(2).a").unwrap().number(), Some(3.0));
        for (value, place, says) in [
            (&cells, "d{4}.X", "has no `d{4}.X`: `d` is 1 x 3 cells"),
            (&cells, "d{2,1}.X", "`d` is 1 x 3 cells"),
            (&cells, "d{2}.Y", "`d{2}` has the fields `X`, `z`"),
            (&cells, "d.X", "`d` is 1 x 3 cells"),
            (&structs, "s.a", "`s` is 2 structs"),
            (&structs, "s(3).a", "`s` is 1 x 2 struct of a, b"),
        ] {
            let error = follow(value, place).unwrap_err();
            assert!(error.to_string().contains(says) && error.hint().is_some(), "{place}: {error}");
        }
    }

    #[test]
    fn rows_and_columns_count_from_one() {
        // 2 x 3: rows 1 3 5 and 2 4 6.
        let y = Value::matrix(vec![2, 3], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        let part = |place: &str| follow(&y, place).map(|value| (value.dims(), value.vector().unwrap()));
        assert_eq!(part("y(2,:)").unwrap(), (vec![1, 3], vec![2.0, 4.0, 6.0]));
        assert_eq!(part("y(:,end)").unwrap(), (vec![2, 1], vec![5.0, 6.0]));
        assert_eq!(part("y(:,2:end)").unwrap(), (vec![2, 2], vec![3.0, 4.0, 5.0, 6.0]));
        for wrong in ["y(3,:)", "y(:)", "y(2:1,:)", "y(:,:,1)"] {
            assert!(part(wrong).unwrap_err().to_string().contains("`y` is 2 x 3"), "{wrong}");
        }
        let sizes = Value::Sizes(vec![2, 3]);
        assert_eq!(follow(&sizes, "y(:,2:3)").unwrap(), Value::Sizes(vec![2, 2]));
        let place = |text: &str| ValuePlace::parse(text).unwrap();
        assert_eq!(place("y(2,:)").row_of(&place("y"), &[2, 3]), Some((0, 1)));
        assert_eq!(place("y(:,end)").row_of(&place("y"), &[2, 3]), Some((1, 2)));
        assert_eq!(place("z(2,:)").row_of(&place("y"), &[2, 3]), None);
        assert_eq!(place("y(1:2,:)").row_of(&place("y"), &[2, 3]), None);
        assert_eq!(place("a{2}").inside(&place("y(2,:)")).to_string(), "a{2}.y(2,:)");
    }
}
