//! Trials of each session by itself, as adaptation without labels takes them.

use std::collections::BTreeMap;

use ptsm_signal::{SubjectId, Subset};

/// Places of some trials by session.
pub(crate) fn by_session(
    sessions: impl Iterator<Item = (SubjectId, u32)>,
) -> BTreeMap<(SubjectId, u32), Vec<usize>> {
    let mut places = BTreeMap::<_, Vec<usize>>::new();
    sessions.enumerate().for_each(|(place, session)| places.entry(session).or_default().push(place));
    places
}

/// Places of some trials by session, those of each in time order.
pub(crate) fn by_session_in_time(trials: &Subset<'_>) -> BTreeMap<(SubjectId, u32), Vec<usize>> {
    let info: Vec<_> = trials.info().collect();
    let mut sessions = by_session(info.iter().map(|trial| (trial.subject, trial.session)));
    for places in sessions.values_mut() {
        places.sort_by(|&a, &b| info[a].run.cmp(&info[b].run).then(info[a].cue_s.total_cmp(&info[b].cue_s)));
    }
    sessions
}
