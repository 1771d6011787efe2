//! Where programs run.

use crate::cpu::Cpu;
use crate::cuda::{Cuda, Precision};

/// A processor or a GPU. Cheap to clone; clones share it.
#[derive(Clone, Debug)]
pub enum Device {
    /// The processor.
    Cpu(Cpu),
    /// An NVIDIA GPU, for f32.
    Cuda(Cuda),
}

impl Device {
    /// How exactly its programs multiply: in f32 but on a GPU that was told otherwise.
    pub fn precision(&self) -> Precision {
        match self {
            Device::Cpu(_) => Precision::F32,
            Device::Cuda(cuda) => cuda.precision(),
        }
    }

    /// Runs `body` on the processor's threads; beside a GPU that was not told any, on all cores.
    pub fn enter<R: Send>(&self, body: impl FnOnce() -> R + Send) -> R {
        match self {
            Device::Cpu(cpu) => cpu.enter(body),
            Device::Cuda(cuda) => match &cuda.beside {
                Some(cpu) => cpu.enter(body),
                None => body(),
            },
        }
    }
}

impl From<&Cpu> for Device {
    fn from(cpu: &Cpu) -> Device {
        Device::Cpu(cpu.clone())
    }
}

impl From<&Cuda> for Device {
    fn from(cuda: &Cuda) -> Device {
        Device::Cuda(cuda.clone())
    }
}

impl From<&Device> for Device {
    fn from(device: &Device) -> Device {
        device.clone()
    }
}
