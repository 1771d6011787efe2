//! `ptsm collect`: tables of what there is.

use ptsm_eval::WorkList;

use super::{results, slurm, tasks};
use crate::args::CollectArgs;
use crate::commands::Session;
use crate::exit::told;
use crate::folder::{self, Folder};
use crate::plan::Plan;

pub(crate) fn run(args: &CollectArgs, session: &Session) -> anyhow::Result<()> {
    let folder = &args.folder;
    if !WorkList::is_in(folder) {
        let what = if folder.exists() { "holds no benchmark" } else { "does not exist" };
        return Err(told(
            format!("{} {what}", folder.display()),
            "`ptsm benchmark --out FOLDER` makes one; give that folder",
        ));
    }
    let held = Folder::lock_benchmark(folder)?;
    let plan = Plan::read(&folder.join(folder::BENCHMARK))?;
    let list = WorkList::read(folder)?;
    let collected = list.collect(folder);
    results::write(&collected, &list, &plan, folder)?;
    if collected.missing == 0 {
        tasks::clear(folder);
    } else if args.resubmit && slurm::again(&list, folder)? {
        return Ok(());
    }
    drop(held);
    results::show(&collected, &list, &plan, folder, session)
}
