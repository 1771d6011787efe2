//! A scalp map: values at electrodes, seen from above.

use ptsm_signal::Position;

use crate::colour::{Ramp, STEPS, step};
use crate::drawing::Drawing;
use crate::field;
use crate::head::{OUTLINE, Place, nose_and_ears, project};
use crate::layout::{WIDTH, header};
use crate::numbers::{between, cells, number};
use crate::scale::{Linear, span};
use crate::svg::{Anchor, Canvas, escape};
use crate::table::{Column, Table};

/// With more electrodes than this their names would overlap.
const MOST_NAMES: usize = 72;
/// With fewer electrodes a surface says more than was measured.
const FEWEST_FOR_SURFACE: usize = 4;

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
    pub ramp: Ramp,
    /// What a ring means: `electrodes that carry the simulated task`.
    pub ring_meaning: String,
}

impl ScalpMap {
    fn colour_range(&self) -> [f64; 2] {
        let fitted = || span(self.electrodes.iter().map(|electrode| electrode.value));
        let range = self.range.map_or_else(fitted, span);
        match self.ramp {
            Ramp::Sequential => range,
            // Zero is the middle colour.
            Ramp::Diverging => span(range.into_iter().flat_map(|end| [end, -end])),
        }
    }

    /// How many electrodes have a value and a place.
    fn usable(&self) -> usize {
        let known =
            |electrode: &&Electrode| electrode.value.is_finite() && project(electrode.position).is_some();
        self.electrodes.iter().filter(known).count()
    }

    fn description(&self) -> String {
        let known = || self.electrodes.iter().filter(|electrode| electrode.value.is_finite());
        let extreme = |sign: f64| known().max_by(|a, b| (sign * a.value).total_cmp(&(sign * b.value)));
        match (extreme(1.0), extreme(-1.0)) {
            (Some(high), Some(low)) => format!(
                "Scalp map of {} electrodes. Highest at {} ({}), lowest at {} ({}).",
                self.electrodes.len(),
                high.name,
                number(high.value),
                low.name,
                number(low.value)
            ),
            _ => "Scalp map without values.".into(),
        }
    }

    fn draw_electrodes(&self, canvas: &mut Canvas, place: Place, range: [f64; 2], surface: bool) {
        let names = self.electrodes.len() <= MOST_NAMES;
        for electrode in &self.electrodes {
            let Some(point) = project(electrode.position) else { continue };
            let (x, y) = place.at(point);
            let outside = point.0.hypot(point.1) > OUTLINE;
            let value = electrode.value;
            canvas.raw(&format!("<g><title>{}: {}</title>", escape(&electrode.name), escape(&number(value))));
            if electrode.ringed {
                let radius = if surface { 7.5 } else { 15.0 };
                canvas.circle("halo", x, y, radius);
                canvas.circle("ring", x, y, radius);
            }
            if !value.is_finite() {
                canvas.circle("electrode empty", x, y, 2.6);
            } else if outside || !surface {
                // No surface carries this one's colour, so the dot does.
                let size = if surface { 5.0 } else { 11.0 };
                canvas.circle(
                    &format!("electrode valued {}", self.ramp.class(step(range, value))),
                    x,
                    y,
                    size,
                );
            } else {
                canvas.circle("electrode", x, y, 2.2);
            }
            if names || electrode.ringed {
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

    fn draw_legend(&self, canvas: &mut Canvas, top: f64, range: [f64; 2]) {
        let (left, width) = (90.0, WIDTH - 180.0);
        let bar = Linear { domain: [0.0, STEPS as f64], range: [left, left + width] };
        for index in 0..STEPS {
            // A hair wider than its share, so that no seam shows.
            let from = bar.at(index as f64);
            let wide = width / STEPS as f64 + if index + 1 < STEPS { 0.5 } else { 0.0 };
            canvas.rectangle(&self.ramp.class(index), from, top, wide, 10.0);
        }
        canvas.rectangle("frame", left, top, width, 10.0);
        for part in [0.0, 0.5, 1.0] {
            let text = said(range, range[0] + (range[1] - range[0]) * part);
            canvas.text("tick", left + width * part, top + 23.0, Anchor::Middle, &text);
        }
        canvas.text("label", WIDTH / 2.0, top + 39.0, Anchor::Middle, &self.unit);
    }
}

/// A value of the legend, with enough digits to tell its three numbers apart.
fn said(range: [f64; 2], value: f64) -> String {
    between(value, (range[1] - range[0]) / 2.0)
}

impl Drawing for ScalpMap {
    fn title(&self) -> &str {
        &self.title
    }

    fn svg(&self, id: &str) -> String {
        let mut canvas = Canvas::default();
        let top = header(&mut canvas, &self.title, &[], WIDTH);
        let unit = 140.0;
        let place = Place { x: WIDTH / 2.0, y: top + 1.32 * unit, unit };
        let range = self.colour_range();
        let points: Vec<(Position, f64)> =
            self.electrodes.iter().map(|electrode| (electrode.position, electrode.value)).collect();
        let usable = self.usable();
        let surface = usable >= FEWEST_FOR_SURFACE;
        nose_and_ears(&mut canvas, place);
        canvas.circle("scalp", place.x, place.y, place.radius());
        if surface {
            field::draw(&mut canvas, &escape(id), place, &points, range, self.ramp);
        }
        canvas.circle("head", place.x, place.y, place.radius());
        self.draw_electrodes(&mut canvas, place, range, surface);
        let mut bottom = place.y + 1.26 * unit;
        if usable > 0 {
            self.draw_legend(&mut canvas, bottom + 6.0, range);
            bottom += 52.0;
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
        match self.ramp {
            Ramp::Sequential => "The head from above, nose up; stronger colour means a larger value.".into(),
            Ramp::Diverging => {
                "The head from above, nose up; blue is below zero, orange above, stronger colour further from it.".into()
            }
        }
    }

    fn caution(&self) -> String {
        let few = "So few electrodes say nothing about the rest of the head.";
        let range = self.colour_range();
        let colours = format!("Colours span only {} to {}.", said(range, range[0]), said(range, range[1]));
        match self.usable() {
            0 => few.into(),
            usable if usable < FEWEST_FOR_SURFACE => format!("{colours} {few}"),
            _ => format!(
                "{colours} Only the dots were measured: colour between them is interpolated, and no colour means no electrode is near."
            ),
        }
    }
}
