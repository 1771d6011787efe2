//! Values handed to a program, and the one place that knows what they mean.

use crate::cpu::Cpu;
use crate::error::{Error, Result};
use crate::graph::Input;
use crate::graph::ops::count;
use crate::kernels::Real;
use crate::kernels::versions::vectorised;
use crate::table::RowTable;

/// A value handed to a program at a run.
#[derive(Clone, Copy, Debug)]
pub enum Feed<'a, T> {
    /// One value per replica, replicas one after the other: `[R, ..]`.
    Each(&'a [T]),
    /// The same value for every replica.
    Shared(&'a [T]),
    /// Rows of a resident data set `[N, ..]`, picked for each replica: `rows` is `[R, B]`.
    Rows {
        /// The data set.
        data: &'a [T],
        /// Which rows, per replica.
        rows: &'a [u32],
    },
    /// The same from a table, which a GPU gets once and keeps.
    Table {
        /// The data set.
        table: &'a RowTable<'a, T>,
        /// Which rows, per replica.
        rows: &'a [u32],
    },
    /// Rows from anywhere, `[R, B]` of them.
    Slices(&'a [&'a [T]]),
    /// Labels per replica, `[R, B]`.
    Labels(&'a [u32]),
    /// The same labels for every replica, `[B]`.
    SharedLabels(&'a [u32]),
    /// Labels `[N]` of a resident data set, picked as with `Rows`.
    LabelRows {
        /// The labels of the data set.
        data: &'a [u32],
        /// Which, per replica.
        rows: &'a [u32],
    },
}

/// Where the rows of a feed stand.
#[derive(Clone, Copy)]
enum Data<'a, T> {
    Values(&'a [T]),
    Labels(&'a [u32]),
    Slices(&'a [&'a [T]]),
    Table(&'a RowTable<'a, T>),
}

/// Which of them a replica gets.
#[derive(Clone, Copy)]
enum Pick<'a> {
    /// The next ones, replica after replica.
    InTurn,
    /// The same for all.
    Same,
    /// Those that are named.
    Rows(&'a [u32]),
}

/// A feed beside the input it is for: every feed is some data and a way to pick from it.
#[derive(Clone, Copy)]
pub(crate) struct InputFeed<'a, T> {
    input: &'a Input,
    data: Data<'a, T>,
    pick: Pick<'a>,
    /// Rows of the input, and numbers in each.
    batch: usize,
    row: usize,
}

/// Checks that every input a program needs is handed in once and fits, and that nothing else is.
pub(crate) fn check<'a, T: Real>(
    feeds: &[(&str, Feed<'_, T>)],
    declared: &[String],
    needed: impl Iterator<Item = &'a Input>,
    replicas: usize,
) -> Result<()> {
    for (i, (name, _)) in feeds.iter().enumerate() {
        let wrong = |message: String| Err(Error::Input { name: (*name).into(), message });
        if feeds[..i].iter().any(|(n, _)| n == name) {
            return wrong("is given twice".into());
        }
        if !declared.iter().any(|d| d == name) {
            return wrong(format!("is not an input of this network; it has {}", declared.join(", ")));
        }
    }
    for input in needed {
        InputFeed::find(input, feeds)?.check(replicas)?;
    }
    Ok(())
}

impl<'a, T: Real> InputFeed<'a, T> {
    /// What an input is fed with.
    pub(crate) fn find(input: &'a Input, feeds: &'a [(&str, Feed<'a, T>)]) -> Result<InputFeed<'a, T>> {
        let missing =
            || Error::Input { name: input.name.clone(), message: "is needed and was not given".into() };
        let (_, feed) = feeds.iter().find(|(n, _)| *n == input.name).ok_or_else(missing)?;
        let (data, pick) = match *feed {
            Feed::Each(values) => (Data::Values(values), Pick::InTurn),
            Feed::Shared(values) => (Data::Values(values), Pick::Same),
            Feed::Rows { data, rows } => (Data::Values(data), Pick::Rows(rows)),
            Feed::Table { table, rows } => (Data::Table(table), Pick::Rows(rows)),
            Feed::Slices(rows) => (Data::Slices(rows), Pick::InTurn),
            Feed::Labels(labels) => (Data::Labels(labels), Pick::InTurn),
            Feed::SharedLabels(labels) => (Data::Labels(labels), Pick::Same),
            Feed::LabelRows { data, rows } => (Data::Labels(data), Pick::Rows(rows)),
        };
        let batch = input.shape.first().copied().unwrap_or(1);
        let row = count(input.shape.get(1..).unwrap_or_default());
        Ok(InputFeed { input, data, pick, batch, row })
    }

    fn wrong(&self, message: String) -> Result<()> {
        Err(Error::Input { name: self.input.name.clone(), message })
    }

    /// Refuses what does not fit the input.
    fn check(&self, replicas: usize) -> Result<()> {
        let (InputFeed { batch, row, .. }, shape) = (*self, &self.input.shape);
        match (self.input.classes, self.data) {
            (Some(_), Data::Labels(_)) | (None, Data::Values(_) | Data::Slices(_) | Data::Table(_)) => {}
            (Some(_), _) => return self.wrong("wants labels, got real numbers".into()),
            (None, _) => {
                self.check_numbers(replicas)?;
                return self.wrong("is real-valued, got labels".into());
            }
        }
        match self.data {
            Data::Table(table) if table.row_length() != row => {
                let n = table.row_length();
                return self.wrong(format!("rows have {row} values ({shape:?}), those of the table {n}"));
            }
            Data::Slices(rows) => {
                if rows.len() != batch * replicas {
                    return self.wrong(format!("wants {replicas} x {batch} rows, got {}", rows.len()));
                }
                return match rows.iter().find(|own| own.len() != row) {
                    Some(own) => {
                        self.wrong(format!("rows have {row} values ({shape:?}), one has {}", own.len()))
                    }
                    None => Ok(()),
                };
            }
            _ => {}
        }
        self.check_numbers(replicas)?;
        match (self.data, self.pick) {
            (Data::Labels(labels), Pick::Rows(rows)) => {
                rows.iter().try_for_each(|r| self.check_labels(&labels[*r as usize * row..][..row]))
            }
            (Data::Labels(labels), _) => self.check_labels(labels),
            _ => Ok(()),
        }
    }

    /// Refuses data of another length, and numbers of rows that there are not.
    fn check_numbers(&self, replicas: usize) -> Result<()> {
        let (InputFeed { batch, row, .. }, shape) = (*self, &self.input.shape);
        let n = match self.data {
            Data::Values(values) => values.len(),
            Data::Labels(labels) => labels.len(),
            Data::Slices(rows) => rows.len() * row,
            Data::Table(table) => table.numbers() * row,
        };
        let copies = match self.pick {
            Pick::InTurn => replicas,
            Pick::Same => 1,
            Pick::Rows(rows) => {
                if rows.len() != batch * replicas {
                    return self.wrong(format!("wants {replicas} x {batch} row numbers, got {}", rows.len()));
                }
                if !n.is_multiple_of(row) {
                    return self.wrong(format!(
                        "rows have {row} values ({shape:?}), the data set of {n} is no multiple"
                    ));
                }
                return match rows.iter().find(|r| **r as usize >= n / row) {
                    Some(r) => self.wrong(format!("row {r} was asked for, the data set has {}", n / row)),
                    None => Ok(()),
                };
            }
        };
        let all = batch * row * copies;
        if n == all {
            return Ok(());
        }
        self.wrong(format!("has the shape {shape:?} for {copies} replicas ({all} values), got {n}"))
    }

    fn check_labels(&self, labels: &[u32]) -> Result<()> {
        let classes = self.input.classes.unwrap_or_default();
        match labels.iter().find(|l| **l as usize >= classes) {
            Some(l) => self.wrong(format!("label {l} is not below the number of classes, {classes}")),
            None => Ok(()),
        }
    }

    /// Numbers that a replica gets.
    pub(crate) fn length(&self) -> usize {
        self.batch * self.row
    }

    /// Whether all replicas get the same.
    pub(crate) fn is_shared(&self) -> bool {
        matches!(self.pick, Pick::Same)
    }

    /// The table that rows are picked from, where there is one.
    pub(crate) fn table(&self) -> Option<&'a RowTable<'a, T>> {
        if let Data::Table(table) = self.data { Some(table) } else { None }
    }

    /// The numbers of a replica's rows, where they are picked.
    pub(crate) fn rows(&self, replica: usize) -> &'a [u32] {
        if let Pick::Rows(rows) = self.pick { &rows[replica * self.batch..][..self.batch] } else { &[] }
    }

    /// Copies what a replica gets, and refuses what is not a finite number.
    pub(crate) fn copy(&self, cpu: &Cpu, replica: usize, to: &mut [T]) -> Result<()> {
        let InputFeed { batch, row, .. } = *self;
        let to = &mut to[..batch * row];
        let label = |to: &mut [T], labels: &[u32]| {
            to.iter_mut().zip(labels).for_each(|(to, &l)| *to = T::of(f64::from(l)));
        };
        // Where the replica's rows begin, if they stand one after the other.
        let first = if self.is_shared() { 0 } else { replica * batch };
        let (rows, work) = (self.rows(replica), batch * row);
        match (self.data, self.pick) {
            (Data::Values(data), Pick::Rows(_)) => {
                cpu.pieces(to, row, work, |i, to| to.copy_from_slice(&data[rows[i] as usize * row..][..row]));
            }
            (Data::Values(data), _) => to.copy_from_slice(&data[first * row..][..work]),
            (Data::Slices(data), _) => {
                cpu.pieces(to, row, work, |i, to| to.copy_from_slice(data[first + i]));
            }
            (Data::Table(table), _) => {
                cpu.pieces(to, row, work, |i, to| table.copy(rows[i], to));
                return Ok(()); // looked at when the table was made
            }
            (Data::Labels(data), Pick::Rows(_)) => {
                for (to, &r) in to.chunks_exact_mut(row.max(1)).zip(rows) {
                    label(to, &data[r as usize * row..]);
                }
                return Ok(());
            }
            (Data::Labels(data), _) => {
                label(to, &data[first * row..]);
                return Ok(());
            }
        }
        let bad = vectorised(
            cpu.isa(),
            #[inline(always)]
            || to.iter().fold(false, |bad, v| bad | !v.finite()),
        );
        // The fast look says whether, the slow one where.
        let found = if bad { to.iter().position(|v| !v.finite()) } else { None };
        match found {
            None => Ok(()),
            Some(at) => self.wrong(format!(
                "value {at} of replica {replica} ({:?}) is {}, not a finite number",
                self.input.shape, to[at]
            )),
        }
    }
}
