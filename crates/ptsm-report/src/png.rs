//! Figures as PNG, drawn by resvg with fonts of this crate: the same picture on every machine, with or without fonts of its own.

use std::sync::{Arc, OnceLock};

use resvg::tiny_skia::{Pixmap, Transform};
use resvg::usvg::{Options, Tree, fontdb};

/// Inter (SIL Open Font License), cut to Latin, Greek and the signs that figures use: see `fonts/subset.py`.
const FONTS: [&[u8]; 2] =
    [include_bytes!("../fonts/Inter-Regular.ttf"), include_bytes!("../fonts/Inter-SemiBold.ttf")];

/// The most pixels along one side; more would take gigabytes.
const MOST_PIXELS: f32 = 16_384.0;

/// Why a drawing does not become a picture.
#[derive(Debug, thiserror::Error)]
pub enum PngError {
    /// The text is not a drawing.
    #[error("the figure is not an SVG drawing: {0}")]
    Drawing(String),
    /// The picture would be too large, or have no pixel.
    #[error(
        "a scale of {scale} makes a figure of {width:.0} by {height:.0} units a picture without pixels or with too many; take a scale between 0.1 and 10"
    )]
    Scale {
        /// What was asked for.
        scale: f32,
        /// The drawing's width.
        width: f32,
        /// The drawing's height.
        height: f32,
    },
    /// The picture cannot be written.
    #[error("the picture cannot be written as PNG: {0}")]
    Writing(String),
}

/// A figure in its own file ([`crate::svg::standalone`]) as a PNG picture of `scale` pixels to a unit. Figures are 464 units wide, so
/// a scale of 4 is enough for print. Letters beyond Latin and Greek come out as empty boxes; the SVG file has no such limit.
pub fn png(svg: &str, scale: f32) -> Result<Vec<u8>, PngError> {
    let options = Options { fontdb: fonts(), font_family: "Inter".into(), ..Options::default() };
    let tree = Tree::from_str(svg, &options).map_err(|error| PngError::Drawing(error.to_string()))?;
    let (width, height) = (tree.size().width(), tree.size().height());
    let side = |length: f32| Some((length * scale).ceil()).filter(|side| (1.0..=MOST_PIXELS).contains(side));
    let picture =
        side(width).zip(side(height)).and_then(|(wide, high)| Pixmap::new(wide as u32, high as u32));
    let mut picture = picture.ok_or(PngError::Scale { scale, width, height })?;
    resvg::render(&tree, Transform::from_scale(scale, scale), &mut picture.as_mut());
    picture.encode_png().map_err(|error| PngError::Writing(error.to_string()))
}

fn fonts() -> Arc<fontdb::Database> {
    static KEPT: OnceLock<Arc<fontdb::Database>> = OnceLock::new();
    let load = || {
        let mut database = fontdb::Database::new();
        for font in FONTS {
            database.load_font_data(font.to_vec());
        }
        // Every name in the figures' list of fonts ends here.
        database.set_sans_serif_family("Inter");
        database.set_serif_family("Inter");
        Arc::new(database)
    };
    KEPT.get_or_init(load).clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::svg::standalone;
    use crate::{Drawing, HeatMap, LineChart, Series};

    /// The picture's pixels, and how many are not white.
    fn decoded(bytes: &[u8]) -> (u32, u32, usize) {
        let picture = Pixmap::decode_png(bytes).unwrap();
        let dark = picture.pixels().iter().filter(|pixel| pixel.red() < 128).count();
        (picture.width(), picture.height(), dark)
    }

    #[test]
    fn a_figure_has_its_size_and_its_letters() {
        let curve = |title: &str| LineChart {
            title: title.into(),
            series: vec![Series::line("a", [(0.0, 1.0), (1.0, 2.0)])],
            ..LineChart::default()
        };
        let picture = |title: &str| decoded(&png(&standalone(&curve(title).svg("a")), 2.0).unwrap());
        let (with, without) = (picture("A title of some letters"), picture("\u{a0}"));
        assert_eq!(with.0, 928);
        assert!(with.2 > without.2 + 500, "{with:?} {without:?}");
    }

    #[test]
    fn bold_letters_are_bolder() {
        let text = |weight: usize| {
            format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 200 30\"><rect width=\"200\" height=\"30\" fill=\"#fff\"/>\
                <text y=\"20\" font-weight=\"{weight}\" font-family=\"system-ui, sans-serif\">A few letters</text></svg>"
            )
        };
        let dark = |weight: usize| decoded(&png(&text(weight), 3.0).unwrap()).2;
        assert!(dark(600) > dark(400) + 200, "{} {}", dark(600), dark(400));
    }

    #[test]
    fn what_cannot_be_drawn_is_said() {
        assert!(matches!(png("no drawing", 1.0), Err(PngError::Drawing(_))));
        let svg = standalone(&HeatMap::default().svg("a"));
        for scale in [0.0, -1.0, 1e9, f32::NAN] {
            assert!(matches!(png(&svg, scale), Err(PngError::Scale { .. })), "{scale}");
        }
    }
}
