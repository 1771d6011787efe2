//! Where networks are trained: the processor, or a GPU where there is one.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use ptsm_data::Cache;
use ptsm_engine::{Cpu, Cuda, Device};

use crate::output::Output;

/// Where to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Wanted {
    /// A GPU for training where there is one that can be used, else the processor
    Auto,
    /// The processor
    Cpu,
    /// An NVIDIA GPU
    Cuda,
}

/// The device that was asked for. `trains` is whether a GPU would be worth its start.
pub(crate) fn open(
    wanted: Wanted,
    cpu: Cpu,
    trains: bool,
    cache: Option<&Path>,
    output: Output,
) -> anyhow::Result<Device> {
    let kernels = kernels(cache);
    match wanted {
        Wanted::Cuda => Ok(Device::Cuda(Cuda::new(kernels.as_deref())?)),
        Wanted::Auto if trains => Ok(match Cuda::new(kernels.as_deref()) {
            Ok(cuda) => {
                output.note(format!(
                    "note: networks are trained on {}; `--device cpu` for the processor",
                    cuda.name()
                ));
                Device::Cuda(cuda)
            }
            Err(_) => Device::Cpu(cpu),
        }),
        Wanted::Auto | Wanted::Cpu => Ok(Device::Cpu(cpu)),
    }
}

/// Where compiled kernels are kept.
fn kernels(cache: Option<&Path>) -> Option<PathBuf> {
    let folder = match cache {
        Some(given) if given == Path::new("none") => return None,
        Some(given) => given.to_path_buf(),
        None => Cache::usual_folder()?,
    };
    Some(folder.join("kernels"))
}
