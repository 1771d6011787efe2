//! Results that may stand in one table, and what a paper says of them.

use crate::splits::Transfer;
use serde::Serialize;

use crate::metrics::{Metric, metric};
use crate::paired::PairedDifference;
use crate::phrases;
use crate::plan::{PaperColumn, Plan, PublishedValue};
use crate::summary::{Spread, Summary};
use crate::table::{Column, Table};
use crate::tables;

/// Results of the same data, divided alike, with the same sessions and runs for training and test, with as many trials set aside.
#[derive(Serialize)]
pub struct ResultGroup {
    /// What the data are called.
    pub data: String,
    /// How subjects were divided.
    pub protocol: String,
    /// The sessions and runs of training and of test.
    pub transfer: Transfer,
    /// Trials of each class that are not scored because decoders may be tuned with them.
    pub set_aside: Option<usize>,
    /// One for each decoder.
    #[serde(skip)]
    pub summaries: Vec<Summary>,
    /// Every decoder against the first.
    pub comparisons: Vec<PairedDifference>,
    /// Variants against the plain one of the same model, where several models have them.
    pub variants: Vec<PairedDifference>,
}

/// A published value and one of ours beside it.
#[derive(Serialize)]
pub struct PublishedCell<'a> {
    /// As in the paper.
    pub method: &'a str,
    /// The column of the paper's table.
    pub column: &'a str,
    /// What it says there.
    pub published_percent: PublishedValue,
    /// The row of ours; none where there is none.
    pub model: Option<&'a str>,
    /// The metric of ours.
    pub metric: &'a str,
    /// The data of ours.
    pub data: Option<&'a str>,
    /// The sessions and runs of ours.
    pub transfer: Option<&'a Transfer>,
    /// Labelled trials of each class that were adapted to.
    pub shots: Option<usize>,
    /// Our mean over subjects.
    pub mean: Option<f64>,
    /// Its standard deviation over subjects.
    pub sd_subjects: Option<f64>,
}

impl ResultGroup {
    /// The groups, in the order in which they are first met, each with all models compared with its first one.
    pub fn of(summaries: &[Summary], metrics: &[&'static Metric]) -> Vec<ResultGroup> {
        let mut groups: Vec<ResultGroup> = vec![];
        for summary in summaries {
            let own = ResultGroup::alone(summary);
            let alike = |g: &&mut ResultGroup| {
                let key =
                    |g: &ResultGroup| (g.data.clone(), g.protocol.clone(), g.transfer.clone(), g.set_aside);
                key(g) == key(&own)
            };
            match groups.iter_mut().find(alike) {
                Some(group) => group.summaries.extend(own.summaries),
                None => groups.push(own),
            }
        }
        groups.iter_mut().for_each(|group| group.compare(metrics));
        groups
    }

    fn alone(summary: &Summary) -> ResultGroup {
        ResultGroup {
            data: summary.data.clone(),
            protocol: summary.protocol.clone(),
            transfer: Transfer {
                trained_on: summary.trained_on.clone().unwrap_or_default(),
                tested: summary.tested.clone().unwrap_or_default(),
            },
            set_aside: summary.adapt.map(|few| few.set_aside),
            summaries: vec![summary.clone()],
            comparisons: vec![],
            variants: vec![],
        }
    }

    /// Whether subjects were divided and parts of recordings taken in the same way, whatever the data.
    pub fn is_like(&self, other: &ResultGroup) -> bool {
        (&self.transfer, self.set_aside) == (&other.transfer, other.set_aside)
    }

    /// The summaries under the names they have in the table.
    pub fn named(&self) -> Vec<Summary> {
        let all = &self.summaries;
        let named = |s: &Summary| Summary {
            model: phrases::name(s, all),
            variant: None,
            trained_on: None,
            tested: None,
            ..s.clone()
        };
        all.iter().map(named).collect()
    }

    /// Rows are compared under the names they have in the table.
    fn compare(&mut self, metrics: &[&'static Metric]) {
        let named = self.named();
        self.comparisons =
            metrics.iter().flat_map(|m| PairedDifference::against_first(&named, m.name)).collect();
        if self.summaries.iter().any(|s| s.model != self.summaries[0].model) {
            self.variants =
                metrics.iter().flat_map(|m| PairedDifference::against_own(&self.summaries, m.name)).collect();
        }
    }

    /// What is the same for all rows.
    pub fn title(&self) -> String {
        let mut title = self.data.clone();
        if let Some(from) = self.protocol.strip_prefix("across:") {
            title += &format!(", decoders of {from}");
        }
        if self.transfer != Transfer::default() {
            let Transfer { trained_on, tested } = &self.transfer;
            title += &format!(", trained on {trained_on}, tested on {tested}");
        }
        if let Some(n) = self.set_aside {
            let trials = phrases::count(n, "trial");
            title += &format!(", the first {trials} of each class set aside for few-shot adaptation");
        }
        title
    }

    /// Everything about the group, by name: the models, whether they differ from the first one, what their variants are worth, and what a paper says.
    pub fn tables(&self, plan: &Plan) -> Vec<(&'static str, Table)> {
        let mut all =
            vec![("Scores", tables::summaries_by(&self.summaries, &plan.table_metrics(&self.summaries)))];
        for (name, pairs, table) in [
            ("Against the first", &self.comparisons, tables::comparisons as fn(&[PairedDifference]) -> Table),
            ("Variants against the same decoder", &self.variants, tables::variants),
        ] {
            if let Some(first) = pairs.first() {
                let shown: Vec<PairedDifference> =
                    pairs.iter().filter(|pair| pair.metric == first.metric).cloned().collect();
                all.push((name, table(&shown)));
            }
        }
        let columns: Vec<&PaperColumn> = plan.paper.iter().filter(|column| self.is_meant(column)).collect();
        if !columns.is_empty() {
            all.push(("Published beside ours", beside(plan, Some(self), &columns)));
        }
        all
    }

    /// The same in words.
    pub fn text(&self, plan: &Plan) -> String {
        self.tables(plan).iter().map(|(_, table)| table.to_string()).collect::<Vec<_>>().join("\n")
    }

    /// Whether a column of a paper is about results like these.
    fn is_meant(&self, column: &PaperColumn) -> bool {
        column.data.as_ref().is_none_or(|data| *data == self.data)
            && column.transfer.as_ref().is_none_or(|transfer| *transfer == self.transfer)
            && column.shots.is_some() == self.set_aside.is_some()
    }

    /// Our value for a column.
    fn ours(&self, name: &str, column: &PaperColumn) -> Option<&Spread> {
        let called = |s: &Summary| Summary { trained_on: None, tested: None, ..s.clone() }.display_name();
        let own = self
            .summaries
            .iter()
            .find(|s| s.adapt.map(|few| few.shots) == column.shots && called(s) == name)?;
        own.metric(&column.metric).filter(|spread| spread.mean.is_finite())
    }
}

/// Columns of the paper that none of our results stands beside, in words; nothing where there are none.
pub(super) fn left_over(plan: &Plan, groups: &[ResultGroup]) -> Option<Table> {
    let columns: Vec<&PaperColumn> =
        plan.paper.iter().filter(|column| !groups.iter().any(|group| group.is_meant(column))).collect();
    (!columns.is_empty()).then(|| beside(plan, None, &columns))
}

/// Methods of the paper in the order of our rows, those without any at the end; each with the rows it stands beside.
fn methods<'a>(plan: &'a Plan, columns: &[&'a PaperColumn]) -> Vec<(&'a str, &'a [String])> {
    let entries = plan.entries();
    let order: Vec<String> =
        entries.iter().map(|e| phrases::with_variant(&e.model, e.name.as_deref())).collect();
    let mut all: Vec<&str> = columns.iter().flat_map(|c| c.values.keys().map(String::as_str)).collect();
    all.sort_unstable();
    all.dedup();
    let mut all: Vec<(&str, &[String])> =
        all.into_iter().map(|name| (name, plan.beside.get(name).map_or(&[][..], Vec::as_slice))).collect();
    all.sort_by_key(|(_, ours)| {
        ours.iter().filter_map(|name| order.iter().position(|o| o == name)).min().unwrap_or(usize::MAX)
    });
    all
}

/// The published values and ours side by side.
fn beside(plan: &Plan, group: Option<&ResultGroup>, columns: &[&PaperColumn]) -> Table {
    let mut heads = vec![Column::text("published"), Column::text("ours")];
    for column in columns {
        let short = metric(&column.metric).map_or("", |metric| metric.short);
        heads.push(Column::number(format!("published {}", column.column)));
        heads.push(Column::number(format!("our {short}")));
    }
    let mut rows = vec![];
    for (method, names) in methods(plan, columns) {
        let found = |name: &&String| {
            group.is_some_and(|group| columns.iter().any(|column| group.ours(name, column).is_some()))
        };
        let mut shown: Vec<Option<&String>> = names.iter().filter(found).map(Some).collect();
        if shown.is_empty() {
            shown.push(None);
        }
        for name in shown {
            let mut row = vec![method.to_string(), name.map_or("-".into(), String::clone)];
            for column in columns {
                let ours = name.zip(group).and_then(|(name, group)| group.ours(name, column));
                row.push(column.values.get(method).map_or("-".into(), PublishedValue::to_string));
                row.push(ours.map_or("-".into(), |spread| in_brackets(&column.metric, spread)));
            }
            rows.push(row);
        }
    }
    let note = "Published values beside ours, in percent. Ours are the mean over subjects and, in brackets, the SD over subjects. A dash means that there is no value.";
    Table { columns: heads, rows, note: note.into() }
}

/// `71.9 (13.2)`
fn in_brackets(metric: &str, spread: &Spread) -> String {
    let mean = phrases::value(metric, spread.mean);
    spread.sd_subjects.map_or(mean.clone(), |sd| format!("{mean} ({})", phrases::value(metric, sd)))
}

/// Every published value with every one of ours it stands beside.
pub(super) fn cells<'a>(plan: &'a Plan, groups: &'a [ResultGroup]) -> Vec<PublishedCell<'a>> {
    let mut cells = vec![];
    for column in &plan.paper {
        let meant: Vec<&ResultGroup> = groups.iter().filter(|group| group.is_meant(column)).collect();
        for (method, names) in methods(plan, &[column]) {
            let cell = PublishedCell {
                method,
                column: &column.column,
                published_percent: column.values[method],
                model: None,
                metric: &column.metric,
                data: column.data.as_deref(),
                transfer: column.transfer.as_ref(),
                shots: column.shots,
                mean: None,
                sd_subjects: None,
            };
            let ours = meant.iter().flat_map(|group| {
                names.iter().filter_map(|name| Some((*group, name, group.ours(name, column)?)))
            });
            let before = cells.len();
            cells.extend(ours.map(|(group, name, spread)| PublishedCell {
                model: Some(name),
                data: Some(&group.data),
                transfer: Some(&group.transfer),
                mean: Some(spread.mean),
                sd_subjects: spread.sd_subjects,
                ..cell
            }));
            if cells.len() == before {
                cells.push(cell);
            }
        }
    }
    cells
}

/// Published values beside ours, as a table for a file.
pub(super) fn cells_table(cells: &[PublishedCell<'_>]) -> Table {
    let columns = [
        "method",
        "column",
        "published %",
        "ours",
        "metric",
        "data",
        "sessions and runs",
        "shots",
        "mean %",
        "SD over subjects",
    ];
    let percent = |x: Option<f64>| x.map_or_else(String::new, |x| format!("{:.2}", 100.0 * x));
    let rows = cells.iter().map(|cell| {
        vec![
            cell.method.into(),
            cell.column.into(),
            cell.published_percent.to_string(),
            cell.model.unwrap_or_default().into(),
            cell.metric.into(),
            cell.data.unwrap_or_default().into(),
            cell.transfer.map_or_else(String::new, Transfer::to_string),
            cell.shots.map_or_else(String::new, |shots| shots.to_string()),
            percent(cell.mean),
            percent(cell.sd_subjects),
        ]
    });
    Table { columns: columns.map(Column::text).to_vec(), rows: rows.collect(), note: String::new() }
}
