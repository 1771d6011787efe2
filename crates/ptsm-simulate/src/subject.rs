//! How subjects differ, and how the sessions of one subject do.

use nalgebra::{Rotation3, Unit, Vector3};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use crate::anatomy::{Rhythm, Site};
use crate::cohort::Cohort;
use crate::head::{Dipole, Head};
use crate::random::{Purpose, Streams, factor, normal};

/// Dipoles of the background.
pub(crate) const BACKGROUND_DIPOLES: usize = 48;
/// Share of those with an effect in whom it goes the wrong way, weakly.
const REVERSED: f64 = 0.05;
const REVERSED_SIZE: f64 = -0.15;
/// The golden ratio's fraction, whose multiples are spread most evenly around a circle.
const GOLDEN: f64 = 0.618_033_988_749_894_9;
/// How far dipoles of one subject lie from those of the average head, in head radii, and how much they turn, in radians.
const PLACE_DEVIATION: f64 = 0.03;
const TURN_DEVIATION: f64 = 0.22;
/// How much a cap is turned on a head, in radians: between subjects, and each time it is put on.
const CAP_DEVIATION: f64 = 0.05;
const SESSION_CAP_DEVIATION: f64 = 0.02;

/// One subject.
pub(crate) struct SimulatedSubject {
    /// Size of the effect: 0 where it is absent, below 0 where it goes the wrong way.
    pub(crate) effect: f64,
    /// Whether the effect is absent.
    pub(crate) absent: bool,
    /// Peak frequencies in Hz.
    pub(crate) mu_hz: f64,
    pub(crate) beta_hz: f64,
    pub(crate) alpha_hz: f64,
    pub(crate) theta_hz: f64,
    /// Slope of the background's spectrum: power falls as frequency to the minus this.
    pub(crate) exponent: f64,
    /// Factor on the background.
    pub(crate) background: f64,
    /// Factor on what each site does.
    pub(crate) amplitudes: Vec<f64>,
    /// The sites' dipoles, 1 nAm each.
    pub(crate) sites: Vec<Dipole>,
    /// The background's dipoles, 1 nAm each.
    pub(crate) scattered: Vec<Dipole>,
    /// How late responses are, in seconds against the average.
    pub(crate) delay_s: f64,
    /// Blinks per second and height of a blink in microvolts at the forehead.
    pub(crate) blinks_hz: f64,
    pub(crate) blink_uv: f64,
    /// Muscle bursts per second.
    pub(crate) bursts_hz: f64,
    cap: Rotation3<f64>,
}

impl SimulatedSubject {
    /// The subject of a number.
    pub(crate) fn new(cohort: &Cohort, subject: u32, head: &Head) -> SimulatedSubject {
        let streams = Streams { seed: cohort.seed, subject, session: 0, run: 0 };
        let spread = cohort.variability;
        let (absent, effect) = effect(cohort, subject);
        let random = &mut streams.stream(Purpose::Subject, 0);
        let sites = Site::ALL.map(|site| displaced(site.dipole(), spread, head, random)).to_vec();
        // Both sides share most of what makes a subject's rhythms strong or weak.
        let common = factor(random, 0.30 * spread);
        let amplitudes = Site::ALL.map(|_| common * factor(random, 0.12 * spread)).to_vec();
        SimulatedSubject {
            effect,
            absent,
            mu_hz: (10.8 + 0.9 * spread * normal(random)).clamp(8.5, 13.0),
            beta_hz: (20.5 + 2.0 * spread * normal(random)).clamp(16.0, 26.0),
            alpha_hz: (10.1 + 0.9 * spread * normal(random)).clamp(8.0, 12.5),
            theta_hz: (6.0 + 0.5 * spread * normal(random)).clamp(4.5, 7.5),
            exponent: (1.1 + 0.2 * spread * normal(random)).clamp(0.5, 1.7),
            background: factor(random, 0.2 * spread),
            amplitudes,
            sites,
            scattered: (0..BACKGROUND_DIPOLES).map(|_| scattered(random)).collect(),
            delay_s: (0.03 * spread * normal(random)).clamp(-0.08, 0.1),
            blinks_hz: 0.15 * factor(random, 0.4),
            blink_uv: 130.0 * factor(random, 0.25),
            bursts_hz: 0.04 * factor(random, 0.6),
            cap: turn(CAP_DEVIATION * spread, &mut streams.stream(Purpose::Cap, 0)),
        }
    }

    /// The frequency of a rhythm in this subject.
    pub(crate) fn frequency_hz(&self, rhythm: Rhythm) -> f64 {
        match rhythm {
            Rhythm::Mu => self.mu_hz,
            Rhythm::Beta => self.beta_hz,
            Rhythm::Alpha => self.alpha_hz,
            Rhythm::Theta => self.theta_hz,
        }
    }
}

/// What one session of a subject is like.
pub(crate) struct SimulatedSession {
    /// Where the electrodes really are.
    pub(crate) electrodes: Vec<Vector3<f64>>,
    /// Factor on each channel.
    pub(crate) gains: Vec<f64>,
    /// How badly each electrode sits: 1 is as usual.
    pub(crate) impedances: Vec<f64>,
    /// Factor on what each site does.
    pub(crate) amplitudes: Vec<f64>,
    /// Factor on the effect.
    pub(crate) effect: f64,
}

impl SimulatedSession {
    /// One session of a subject, for electrodes meant to be at these places.
    pub(crate) fn new(
        cohort: &Cohort,
        subject_model: &SimulatedSubject,
        nominal: &[Vector3<f64>],
        subject: u32,
        session: u32,
    ) -> SimulatedSession {
        let streams = Streams { seed: cohort.seed, subject, session, run: 0 };
        let spread = cohort.variability;
        let random = &mut streams.stream(Purpose::Session, 0);
        let cap = turn(SESSION_CAP_DEVIATION * spread, random) * subject_model.cap;
        let effect = factor(random, 0.15 * spread);
        let amplitudes = Site::ALL.map(|_| factor(random, 0.10 * spread)).to_vec();
        let (gains, impedances) = (0..nominal.len())
            .map(|channel| {
                let random = &mut streams.stream(Purpose::Electrode, channel);
                (factor(random, 0.04 * spread), factor(random, 0.4))
            })
            .unzip();
        let electrodes = nominal.iter().map(|e| cap * e).collect();
        SimulatedSession { electrodes, gains, impedances, amplitudes, effect }
    }
}

/// Whether the effect is absent in somebody, and how strong it is. The draws are the same whatever the settings.
///
/// Who has none, and in whom it goes the wrong way, are drawn by steps of irrational length around a circle and not
/// independently: small cohorts then have the shares they ask for, and a subject still depends on no other.
fn effect(cohort: &Cohort, subject: u32) -> (bool, f64) {
    let everybody = Streams { seed: cohort.seed, subject: 0, session: 0, run: 0 };
    let start = &mut everybody.stream(Purpose::Effect, 0);
    let mut share = |step: f64| (start.random::<f64>() + step * f64::from(subject)).fract();
    let (lot, direction) = (share(GOLDEN), share(std::f64::consts::SQRT_2));
    let random = &mut Streams { subject, ..everybody }.stream(Purpose::Effect, 0);
    let size = factor(random, 0.35 * cohort.variability).min(1.6);
    if lot < cohort.absent {
        return (true, 0.0);
    }
    let wrong_way = direction < REVERSED * cohort.variability.min(1.0);
    (false, cohort.strength * if wrong_way { REVERSED_SIZE } else { size })
}

fn displaced(average: Dipole, spread: f64, head: &Head, random: &mut ChaCha8Rng) -> Dipole {
    let mut step = || PLACE_DEVIATION * spread * normal(random);
    let place = average.place + Vector3::new(step(), step(), step());
    let limit = head.brain_radius() - 0.03;
    let place = if place.norm() > limit { place * (limit / place.norm()) } else { place };
    Dipole { place, moment: turn(TURN_DEVIATION * spread, random) * average.moment }
}

/// A turn about a random axis.
fn turn(deviation: f64, random: &mut ChaCha8Rng) -> Rotation3<f64> {
    let axis = Vector3::new(normal(random), normal(random), normal(random));
    Rotation3::from_axis_angle(&Unit::new_normalize(axis), deviation * normal(random))
}

/// A dipole anywhere in the upper cortex, pointing anywhere.
fn scattered(random: &mut ChaCha8Rng) -> Dipole {
    let height = random.random_range(-0.35..1.0_f64);
    let angle = random.random_range(0.0..std::f64::consts::TAU);
    let ring = (1.0 - height * height).sqrt();
    let eccentricity = random.random_range(0.45..0.72);
    let moment = Vector3::new(normal(random), normal(random), normal(random));
    Dipole {
        place: eccentricity * Vector3::new(ring * angle.cos(), ring * angle.sin(), height),
        moment: moment.normalize(),
    }
}
