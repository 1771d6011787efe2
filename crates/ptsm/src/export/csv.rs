//! Epochs as one long table: a row per epoch and sample.

use std::io::{self, Write};
use std::path::Path;

use ptsm_eval::{Env, Result, csv_cell};
use ptsm_signal::Trials;

use crate::files::write_file;

/// About what a number takes with its comma.
const BYTES: u64 = 11;
/// Larger files are told of before they are written.
const LARGE: u64 = 200_000_000;

/// Columns before those of the channels.
const COLUMNS: &str = "subject,session,run,epoch,label,time_s";

pub(super) fn write(path: &Path, trials: &Trials, env: &Env) -> Result<()> {
    let layout = trials.layout();
    let rows = trials.len() as u64 * layout.samples as u64;
    let about = rows * (layout.channels.len() as u64 + 4) * BYTES;
    if about > LARGE {
        env.note(format!(
            "note: {rows} rows take about {} MB; an `.npz` file takes about {} MB",
            about / 1_000_000,
            rows * layout.channels.len() as u64 * 4 / 1_000_000
        ));
    }
    write_file(path, |to| table(trials, to))
}

fn table(trials: &Trials, to: &mut dyn Write) -> io::Result<()> {
    let layout = trials.layout();
    write!(to, "{COLUMNS}")?;
    layout.channels.iter().try_for_each(|channel| write!(to, ",{}", csv_cell(&channel.name)))?;
    writeln!(to)?;
    let classes: Vec<String> = layout.classes.iter().map(|class| csv_cell(class)).collect();
    for (epoch, trial) in trials.info().iter().enumerate() {
        let signal = trials.signal(epoch);
        let label = classes.get(trial.label as usize).map_or("", String::as_str);
        for sample in 0..layout.samples {
            let time_s = layout.start_s + sample as f64 / layout.rate_hz;
            let (subject, session, run) = (trial.subject.0, trial.session, trial.run);
            write!(to, "{subject},{session},{run},{epoch},{label},{time_s}")?;
            for channel in signal.chunks_exact(layout.samples) {
                // As many digits as tell the number from every other: read again, it is the same.
                write!(to, ",{}", channel[sample])?;
            }
            writeln!(to)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use ptsm_signal::{Channel, Layout, SubjectId, TaskDeclaration, Trial};

    use super::*;

    #[test]
    fn a_row_for_every_epoch_and_sample() {
        let layout = Layout {
            channels: vec![Channel::named("C3"), Channel::named("C4")],
            samples: 2,
            rate_hz: 4.0,
            start_s: -0.25,
            classes: vec!["left, hand".into(), "right".into()],
            task: TaskDeclaration::default(),
        };
        let trial = |label| Trial { label, subject: SubjectId(7), session: 2, run: 3, cue_s: 0.0 };
        let x = vec![0.1, -2.0, 1e-7, 4.0, 5.0, 6.5, 7.0, 8.0];
        let trials = Trials::new(layout, x, vec![trial(0), trial(1)]).unwrap();
        let mut bytes = vec![];
        table(&trials, &mut bytes).unwrap();
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            "subject,session,run,epoch,label,time_s,C3,C4\n\
             7,2,3,0,\"left, hand\",-0.25,0.1,0.0000001\n\
             7,2,3,0,\"left, hand\",0,-2,4\n\
             7,2,3,1,right,-0.25,5,7\n\
             7,2,3,1,right,0,6.5,8\n"
        );
    }
}
