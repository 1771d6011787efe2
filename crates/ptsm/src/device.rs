//! Where networks are trained: the processor, or a GPU where there is one.

use std::path::Path;

use ptsm_engine::{Cpu, Cuda, Device, Isa, Precision};
use ptsm_eval::{Error, Result};

/// Which device is wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceChoice {
    /// A GPU where there is one that can be used, else the processor.
    #[default]
    Auto,
    /// The processor.
    Cpu,
    /// An NVIDIA GPU.
    Cuda,
}

/// A device, and what should be told about how it was chosen.
pub struct OpenedDevice {
    /// The device.
    pub device: Device,
    /// A sentence for whoever did not choose it; empty where there is nothing to tell.
    pub note: String,
}

/// Opens a device with so many threads of the processor. Compiled kernels of a GPU are kept in `kernels`, where one is named.
pub fn open_device(
    choice: DeviceChoice,
    precision: Precision,
    threads: usize,
    kernels: Option<&Path>,
) -> Result<OpenedDevice> {
    let cpu = Cpu::with(threads, Isa::best()).map_err(ptsm_decode::Error::from)?;
    let cuda = || -> Result<Cuda, ptsm_engine::Error> { Cuda::new(kernels) };
    let on_gpu = |cuda: Cuda, cpu: Cpu| -> Result<Device> {
        let cuda = cuda.with_precision(precision).map_err(ptsm_decode::Error::from)?;
        Ok(Device::Cuda(cuda.beside(cpu)))
    };
    let mut note = String::new();
    let device = match choice {
        DeviceChoice::Cuda => on_gpu(cuda().map_err(ptsm_decode::Error::from)?, cpu)?,
        DeviceChoice::Auto => match cuda() {
            Ok(cuda) => {
                note = format!("networks are trained on {}; `--device cpu` for the processor", cuda.name());
                on_gpu(cuda, cpu)?
            }
            Err(why) if precision != Precision::F32 => {
                return Err(Error::request(
                    format!("`--precision {precision}` needs a GPU, and none can be used: {why}"),
                    "leave `--precision` out to train on the processor",
                ));
            }
            Err(why) => {
                if Cuda::has_driver() {
                    note = format!("networks are trained on the processor, not on a GPU: {why}");
                }
                Device::Cpu(cpu)
            }
        },
        DeviceChoice::Cpu => Device::Cpu(cpu),
    };
    if device.precision() != precision {
        return Err(Error::request(
            format!("`--precision {precision}` is for GPUs; the processor computes in f32"),
            "add `--device cuda`, or leave `--precision` out",
        ));
    }
    Ok(OpenedDevice { device, note })
}
