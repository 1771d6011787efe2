//! `ptsm evaluate`

use std::collections::BTreeSet;
use std::path::Path;

use ptsm_data::SubjectList;
use ptsm_decode::registry::find;
use ptsm_decode::{Adaptation, EpochRecord, calibration};
use ptsm_eval::{Context, METRICS, Metric, Record, Summary, learning_curve, score};
use ptsm_explain::{Masks, masks};
use ptsm_report::{Column, Page, Table};
use ptsm_signal::{SubjectId, Subset, TargetAccess};
use serde_json::json;

use super::{Session, Trained};
use crate::args::{DataArgs, EvaluateArgs};
use crate::at_chance;
use crate::exit::told;
use crate::folder::{self, AdaptedFile, RunFile};
use crate::input::{Input, for_model};
use crate::output;
use crate::progress;
use crate::report::{self, Looked, Material};
use crate::words::{self, percent};

pub(super) fn run(args: &EvaluateArgs, session: &Session) -> anyhow::Result<()> {
    let asked = Asked::load(&args.run, &args.data, session)?;
    let people = asked.people(args.data.subjects.is_some())?;
    let shots = asked.shots(&args.run, &args.shots, &people)?;
    let records = asked.records(&people)?;
    let curve = asked.curve(&people, &shots, &Adaptation::from(&args.tuning), session)?;
    let summaries = Summary::of(&records)?;
    let few = Summary::of(&curve)?;
    if let Some(path) = &args.page {
        let page = page(args, &asked, &people, &records, &summaries, &few)?;
        output::write(path, page.html().as_bytes())?;
        session.output.note(format!("page: {}", path.display()));
    }
    let mut text = format!(
        "{}\n{}",
        summaries.iter().map(by_subject).map(|t| t.to_string()).collect::<String>(),
        words::summaries(&summaries)
    );
    if !few.is_empty() {
        text += &format!("\n{}", words::summaries(&few));
    }
    session.output.result(
        text,
        &json!({
            "records": records, "summary": summaries, "few_shot": { "records": curve, "summary": few },
            "at_chance": at_chance::of_decoders(&summaries),
        }),
    )?;
    at_chance::warn_of_decoders(&summaries, session.output);
    Ok(())
}

fn page(
    args: &EvaluateArgs,
    asked: &Asked,
    people: &Subset<'_>,
    records: &[Record],
    summaries: &[Summary],
    few: &[Summary],
) -> anyhow::Result<Page> {
    let material = Material {
        records: records.to_vec(),
        summaries: summaries.to_vec(),
        few: few.to_vec(),
        few_guarded: !args.tuning.no_guard,
        histories: asked.histories(&args.run),
        looked: Some(asked.looked(people)?),
        signals: ptsm_explain::signals(people),
        footer: format!("ptsm {} evaluate; data {}", env!("CARGO_PKG_VERSION"), asked.input.fingerprint),
        ..asked.material(people)
    };
    Ok(report::build(&material, &report::chosen(&[], false)?, false))
}

/// A run and trials for it.
pub(super) struct Asked {
    pub(super) run: RunFile,
    pub(super) trained: Trained,
    pub(super) input: Input,
}

impl Asked {
    pub(super) fn load(run: &Path, data: &DataArgs, session: &Session) -> anyhow::Result<Asked> {
        let file = folder::read(run)?;
        let trained = Trained::load(run, &session.device)?;
        let input = for_model(data, &file.data, &trained.card, true, session)?;
        Ok(Asked { run: file, trained, input })
    }

    /// Who is scored: those it has not learnt from; of an adapted run the later trials of the person it is adapted to.
    pub(super) fn people(&self, named: bool) -> anyhow::Result<Subset<'_>> {
        match &self.run.adapted {
            None => Ok(self.input.trials.of(&strangers(&self.run, &self.input, named)?)),
            Some(adapted) => adapted_to(adapted, &self.input),
        }
    }

    /// The same where everybody's trials are at hand and some may be named.
    pub(super) fn chosen(&self, named: Option<&SubjectList>) -> anyhow::Result<Subset<'_>> {
        let people = self.people(false)?;
        let Some(named) = named else { return Ok(people) };
        let wanted = self.input.choose(named)?;
        if let Some(other) = wanted.difference(&people.subjects()).next() {
            return Err(told(
                format!("the decoder was {} on {other}, or is adapted to somebody else", self.run.made()),
                "name other people, or nobody for all it may be scored on",
            ));
        }
        Ok(people.only(|t| wanted.contains(&t.subject)))
    }

    fn context(&self, seed: u64, target_access: TargetAccess) -> anyhow::Result<Context> {
        Ok(Context {
            data: self.input.name.clone(),
            model: self.trained.card.decoder.clone(),
            protocol: "trained on others".into(),
            variant: None,
            learnt: None,
            tested: None,
            target_access,
            shown: find(&self.trained.card.decoder)?.target_access,
            fold: 0,
            seed,
            precision: self.run.precision.clone(),
        })
    }

    /// Everybody's scores with every seed.
    pub(super) fn records(&self, people: &Subset<'_>) -> anyhow::Result<Vec<Record>> {
        let mut records = vec![];
        for (seed, fitted) in &self.trained.decoders {
            for (access, part) in self.run.access(&self.trained.card, &self.input, people) {
                records.extend(score(&**fitted, &part, &self.context(*seed, access)?)?);
            }
        }
        Ok(records)
    }

    /// Scores of everybody after tuning with so many trials of each class.
    pub(super) fn curve(
        &self,
        people: &Subset<'_>,
        shots: &[usize],
        how: &Adaptation,
        session: &Session,
    ) -> anyhow::Result<Vec<Record>> {
        let mut curve = vec![];
        if shots.is_empty() {
            return Ok(curve);
        }
        let subjects = people.subjects();
        let decoders = &self.trained.decoders;
        let bar = progress::counting(session.output, "adapting", decoders.len() * subjects.len());
        for (seed, fitted) in decoders {
            for &subject in &subjects {
                if session.stop.asked() {
                    return Err(ptsm_decode::Error::Stopped.into());
                }
                let person = people.only(|t| t.subject == subject);
                let context = self.context(*seed, self.trained.card.target_access)?;
                curve.extend(learning_curve(&**fitted, &person, shots, how, &context)?.records);
                bar.inc(1);
            }
        }
        Ok(curve)
    }

    /// Every epoch of training. An adapted run has no log.
    pub(super) fn histories(&self, run: &Path) -> Vec<(String, Vec<EpochRecord>)> {
        let log = std::fs::read_to_string(run.join(folder::LOG)).unwrap_or_default();
        let history = log.lines().filter_map(|l| serde_json::from_str(l).ok()).collect();
        vec![(self.trained.card.decoder.clone(), history)]
    }

    /// The masks: of all trials, of each class, with each seed.
    pub(super) fn looked(&self, people: &Subset<'_>) -> anyhow::Result<Looked> {
        let of = |people: &Subset<'_>| -> anyhow::Result<Vec<Vec<Masks>>> {
            let each = self.trained.decoders.iter().map(|(_, fitted)| masks(&**fitted, people));
            Ok(each.collect::<Result<_, _>>()?)
        };
        let seeds = of(people)?;
        let mut by_class = vec![];
        for (class, name) in (0..).zip(&self.trained.card.layout.classes) {
            let own = people.only(|t| t.label == class);
            if !own.is_empty() {
                by_class.push((name.clone(), report::mean_over_seeds(of(&own)?)));
            }
        }
        Ok(Looked { all: report::mean_over_seeds(seeds.clone()), by_class, seeds, nulls: vec![] })
    }

    /// What a page says about them, without any number.
    pub(super) fn material(&self, people: &Subset<'_>) -> Material {
        let card = &self.trained.card;
        Material {
            title: format!("{} on {}", card.decoder, self.input.name),
            subtitle: match &self.run.adapted {
                None => format!(
                    "Trained on {}, scored on {} whose labels it has never seen",
                    words::people(card.provenance.subjects),
                    words::people(people.subjects().len())
                ),
                Some(adapted) => format!(
                    "Adapted to {} by {} of each class, scored on later ones",
                    adapted.subject,
                    words::count(adapted.shots, "labelled trial")
                ),
            },
            notice: if self.input.truth.is_some() {
                "These people are simulated.".into()
            } else {
                String::new()
            },
            layout: Some(card.layout.clone()),
            truth: self.input.truth.clone(),
            ..Material::default()
        }
    }

    /// The numbers of shots, each once and in order, refused before hours of work where somebody has too few trials.
    pub(super) fn shots(
        &self,
        run: &Path,
        shots: &[usize],
        people: &Subset<'_>,
    ) -> anyhow::Result<Vec<usize>> {
        if shots.contains(&0) {
            return Err(told(
                "0 shots are too few to adapt to; the decoder as it is is scored anyway",
                "give at least one",
            ));
        }
        let shots: BTreeSet<usize> = shots.iter().copied().collect();
        let Some(&most) = shots.last() else { return Ok(vec![]) };
        super::adapts(&self.trained.card)?;
        if let Some(adapted) = &self.run.adapted {
            return Err(told(
                format!("{} is adapted to {} already", run.display(), adapted.subject),
                "give the run it was made from",
            ));
        }
        for subject in people.subjects() {
            let (_, later) = calibration(&people.only(|t| t.subject == subject), most)?;
            if later.is_empty() {
                return Err(told(
                    format!("{most} shots take all trials of {subject}; none is left to score"),
                    "ask for fewer shots",
                ));
            }
        }
        Ok(shots.into_iter().collect())
    }
}

/// The trials of the person a run was adapted to that are later than those it was adapted with. Nobody else: for them it is another
/// decoder, whose scores would stand beside the wrong access.
fn adapted_to<'a>(adapted: &AdaptedFile, input: &'a Input) -> anyhow::Result<Subset<'a>> {
    let own = input.people.iter().find(|(_, person)| person.trials == adapted.person);
    let Some((&subject, _)) = own else {
        return Err(told(
            format!("this run is adapted to {}, whose trials these are not", adapted.subject),
            "give the data it was adapted with, or the run it was made from",
        ));
    };
    Ok(calibration(&input.trials.of(&[subject].into()), adapted.shots)?.1)
}

/// Everybody the decoder has not learnt from. Asking for others by name is refused, not obeyed.
fn strangers(run: &RunFile, input: &Input, named: bool) -> anyhow::Result<BTreeSet<SubjectId>> {
    let present = input.trials.subjects();
    let (seen, made) = (run.seen(input), run.made());
    if named && let Some(first) = seen.first() {
        return Err(told(
            match seen.len() {
                1 => format!("the decoder was {made} on {first}"),
                n => format!("the decoder was {made} on {n} of those asked for, {first} among them"),
            },
            format!("name other people, or nobody to score all it was not {made} on"),
        ));
    }
    let strangers: BTreeSet<SubjectId> = present.difference(&seen).copied().collect();
    if strangers.is_empty() {
        return Err(told(
            format!("the decoder was {made} on everybody in these data"),
            "train on some of them with `--subjects`, or use `ptsm benchmark`",
        ));
    }
    Ok(strangers)
}

/// A row per person, the mean over seeds of every metric.
fn by_subject(summary: &Summary) -> Table {
    let mut columns = vec![Column::text("subject"), Column::number("trials")];
    columns.extend(METRICS.iter().map(|m| {
        Column::number(if m.more_is_better { format!("{} %", m.short) } else { m.short.to_string() })
    }));
    let rows = summary.subjects.iter().map(|person| {
        let value = |m: &Metric| person.scores.get(m.name).copied().unwrap_or(f64::NAN);
        let cell = |m: &Metric| match m.more_is_better {
            true => percent(value(m)),
            false => format!("{:.3}", value(m)),
        };
        [person.subject.to_string(), person.n.to_string()]
            .into_iter()
            .chain(METRICS.iter().map(cell))
            .collect()
    });
    let all: Vec<&Metric> = METRICS.iter().collect();
    let note = words::positive_note(std::slice::from_ref(summary), &all).unwrap_or_default();
    Table { columns, rows: rows.collect(), note }
}
