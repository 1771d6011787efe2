//! What this machine offers: threads, instruction sets, a GPU, the cache, data sets.

use std::collections::BTreeSet;
use std::env;
use std::path::{Path, PathBuf};

use ptsm_data::catalogue::{DATA_SETS, Options};
use ptsm_engine::{Cuda, Isa};
use ptsm_eval::Env;
use serde::Serialize;

/// What was found on this machine, and what about it will get in the way.
#[derive(Clone, Debug, Serialize)]
pub struct SystemReport {
    /// The version of this library.
    pub version: &'static str,
    /// The system and the kind of processor, such as `linux x86_64`.
    pub system: String,
    /// Threads this machine has for this process.
    pub threads_available: usize,
    /// Threads that are worked with.
    pub threads_used: usize,
    /// Instruction sets that there are kernels for and that the processor has, the one that is used last.
    pub instruction_sets: Vec<String>,
    /// The GPU.
    pub gpu: GpuState,
    /// Where epochs of recordings are kept between runs; none where they are not.
    pub cache: Option<CacheState>,
    /// Folders that were looked into for data sets.
    pub roots: Vec<PathBuf>,
    /// Data sets that were found there.
    pub data_sets: Vec<FoundDataSet>,
    /// Whether Slurm's `sbatch` can be started from here.
    pub slurm: bool,
    /// What will get in the way, each with what to do.
    pub problems: Vec<String>,
}

/// Whether a GPU can be used.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "state", rename_all = "snake_case")]
pub enum GpuState {
    /// It trains networks.
    Usable {
        /// What it is called.
        name: String,
        /// How many GPUs there are; the first one is used.
        count: usize,
        /// Bytes of its memory that are free.
        free_bytes: Option<usize>,
        /// All bytes of its memory.
        total_bytes: Option<usize>,
        /// The newest CUDA that the driver knows.
        driver_cuda: Option<(u32, u32)>,
    },
    /// Networks are trained on the processor.
    Unusable {
        /// Why.
        reason: String,
        /// Whether NVIDIA's driver is there, so that a GPU may have been expected.
        has_driver: bool,
    },
}

/// The folder of the cache.
#[derive(Clone, Debug, Serialize)]
pub struct CacheState {
    /// Where it is.
    pub folder: PathBuf,
    /// Bytes in it.
    pub bytes: u64,
    /// Files in it.
    pub files: usize,
    /// Whether it can be written to.
    pub writable: bool,
}

/// A data set of the catalogue that is on this machine.
#[derive(Clone, Debug, Serialize)]
pub struct FoundDataSet {
    /// Its name for `--data`.
    pub id: String,
    /// Its folder for `--root`.
    pub root: PathBuf,
    /// Subjects with recordings, by the names of files: no file is opened.
    pub subjects: usize,
    /// Subjects that the whole data set has.
    pub all_subjects: usize,
    /// Files that are missing of what should be there.
    pub missing: usize,
}

/// Looks at this machine. Data sets are looked for under `roots` and where MNE keeps them.
pub fn inspect_system(env: &Env, roots: &[PathBuf]) -> SystemReport {
    let gpu = inspect_gpu();
    let cache = env.cache.path().map(|folder| inspect_cache(&folder));
    let available = std::thread::available_parallelism().map_or(1, usize::from);
    let roots = data_roots(roots);
    let mut problems = vec![];
    if let Some(cache) = cache.as_ref().filter(|cache| !cache.writable) {
        problems.push(format!(
            "the cache {} cannot be written, so recordings are read anew each time; name another with `--cache DIR` or `PTSM_CACHE`, or `--cache none`",
            cache.folder.display()
        ));
    }
    if let GpuState::Unusable { reason, has_driver: true } = &gpu {
        problems.push(format!("there is an NVIDIA driver, but its GPU cannot be used: {reason}"));
    }
    for root in roots.iter().filter(|root| !root.is_dir()) {
        problems.push(format!("{} is no folder; correct `--root` or `PTSM_ROOT`", root.display()));
    }
    SystemReport {
        version: crate::VERSION,
        system: format!("{} {}", env::consts::OS, env::consts::ARCH),
        threads_available: available,
        threads_used: env.threads.unwrap_or(available),
        instruction_sets: Isa::available().iter().map(|isa| format!("{isa:?}").to_lowercase()).collect(),
        gpu,
        cache,
        data_sets: roots.iter().filter(|root| root.is_dir()).flat_map(|root| find_data_sets(root)).collect(),
        roots,
        slurm: is_on_path("sbatch"),
        problems,
    }
}

fn inspect_gpu() -> GpuState {
    match Cuda::new(None) {
        Ok(cuda) => {
            let memory = cuda.memory().ok();
            GpuState::Usable {
                name: cuda.name().to_string(),
                count: cuda.count(),
                free_bytes: memory.map(|(free, _)| free),
                total_bytes: memory.map(|(_, all)| all),
                driver_cuda: cuda.driver_version().ok(),
            }
        }
        Err(error) => GpuState::Unusable {
            reason: error.to_string().trim_start_matches("gpu: ").into(),
            has_driver: Cuda::has_driver(),
        },
    }
}

fn inspect_cache(folder: &Path) -> CacheState {
    let (mut bytes, mut files) = (0, 0);
    let mut folders = vec![folder.to_path_buf()];
    while let Some(next) = folders.pop() {
        for entry in next.read_dir().into_iter().flatten().flatten() {
            match entry.metadata() {
                // A link is counted as itself, so that no circle is walked.
                Ok(about) if about.is_dir() => folders.push(entry.path()),
                Ok(about) => (bytes, files) = (bytes + about.len(), files + 1),
                Err(_) => {}
            }
        }
    }
    CacheState { folder: folder.to_path_buf(), bytes, files, writable: is_writable(folder) }
}

/// Whether a file can be made there, or in the nearest folder above that exists. Nothing is left behind.
fn is_writable(folder: &Path) -> bool {
    // Above a relative folder there is also the one where the program was started.
    let Ok(folder) = std::path::absolute(folder) else { return false };
    let Some(there) = folder.ancestors().find(|above| above.exists()) else { return false };
    let probe = there.join(format!(".ptsm-doctor-{}", std::process::id()));
    let made = std::fs::File::create_new(&probe).is_ok();
    if made {
        let _ = std::fs::remove_file(&probe);
    }
    made
}

/// The folders given, and where MNE keeps data sets.
fn data_roots(given: &[PathBuf]) -> Vec<PathBuf> {
    let mut roots = given.to_vec();
    let home = env::var_os("HOME").map(|home| PathBuf::from(home).join("mne_data"));
    let usual = env::var_os("MNE_DATA").map(PathBuf::from).or(home).filter(|folder| folder.is_dir());
    roots.extend(usual);
    let mut seen = BTreeSet::new();
    roots.retain(|root| seen.insert(root.clone()));
    roots
}

/// Data sets of the catalogue under a folder.
fn find_data_sets(root: &Path) -> Vec<FoundDataSet> {
    let find = |set: &&dyn ptsm_data::catalogue::DataSet| {
        let id = set.about().id.clone();
        let options = Options::new(&id, set.choices(), &[]).ok()?;
        let files = set.find(root, &options).ok()?;
        let subjects: BTreeSet<_> = files.items.iter().map(|item| item.subject).collect();
        let found = FoundDataSet {
            id: id.to_string(),
            root: root.to_path_buf(),
            subjects: subjects.len(),
            all_subjects: set.about().subject_count as usize,
            missing: files.missing.len(),
        };
        (found.subjects > 0).then_some(found)
    };
    DATA_SETS.iter().filter_map(find).collect()
}

fn is_on_path(program: &str) -> bool {
    env::var_os("PATH")
        .is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}
