//! Where networks are trained: the processor, or a GPU where there is one.

use std::path::{Path, PathBuf};

use clap::ValueEnum;
use ptsm_data::Cache;
use ptsm_engine::{Cpu, Cuda, Device, Precision};

use crate::exit::told;
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
    precision: Precision,
    cpu: Cpu,
    trains: bool,
    cache: Option<&Path>,
    output: Output,
) -> anyhow::Result<Device> {
    let kernels = kernels(cache);
    let device = match wanted {
        Wanted::Cuda => Device::Cuda(Cuda::new(kernels.as_deref())?.with_precision(precision)?.beside(cpu)),
        Wanted::Auto if trains => match Cuda::new(kernels.as_deref()) {
            Ok(cuda) => {
                output.note(format!(
                    "note: networks are trained on {}; `--device cpu` for the processor",
                    cuda.name()
                ));
                Device::Cuda(cuda.with_precision(precision)?.beside(cpu))
            }
            Err(why) if precision != Precision::F32 => {
                return Err(told(
                    format!("`--precision {precision}` needs a GPU, and none can be used: {why}"),
                    "leave `--precision` out to train on the processor",
                ));
            }
            Err(why) => {
                if Cuda::has_driver() {
                    output.note(format!("note: networks are trained on the processor, not on a GPU: {why}"));
                }
                Device::Cpu(cpu)
            }
        },
        Wanted::Auto | Wanted::Cpu => Device::Cpu(cpu),
    };
    if device.precision() != precision {
        return Err(told(
            format!("`--precision {precision}` is for GPUs; the processor computes in f32"),
            "add `--device cuda`, or leave `--precision` out",
        ));
    }
    Ok(device)
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
