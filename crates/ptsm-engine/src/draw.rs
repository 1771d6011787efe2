//! A drawing of a graph: its named parts as boxes, layer by layer, and what flows between them.

use std::collections::BTreeMap;
use std::fmt::Write;

use crate::graph::ops::Op;
use crate::graph::{Graph, Id};

/// One box: a part of the network, or a bend of a line that crosses a layer.
struct DiagramBox {
    title: String,
    lines: Vec<String>,
    kind: &'static str,
    layer: usize,
    order: f64,
    x: f64,
    width: f64,
}

const LINE: f64 = 15.0;
const LETTER: f64 = 6.6;
const GAP: f64 = 22.0;
const ROW_GAP: f64 = 34.0;
const MARGIN: f64 = 16.0;

impl Graph {
    /// The graph as an SVG picture. `part` names the box that a scope's nodes belong to; inputs get boxes of their own.
    pub fn draw(&self, part: impl Fn(&str) -> String) -> String {
        let mut names: Vec<String> = vec![];
        let mut box_of: Vec<Option<usize>> = vec![];
        for (id, node) in self.nodes() {
            let name = match node.op {
                // Parameters belong to whoever reads them, and a constant is a detail.
                Op::Tensor(_) | Op::Constant(_) => None,
                Op::Input(i) if self.inputs[i].classes.is_some() => {
                    Some(format!("labels: {}", self.inputs[i].name))
                }
                Op::Input(i) => Some(format!("input: {}", self.inputs[i].name)),
                _ => Some(part(self.scope_of(id))),
            };
            box_of.push(name.map(|name| match names.iter().position(|n| *n == name) {
                Some(i) => i,
                None => {
                    names.push(name);
                    names.len() - 1
                }
            }));
        }
        let mut edges: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (id, node) in self.nodes() {
            for &input in &node.inputs {
                if let (Some(from), Some(to)) = (box_of[input.index()], box_of[id.index()])
                    && from != to
                {
                    edges.entry((from, to)).or_insert_with(|| self.shape(input).to_vec());
                }
            }
        }
        let mut places: Vec<DiagramBox> =
            (0..names.len()).map(|b| self.describe(&names[b], b, &box_of)).collect();
        layer(&mut places, &edges);
        let lines = bend(&mut places, &edges);
        arrange(&mut places, &lines);
        render(&places, &lines)
    }

    fn describe(&self, title: &str, own: usize, box_of: &[Option<usize>]) -> DiagramBox {
        let nodes: Vec<Id> =
            (0..self.nodes.len()).filter(|&i| box_of[i] == Some(own)).map(|i| Id(i as u32)).collect();
        let mut operations: Vec<&str> = vec![];
        let mut tensors: Vec<usize> = vec![];
        for &id in &nodes {
            let node = self.node(id);
            let plumbing = matches!(node.op, Op::Reshape(_) | Op::Input(_));
            if !plumbing
                && operations.last() != Some(&node.op.name())
                && !operations.contains(&node.op.name())
            {
                operations.push(node.op.name());
            }
            for input in &node.inputs {
                if let Op::Tensor(t) = self.node(*input).op
                    && self.tensors[t].trainable
                    && !tensors.contains(&t)
                {
                    tensors.push(t);
                }
            }
        }
        let mut lines = vec![];
        for chunk in operations.chunks(4) {
            lines.push(chunk.join(", "));
        }
        let count: usize = tensors.iter().map(|&t| self.tensors[t].len()).sum();
        if count > 0 {
            lines.push(format!("{} parameters", thousands(count)));
        }
        let input = nodes.first().and_then(|&id| match self.node(id).op {
            Op::Input(i) => Some(&self.inputs[i]),
            _ => None,
        });
        if let Some(input) = input {
            let classes = input.classes.map_or(String::new(), |k| format!(" of {k} classes"));
            lines.push(format!("{:?}{classes}", input.shape));
        }
        let longest = lines.iter().map(|l| l.len()).chain([title.len() + 2]).max().unwrap_or(0);
        let kind = match (input.is_some(), title.split('.').next()) {
            (true, _) => "input",
            (_, Some("loss")) => "loss",
            _ => "part",
        };
        let width = longest as f64 * LETTER + 18.0;
        DiagramBox { title: title.into(), lines, kind, layer: 0, order: 0.0, x: 0.0, width }
    }
}

fn thousands(n: usize) -> String {
    let digits = n.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().map(|g| std::str::from_utf8(g).unwrap_or_default()).collect();
    groups.join(" ")
}

type Edges = BTreeMap<(usize, usize), Vec<usize>>;

/// Each box one layer below the lowest box it reads from. Should parts read from each other in a circle, the number of
/// rounds ends it.
fn layer(places: &mut [DiagramBox], edges: &Edges) {
    for _ in 0..places.len() {
        for &(from, to) in edges.keys() {
            let below = places[from].layer + 1;
            if places[to].layer < below && below < places.len() {
                places[to].layer = below;
            }
        }
    }
    // An input stands just above its first reader.
    for b in 0..places.len() {
        let first = edges.keys().filter(|(from, _)| *from == b).map(|(_, to)| places[*to].layer).min();
        if let (Some(first), "input") = (first, places[b].kind) {
            places[b].layer = first.saturating_sub(1);
        }
    }
}

/// A line from box to box, through a bend in every layer between; with the shape of what flows.
struct Line {
    through: Vec<usize>,
    shape: Vec<usize>,
}

fn bend(places: &mut Vec<DiagramBox>, edges: &Edges) -> Vec<Line> {
    let mut lines = vec![];
    for (&(from, to), shape) in edges {
        let mut through = vec![from];
        for layer in places[from].layer + 1..places[to].layer {
            places.push(DiagramBox {
                title: String::new(),
                lines: vec![],
                kind: "bend",
                layer,
                order: 0.0,
                x: 0.0,
                width: 12.0,
            });
            through.push(places.len() - 1);
        }
        through.push(to);
        lines.push(Line { through, shape: shape.clone() });
    }
    lines
}

/// Orders each layer by the mean place of its neighbours, a few times down and up, then spaces the boxes.
fn arrange(places: &mut [DiagramBox], lines: &[Line]) {
    let layers = places.iter().map(|p| p.layer).max().unwrap_or(0) + 1;
    let mut rows: Vec<Vec<usize>> = vec![vec![]; layers];
    for (b, place) in places.iter().enumerate() {
        rows[place.layer].push(b);
    }
    let width =
        |row: &[usize], places: &[DiagramBox]| row.iter().map(|&b| places[b].width + GAP).sum::<f64>();
    let widest = rows.iter().map(|row| width(row, places)).fold(0.0, f64::max);
    let segments: Vec<(usize, usize)> =
        lines.iter().flat_map(|l| l.through.windows(2).map(|w| (w[0], w[1])).collect::<Vec<_>>()).collect();
    for round in 0..12 {
        for layer in 0..layers {
            let layer = if round % 2 == 0 { layer } else { layers - 1 - layer };
            for &b in &rows[layer] {
                let near: Vec<f64> = segments
                    .iter()
                    .filter_map(|&(from, to)| match (from == b, to == b) {
                        (true, _) if round % 2 == 1 => Some(places[to].x),
                        (_, true) if round % 2 == 0 => Some(places[from].x),
                        _ => None,
                    })
                    .collect();
                if !near.is_empty() {
                    places[b].order = near.iter().sum::<f64>() / near.len() as f64;
                } else if round > 0 {
                    places[b].order = places[b].x;
                }
            }
            rows[layer].sort_by(|&a, &b| places[a].order.total_cmp(&places[b].order).then(a.cmp(&b)));
            let mut at = (widest - width(&rows[layer], places)) / 2.0;
            for &b in &rows[layer] {
                places[b].x = at + (places[b].width + GAP) / 2.0;
                at += places[b].width + GAP;
            }
        }
    }
}

fn render(places: &[DiagramBox], lines: &[Line]) -> String {
    let text = |p: &DiagramBox| if p.kind == "bend" { 0.0 } else { 22.0 + LINE * p.lines.len() as f64 };
    let layers = places.iter().map(|p| p.layer).max().unwrap_or(0) + 1;
    let mut tops = vec![MARGIN; layers + 1];
    for layer in 0..layers {
        let tallest = places.iter().filter(|p| p.layer == layer).map(text).fold(0.0, f64::max);
        tops[layer + 1] = tops[layer] + tallest + ROW_GAP;
    }
    // A bend goes straight through its layer, beside the boxes.
    let height =
        |p: &DiagramBox| if p.kind == "bend" { tops[p.layer + 1] - tops[p.layer] - ROW_GAP } else { text(p) };
    let right = places.iter().map(|p| p.x + p.width / 2.0).fold(0.0, f64::max);
    let (w, h) = (right + 2.0 * MARGIN, tops[layers] - ROW_GAP + MARGIN);
    let x = |p: &DiagramBox| p.x + MARGIN;
    let mut svg = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w:.0} {h:.0}\" width=\"{w:.0}\" height=\"{h:.0}\" \
         font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11.5\">\n\
         <rect width=\"{w:.0}\" height=\"{h:.0}\" fill=\"#ffffff\" rx=\"8\"/>\n"
    );
    for line in lines {
        let mut path = String::new();
        for pair in line.through.windows(2) {
            let (from, to) = (&places[pair[0]], &places[pair[1]]);
            let (x0, y0) = (x(from), tops[from.layer] + height(from));
            let (x1, y1) = (x(to), tops[to.layer]);
            let _ = write!(path, "{}{x0:.1} {y0:.1}", if path.is_empty() { "M" } else { " L" });
            let middle = (y0 + y1) / 2.0;
            let _ = write!(path, " C{x0:.1} {middle:.1} {x1:.1} {middle:.1} {x1:.1} {y1:.1}");
        }
        let shape = &line.shape;
        let _ = writeln!(
            svg,
            "<path d=\"{path}\" fill=\"none\" stroke=\"#8a93a3\" stroke-width=\"1.3\"><title>{shape:?}</title></path>"
        );
    }
    let escaped = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    for place in places.iter().filter(|p| p.kind != "bend") {
        let fill = match place.kind {
            "input" => "#e6f0e4",
            "loss" => "#fbe9e4",
            _ => "#e8eef9",
        };
        let (left, top) = (x(place) - place.width / 2.0, tops[place.layer]);
        let _ = write!(
            svg,
            "<g><rect x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"5\" fill=\"{fill}\" \
             stroke=\"#5b6b86\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" font-weight=\"bold\" \
             fill=\"#1b2538\">{}</text>",
            place.width,
            height(place),
            x(place),
            top + 15.0,
            escaped(&place.title)
        );
        for (i, line) in place.lines.iter().enumerate() {
            let _ = write!(
                svg,
                "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"#44506a\">{}</text>",
                x(place),
                top + 15.0 + LINE * (i + 1) as f64,
                escaped(line)
            );
        }
        svg.push_str("</g>\n");
    }
    svg.push_str("</svg>\n");
    svg
}
