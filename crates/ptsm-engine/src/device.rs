//! Where programs run.

use std::fmt;

use crate::codegen::Precision;
use crate::cpu::Cpu;
use crate::cuda::Cuda;
use crate::kernels::Isa;
use crate::kernels::versions::vectorised;

/// A processor or a GPU. Cheap to clone; clones share it.
#[derive(Clone, Debug)]
pub enum Device {
    /// The processor.
    Cpu(Cpu),
    /// An NVIDIA GPU, for f32.
    Cuda(Cuda),
}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Device::Cpu(cpu) => write!(f, "processor, {} threads", cpu.threads()),
            Device::Cuda(cuda) => f.write_str(cuda.name()),
        }
    }
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

    /// Runs plain loops compiled for the widest vectors of the processor. Only what is inlined into `body` gains from it.
    #[inline(always)]
    pub fn vectorised<R>(&self, body: impl FnOnce() -> R) -> R {
        let isa = match self {
            Device::Cpu(cpu) => cpu.isa(),
            Device::Cuda(_) => Isa::best(),
        };
        vectorised(isa, body)
    }

    /// Threads that [`enter`](Self::enter) has.
    pub fn threads(&self) -> usize {
        match self {
            Device::Cpu(cpu) => cpu.threads(),
            Device::Cuda(cuda) => match &cuda.beside {
                Some(cpu) => cpu.threads(),
                None => std::thread::available_parallelism().map_or(1, usize::from),
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
