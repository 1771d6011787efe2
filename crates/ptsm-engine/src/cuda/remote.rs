//! What stays on the GPU between runs: parameters, and tables of rows to pick from.

use std::any::Any;

use super::Cuda;
use super::driver::{DeviceAddress, Memory};
use crate::error::{Error, Result};
use crate::graph::Tensor;
use crate::parameters::DeviceTensors;

/// Numbers begin at multiples of this, so that vectors of them can be read.
pub(super) const ALIGN: usize = 64;

/// Where values of some sizes stand one after the other, and how long all of them are.
pub(super) fn offsets(sizes: impl Iterator<Item = usize>) -> (Vec<usize>, usize) {
    let mut total = 0;
    let places = sizes.map(|n| {
        let at = total;
        total += n.next_multiple_of(ALIGN);
        at
    });
    let places = places.collect();
    (places, total)
}

/// Parameters of R replicas on the GPU.
pub(super) struct CudaTensors {
    memory: Memory,
    /// Where each tensor stands in its replica's part, and how long that is.
    places: Vec<usize>,
    lengths: Vec<usize>,
    stride: usize,
}

impl CudaTensors {
    pub(super) fn new(device: &Cuda, tensors: &[Tensor], replicas: usize) -> Result<CudaTensors> {
        let (places, stride) = offsets(tensors.iter().map(Tensor::len));
        let memory = Memory::new(&device.gpu, replicas * stride * size_of::<f32>())?;
        let lengths = tensors.iter().map(Tensor::len).collect();
        Ok(CudaTensors { memory, places, lengths, stride })
    }

    pub(super) fn place(&self) -> DeviceAddress {
        self.memory.place()
    }
}

impl DeviceTensors for CudaTensors {
    fn alike(&self, replicas: usize) -> Result<Box<dyn DeviceTensors>> {
        let memory = Memory::new(self.memory.gpu(), replicas * self.stride * size_of::<f32>())?;
        let (places, lengths) = (self.places.clone(), self.lengths.clone());
        Ok(Box::new(CudaTensors { memory, places, lengths, stride: self.stride }))
    }

    fn copy(&mut self, replica: usize, from: &dyn DeviceTensors, source: usize) -> Result<()> {
        let from: &dyn Any = from;
        let Some(from) = from.downcast_ref::<CudaTensors>() else {
            return Err(Error::Device("the parameters are in the memory of another device".into()));
        };
        let bytes = self.stride * size_of::<f32>();
        self.memory.copy(replica * bytes, &from.memory, source * bytes, bytes)
    }

    fn upload(&mut self, replica: usize, tensors: &mut dyn Iterator<Item = &[u8]>) -> Result<()> {
        let mut all = vec![0u8; self.stride * size_of::<f32>()];
        for (&at, from) in self.places.iter().zip(tensors) {
            all[at * size_of::<f32>()..][..from.len()].copy_from_slice(from);
        }
        self.memory.upload(replica * all.len(), &all)
    }

    fn download(&self, replica: usize, each: &mut dyn FnMut(usize, &[f32])) -> Result<()> {
        let mut all = vec![0f32; self.stride];
        self.memory.download(replica * self.stride * size_of::<f32>(), bytemuck::cast_slice_mut(&mut all))?;
        for (i, (&at, &n)) in self.places.iter().zip(&self.lengths).enumerate() {
            each(i, &all[at..at + n]);
        }
        Ok(())
    }
}

/// A table of rows on the GPU, and the order of parts in their images.
pub(super) struct CudaTable {
    memory: Memory,
    /// Rows, and numbers in a part of a row.
    rows: usize,
    part: usize,
    /// The byte at which the order begins.
    order: usize,
}

impl CudaTable {
    pub(super) fn new<'a>(
        device: &Cuda,
        rows: impl ExactSizeIterator<Item = &'a [u8]>,
        row: usize,
        order: &[u32],
    ) -> Result<CudaTable> {
        let (count, all) = (rows.len(), rows.len() * row);
        let memory = Memory::new(&device.gpu, all + size_of_val(order))?;
        let mut staged: Vec<u8> = vec![];
        let mut at = 0;
        // A few large copies instead of many small ones.
        for from in rows {
            staged.extend_from_slice(from);
            if staged.len() >= 1 << 24 {
                memory.upload(at, &staged)?;
                at += staged.len();
                staged.clear();
            }
        }
        memory.upload(at, &staged)?;
        memory.upload(all, bytemuck::cast_slice(order))?;
        let part = row / size_of::<f32>() / order.len().max(1);
        Ok(CudaTable { memory, rows: count, part, order: all })
    }

    /// As a kernel reads it, with the place of the numbers of rows.
    pub(super) fn to_bytes(&self, rows: DeviceAddress) -> [u8; 32] {
        let mut bytes = [0; 32];
        let place = self.memory.place();
        for (i, word) in [place, rows, place.after(self.order)].into_iter().enumerate() {
            bytes[8 * i..][..8].copy_from_slice(&word.to_bytes());
        }
        bytes[24..28].copy_from_slice(&(self.rows as u32).to_le_bytes());
        bytes[28..].copy_from_slice(&(self.part as u32).to_le_bytes());
        bytes
    }
}
