//! Where programs run.

use std::fmt;

use crate::backend::Backend;
use crate::codegen::Precision;
use crate::cpu::Cpu;
use crate::cuda::Cuda;
use crate::kernels::versions::vectorised;
use crate::kernels::{Isa, Real};

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
    /// What compiles programs for it: the one place at which the engine tells devices apart.
    pub(crate) fn backend<T: Real>(&self) -> &dyn Backend<T> {
        match self {
            Device::Cpu(cpu) => cpu,
            Device::Cuda(cuda) => cuda,
        }
    }

    /// How exactly its programs multiply: in f32 but on a GPU that was told otherwise.
    pub fn precision(&self) -> Precision {
        match self {
            Device::Cpu(_) => Precision::F32,
            Device::Cuda(cuda) => cuda.precision(),
        }
    }

    /// The processor's threads that work beside programs has; none on a GPU that was not told any.
    fn host(&self) -> Option<&Cpu> {
        match self {
            Device::Cpu(cpu) => Some(cpu),
            Device::Cuda(cuda) => cuda.beside.as_ref(),
        }
    }

    /// Runs `body` on the processor's threads; beside a GPU that was not told any, on all cores.
    pub fn enter<R: Send>(&self, body: impl FnOnce() -> R + Send) -> R {
        match self.host() {
            Some(cpu) => cpu.enter(body),
            None => body(),
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
        let all = || std::thread::available_parallelism().map_or(1, usize::from);
        self.host().map_or_else(all, Cpu::threads)
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
