//! What every figure can do, and a figure on a page.

use ptsm_eval::Table;

/// A figure: it draws itself and shows its numbers.
pub trait Drawing {
    /// What it shows, in a few words.
    fn title(&self) -> &str;

    /// The drawing as an `<svg>` element. `id` is unique on the page; the page gives the styles, or [`crate::svg::standalone`].
    fn svg(&self, id: &str) -> String;

    /// The numbers it shows.
    fn table(&self) -> Table;

    /// One sentence on how to read it.
    fn reading(&self) -> String;

    /// One sentence on how it can mislead.
    fn caution(&self) -> String;
}

/// A figure on a page, with the two sentences that go under it.
pub struct Figure {
    /// What is drawn.
    pub drawing: Box<dyn Drawing>,
    /// How to read it.
    pub reading: String,
    /// How it can mislead.
    pub caution: String,
}

impl Figure {
    /// A figure with its own sentences.
    pub fn new(drawing: impl Drawing + 'static) -> Figure {
        Figure { reading: drawing.reading(), caution: drawing.caution(), drawing: Box::new(drawing) }
    }
}
