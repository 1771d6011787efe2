//! `ptsm data`, one file per subcommand

mod add;
mod check;
mod export;
mod get;
mod list;
mod pipeline;
mod show;
mod simulate;

use super::Session;
use crate::args::DataCommand;

pub(super) fn run(command: &DataCommand, session: &Session) -> anyhow::Result<()> {
    match command {
        DataCommand::List => list::run(session),
        DataCommand::Show { id, root, with } => show::run(id, root.as_deref(), with, session),
        DataCommand::Pipeline { id, root, with } => {
            pipeline::run(id.as_deref(), root.as_deref(), with, session)
        }
        DataCommand::Get(args) => get::run(args, session),
        DataCommand::Add(args) => add::run(args, session),
        DataCommand::Check(args) => check::run(args, session),
        DataCommand::Export(args) => export::run(args, session),
        DataCommand::Simulate(args) => simulate::run(args, session),
    }
}
