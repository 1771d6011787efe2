//! What is known without the decoder: where the classic methods' sources are, when and where classes differ, where the textbook looks.

use ptsm_decode::{Error, csp_lda::CspLda, xdawn_ts::XdawnTs};
use ptsm_eval::Result;
use ptsm_signal::{Channel, Paradigm, Position, Subset, position};

/// How much each channel takes part in the sources that CSP's leading filters listen to, `[C]`: the sum of the patterns' sizes, each pattern of
/// length 1. For imagined movements; the trials of one subject, or of all.
pub fn csp_relevance(trials: &Subset<'_>, settings: &CspLda) -> Result<Vec<f64>> {
    Ok(summed(&settings.patterns(trials)?))
}

/// The same for xDAWN's filters of all classes: for responses to events.
pub fn xdawn_relevance(trials: &Subset<'_>, settings: &XdawnTs) -> Result<Vec<f64>> {
    Ok(summed(&settings.patterns(trials)?))
}

fn summed(patterns: &[Vec<f64>]) -> Vec<f64> {
    let channels = patterns.first().map_or(0, Vec::len);
    (0..channels).map(|c| patterns.iter().map(|p| p[c].abs()).sum()).collect()
}

/// What is compared between classes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContrastQuantity {
    /// The signal itself: for responses to events.
    Signal,
    /// Its square: for rhythms.
    Power,
}

/// How much classes differ, in each channel at each sample.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    /// `[channel][sample]`: signed r^2, the share of the variance over trials that the class accounts for, above 0 where the later class has
    /// more. With more than two classes each is compared with all others, above 0 where it has more, and the largest in size counts. 0 where
    /// nothing varies.
    pub signed_r2: Vec<Vec<f64>>,
}

impl Difference {
    /// The largest size over channels at each sample, `[T]`.
    pub fn time(&self) -> Vec<f64> {
        let samples = self.signed_r2.first().map_or(0, Vec::len);
        (0..samples).map(|t| largest(self.signed_r2.iter().map(|row| row[t]))).collect()
    }

    /// The largest size over time in each channel, `[C]`.
    pub fn space(&self) -> Vec<f64> {
        self.signed_r2.iter().map(|row| largest(row.iter().copied())).collect()
    }
}

fn largest(values: impl Iterator<Item = f64>) -> f64 {
    values.map(f64::abs).fold(0.0, f64::max)
}

/// How much the classes of trials differ. Two classes at least must have trials.
pub fn difference(trials: &Subset<'_>, compared: ContrastQuantity) -> Result<Difference> {
    let (samples, channels) = (trials.layout().samples, trials.layout().channels.len());
    let counts = trials.class_counts();
    if counts.iter().filter(|n| **n > 0).count() < 2 {
        let message = "all trials are of one class: nothing can differ".to_string();
        return Err(Error::Trials { message, hint: "take trials of at least 2 classes".into() }.into());
    }
    let mut sums = vec![vec![0.0; channels * samples]; counts.len()];
    let mut squares = vec![0.0; channels * samples];
    for (signal, label) in trials.signals().zip(trials.labels()) {
        let sum = &mut sums[label as usize];
        for (i, v) in signal.iter().enumerate() {
            let v = f64::from(*v);
            let v = if compared == ContrastQuantity::Power { v * v } else { v };
            sum[i] += v;
            squares[i] += v * v;
        }
    }
    let n = trials.len() as f64;
    // Of two classes, one against the other says it all.
    let against: Vec<usize> =
        (if counts.len() == 2 { 1 } else { 0 }..counts.len()).filter(|&k| counts[k] > 0).collect();
    let at = |i: usize| {
        let total: f64 = sums.iter().map(|s| s[i]).sum();
        let variance = squares[i] / n - (total / n).powi(2);
        let signed = |&k: &usize| {
            let own = counts[k] as f64;
            let apart = sums[k][i] / own - (total - sums[k][i]) / (n - own);
            let r2 = own * (n - own) / (n * n) * apart * apart / variance;
            if variance > 1e-12 * squares[i] / n { r2.copysign(apart) } else { 0.0 }
        };
        against.iter().map(signed).fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a })
    };
    let row = |c: usize| (0..samples).map(|t| at(c * samples + t)).collect();
    Ok(Difference { signed_r2: (0..channels).map(row).collect() })
}

/// Where the textbook expects a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Region {
    /// Movement: around C3, Cz and C4.
    Central,
    /// The P300: around Pz.
    Parietal,
    /// Responses to flicker: around O1, Oz and O2.
    Occipital,
    /// Listening: around T7 and T8.
    Temporal,
}

impl Region {
    /// Where the textbook expects what subjects do; none where it says nothing, or nobody says what they do.
    pub fn of(paradigm: Option<Paradigm>) -> Option<Region> {
        match paradigm? {
            Paradigm::MotorImagery | Paradigm::MotorExecution => Some(Region::Central),
            Paradigm::Erp => Some(Region::Parietal),
            Paradigm::Ssvep => Some(Region::Occipital),
            Paradigm::AuditoryAttention => Some(Region::Temporal),
            Paradigm::Other => None,
        }
    }

    /// The electrodes in its middle.
    pub fn electrodes(self) -> &'static [&'static str] {
        match self {
            Region::Central => &["C3", "Cz", "C4"],
            Region::Parietal => &["Pz"],
            Region::Occipital => &["O1", "Oz", "O2"],
            Region::Temporal => &["T7", "T8"],
        }
    }
}

/// Radii at which the prior has fallen to 37 per cent: about the distance from C3 to its neighbours.
const REACH: f64 = 0.4;

/// How near each channel is to a region, 0 to 1, by electrode names and places; not a number for channels of which no place is known.
pub fn region(channels: &[Channel], region: Region) -> Vec<f64> {
    let centres: Vec<Position> = region.electrodes().iter().filter_map(|name| position(name)).collect();
    let near = |p: Position| {
        let distance = centres.iter().map(|c| c.distance(p)).fold(f64::INFINITY, f64::min);
        (-(distance / REACH).powi(2)).exp()
    };
    channels.iter().map(|c| c.position.map_or(f64::NAN, near)).collect()
}

#[cfg(test)]
mod tests {
    use ptsm_signal::{Layout, SubjectId, Trial, Trials};

    use super::*;

    fn trials(classes: usize, labels: &[u32], x: Vec<f32>) -> Trials {
        let layout = Layout {
            channels: vec![Channel::named("C3")],
            samples: 2,
            rate_hz: 100.0,
            start_s: 0.0,
            classes: (0..classes).map(|k| k.to_string()).collect(),
            task: Default::default(),
        };
        let trial = |&label: &u32| Trial { label, subject: SubjectId(1), session: 1, run: 1, cue_s: 0.0 };
        Trials::new(layout, x, labels.iter().map(trial).collect()).unwrap()
    }

    #[test]
    fn differences_are_squared_correlations_with_the_class() {
        let set = trials(2, &[0, 0, 0, 1], vec![1.0, 5.0, 2.0, 5.0, 3.0, 5.0, 0.0, 5.0]);
        let found = difference(&set.all(), ContrastQuantity::Signal).unwrap();
        // numpy.corrcoef([1, 2, 3, 0], [0, 0, 0, 1]) is -0.7745966692414834; the second sample never changes.
        assert!((found.signed_r2[0][0] + 0.6).abs() < 1e-12 && found.signed_r2[0][1] == 0.0, "{found:?}");
        assert_eq!((found.time(), found.space()), (vec![0.6, 0.0], vec![0.6]));
        let power = difference(&set.all(), ContrastQuantity::Power).unwrap().signed_r2[0][0];
        // numpy.corrcoef([1, 4, 9, 0], [0, 0, 0, 1]) squared
        assert!((power + 1.0 / 3.0).abs() < 1e-12, "{power}");
        let same = trials(2, &[1, 1], vec![0.0; 4]);
        assert!(difference(&same.all(), ContrastQuantity::Signal).is_err());
    }

    #[test]
    fn of_many_classes_the_one_that_stands_out_counts() {
        let set = trials(
            3,
            &[0, 0, 1, 1, 2, 2],
            vec![0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0, -4.0, 4.0, -4.0],
        );
        let found = difference(&set.all(), ContrastQuantity::Signal).unwrap();
        assert!((found.signed_r2[0][0] - 1.0).abs() < 1e-12 && (found.signed_r2[0][1] + 1.0).abs() < 1e-12);
    }

    #[test]
    fn regions_are_where_they_are_called() {
        let channels = ["C3", "CP5", "Fz", "Pz", "Oz", "EOG"].map(Channel::named);
        let central = region(&channels, Region::Central);
        assert!(
            central[0] == 1.0 && central[0] > central[1] && central[1] > central[4] && central[5].is_nan()
        );
        let parietal = region(&channels, Region::Parietal);
        assert!(parietal[3] == 1.0 && parietal[4] > parietal[2]);
        // What subjects do tells where to look, not what classes are called.
        assert_eq!(Region::of(Some(Paradigm::Ssvep)), Some(Region::Occipital));
        assert!(region(&channels, Region::Occipital)[4] == 1.0);
        assert_eq!(Region::of(Some(Paradigm::MotorImagery)), Some(Region::Central));
        assert_eq!((Region::of(None), Region::of(Some(Paradigm::Other))), (None, None));
    }
}
