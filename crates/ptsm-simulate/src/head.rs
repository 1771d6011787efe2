//! Potentials of a current dipole on the scalp: three concentric spheres (brain, skull, scalp), the exact series.
//!
//! A dipole at distance `b` from the centre makes, outside of itself, the potential
//!
//!   V = 1/(4 pi s1) sum_n b^(n-1) g_n [ n m_r P_n(x) + (e . m_t) P_n'(x) ]
//!
//! at the scalp place `e` (a unit vector); `x` is the cosine between dipole and electrode, `m_r` and `m_t` are the radial and
//! tangential parts of the moment, `P_n` Legendre polynomials, lengths in head radii (Zhang 1995, doi:10.1088/0031-9155/40/3/001).
//! `g_n` says what the shells do to degree n: in every shell the potential of that degree is `A r^n + B r^-(n+1)`, potential and
//! radial current are continuous where shells meet, and no current leaves the scalp. In one homogeneous sphere `g_n = (2n+1)/n`.
//! The mean of V over the whole sphere is zero, so the potentials are those against a reference far away.

use nalgebra::Vector3;

/// Metres from the middle of the head to the scalp.
const HEAD_RADIUS_M: f64 = 0.092;
/// Outer radii of brain and skull, as shares of the head's.
const RADII: [f64; 2] = [0.87, 0.92];
/// Conductivities of brain, skull and scalp in S/m. The skull conducts 25 times less, as newer measurements have it
/// (Lai et al. 2005, doi:10.1016/j.clinph.2004.08.017), not 80 times as in the oldest models.
const CONDUCTIVITIES: [f64; 3] = [0.33, 0.0132, 0.33];
/// Degrees kept. At the brain's edge, b = 0.87, the last one is below 1e-20 of the first.
const DEGREES: usize = 400;
/// The series ends where terms fall below this share of the first.
const NEGLIGIBLE: f64 = 1e-13;

/// A current dipole.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Dipole {
    /// Where it is, in head radii.
    pub(crate) place: Vector3<f64>,
    /// Its strength and direction, in nAm.
    pub(crate) moment: Vector3<f64>,
}

/// A head of three spheres.
pub(crate) struct Head {
    brain: f64,
    factor: f64,
    gains: Vec<f64>,
}

impl Head {
    /// A grown-up's head.
    pub(crate) fn adult() -> Head {
        Head::new(RADII, CONDUCTIVITIES)
    }

    fn new(radii: [f64; 2], conductivities: [f64; 3]) -> Head {
        // nAm / (S/m m^2) is nV; a thousandth of it microvolts.
        let factor = 1e-3 / (4.0 * std::f64::consts::PI * conductivities[0] * HEAD_RADIUS_M.powi(2));
        let gains = (1..=DEGREES).map(|n| shell_gain(n as f64, radii, conductivities)).collect();
        Head { brain: radii[0], factor, gains }
    }

    /// How far out a dipole may lie.
    pub(crate) fn brain_radius(&self) -> f64 {
        self.brain
    }

    /// The potential at a place on the scalp (a unit vector), in microvolts.
    pub(crate) fn potential(&self, dipole: &Dipole, electrode: &Vector3<f64>) -> f64 {
        let distance = dipole.place.norm();
        // In the middle every direction is as radial as any other.
        let outwards = if distance > 1e-9 { dipole.place / distance } else { Vector3::z() };
        let radial = dipole.moment.dot(&outwards);
        let tangential = electrode.dot(&(dipole.moment - radial * outwards));
        let x = electrode.dot(&outwards).clamp(-1.0, 1.0);
        let (mut p_before, mut p) = (1.0, x);
        let (mut slope_before, mut slope) = (0.0, 1.0);
        let (mut power, mut sum) = (1.0, 0.0);
        for (gain, n) in self.gains.iter().zip(1..) {
            let n = n as f64;
            let scale = power * gain;
            sum += scale * (n * radial * p + tangential * slope);
            // |P_n| <= 1 and |P_n'| <= n (n + 1) / 2.
            if scale * n * (n + 1.0) < NEGLIGIBLE * self.gains[0] {
                break;
            }
            let p_next = ((2.0 * n + 1.0) * x * p - n * p_before) / (n + 1.0);
            let slope_next = slope_before + (2.0 * n + 1.0) * p;
            (p_before, p, slope_before, slope) = (p, p_next, slope, slope_next);
            power *= distance;
        }
        self.factor * sum
    }
}

/// `g_n`: from the scalp, where no current leaves, inwards to the brain. `a` and `b` are `A r^n` and `B r^-(n+1)` at the
/// radius in hand, so that nothing overflows.
fn shell_gain(n: f64, radii: [f64; 2], conductivities: [f64; 3]) -> f64 {
    let (mut a, mut b) = (n + 1.0, n);
    let mut at = 1.0;
    for shell in (0..2).rev() {
        let ratio: f64 = radii[shell] / at;
        a *= ratio.powf(n);
        b *= ratio.powf(-n - 1.0);
        let potential = a + b;
        let current = conductivities[shell + 1] / conductivities[shell] * (n * a - (n + 1.0) * b);
        a = ((n + 1.0) * potential + current) / (2.0 * n + 1.0);
        b = (n * potential - current) / (2.0 * n + 1.0);
        at = radii[shell];
    }
    (2.0 * n + 1.0) / (b * at.powf(n + 1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn electrodes() -> Vec<Vector3<f64>> {
        (0..60)
            .map(|i| {
                let (height, angle) = (1.0 - 2.0 * (i as f64 + 0.5) / 60.0, 2.4 * i as f64);
                let ring = (1.0 - height * height).sqrt();
                Vector3::new(ring * angle.cos(), ring * angle.sin(), height)
            })
            .collect()
    }

    fn dipole(place: [f64; 3], moment: [f64; 3]) -> Dipole {
        Dipole { place: place.into(), moment: moment.into() }
    }

    /// The homogeneous sphere in closed form: the series' sum with `g_n = 2 + 1/n`, whose parts are the gradients of
    /// `1/d` and of `-ln((1 - e.r0 + d) / 2)`.
    fn homogeneous(conductivity: f64, dipole: &Dipole, electrode: &Vector3<f64>) -> f64 {
        let apart = electrode - dipole.place;
        let d = apart.norm();
        let gradient =
            2.0 * apart / d.powi(3) + (electrode + apart / d) / (1.0 - electrode.dot(&dipole.place) + d);
        1e-3 / (4.0 * std::f64::consts::PI * conductivity * HEAD_RADIUS_M.powi(2))
            * dipole.moment.dot(&gradient)
    }

    #[test]
    fn equal_shells_are_one_sphere() {
        let head = Head::new(RADII, [0.33; 3]);
        for d in [
            dipole([0.0, 0.0, 0.8], [0.0, 0.0, 10.0]),
            dipole([0.0, 0.0, 0.8], [10.0, 0.0, 0.0]),
            dipole([0.3, -0.5, 0.4], [2.0, 5.0, -7.0]),
            dipole([0.0; 3], [1.0, 2.0, 3.0]),
        ] {
            for e in electrodes() {
                let (series, closed) = (head.potential(&d, &e), homogeneous(0.33, &d, &e));
                assert!((series - closed).abs() < 1e-10 * (1.0 + closed.abs()), "{series} {closed}");
            }
        }
    }

    #[test]
    fn the_skull_weakens_and_blurs() {
        let (head, bare) = (Head::adult(), Head::new(RADII, [0.33; 3]));
        let d = dipole([0.0, 0.0, 0.8], [0.0, 0.0, 10.0]);
        let at = |h: &Head, angle: f64| h.potential(&d, &Vector3::new(angle.sin(), 0.0, angle.cos()));
        assert!(at(&head, 0.0) < 0.5 * at(&bare, 0.0));
        assert!(at(&head, 0.5) / at(&head, 0.0) > 1.5 * at(&bare, 0.5) / at(&bare, 0.0));
    }

    #[test]
    fn potentials_add_and_sides_mirror() {
        let head = Head::adult();
        let (one, two) =
            (dipole([0.4, 0.1, 0.6], [3.0, 1.0, -2.0]), dipole([0.4, 0.1, 0.6], [-1.0, 4.0, 6.0]));
        let both = Dipole { place: one.place, moment: 2.0 * one.moment - two.moment };
        let flip = |v: Vector3<f64>| Vector3::new(-v.x, v.y, v.z);
        let mirrored = Dipole { place: flip(one.place), moment: flip(one.moment) };
        for e in electrodes() {
            let sum = 2.0 * head.potential(&one, &e) - head.potential(&two, &e);
            assert!((head.potential(&both, &e) - sum).abs() < 1e-12);
            assert!((head.potential(&mirrored, &flip(e)) - head.potential(&one, &e)).abs() < 1e-12);
        }
        // A radial dipole looks the same all around itself, a tangential one is zero above itself and odd across.
        let tangential = dipole([0.0, 0.0, 0.7], [5.0, 0.0, 0.0]);
        assert!(head.potential(&tangential, &Vector3::z()).abs() < 1e-12);
        let side = Vector3::new(0.6, 0.0, 0.8);
        assert!(head.potential(&tangential, &side) > 0.0);
        assert!(
            (head.potential(&tangential, &side) + head.potential(&tangential, &flip(side))).abs() < 1e-12
        );
    }

    #[test]
    fn the_series_has_converged_at_the_edge_of_the_brain() {
        let head = Head::adult();
        let d = dipole([0.0, 0.0, head.brain_radius()], [3.0, 0.0, 10.0]);
        let mut shorter = Head::adult();
        shorter.gains.truncate(300);
        for e in electrodes() {
            let (all, fewer) = (head.potential(&d, &e), shorter.potential(&d, &e));
            assert!((all - fewer).abs() < 1e-10 * (1.0 + all.abs()));
        }
    }
}
