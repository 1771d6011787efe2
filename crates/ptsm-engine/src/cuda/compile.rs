//! Kernels from text: compiled for the GPU at hand, several sources at once, and kept on disk by the hash of all that decides them.

use std::path::Path;
use std::sync::PoisonError;

use super::Cuda;
use super::driver::{self, Gpu, Kernel};
use crate::codegen::Precision;
use crate::codegen::emit::{PRELUDE, TENSOR};
use crate::error::Result;
use crate::files::replace;

/// Sources that are compiled at once, at most.
const AT_ONCE: usize = 8;
/// Kernels that a source of its own is worth.
const WORTH: usize = 16;

/// Compiles kernels that are named `k0`, `k1`, .. in their order; `optimizer` is the source of the function that moves parameters.
pub(super) fn kernels(device: &Cuda, texts: &[String], optimizer: Option<&str>) -> Result<Vec<Kernel>> {
    let (gpu, cache) = (&device.gpu, device.kernels.as_deref());
    let tensor = (device.precision != Precision::F32).then_some(TENSOR);
    let capability = gpu.capability()?;
    let version = driver::compiler_version()?;
    // Neighbours in the list are of one size; dealt out in turn, the sources take about as long as each other.
    let at_once = texts.len().div_ceil(WORTH).min(AT_ONCE);
    let sources: Vec<(Vec<usize>, String)> = (0..at_once)
        .map(|first| {
            let mine: Vec<usize> = (first..texts.len()).step_by(at_once).collect();
            let own = mine.iter().map(|&i| texts[i].as_str());
            let source = PRELUDE
                .iter()
                .copied()
                .chain(tensor)
                .chain(optimizer)
                .chain(own)
                .collect::<Vec<_>>()
                .join("\n");
            (mine, source)
        })
        .collect();
    let loaded: Vec<Result<Vec<Kernel>>> = std::thread::scope(|scope| {
        let started: Vec<_> = sources
            .iter()
            .map(|(mine, source)| {
                scope.spawn(move || {
                    let names: Vec<String> = mine.iter().map(|i| format!("k{i}")).collect();
                    source_kernels(gpu, source, &names, (capability, version), cache)
                })
            })
            .collect();
        started
            .into_iter()
            .map(|t| t.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    });
    let mut found: Vec<(usize, Kernel)> = vec![];
    for ((mine, _), kernels) in sources.iter().zip(loaded) {
        found.extend(mine.iter().copied().zip(kernels?));
    }
    found.sort_by_key(|(i, _)| *i);
    Ok(found.into_iter().map(|(_, kernel)| kernel).collect())
}

/// The kernels of one source: those that are loaded already, those on the disk, or new ones.
fn source_kernels(
    gpu: &Gpu,
    source: &str,
    names: &[String],
    (capability, version): ((i32, i32), (i32, i32)),
    cache: Option<&Path>,
) -> Result<Vec<Kernel>> {
    let mut hash = blake3::Hasher::new();
    hash.update(format!("{capability:?} {version:?}\n").as_bytes());
    hash.update(source.as_bytes());
    let hash = hash.finalize();
    let loaded = || gpu.loaded.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = loaded().get(hash.as_bytes()) {
        return Ok(known.clone());
    }
    let path = cache.map(|folder| folder.join(format!("{}.cubin", hash.to_hex())));
    let on_disk = path.as_ref().and_then(|path| std::fs::read(path).ok());
    // A damaged file is as good as none.
    let kernels = match on_disk.and_then(|image| driver::load(gpu, image, names).ok()) {
        Some(kernels) => kernels,
        None => {
            let image = driver::compile(source, capability)?;
            if let Some(path) = path {
                // A cache that cannot be written costs time, nothing else.
                let _ = path.parent().map(std::fs::create_dir_all);
                let _ = replace(&path, &image);
            }
            driver::load(gpu, image, names)?
        }
    };
    loaded().insert(*hash.as_bytes(), kernels.clone());
    Ok(kernels)
}
