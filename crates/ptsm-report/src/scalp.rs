//! A scalp map: values at electrodes, seen from above.

use ptsm_signal::Position;

use ptsm_eval::{Column, Table};

use crate::colour::{ColourRamp, step};
use crate::drawing::Drawing;
use crate::field;
use crate::head::{HeadPlacement, OUTLINE, nose_and_ears, project};
use crate::layout::{WIDTH, header};
use crate::legend::{BAR, colour_bar, colour_range, spanned};
use crate::numbers::{cells, number};
use crate::svg::{Anchor, Canvas, escape};

/// With more electrodes than this their names would overlap.
const MOST_NAMES: usize = 72;
/// With fewer electrodes a surface says more than was measured.
const FEWEST_FOR_SURFACE: usize = 4;
/// Grid points along each side of a surface: about 5 pixels apart, and a map of 64 electrodes stays below 30 kB.
const GRID: usize = 65;
/// The same for one of several maps.
const SMALL_GRID: usize = 41;

/// One electrode and its value.
#[derive(Clone, Debug, PartialEq)]
pub struct Electrode {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub position: Position,
    /// Its value; not finite where there is none.
    pub value: f64,
    /// Whether a ring is drawn around it.
    pub ringed: bool,
}

/// A map of the head from above.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ScalpMap {
    /// What it shows.
    pub title: String,
    /// The values.
    pub electrodes: Vec<Electrode>,
    /// The values of the first and the last colour; none to fit the values. A diverging ramp has zero in its middle, so its range
    /// is made to reach as far below zero as above.
    pub range: Option<[f64; 2]>,
    /// What the values are, with their unit: `mask weight`, `amplitude (µV)`.
    pub unit: String,
    /// How values become colours.
    pub ramp: ColourRamp,
    /// What a ring means: `electrodes that carry the simulated task`.
    pub ring_meaning: String,
}

impl ScalpMap {
    fn colour_range(&self) -> [f64; 2] {
        colour_range(self.ramp, self.range, self.electrodes.iter().map(|electrode| electrode.value))
    }

    fn description(&self) -> String {
        match extremes(&self.electrodes) {
            Some(extremes) => format!("Scalp map of {} electrodes. {extremes}", self.electrodes.len()),
            None => "Scalp map without values.".into(),
        }
    }
}

/// How many electrodes have a value and a place.
pub(crate) fn usable(electrodes: &[Electrode]) -> usize {
    let known = |electrode: &&Electrode| electrode.value.is_finite() && project(electrode.position).is_some();
    electrodes.iter().filter(known).count()
}

/// Where the highest and the lowest values are, in words.
pub(crate) fn extremes(electrodes: &[Electrode]) -> Option<String> {
    let known = || electrodes.iter().filter(|electrode| electrode.value.is_finite());
    let extreme = |sign: f64| known().max_by(|a, b| (sign * a.value).total_cmp(&(sign * b.value)));
    let (high, low) = (extreme(1.0)?, extreme(-1.0)?);
    let said = |electrode: &Electrode| format!("{} ({})", electrode.name, number(electrode.value));
    Some(format!("Highest at {}, lowest at {}.", said(high), said(low)))
}

/// How one head is drawn.
#[derive(Clone, Copy)]
pub(crate) struct HeadStyle {
    pub(crate) place: HeadPlacement,
    pub(crate) range: [f64; 2],
    pub(crate) ramp: ColourRamp,
    /// Whether it is one of several, with smaller dots and no names.
    pub(crate) small: bool,
}

/// Draws one head with its surface and electrodes.
pub(crate) fn draw_head(canvas: &mut Canvas, id: &str, look: HeadStyle, electrodes: &[Electrode]) {
    let place = look.place;
    let points: Vec<(Position, f64)> =
        electrodes.iter().map(|electrode| (electrode.position, electrode.value)).collect();
    let surface = usable(electrodes) >= FEWEST_FOR_SURFACE;
    nose_and_ears(canvas, place);
    canvas.circle("scalp", place.x, place.y, place.radius());
    if surface {
        let grid = if look.small { SMALL_GRID } else { GRID };
        field::draw(canvas, &escape(id), place, &points, look.range, look.ramp, grid);
    }
    canvas.circle("head", place.x, place.y, place.radius());
    draw_electrodes(canvas, look, electrodes, surface);
}

fn draw_electrodes(canvas: &mut Canvas, look: HeadStyle, electrodes: &[Electrode], surface: bool) {
    let names = electrodes.len() <= MOST_NAMES;
    let shrink = if look.small { 0.55 } else { 1.0 };
    for electrode in electrodes {
        let Some(point) = project(electrode.position) else { continue };
        let (x, y) = look.place.at(point);
        let outside = point.0.hypot(point.1) > OUTLINE;
        let value = electrode.value;
        canvas.raw(&format!("<g><title>{}: {}</title>", escape(&electrode.name), escape(&number(value))));
        if electrode.ringed {
            let radius = shrink * if surface { 7.5 } else { 15.0 };
            canvas.circle("halo", x, y, radius);
            canvas.circle("ring", x, y, radius);
        }
        if !value.is_finite() {
            canvas.circle("electrode empty", x, y, 2.6 * shrink);
        } else if outside || !surface {
            // No surface carries this one's colour, so the dot does.
            let size = shrink * if surface { 5.0 } else { 11.0 };
            canvas.circle(
                &format!("electrode valued {}", look.ramp.class(step(look.range, value))),
                x,
                y,
                size,
            );
        } else {
            canvas.circle("electrode", x, y, 2.2 * shrink);
        }
        if !look.small && (names || electrode.ringed) {
            let below = match (surface, electrode.ringed) {
                (true, false) => 11.0,
                (true, true) => 17.5,
                (false, _) => 27.0,
            };
            canvas.text("name", x, y + below, Anchor::Middle, &electrode.name);
        }
        canvas.raw("</g>");
    }
}

impl Drawing for ScalpMap {
    fn title(&self) -> &str {
        &self.title
    }

    fn svg(&self, id: &str) -> String {
        let mut canvas = Canvas::default();
        let top = header(&mut canvas, &self.title, &[], WIDTH);
        let unit = 140.0;
        let place = HeadPlacement { x: WIDTH / 2.0, y: top + 1.32 * unit, unit };
        let range = self.colour_range();
        draw_head(
            &mut canvas,
            id,
            HeadStyle { place, range, ramp: self.ramp, small: false },
            &self.electrodes,
        );
        let mut bottom = place.y + 1.26 * unit;
        if usable(&self.electrodes) > 0 {
            colour_bar(&mut canvas, bottom + 6.0, self.ramp, range, &self.unit);
            bottom += BAR + 6.0;
        }
        if self.electrodes.iter().any(|electrode| electrode.ringed) && !self.ring_meaning.is_empty() {
            let text = format!("ringed: {}", self.ring_meaning);
            canvas.text("label", WIDTH / 2.0, bottom + 11.0, Anchor::Middle, &text);
            bottom += 18.0;
        }
        canvas.finish(id, &self.title, &self.description(), WIDTH, bottom)
    }

    fn table(&self) -> Table {
        let rings = self.electrodes.iter().any(|electrode| electrode.ringed);
        let mut sorted: Vec<&Electrode> = self.electrodes.iter().collect();
        let key = |electrode: &Electrode| {
            if electrode.value.is_finite() { electrode.value } else { f64::NEG_INFINITY }
        };
        sorted.sort_by(|a, b| key(b).total_cmp(&key(a)));
        let value = if self.unit.is_empty() { "value" } else { &self.unit };
        let mut columns = vec![Column::text("electrode"), Column::number(value)];
        if rings {
            columns.push(Column::text("ringed"));
        }
        let values = cells(&sorted.iter().map(|electrode| electrode.value).collect::<Vec<f64>>());
        let rows = sorted
            .into_iter()
            .zip(values)
            .map(|(electrode, value)| {
                let mut row = vec![electrode.name.clone(), value];
                if rings {
                    row.push(if electrode.ringed { "yes" } else { "no" }.into());
                }
                row
            })
            .collect();
        Table { columns, rows, note: String::new() }
    }

    fn reading(&self) -> String {
        format!("The head from above, nose up; {}.", meaning(self.ramp))
    }

    fn caution(&self) -> String {
        let few = "So few electrodes say nothing about the rest of the head.";
        let colours = spanned(self.colour_range());
        match usable(&self.electrodes) {
            0 => few.into(),
            usable if usable < FEWEST_FOR_SURFACE => format!("{colours} {few}"),
            _ => format!(
                "{colours} Only the dots were measured: colour between them is interpolated, and no colour means no electrode is near."
            ),
        }
    }
}

/// What the colours of a map mean.
pub(crate) fn meaning(ramp: ColourRamp) -> &'static str {
    match ramp {
        ColourRamp::Sequential => "stronger colour means a larger value",
        ColourRamp::Diverging => "blue is below zero, orange above, stronger colour further from it",
    }
}
