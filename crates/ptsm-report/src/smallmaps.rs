//! Several scalp maps side by side, with one scale for all.

use ptsm_eval::{Column, Table};

use crate::colour::ColourRamp;
use crate::drawing::Drawing;
use crate::head::HeadPlacement;
use crate::layout::{WIDTH, cut, header};
use crate::legend::{BAR, colour_bar, colour_range, spanned};
use crate::numbers::cells;
use crate::scalp::{Electrode, HeadStyle, draw_head, extremes, meaning, usable};
use crate::svg::{Anchor, Canvas};

/// One of several maps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SmallMap {
    /// What sets it apart: `personal`, `left hand`.
    pub name: String,
    /// Its values.
    pub electrodes: Vec<Electrode>,
}

/// Scalp maps side by side. Their colours mean the same values, so that they can be compared.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SmallMaps {
    /// What they show.
    pub title: String,
    /// The maps, from the left, then from the top.
    pub maps: Vec<SmallMap>,
    /// The values of the first and the last colour; none to fit the values of all maps.
    pub range: Option<[f64; 2]>,
    /// What the values are, with their unit.
    pub unit: String,
    /// How values become colours.
    pub ramp: ColourRamp,
    /// What a ring means; may be empty.
    pub ring_meaning: String,
}

impl SmallMaps {
    fn electrodes(&self) -> impl Iterator<Item = &Electrode> {
        self.maps.iter().flat_map(|map| &map.electrodes)
    }

    fn colour_range(&self) -> [f64; 2] {
        colour_range(self.ramp, self.range, self.electrodes().map(|electrode| electrode.value))
    }

    /// How many stand side by side: two, three, or four where there are many.
    fn across(&self) -> usize {
        match self.maps.len() {
            0..=2 => 2,
            4 => 2,
            3..=9 => 3,
            _ => 4,
        }
    }

    fn description(&self) -> String {
        let said = |map: &SmallMap| match extremes(&map.electrodes) {
            Some(extremes) => format!(" {}: {extremes}", map.name),
            None => format!(" {}: no values.", map.name),
        };
        format!("{} scalp maps.{}", self.maps.len(), self.maps.iter().map(said).collect::<String>())
    }
}

impl Drawing for SmallMaps {
    fn title(&self) -> &str {
        &self.title
    }

    fn svg(&self, id: &str) -> String {
        let mut canvas = Canvas::default();
        let top = header(&mut canvas, &self.title, &[], WIDTH);
        let range = self.colour_range();
        let cell = WIDTH / self.across() as f64;
        // Ears need a little more than the head, the nose a little more than the ears.
        let unit = cell / 2.62;
        let height = 2.62 * unit + 20.0;
        for (index, map) in self.maps.iter().enumerate() {
            let (row, column) = (index / self.across(), index % self.across());
            let (x, y) = ((column as f64 + 0.5) * cell, top + row as f64 * height);
            canvas.text("strong", x, y + 12.0, Anchor::Middle, &cut(&map.name, 12.0, cell - 6.0));
            let place = HeadPlacement { x, y: y + 17.0 + 1.32 * unit, unit };
            let look = HeadStyle { place, range, ramp: self.ramp, small: true };
            draw_head(&mut canvas, &format!("{id}-{index}"), look, &map.electrodes);
        }
        let mut bottom = top + height * self.maps.len().div_ceil(self.across()) as f64 + 4.0;
        if self.maps.iter().any(|map| usable(&map.electrodes) > 0) {
            colour_bar(&mut canvas, bottom, self.ramp, range, &self.unit);
            bottom += BAR;
        }
        if self.electrodes().any(|electrode| electrode.ringed) && !self.ring_meaning.is_empty() {
            let text = format!("ringed: {}", self.ring_meaning);
            canvas.text("label", WIDTH / 2.0, bottom + 11.0, Anchor::Middle, &cut(&text, 12.0, WIDTH));
            bottom += 18.0;
        }
        canvas.finish(id, &self.title, &self.description(), WIDTH, bottom)
    }

    fn table(&self) -> Table {
        let mut names: Vec<&str> = Vec::new();
        for electrode in self.electrodes() {
            if !names.contains(&electrode.name.as_str()) {
                names.push(&electrode.name);
            }
        }
        let mut columns = vec![Column::text("electrode")];
        let mut rows: Vec<Vec<String>> = names.iter().map(|name| vec![name.to_string()]).collect();
        for map in &self.maps {
            columns.push(Column::number(&map.name));
            let of = |name: &&str| map.electrodes.iter().find(|electrode| electrode.name == **name);
            let values: Vec<f64> =
                names.iter().map(|name| of(name).map_or(f64::NAN, |electrode| electrode.value)).collect();
            for (row, text) in rows.iter_mut().zip(cells(&values)) {
                row.push(text);
            }
        }
        let note = if self.unit.is_empty() { String::new() } else { format!("Values: {}.", self.unit) };
        Table { columns, rows, note }
    }

    fn reading(&self) -> String {
        format!(
            "Heads from above, nose up; {}, and one colour is the same value in all of them.",
            meaning(self.ramp)
        )
    }

    fn caution(&self) -> String {
        format!(
            "{} Only the dots were measured: colour between them is interpolated. A map with small values looks flat beside \
             one with large ones even where it has a pattern of its own.",
            spanned(self.colour_range())
        )
    }
}
