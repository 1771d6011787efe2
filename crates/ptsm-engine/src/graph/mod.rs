//! A network as a value: operations with known shapes, built once.

mod norm_statistics;
pub(crate) mod ops;

use crate::error::{Error, Result};
use crate::random;

pub use norm_statistics::BatchNormSite;
use ops::Op;

/// A node of a [`Graph`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Id(pub(crate) u32);

impl Id {
    pub(crate) fn index(self) -> usize {
        self.0 as usize
    }
}

/// One operation on earlier nodes. Shapes have no replica dimension: every value exists once per replica.
#[derive(Clone, Debug)]
pub struct Node {
    /// What is done.
    pub op: Op,
    /// To what.
    pub inputs: Vec<Id>,
    /// Shape of the result; empty for a scalar.
    pub shape: Vec<usize>,
    /// Index into [`Graph::scopes`].
    pub(crate) scope: u32,
}

/// How a tensor starts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Init {
    /// The same value everywhere.
    Constant(f64),
    /// Uniform between minus and plus this bound.
    Uniform(f64),
    /// Normal with this standard deviation.
    Normal(f64),
    /// Uniform between 0 and this bound.
    Positive(f64),
    /// Mean 0, variance 1: the start of running statistics `[2, C]`.
    Moments,
    /// What takes P samples to the orthonormal Fourier transform of a real signal: `[P, 2 * (P / 2 + 1)]`, real parts and then imaginary ones.
    Fourier {
        /// Samples P.
        samples: usize,
    },
}

impl Init {
    /// PyTorch's default for linear and convolutional layers: uniform with bound `1 / sqrt(fan_in)`.
    pub fn fan_in(fan_in: usize) -> Init {
        Init::Uniform(1.0 / (fan_in as f64).sqrt())
    }

    /// Glorot and Bengio's uniform: bound `sqrt(6 / (fan_in + fan_out))`.
    pub fn glorot(fan_in: usize, fan_out: usize) -> Init {
        Init::Uniform((6.0 / (fan_in as f64 + fan_out as f64)).sqrt())
    }

    pub(crate) fn fill(self, seed: u64, tensor: u32, values: &mut [f64]) {
        match self {
            Init::Constant(c) => values.fill(c),
            Init::Moments => {
                let half = values.len() / 2;
                values[..half].fill(0.0);
                values[half..].fill(1.0);
            }
            Init::Positive(bound) => {
                for (i, v) in values.iter_mut().enumerate() {
                    *v = bound * random::uniform(seed, tensor, i as u64);
                }
            }
            Init::Fourier { samples } => {
                let bins = samples / 2 + 1;
                for (t, row) in values.chunks_mut(2 * bins).enumerate() {
                    for (i, v) in row.iter_mut().enumerate() {
                        // Whole turns taken away first: no digits are lost far along.
                        let turn = (t * (i % bins)) % samples;
                        let angle = std::f64::consts::TAU * turn as f64 / samples as f64;
                        let value = if i < bins { angle.cos() } else { -angle.sin() };
                        *v = value / (samples as f64).sqrt();
                    }
                }
            }
            Init::Uniform(bound) => {
                for (i, v) in values.iter_mut().enumerate() {
                    *v = bound * (2.0 * random::uniform(seed, tensor, i as u64) - 1.0);
                }
            }
            Init::Normal(deviation) => {
                for (i, v) in values.iter_mut().enumerate() {
                    // Box and Muller; one less the number is never 0.
                    let [size, turn] = [0, 1].map(|j| random::uniform(seed, tensor, 2 * i as u64 + j));
                    let radius = (-2.0 * (1.0 - size).ln()).sqrt();
                    *v = deviation * radius * (std::f64::consts::TAU * turn).cos();
                }
            }
        }
    }
}

/// A parameter or a running statistic.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Full name, e.g. `encoder.0.conv.weight`.
    pub name: String,
    /// Shape, without the replica dimension.
    pub shape: Vec<usize>,
    /// Start value.
    pub init: Init,
    /// Moved by optimizers; otherwise a statistic the training step maintains.
    pub trainable: bool,
    /// After each optimizer step that moves it, every slice along the first axis is scaled down to at most this norm.
    pub max_norm: Option<f64>,
}

impl Tensor {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Never true: zero-sized dimensions are refused.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A value that is handed in at each run.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// Its name.
    pub name: String,
    /// Shape, without the replica dimension.
    pub shape: Vec<usize>,
    /// For labels: whole numbers below this.
    pub classes: Option<usize>,
}

fn too_large(shape: &[usize]) -> bool {
    let elements = shape.iter().try_fold(1usize, |n, d| n.checked_mul(*d));
    elements.is_none_or(|n| n > isize::MAX as usize / size_of::<f64>())
}

/// A network and its losses. See the [crate's first page](crate) for a tour.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    pub(crate) nodes: Vec<Node>,
    pub(crate) tensors: Vec<Tensor>,
    pub(crate) inputs: Vec<Input>,
    pub(crate) scopes: Vec<String>,
    pub(crate) streams: u32,
    scope: Vec<String>,
}

impl Graph {
    /// An empty graph.
    pub fn new() -> Graph {
        Graph::default()
    }

    /// Builds a named part: names of parameters, errors and drawings carry the path.
    pub fn scoped<R>(&mut self, name: impl Into<String>, body: impl FnOnce(&mut Graph) -> R) -> R {
        self.scope.push(name.into());
        let result = body(self);
        self.scope.pop();
        result
    }

    /// Shape of a node.
    pub fn shape(&self, id: Id) -> &[usize] {
        self.nodes.get(id.index()).map_or(&[], |node| &node.shape)
    }

    /// A node that is known to be there.
    pub(crate) fn node(&self, id: Id) -> &Node {
        &self.nodes[id.index()]
    }

    /// An id of another graph may point past this one's end.
    pub(crate) fn check(&self, id: Id) -> Result<()> {
        if id.index() < self.nodes.len() {
            return Ok(());
        }
        let message = format!("node {} is not of this graph, which has {} nodes", id.0, self.nodes.len());
        Err(Error::Program(message))
    }

    /// The input a node is, if it is one.
    pub(crate) fn as_input(&self, id: Id) -> Option<&Input> {
        match self.nodes.get(id.index())?.op {
            Op::Input(i) => Some(&self.inputs[i]),
            _ => None,
        }
    }

    /// How many classes labels were declared with; none for what is no labels. Repeated, in part, side by side, renamed or under another
    /// shape, they still are labels.
    pub(crate) fn label_classes(&self, labels: Id) -> Option<usize> {
        let node = self.nodes.get(labels.index())?;
        match (&node.op, &node.inputs[..]) {
            (Op::Expand(_) | Op::Reshape(_) | Op::Slice(_) | Op::Relabel(_), [from]) => {
                self.label_classes(*from)
            }
            (Op::Concat(_), [a, b]) => {
                let (a, b) = (self.label_classes(*a)?, self.label_classes(*b)?);
                (a == b).then_some(a)
            }
            _ => self.as_input(labels)?.classes,
        }
    }

    /// A number that differs where tensors differ in name, shape or kind.
    pub(crate) fn signature(tensors: &[Tensor]) -> u64 {
        // FNV-1a over everything that decides whether parameters fit.
        let mut hash = 0xcbf2_9ce4_8422_2325u64;
        let mut take = |bytes: &[u8]| {
            for b in bytes {
                hash = (hash ^ u64::from(*b)).wrapping_mul(0x0100_0000_01b3);
            }
        };
        for t in tensors {
            take(t.name.as_bytes());
            take(&[0xff, u8::from(t.trainable)]);
            for n in &t.shape {
                take(&n.to_le_bytes());
            }
        }
        hash
    }

    /// All nodes in the order they were built.
    pub fn nodes(&self) -> impl Iterator<Item = (Id, &Node)> {
        self.nodes.iter().enumerate().map(|(i, n)| (Id(i as u32), n))
    }

    /// All parameters and statistics.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    /// All inputs.
    pub fn inputs(&self) -> &[Input] {
        &self.inputs
    }

    /// The part of the network a node belongs to.
    pub fn scope_of(&self, id: Id) -> &str {
        self.nodes.get(id.index()).map_or("", |node| &self.scopes[node.scope as usize])
    }

    /// Number of trainable numbers.
    pub fn parameter_count(&self) -> usize {
        self.tensors.iter().filter(|t| t.trainable).map(Tensor::len).sum()
    }

    /// Declares a parameter.
    pub fn parameter(&mut self, name: &str, shape: &[usize], init: Init) -> Result<Id> {
        self.tensor(name, shape, init, true, None)
    }

    /// Declares a parameter whose slices along the first axis never exceed a norm.
    pub fn constrained(&mut self, name: &str, shape: &[usize], init: Init, max_norm: f64) -> Result<Id> {
        self.tensor(name, shape, init, true, Some(max_norm))
    }

    /// Declares a statistic that the training step maintains.
    pub fn statistic(&mut self, name: &str, shape: &[usize], init: Init) -> Result<Id> {
        self.tensor(name, shape, init, false, None)
    }

    fn tensor(
        &mut self,
        name: &str,
        shape: &[usize],
        init: Init,
        trainable: bool,
        max_norm: Option<f64>,
    ) -> Result<Id> {
        let path = self.scope.join(".");
        let name = if path.is_empty() { name.to_string() } else { format!("{path}.{name}") };
        if self.tensors.iter().any(|t| t.name == name) {
            return Err(Error::Tensor { name, message: "is declared twice".into() });
        }
        let wrong = |name, message| Err(Error::Tensor { name, message });
        if shape.contains(&0) {
            return wrong(name, format!("has a dimension of size 0: {shape:?}"));
        }
        if too_large(shape) {
            return wrong(name, format!("{shape:?} is larger than any memory"));
        }
        if name == "__metadata__" {
            return wrong(name, "is a name that safetensors files keep for themselves".into());
        }
        if let Some(most) = max_norm
            && (!(most > 0.0 && most.is_finite()) || shape.is_empty())
        {
            return wrong(name, format!("cannot have its slices {shape:?} limited to a norm of {most}"));
        }
        self.tensors.push(Tensor { name, shape: shape.to_vec(), init, trainable, max_norm });
        self.push(Op::Tensor(self.tensors.len() - 1), vec![], shape.to_vec())
    }

    /// Declares an input of real numbers.
    pub fn input(&mut self, name: &str, shape: &[usize]) -> Result<Id> {
        self.declare(name, shape, None)
    }

    /// Declares an input of class labels `0..classes`.
    pub fn labels(&mut self, name: &str, shape: &[usize], classes: usize) -> Result<Id> {
        self.declare(name, shape, Some(classes))
    }

    fn declare(&mut self, name: &str, shape: &[usize], classes: Option<usize>) -> Result<Id> {
        let wrong = |message: String| Err(Error::Input { name: name.to_string(), message });
        if self.inputs.iter().any(|i| i.name == name) {
            return wrong("is declared twice".into());
        }
        if shape.contains(&0) {
            return wrong(format!("has a dimension of size 0: {shape:?}"));
        }
        if too_large(shape) {
            return wrong(format!("{shape:?} is larger than any memory"));
        }
        // Labels travel as real numbers, and f32 counts exactly up to here.
        if classes.is_some_and(|k| k == 0 || k > 1 << 24) {
            return wrong(format!("needs 1 to {} classes, got {}", 1 << 24, classes.unwrap_or(0)));
        }
        self.inputs.push(Input { name: name.to_string(), shape: shape.to_vec(), classes });
        self.push(Op::Input(self.inputs.len() - 1), vec![], shape.to_vec())
    }

    /// A number.
    pub fn constant(&mut self, value: f64) -> Result<Id> {
        self.push(Op::Constant(value), vec![], vec![])
    }

    /// A random stream of its own for an operation such as dropout.
    pub(crate) fn stream(&mut self) -> u32 {
        self.streams += 1;
        self.streams
    }

    /// Appends an operation after its shape rule agreed.
    pub(crate) fn apply(&mut self, op: impl Into<Op>, inputs: &[Id]) -> Result<Id> {
        let op = op.into();
        for &input in inputs {
            self.check(input)?;
        }
        let shapes: Vec<&[usize]> = inputs.iter().map(|&i| self.shape(i)).collect();
        let shape = op.shape(&shapes).map_err(|message| self.misfit(op.name(), message))?;
        self.push(op, inputs.to_vec(), shape)
    }

    pub(crate) fn misfit(&self, operation: &'static str, message: String) -> Error {
        Error::Shape { operation, scope: self.scope.join("."), message }
    }

    pub(crate) fn push(&mut self, op: Op, inputs: Vec<Id>, shape: Vec<usize>) -> Result<Id> {
        if shape.contains(&0) {
            let message = format!("the result {shape:?} has a dimension of size 0");
            return Err(self.misfit(op.name(), message));
        }
        if too_large(&shape) {
            let message = format!("the result {shape:?} is larger than any memory");
            return Err(self.misfit(op.name(), message));
        }
        let path = self.scope.join(".");
        let scope = match self.scopes.iter().rposition(|s| *s == path) {
            Some(i) => i,
            None => {
                self.scopes.push(path);
                self.scopes.len() - 1
            }
        };
        self.nodes.push(Node { op, inputs, shape, scope: scope as u32 });
        Ok(Id(self.nodes.len() as u32 - 1))
    }

    /// An empty graph over the same tensors and inputs.
    pub(crate) fn sibling(&self) -> Graph {
        Graph {
            tensors: self.tensors.clone(),
            inputs: self.inputs.clone(),
            streams: self.streams,
            ..Graph::default()
        }
    }

    /// Continues in the scope of a node of another graph.
    pub(crate) fn enter_scope(&mut self, path: &str) {
        self.scope = if path.is_empty() { vec![] } else { vec![path.to_string()] };
    }
}

#[cfg(test)]
mod tests {
    use super::Init;

    #[test]
    fn normal_start_values_have_their_mean_and_deviation() {
        let mut values = vec![0.0; 20_000];
        Init::Normal(0.02).fill(3, 1, &mut values);
        let n = values.len() as f64;
        let mean = values.iter().sum::<f64>() / n;
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / n;
        assert!(mean.abs() < 4.0 * 0.02 / n.sqrt(), "{mean}");
        assert!((variance.sqrt() / 0.02 - 1.0).abs() < 0.02, "{variance}");
        let beyond = values.iter().filter(|v| v.abs() > 0.04).count() as f64 / n;
        assert!((beyond - 0.0455).abs() < 0.006, "{beyond}");
    }
}
