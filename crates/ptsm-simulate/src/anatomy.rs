//! Where in the cortex things happen: the dipoles of an average head.

use nalgebra::Vector3;

use crate::head::Dipole;

/// The rhythm a place hums at rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rhythm {
    Mu,
    Beta,
    Alpha,
    Theta,
}

impl Rhythm {
    /// How wide its peak is.
    pub(crate) fn bandwidth_hz(self) -> f64 {
        match self {
            Rhythm::Alpha => 1.4,
            Rhythm::Mu => 1.8,
            Rhythm::Theta => 2.0,
            Rhythm::Beta => 4.0,
        }
    }
}

/// A place in the cortex with a job of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(crate) enum Site {
    HandMuLeft,
    HandMuRight,
    HandBetaLeft,
    HandBetaRight,
    ParietalAlphaLeft,
    ParietalAlphaRight,
    OccipitalAlphaLeft,
    OccipitalAlphaRight,
    FrontalTheta,
    MedialBeta,
    AuditoryLeft,
    AuditoryRight,
    VisualLeft,
    VisualRight,
    ParietalP3,
    TemporalP3Left,
    TemporalP3Right,
}

/// A site in the average head: a line of the table below.
struct Average {
    name: &'static str,
    /// Towards the scalp above it; any length.
    direction: [f64; 3],
    /// Distance from the middle, in head radii. The cortex ends at 0.87, but what is active is a patch of many square
    /// centimetres, and seen from the scalp such a patch looks like a dipole lying deeper.
    eccentricity: f64,
    /// The dipole's direction as outwards plus this.
    lean: [f64; 3],
    /// Whether the dipole points outwards at all; in folds deep inside it does not.
    outwards: bool,
    rhythm: Option<Rhythm>,
}

impl Site {
    /// All of them.
    pub(crate) const ALL: [Site; 17] = [
        Site::HandMuLeft,
        Site::HandMuRight,
        Site::HandBetaLeft,
        Site::HandBetaRight,
        Site::ParietalAlphaLeft,
        Site::ParietalAlphaRight,
        Site::OccipitalAlphaLeft,
        Site::OccipitalAlphaRight,
        Site::FrontalTheta,
        Site::MedialBeta,
        Site::AuditoryLeft,
        Site::AuditoryRight,
        Site::VisualLeft,
        Site::VisualRight,
        Site::ParietalP3,
        Site::TemporalP3Left,
        Site::TemporalP3Right,
    ];

    /// What it is called in the truth.
    pub(crate) fn name(self) -> &'static str {
        self.average().name
    }

    /// What it hums at rest.
    pub(crate) fn rhythm(self) -> Option<Rhythm> {
        self.average().rhythm
    }

    /// How strong its rhythm is, as a deviation in nAm; 0 where it has none.
    pub(crate) fn rhythm_nam(self) -> f64 {
        match (self, self.rhythm()) {
            (Site::OccipitalAlphaLeft | Site::OccipitalAlphaRight, _) => 38.0,
            (_, Some(Rhythm::Alpha | Rhythm::Mu)) => 22.0,
            (_, Some(Rhythm::Beta)) => 10.0,
            (_, Some(Rhythm::Theta)) => 14.0,
            (_, None) => 0.0,
        }
    }

    /// The dipole of an average head, of 1 nAm.
    pub(crate) fn dipole(self) -> Dipole {
        let site = self.average();
        let outwards = Vector3::from(site.direction).normalize();
        let lean = Vector3::from(site.lean);
        let moment = if site.outwards { outwards + lean } else { lean };
        Dipole { place: site.eccentricity * outwards, moment: moment.normalize() }
    }

    /// The left side is written down, the right one is its mirror image.
    fn average(self) -> Average {
        use Rhythm::*;
        let line = |name, direction, eccentricity, lean, outwards, rhythm| Average {
            name,
            direction,
            eccentricity,
            lean,
            outwards,
            rhythm,
        };
        let hand_mu = |name| line(name, [-0.70, -0.04, 0.71], 0.62, [0.0, -0.25, 0.0], true, Some(Mu));
        let hand_beta = |name| line(name, [-0.68, 0.10, 0.73], 0.64, [0.0, 0.30, 0.0], true, Some(Beta));
        let parietal = |name| line(name, [-0.52, -0.68, 0.52], 0.62, [0.0; 3], true, Some(Alpha));
        let occipital = |name| line(name, [-0.28, -0.93, 0.24], 0.60, [-0.2, 0.0, 0.2], true, Some(Alpha));
        let auditory = |name| line(name, [-0.93, -0.05, 0.36], 0.62, [-0.30, 0.35, 0.90], false, None);
        let visual = |name| line(name, [-0.66, -0.74, 0.10], 0.62, [0.0; 3], true, None);
        let temporal_p3 = |name| line(name, [-0.72, -0.55, 0.42], 0.60, [0.4, 0.0, 0.4], true, None);
        match self {
            Site::HandMuLeft => hand_mu("left hand area, mu"),
            Site::HandMuRight => hand_mu("right hand area, mu").mirrored(),
            Site::HandBetaLeft => hand_beta("left hand area, beta"),
            Site::HandBetaRight => hand_beta("right hand area, beta").mirrored(),
            Site::ParietalAlphaLeft => parietal("left parietal cortex, alpha"),
            Site::ParietalAlphaRight => parietal("right parietal cortex, alpha").mirrored(),
            Site::OccipitalAlphaLeft => occipital("left occipital cortex, alpha"),
            Site::OccipitalAlphaRight => occipital("right occipital cortex, alpha").mirrored(),
            Site::FrontalTheta => {
                line("medial frontal cortex, theta", [0.0, 0.62, 0.78], 0.62, [0.0; 3], true, Some(Theta))
            }
            Site::MedialBeta => {
                line("medial motor cortex, beta", [0.0, 0.15, 0.99], 0.66, [0.0; 3], true, Some(Beta))
            }
            Site::AuditoryLeft => auditory("left auditory cortex"),
            Site::AuditoryRight => auditory("right auditory cortex").mirrored(),
            Site::VisualLeft => visual("left occipito-temporal cortex"),
            Site::VisualRight => visual("right occipito-temporal cortex").mirrored(),
            Site::ParietalP3 => {
                line("medial parietal cortex", [0.0, -0.60, 0.80], 0.55, [0.0; 3], true, None)
            }
            Site::TemporalP3Left => temporal_p3("left temporo-parietal cortex"),
            Site::TemporalP3Right => temporal_p3("right temporo-parietal cortex").mirrored(),
        }
    }
}

impl Average {
    fn mirrored(self) -> Average {
        let flip = |v: [f64; 3]| [-v[0], v[1], v[2]];
        Average { direction: flip(self.direction), lean: flip(self.lean), ..self }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::head::Head;

    #[test]
    fn sites_are_in_the_brain_and_in_order() {
        let brain = Head::adult().brain_radius();
        for (i, site) in Site::ALL.into_iter().enumerate() {
            assert_eq!(site as usize, i);
            let dipole = site.dipole();
            assert!(dipole.place.norm() < brain && (dipole.moment.norm() - 1.0).abs() < 1e-12);
        }
    }
}
