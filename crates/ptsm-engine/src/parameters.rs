//! The numbers of a network, once per replica, and their file.

use std::any::Any;
use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use safetensors::tensor::{SafeTensors, TensorView};

use crate::cpu::{Buffer, buffer};
use crate::error::{Error, Result};
use crate::files::replace;
use crate::graph::{Graph, Tensor};
use crate::kernels::Real;

/// Parameters and running statistics of R replicas of one network. A GPU that trains them keeps them; what is read comes back.
pub struct Parameters<T> {
    pub(crate) tensors: Vec<Tensor>,
    pub(crate) replicas: Vec<Replica<T>>,
    pub(crate) signature: u64,
    /// Where they are in a device's memory.
    remote: Mutex<Option<DeviceCopy>>,
}

/// Parameters of R replicas in the memory of a device that is not the processor.
pub(crate) trait DeviceTensors: Any + Send {
    /// Room for so many replicas of the same network on the same device.
    fn alike(&self, replicas: usize) -> Result<Box<dyn DeviceTensors>>;

    /// Copies a replica of others on the same device.
    fn copy(&mut self, replica: usize, from: &dyn DeviceTensors, source: usize) -> Result<()>;

    /// Brings a replica's tensors there, each as bytes.
    fn upload(&mut self, replica: usize, tensors: &mut dyn Iterator<Item = &[u8]>) -> Result<()>;

    /// Brings a replica's tensors back; `each` is called with every tensor's number and values.
    fn download(&self, replica: usize, each: &mut dyn FnMut(usize, &[f32])) -> Result<()>;
}

/// The tensors there, and the state of each replica's parameters that they hold.
struct DeviceCopy {
    tensors: Box<dyn DeviceTensors>,
    stamps: Vec<Option<u64>>,
}

impl DeviceCopy {
    fn new(tensors: Box<dyn DeviceTensors>, replicas: usize) -> DeviceCopy {
        DeviceCopy { tensors, stamps: vec![None; replicas] }
    }
}

/// One replica's.
#[derive(Clone)]
pub(crate) struct Replica<T> {
    /// Empty where the GPU has newer ones: see [`Parameters::values`].
    values: OnceLock<Vec<Buffer<T>>>,
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

impl<T> Replica<T> {
    fn new(values: Vec<Buffer<T>>, seed: u64, stamp: u64) -> Replica<T> {
        Replica { values: OnceLock::from(values), seed, stamp }
    }

    /// Values that [`Parameters::fetch`] has made sure of.
    pub(crate) fn values(&self) -> &[Buffer<T>] {
        self.values.get().expect("parameters are fetched before they are used")
    }

    pub(crate) fn values_mut(&mut self) -> &mut Vec<Buffer<T>> {
        self.values.get_mut().expect("parameters are fetched before they are changed")
    }
}

/// What a clone holds is here, wherever the original's are.
impl<T: Real> Clone for Parameters<T> {
    fn clone(&self) -> Parameters<T> {
        // A GPU that does not answer any more has lost them; whoever reads the clone is told.
        let _ = self.fetch();
        Parameters {
            tensors: self.tensors.clone(),
            replicas: self.replicas.clone(),
            signature: self.signature,
            remote: Mutex::new(None),
        }
    }
}

impl<T: Real> Parameters<T> {
    fn of(tensors: Vec<Tensor>, replicas: Vec<Replica<T>>) -> Parameters<T> {
        let signature = Graph::signature(&tensors);
        Parameters { tensors, replicas, signature, remote: Mutex::new(None) }
    }

    /// Makes sure that all values are here.
    pub(crate) fn fetch(&self) -> Result<()> {
        (0..self.replicas.len()).try_for_each(|r| self.values(r).map(|_| ()))
    }

    /// A replica's values, brought back from the GPU where it has newer ones.
    pub(crate) fn values(&self, replica: usize) -> Result<&[Buffer<T>]> {
        let own = &self.replicas[replica];
        if let Some(values) = own.values.get() {
            return Ok(values);
        }
        let remote = self.remote.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(remote) = &*remote else {
            return Err(Error::Device("the parameters were lost with the GPU that had them".into()));
        };
        let mut values: Vec<Buffer<T>> = self.tensors.iter().map(|t| buffer(t.len())).collect();
        remote.tensors.download(replica, &mut |i, from| {
            values[i].iter_mut().zip(from).for_each(|(v, x)| *v = T::of(f64::from(*x)));
        })?;
        Ok(own.values.get_or_init(|| values))
    }

    /// Lends the parameters as they are in a device's memory, brought there where it has not these. `room` makes room for them, once.
    pub(crate) fn on<D: DeviceTensors, R>(
        &self,
        room: impl FnOnce() -> Result<D>,
        body: impl FnOnce(&D) -> Result<R>,
    ) -> Result<R> {
        let mut remote = self.remote.lock().unwrap_or_else(PoisonError::into_inner);
        let there = match &mut *remote {
            Some(there) => there,
            none => none.insert(DeviceCopy::new(Box::new(room()?), self.replicas.len())),
        };
        for (r, own) in self.replicas.iter().enumerate() {
            // Without values here, those on the device are the newest.
            if let (false, Some(values)) = (there.stamps[r] == Some(own.stamp), own.values.get()) {
                there.stamps[r] = None;
                there.tensors.upload(r, &mut values.iter().map(|v| bytemuck::cast_slice(v)))?;
                there.stamps[r] = Some(own.stamp);
            }
        }
        let tensors: &dyn Any = &*there.tensors;
        let elsewhere = || Error::Device("the parameters are in the memory of another device".into());
        body(tensors.downcast_ref().ok_or_else(elsewhere)?)
    }

    /// The device that has them has moved a replica.
    pub(crate) fn moved(&mut self, replica: usize) {
        let own = &mut self.replicas[replica];
        own.stamp = new_stamp();
        own.values = OnceLock::new();
        if let Some(remote) = self.remote.get_mut().unwrap_or_else(PoisonError::into_inner) {
            remote.stamps[replica] = Some(own.stamp);
        }
    }

    /// Start values, one replica per seed.
    pub fn new(graph: &Graph, seeds: &[u64]) -> Result<Parameters<T>> {
        if seeds.is_empty() {
            return Err(Error::Program("parameters need at least 1 seed, one per replica".into()));
        }
        let values = |seed: u64| {
            let each = graph.tensors().iter().enumerate().map(|(i, t)| {
                let mut start = vec![0.0; t.len()];
                t.init.fill(seed, i as u32, &mut start);
                let mut values = buffer(t.len());
                values.iter_mut().zip(&start).for_each(|(v, s)| *v = T::of(*s));
                values
            });
            each.collect()
        };
        let replicas = seeds.iter().map(|&seed| Replica::new(values(seed), seed, new_stamp()));
        Ok(Parameters::of(graph.tensors().to_vec(), replicas.collect()))
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
        self.replica(replica)?;
        Ok(&self.values(replica)?[i])
    }

    /// Replaces a tensor's values in one replica.
    pub fn set(&mut self, replica: usize, name: &str, values: &[T]) -> Result<()> {
        let i = self.index(name)?;
        self.replica(replica)?;
        self.values(replica)?;
        let (tensor, own) = (&self.tensors[i], &mut self.replicas[replica].values_mut()[i]);
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

    /// Makes one replica what a replica of other parameters of the same network is, with its seed. What is on a GPU stays there.
    pub fn put(&mut self, replica: usize, from: &Parameters<T>, source: usize) -> Result<()> {
        self.replica(replica)?;
        let theirs = from.replica(source)?;
        if self.signature != from.signature {
            return Err(Error::Program("parameters of another network cannot be put here".into()));
        }
        if theirs.values.get().is_none() {
            let there = from.remote.lock().unwrap_or_else(PoisonError::into_inner);
            let here = self.remote.get_mut().unwrap_or_else(PoisonError::into_inner);
            if let Some(there) = &*there {
                let own = match here {
                    Some(own) => own,
                    none => {
                        let replicas = self.replicas.len();
                        none.insert(DeviceCopy::new(there.tensors.alike(replicas)?, replicas))
                    }
                };
                own.tensors.copy(replica, &*there.tensors, source)?;
                own.stamps[replica] = there.stamps[source];
                self.replicas[replica] = theirs.clone();
                return Ok(());
            }
        }
        from.values(source)?;
        self.replicas[replica] = theirs.clone();
        Ok(())
    }

    /// Writes one replica as safetensors, with metadata; beside the target first, then renamed.
    pub fn save(&self, replica: usize, path: &Path, metadata: HashMap<String, String>) -> Result<()> {
        let bytes = self.to_bytes(replica, metadata)?;
        replace(path, &bytes)
            .map_err(|e| Error::File { path: path.into(), message: format!("cannot be written: {e}") })
    }

    /// One replica as the bytes of a safetensors file, with metadata.
    pub fn to_bytes(&self, replica: usize, metadata: HashMap<String, String>) -> Result<Vec<u8>> {
        self.replica(replica)?;
        let views = self.tensors.iter().zip(self.values(replica)?).map(|(t, values)| {
            TensorView::new(T::DTYPE, t.shape.clone(), bytemuck::cast_slice(values))
                .map(|view| (&*t.name, view))
                .map_err(|e| Error::Tensor {
                    name: t.name.clone(),
                    message: format!("cannot be written: {e}"),
                })
        });
        let views: Vec<_> = views.collect::<Result<_>>()?;
        safetensors::serialize(views, Some(metadata))
            .map_err(|e| Error::Program(format!("parameters cannot be written: {e}")))
    }

    /// Fills one replica from a file made by [`save`](Self::save), all tensors or none.
    pub fn load(&mut self, replica: usize, path: &Path) -> Result<()> {
        self.replica(replica)?;
        let loaded = read_tensors(&self.tensors, path, &read(path)?)?;
        self.replicas[replica].values = OnceLock::from(loaded);
        self.replicas[replica].stamp = new_stamp();
        Ok(())
    }

    /// One replica from a file made by [`save`](Self::save). Nothing is allocated that the file does not hold.
    pub fn from_file(graph: &Graph, seed: u64, path: &Path) -> Result<Parameters<T>> {
        Parameters::from_bytes(graph, seed, path, &read(path)?)
    }

    /// The same of a file that has been read; errors name its path.
    pub fn from_bytes(graph: &Graph, seed: u64, path: &Path, bytes: &[u8]) -> Result<Parameters<T>> {
        let values = read_tensors(graph.tensors(), path, bytes)?;
        Ok(Parameters::of(graph.tensors().to_vec(), vec![Replica::new(values, seed, new_stamp())]))
    }

    /// Makes the replicas one network per seed again, all with the values of one of them.
    pub fn spread(&self, from: usize, seeds: &[u64]) -> Result<Parameters<T>> {
        let own = self.replica(from)?;
        if seeds.is_empty() {
            return Err(Error::Program("parameters need at least 1 seed, one per replica".into()));
        }
        let (stamp, values) = (own.stamp, self.values(from)?);
        let replicas = seeds.iter().map(|&seed| Replica::new(values.to_vec(), seed, stamp));
        Ok(Parameters::of(self.tensors.clone(), replicas.collect()))
    }
}

/// The tensors of a network from a file that holds exactly these.
fn read_tensors<T: Real>(tensors: &[Tensor], path: &Path, bytes: &[u8]) -> Result<Vec<Buffer<T>>> {
    let wrong = |message: String| Error::File { path: path.into(), message };
    let file = parse(path, bytes)?;
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

/// The names of the tensors in a safetensors file.
pub fn tensor_names(path: &Path, bytes: &[u8]) -> Result<Vec<String>> {
    Ok(parse(path, bytes)?.names().into_iter().map(str::to_string).collect())
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
