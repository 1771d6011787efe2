//! The numbers of a network, once per replica, and their file.

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use safetensors::tensor::{SafeTensors, TensorView};

use crate::cpu::{Buffer, buffer};
use crate::error::{Error, Result};
use crate::graph::{Graph, Tensor};
use crate::real::Real;

/// Parameters and running statistics of R replicas of one network.
#[derive(Clone)]
pub struct Parameters<T> {
    pub(crate) tensors: Vec<Tensor>,
    pub(crate) replicas: Vec<Replica<T>>,
    pub(crate) signature: u64,
}

/// One replica's.
#[derive(Clone)]
pub(crate) struct Replica<T> {
    pub(crate) values: Vec<Buffer<T>>,
    /// Random numbers of this replica, at start and in every step, follow from this alone.
    pub(crate) seed: u64,
    /// Changes whenever a value may have: what was computed from values with the same stamp is still right.
    pub(crate) stamp: u64,
}

/// A number never given before.
pub(crate) fn new_stamp() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// Names and shapes; the numbers would fill the screen.
impl<T> std::fmt::Debug for Parameters<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let shapes = self.tensors.iter().map(|t| (&t.name, &t.shape));
        write!(f, "{} replicas of ", self.replicas.len())?;
        f.debug_map().entries(shapes).finish()
    }
}

impl<T: Real> Parameters<T> {
    /// Start values, one replica per seed.
    pub fn new(graph: &Graph, seeds: &[u64]) -> Result<Parameters<T>> {
        if seeds.is_empty() {
            return Err(Error::Program("parameters need at least 1 seed, one per replica".into()));
        }
        let replica = |&seed: &u64| Replica {
            values: graph
                .tensors()
                .iter()
                .enumerate()
                .map(|(i, t)| {
                    let mut start = vec![0.0; t.len()];
                    t.init.fill(seed, i as u32, &mut start);
                    let mut values = buffer(t.len());
                    values.iter_mut().zip(&start).for_each(|(v, s)| *v = T::of(*s));
                    values
                })
                .collect(),
            seed,
            stamp: new_stamp(),
        };
        Ok(Parameters {
            tensors: graph.tensors().to_vec(),
            replicas: seeds.iter().map(replica).collect(),
            signature: Graph::signature(graph.tensors()),
        })
    }

    /// Number of replicas.
    pub fn replicas(&self) -> usize {
        self.replicas.len()
    }

    /// Names, shapes and kinds, in the graph's order.
    pub fn tensors(&self) -> &[Tensor] {
        &self.tensors
    }

    fn index(&self, name: &str) -> Result<usize> {
        self.tensors.iter().position(|t| t.name == name).ok_or_else(|| Error::Tensor {
            name: name.into(),
            message: format!(
                "is not part of this network; it has {}",
                list(self.tensors.iter().map(|t| &*t.name))
            ),
        })
    }

    fn replica(&self, replica: usize) -> Result<&Replica<T>> {
        let n = self.replicas.len();
        self.replicas
            .get(replica)
            .ok_or_else(|| Error::Program(format!("there is no replica {replica} of {n}")))
    }

    /// A tensor's values in one replica.
    pub fn get(&self, replica: usize, name: &str) -> Result<&[T]> {
        let i = self.index(name)?;
        Ok(&self.replica(replica)?.values[i])
    }

    /// Replaces a tensor's values in one replica.
    pub fn set(&mut self, replica: usize, name: &str, values: &[T]) -> Result<()> {
        let i = self.index(name)?;
        self.replica(replica)?;
        let (tensor, own) = (&self.tensors[i], &mut self.replicas[replica].values[i]);
        let wrong = |message| Err(Error::Tensor { name: name.into(), message });
        if own.len() != values.len() {
            let (n, shape) = (values.len(), &tensor.shape);
            return wrong(format!("has the shape {shape:?} ({} values), got {n} values", own.len()));
        }
        if let Some(i) = values.iter().position(|v| !v.finite()) {
            return wrong(format!("value {i} is {}, not a finite number", values[i]));
        }
        own.copy_from_slice(values);
        self.replicas[replica].stamp = new_stamp();
        Ok(())
    }

    /// Writes one replica as safetensors, with metadata; beside the target first, then renamed.
    pub fn save(&self, replica: usize, path: &Path, metadata: HashMap<String, String>) -> Result<()> {
        let wrong = |message: String| Error::File { path: path.into(), message };
        let own = self.replica(replica)?;
        let views = self.tensors.iter().zip(&own.values).map(|(t, values)| {
            TensorView::new(T::DTYPE, t.shape.clone(), bytemuck::cast_slice(values))
                .map(|view| (&*t.name, view))
                .map_err(|e| wrong(format!("tensor `{}` cannot be written: {e}", t.name)))
        });
        let views: Vec<_> = views.collect::<Result<_>>()?;
        let bytes = safetensors::serialize(views, Some(metadata))
            .map_err(|e| wrong(format!("cannot be written: {e}")))?;
        replace(path, &bytes).map_err(|e| wrong(format!("cannot be written: {e}")))
    }

    /// Fills one replica from a file made by [`save`](Self::save), all tensors or none.
    pub fn load(&mut self, replica: usize, path: &Path) -> Result<()> {
        self.replica(replica)?;
        let loaded = read_tensors(&self.tensors, path)?;
        self.replicas[replica].values = loaded;
        self.replicas[replica].stamp = new_stamp();
        Ok(())
    }

    /// One replica from a file made by [`save`](Self::save). Nothing is allocated that the file does not hold.
    pub fn from_file(graph: &Graph, seed: u64, path: &Path) -> Result<Parameters<T>> {
        let values = read_tensors(graph.tensors(), path)?;
        Ok(Parameters {
            tensors: graph.tensors().to_vec(),
            replicas: vec![Replica { values, seed, stamp: new_stamp() }],
            signature: Graph::signature(graph.tensors()),
        })
    }

    /// Makes the replicas one network per seed again, all with the values of one of them.
    pub fn spread(&self, from: usize, seeds: &[u64]) -> Result<Parameters<T>> {
        let own = self.replica(from)?;
        if seeds.is_empty() {
            return Err(Error::Program("parameters need at least 1 seed, one per replica".into()));
        }
        let replicas = seeds
            .iter()
            .map(|&seed| Replica { values: own.values.clone(), seed, stamp: own.stamp })
            .collect();
        Ok(Parameters { tensors: self.tensors.clone(), replicas, signature: self.signature })
    }
}

/// The tensors of a network from a file that holds exactly these.
fn read_tensors<T: Real>(tensors: &[Tensor], path: &Path) -> Result<Vec<Buffer<T>>> {
    let wrong = |message: String| Error::File { path: path.into(), message };
    let bytes = read(path)?;
    let file = parse(path, &bytes)?;
    if let Some(extra) = file.names().into_iter().find(|n| !tensors.iter().any(|t| t.name == **n)) {
        return Err(wrong(format!("has a tensor `{extra}` that this network does not have")));
    }
    let mut loaded = Vec::with_capacity(tensors.len());
    for tensor in tensors {
        let name = &tensor.name;
        let view = file
            .tensor(name)
            .map_err(|_| wrong(format!("lacks the tensor `{name}` {:?} of this network", tensor.shape)))?;
        if view.shape() != tensor.shape || view.dtype() != T::DTYPE {
            return Err(wrong(format!(
                "tensor `{name}` is {} {:?}, this network has {} {:?}",
                view.dtype(),
                view.shape(),
                T::DTYPE,
                tensor.shape
            )));
        }
        let mut values = buffer::<T>(tensor.len());
        bytemuck::cast_slice_mut::<T, u8>(&mut values).copy_from_slice(view.data());
        if let Some(i) = values.iter().position(|v| !v.finite()) {
            return Err(wrong(format!("tensor `{name}`: value {i} is {}, not a finite number", values[i])));
        }
        loaded.push(values);
    }
    Ok(loaded)
}

/// Puts bytes in the place of a file, or leaves what was there: written beside, put on the disk, then renamed.
pub fn replace(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let no_name = || std::io::Error::new(std::io::ErrorKind::InvalidInput, "this is not a file name");
    let mut name = path.file_name().ok_or_else(no_name)?.to_os_string();
    name.push(format!(".{}.part", std::process::id()));
    let beside = path.with_file_name(name);
    // On the disk before it has the name: a power cut must not leave the name on empty contents.
    let written = std::fs::File::create(&beside)
        .and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()))
        .and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        // The part is worthless; the first error is the one to report.
        let _ = std::fs::remove_file(&beside);
    }
    written
}

/// The metadata of a safetensors file.
pub fn metadata(path: &Path) -> Result<HashMap<String, String>> {
    let bytes = read(path)?;
    parse(path, &bytes)?;
    let header = SafeTensors::read_metadata(&bytes);
    let (_, header) = header.map_err(|e| Error::File { path: path.into(), message: not_ours(&e) })?;
    Ok(header.metadata().clone().unwrap_or_default())
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path)
        .map_err(|e| Error::File { path: path.into(), message: format!("cannot be read: {e}") })
}

fn parse<'a>(path: &Path, bytes: &'a [u8]) -> Result<SafeTensors<'a>> {
    SafeTensors::deserialize(bytes).map_err(|e| Error::File { path: path.into(), message: not_ours(&e) })
}

fn not_ours(e: &safetensors::SafeTensorError) -> String {
    format!("is not a whole safetensors file ({e})")
}

/// `a, b, c and 4 more`
fn list<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    let shown = names[..names.len().min(6)].join(", ");
    if names.len() > 6 { format!("{shown} and {} more", names.len() - 6) } else { shown }
}
