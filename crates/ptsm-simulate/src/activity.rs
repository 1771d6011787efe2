//! What the task makes the cortex do, and what reaches the electrodes.

use crate::anatomy::Site;

/// Something that reaches the electrodes.
pub(crate) struct BrainSource {
    /// How it appears at each of them.
    pub(crate) topography: Vec<f32>,
    /// What it does.
    pub(crate) course: Vec<f32>,
}

/// What the task makes of the sites: factors on their rhythms, and activity of its own in nAm.
pub(crate) struct Activity {
    length: usize,
    /// The factor on each site's rhythm, where the task changes it.
    pub(crate) gains: Vec<Option<Vec<f32>>>,
    /// What each site does besides, where the task makes it do something.
    pub(crate) evoked: Vec<Option<Vec<f32>>>,
}

impl Activity {
    /// Nothing, for a run this long.
    pub(crate) fn new(length: usize) -> Activity {
        Activity { length, gains: vec![None; Site::ALL.len()], evoked: vec![None; Site::ALL.len()] }
    }

    /// The factor on a site's rhythm at each sample, 1 until changed.
    pub(crate) fn gain(&mut self, site: Site) -> &mut [f32] {
        self.gains[site as usize].get_or_insert_with(|| vec![1.0; self.length])
    }

    /// What a site does besides its rhythm, 0 until changed.
    pub(crate) fn evoked(&mut self, site: Site) -> &mut [f32] {
        self.evoked[site as usize].get_or_insert_with(|| vec![0.0; self.length])
    }
}

/// A site that carries the task.
#[derive(Clone, Copy)]
pub(crate) struct TaskSite {
    /// Which.
    pub(crate) site: Site,
    /// How much it differs between the classes at effect 1, plus where the second class has more: power in nAm^2 for
    /// `Imagery` and `Attention`, moment in nAm for `Erp`.
    pub(crate) difference: f64,
}
