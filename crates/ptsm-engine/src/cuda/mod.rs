//! NVIDIA GPUs: one program for all replicas, its kernels written from the graph, a whole step recorded and started at once.
//!
//! Replicas share nothing, so all of them run in one launch of each kernel: `blockIdx.y` counts those that are active. Parameters stay
//! on the GPU between steps (see `remote.rs`) and come back when somebody reads them.

mod compile;
mod driver;
mod executable;
mod remote;
mod works;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::codegen::Precision;
use crate::cpu::Cpu;
use crate::error::{Error, Result};

/// A GPU that programs run on. Cheap to clone; clones share it.
#[derive(Clone)]
pub struct Cuda {
    gpu: Arc<driver::Gpu>,
    name: String,
    kernels: Option<PathBuf>,
    precision: Precision,
    /// What does the work beside it that is not a GPU's.
    pub(crate) beside: Option<Cpu>,
}

impl std::fmt::Debug for Cuda {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Cuda({})", self.name)
    }
}

/// The oldest GPUs whose instructions the kernels are compiled for: Turing.
const OLDEST: (i32, i32) = (7, 5);
/// The oldest whose tensor cores take tf32 and bf16: Ampere.
const OLDEST_TENSOR: (i32, i32) = (8, 0);

impl Cuda {
    /// The first GPU of this machine, or why there is none to work with. `kernels` is a folder that compiled kernels are kept in.
    pub fn new(kernels: Option<&Path>) -> Result<Cuda> {
        let gpu = driver::Gpu::open()?;
        let name = gpu.name()?;
        let capability = gpu.capability()?;
        if capability < OLDEST {
            let ((major, minor), (least, least_minor)) = (capability, OLDEST);
            return Err(Error::Device(format!(
                "{name} is of kind {major}.{minor}; at least {least}.{least_minor} is needed"
            )));
        }
        Ok(Cuda {
            gpu: Arc::new(gpu),
            name,
            kernels: kernels.map(Path::to_path_buf),
            precision: Precision::F32,
            beside: None,
        })
    }

    /// The same GPU, for programs whose large products have operands of this precision.
    pub fn with_precision(self, precision: Precision) -> Result<Cuda> {
        let capability = self.gpu.capability()?;
        if precision != Precision::F32 && capability < OLDEST_TENSOR {
            let ((major, minor), (least, least_minor)) = (capability, OLDEST_TENSOR);
            return Err(Error::Device(format!(
                "{} is of kind {major}.{minor}; {precision} needs at least {least}.{least_minor}, take f32",
                self.name
            )));
        }
        Ok(Cuda { precision, ..self })
    }

    /// The same with the processor's threads that work beside it is to keep to.
    pub fn beside(self, cpu: Cpu) -> Cuda {
        Cuda { beside: Some(cpu), ..self }
    }

    /// How exactly its programs multiply.
    pub fn precision(&self) -> Precision {
        self.precision
    }

    /// Whether this machine has NVIDIA's driver; where it has and [`new`](Self::new) fails, somebody may want to know why.
    pub fn has_driver() -> bool {
        driver::has_driver()
    }

    /// The newest CUDA that the driver knows, such as (12, 4).
    pub fn driver_version(&self) -> Result<(u32, u32)> {
        let version = driver::version()?.unsigned_abs();
        Ok((version / 1000, version % 1000 / 10))
    }

    /// How many GPUs this process can see; it works with the first one.
    pub fn count(&self) -> usize {
        driver::count()
    }

    /// What the GPU is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes of its memory that are free, and all of them.
    pub fn memory(&self) -> Result<(usize, usize)> {
        self.gpu.memory()
    }
}
