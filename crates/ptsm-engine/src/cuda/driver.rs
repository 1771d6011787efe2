//! The calls into NVIDIA's libraries, which are loaded when a GPU is first asked for. All that is unsafe about GPUs is here.
#![allow(unsafe_code)]

use std::collections::HashMap;
use std::ffi::{CString, c_int, c_void};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::sys::CUdevice_attribute;
use cudarc::driver::{CudaContext, CudaFunction, CudaModule, CudaStream, DriverError, result, sys};
use cudarc::nvrtc;

use crate::error::{Error, Result};

/// The oldest driver that has all calls made here, as CUDA counts: 12.0.
const OLDEST_DRIVER: c_int = 12_000;

/// A GPU with one stream of work.
pub(super) struct Gpu {
    context: Arc<CudaContext>,
    stream: Arc<CudaStream>,
    /// What one thread puts on the stream stays together.
    turn: Mutex<()>,
    /// Kernels that were loaded, by the hash of their source.
    pub(super) loaded: Mutex<HashMap<[u8; 32], Vec<Kernel>>>,
}

/// GPUs that this process can see.
pub(super) fn count() -> usize {
    CudaContext::device_count().map_or(1, |n| n.max(1) as usize)
}

/// Whether there is a driver, whatever it can do.
pub(super) fn has_driver() -> bool {
    // SAFETY: loading a library runs its initialisers; NVIDIA's are made for that.
    unsafe { sys::is_culib_present() }
}

/// The newest CUDA the driver knows, as CUDA counts: 12.4 is 12040.
pub(super) fn version() -> Result<c_int> {
    let mut version: c_int = 0;
    // SAFETY: one number is written.
    let status = unsafe { sys::cuDriverGetVersion(&mut version) };
    status.result().map_err(|e| failed("the NVIDIA driver does not tell its version", e))?;
    Ok(version)
}

fn failed(what: &str, error: DriverError) -> Error {
    let name = error.error_name().ok().and_then(|n| n.to_str().ok().map(str::to_string));
    let text = error.error_string().ok().and_then(|n| n.to_str().ok().map(str::to_string));
    let description = match (name, text) {
        (Some(name), Some(text)) => format!("{text} ({name})"),
        _ => format!("{error:?}"),
    };
    Error::Device(format!("{what}: {description}"))
}

impl Gpu {
    /// The first GPU, or why there is none to work with.
    pub(super) fn open() -> Result<Gpu> {
        // SAFETY: as with the driver.
        let compiler = unsafe { nvrtc::sys::is_culib_present() };
        if !has_driver() {
            return Err(Error::Device(
                "there is no NVIDIA driver (libcuda.so was not found); install it, or use the CPU".into(),
            ));
        }
        if !compiler {
            return Err(Error::Device(
                "the compiler for GPU kernels was not found (libnvrtc.so.12 or .13); install CUDA's NVRTC, and name its folder in LD_LIBRARY_PATH"
                    .into(),
            ));
        }
        let version = version()?;
        if version < OLDEST_DRIVER {
            let (major, minor) = (version / 1000, version % 1000 / 10);
            return Err(Error::Device(format!(
                "the NVIDIA driver is too old: it knows CUDA {major}.{minor}, at least {}.0 is needed; install a newer one, or use the CPU",
                OLDEST_DRIVER / 1000
            )));
        }
        let context = CudaContext::new(0).map_err(|e| failed("the GPU cannot be used", e))?;
        // SAFETY: one stream does everything in order, so nothing has to be waited for between streams.
        unsafe { context.disable_event_tracking() };
        let stream = context.new_stream().map_err(|e| failed("a stream cannot be made", e))?;
        Ok(Gpu { context, stream, turn: Mutex::new(()), loaded: Mutex::default() })
    }

    pub(super) fn name(&self) -> Result<String> {
        self.context.name().map_err(|e| failed("the GPU does not tell its name", e))
    }

    /// Major and minor number of what it can do.
    pub(super) fn capability(&self) -> Result<(i32, i32)> {
        let read =
            |what| self.context.attribute(what).map_err(|e| failed("the GPU does not tell its kind", e));
        Ok((
            read(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?,
            read(CUdevice_attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?,
        ))
    }

    /// Bytes free and in all.
    pub(super) fn memory(&self) -> Result<(usize, usize)> {
        self.bind()?;
        result::mem_get_info().map_err(|e| failed("the GPU does not tell its memory", e))
    }

    /// Waits for this thread's turn on the stream.
    fn turn(&self) -> MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn bind(&self) -> Result<()> {
        self.context.bind_to_thread().map_err(|e| failed("the GPU cannot be used by this thread", e))
    }

    /// Waits until all work is done.
    pub(super) fn wait(&self) -> Result<()> {
        self.stream.synchronize().map_err(|e| failed("the GPU failed", e))
    }

    /// Seconds that what was recorded takes, on average over some times.
    pub(super) fn time(&self, graph: &LaunchGraph, times: u32) -> Result<f64> {
        self.start(graph)?;
        let _turn = self.turn();
        self.wait()?;
        let begin = std::time::Instant::now();
        for _ in 0..times {
            self.launch(graph)?;
        }
        self.wait()?;
        Ok(begin.elapsed().as_secs_f64() / f64::from(times))
    }

    /// Records launches, to be repeated at once, by some replicas; the arguments of all kernels are four places in memory.
    pub(super) fn record<'a>(
        &self,
        launches: impl Iterator<Item = Launch<'a>>,
        replicas: usize,
        arguments: [DeviceAddress; 4],
    ) -> Result<LaunchGraph> {
        let wrong = |e| failed("the step cannot be recorded", e);
        self.bind()?;
        let mut graph = LaunchGraph { list: std::ptr::null_mut(), ready: std::ptr::null_mut() };
        // SAFETY: a graph is written, which `drop` destroys.
        unsafe { sys::cuGraphCreate(&mut graph.list, 0) }.result().map_err(wrong)?;
        let mut places = arguments.map(|place| place.0);
        let mut pointers = places.each_mut().map(|place| std::ptr::from_mut(place).cast::<c_void>());
        let mut nodes: Vec<sys::CUgraphNode> = vec![];
        for launch in launches {
            let after: Vec<sys::CUgraphNode> = launch.after.iter().map(|&i| nodes[i]).collect();
            let parameters = sys::CUDA_KERNEL_NODE_PARAMS {
                func: launch.kernel.0.cu_function(),
                gridDimX: launch.blocks as u32,
                gridDimY: replicas as u32,
                gridDimZ: 1,
                blockDimX: launch.threads as u32,
                blockDimY: 1,
                blockDimZ: 1,
                sharedMemBytes: 0,
                kernelParams: pointers.as_mut_ptr(),
                extra: std::ptr::null_mut(),
                kern: std::ptr::null_mut(),
                ctx: std::ptr::null_mut(),
            };
            let mut node = std::ptr::null_mut();
            // SAFETY: the kernels of this crate take exactly four pointers, which are copied here, and write only inside the memory they
            // were compiled for: `CudaExecutable` compiles, allocates and launches with the same sizes, and names in `after` all that touches
            // the same memory before.
            let added = unsafe {
                sys::cuGraphAddKernelNode_v2(&mut node, graph.list, after.as_ptr(), after.len(), &parameters)
            };
            added.result().map_err(wrong)?;
            nodes.push(node);
        }
        // SAFETY: the graph is whole; what is written, `drop` destroys.
        unsafe { sys::cuGraphInstantiateWithFlags(&mut graph.ready, graph.list, 0) }
            .result()
            .map_err(wrong)?;
        Ok(graph)
    }

    /// Starts what was recorded.
    pub(super) fn start(&self, graph: &LaunchGraph) -> Result<()> {
        let _turn = self.turn();
        self.launch(graph)
    }

    fn launch(&self, graph: &LaunchGraph) -> Result<()> {
        self.bind()?;
        // SAFETY: instantiated by `record`; one stream does everything in order.
        unsafe { sys::cuGraphLaunch(graph.ready, self.stream.cu_stream()) }
            .result()
            .map_err(|e| failed("the step cannot be started", e))
    }
}

/// One launch of a step: blocks for each replica, threads of a block, and the launches that must have ended before, by their number.
pub(super) struct Launch<'a> {
    pub(super) kernel: &'a Kernel,
    pub(super) blocks: usize,
    pub(super) threads: usize,
    pub(super) after: Vec<usize>,
}

/// Launches recorded by [`Gpu::record`].
pub(super) struct LaunchGraph {
    list: sys::CUgraph,
    ready: sys::CUgraphExec,
}

impl Drop for LaunchGraph {
    fn drop(&mut self) {
        // SAFETY: made by `record` and destroyed nowhere else; the engine waits for what runs before. An error has nobody to tell.
        unsafe {
            if !self.ready.is_null() {
                let _ = sys::cuGraphExecDestroy(self.ready);
            }
            if !self.list.is_null() {
                let _ = sys::cuGraphDestroy(self.list);
            }
        }
    }
}

// SAFETY: a graph is launched through a context that every thread may bind, and only by the one that holds `&mut CudaExecutable`.
unsafe impl Send for LaunchGraph {}
// SAFETY: the same; a shared reference to the engine launches nothing.
unsafe impl Sync for LaunchGraph {}

/// A place in a GPU's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct DeviceAddress(u64);

impl DeviceAddress {
    /// So many bytes further on.
    pub(super) fn after(self, bytes: usize) -> DeviceAddress {
        DeviceAddress(self.0 + bytes as u64)
    }

    /// As a kernel reads it.
    pub(super) fn to_bytes(self) -> [u8; 8] {
        self.0.to_le_bytes()
    }
}

/// Memory of a GPU, zero at the start.
pub(super) struct Memory {
    gpu: Arc<Gpu>,
    start: u64,
    bytes: usize,
}

impl Memory {
    pub(super) fn new(gpu: &Arc<Gpu>, bytes: usize) -> Result<Memory> {
        gpu.bind()?;
        let bytes = bytes.max(16);
        // SAFETY: the memory is freed once, by `drop`.
        let start = unsafe { result::malloc_sync(bytes) }.map_err(|e| {
            let (free, _) = gpu.memory().unwrap_or((0, 0));
            let text = format!("{:.2} GiB do not fit the {:.2} GiB that are free", gib(bytes), gib(free));
            failed(&text, e)
        })?;
        let memory = Memory { gpu: gpu.clone(), start, bytes };
        let _turn = gpu.turn();
        // SAFETY: exactly the memory allocated above.
        unsafe { result::memset_d8_async(start, 0, bytes, gpu.stream.cu_stream()) }
            .map_err(|e| failed("memory cannot be cleared", e))?;
        Ok(memory)
    }

    pub(super) fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn place(&self) -> DeviceAddress {
        DeviceAddress(self.start)
    }

    fn check(&self, at: usize, bytes: usize) {
        assert!(
            at.checked_add(bytes).is_some_and(|end| end <= self.bytes),
            "{bytes} bytes at {at} of {}",
            self.bytes
        );
    }

    /// Copies to byte `at`, after all work before it.
    pub(super) fn upload(&self, at: usize, from: &[u8]) -> Result<()> {
        self.check(at, from.len());
        self.gpu.bind()?;
        let _turn = self.gpu.turn();
        // SAFETY: inside this memory; the source is pageable, so the call returns only when it has been read.
        unsafe { result::memcpy_htod_async(self.start + at as u64, from, self.gpu.stream.cu_stream()) }
            .map_err(|e| failed("data cannot be copied to the GPU", e))
    }

    /// Copies from byte `at`, after all work before it, and waits.
    pub(super) fn download(&self, at: usize, to: &mut [u8]) -> Result<()> {
        self.check(at, to.len());
        self.gpu.bind()?;
        let _turn = self.gpu.turn();
        // SAFETY: inside this memory, and waited for below while `to` is borrowed.
        unsafe { result::memcpy_dtoh_async(to, self.start + at as u64, self.gpu.stream.cu_stream()) }
            .map_err(|e| failed("data cannot be copied from the GPU", e))?;
        self.gpu.wait()
    }
}

/// Copies that are only begun. The other side is [`PinnedBuffer`], and must be left alone until a [`Event`] after the call has come.
impl Memory {
    /// Copies the first `bytes` of `from` to byte `at`.
    pub(super) fn send(&self, at: usize, from: &PinnedBuffer, bytes: usize) -> Result<()> {
        self.check(at, bytes);
        self.gpu.bind()?;
        let _turn = self.gpu.turn();
        let from = &from.bytes()[..bytes];
        // SAFETY: inside both memories; the source lives until the stream has come past this (see `PinnedBuffer::drop`).
        unsafe { result::memcpy_htod_async(self.start + at as u64, from, self.gpu.stream.cu_stream()) }
            .map_err(|e| failed("data cannot be copied to the GPU", e))
    }

    /// Copies from the beginning until `to` is full.
    pub(super) fn receive(&self, to: &mut PinnedBuffer) -> Result<()> {
        self.check(0, to.bytes().len());
        self.gpu.bind()?;
        let _turn = self.gpu.turn();
        // SAFETY: inside both memories; the target lives until the stream has come past this (see `PinnedBuffer::drop`).
        unsafe { result::memcpy_dtoh_async(to.bytes_mut(), self.start, self.gpu.stream.cu_stream()) }
            .map_err(|e| failed("data cannot be copied from the GPU", e))
    }

    /// Copies inside the GPU, after all work before it.
    pub(super) fn copy(&self, at: usize, from: &Memory, from_at: usize, bytes: usize) -> Result<()> {
        self.check(at, bytes);
        from.check(from_at, bytes);
        self.gpu.bind()?;
        let _turn = self.gpu.turn();
        let (to, from) = (self.start + at as u64, from.start + from_at as u64);
        // SAFETY: inside both memories, which wait for the stream before they are freed.
        unsafe { result::memcpy_dtod_async(to, from, bytes, self.gpu.stream.cu_stream()) }
            .map_err(|e| failed("data cannot be copied on the GPU", e))
    }
}

/// Memory of this machine that a GPU copies from and to while other work goes on.
pub(super) struct PinnedBuffer {
    gpu: Arc<Gpu>,
    start: *mut u8,
    bytes: usize,
}

// SAFETY: plain memory with one owner.
unsafe impl Send for PinnedBuffer {}
// SAFETY: the same.
unsafe impl Sync for PinnedBuffer {}

impl PinnedBuffer {
    pub(super) fn new(gpu: &Arc<Gpu>, bytes: usize) -> Result<PinnedBuffer> {
        gpu.bind()?;
        let bytes = bytes.max(16);
        // SAFETY: the memory is freed once, by `drop`, and is written before it is read.
        let start = unsafe {
            let start = result::malloc_host(bytes, 0)
                .map_err(|e| failed(&format!("{:.2} GiB to copy from are not there", gib(bytes)), e))?;
            start.cast::<u8>().write_bytes(0, bytes);
            start.cast()
        };
        Ok(PinnedBuffer { gpu: gpu.clone(), start, bytes })
    }

    pub(super) fn bytes(&self) -> &[u8] {
        // SAFETY: allocated with this length, and set to zero at the start.
        unsafe { std::slice::from_raw_parts(self.start, self.bytes) }
    }

    pub(super) fn bytes_mut(&mut self) -> &mut [u8] {
        // SAFETY: the same, and borrowed by nobody else.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.bytes) }
    }
}

impl Drop for PinnedBuffer {
    fn drop(&mut self) {
        let _turn = self.gpu.turn();
        if self.gpu.bind().is_ok() && self.gpu.wait().is_ok() {
            // SAFETY: allocated by `new`, freed nowhere else, and no copy is under way any more. An error has nobody to tell.
            let _ = unsafe { result::free_host(self.start.cast()) };
        }
    }
}

/// A point in a GPU's work that can be waited for.
pub(super) struct Event {
    gpu: Arc<Gpu>,
    event: sys::CUevent,
}

// SAFETY: an event may be used by every thread that binds its context.
unsafe impl Send for Event {}
// SAFETY: the same.
unsafe impl Sync for Event {}

impl Event {
    pub(super) fn new(gpu: &Arc<Gpu>) -> Result<Event> {
        gpu.bind()?;
        let event = result::event::create(sys::CUevent_flags::CU_EVENT_DISABLE_TIMING);
        Ok(Event { gpu: gpu.clone(), event: event.map_err(|e| failed("an event cannot be made", e))? })
    }

    /// From now on it means: all work that was begun before this call.
    pub(super) fn set(&self) -> Result<()> {
        self.gpu.bind()?;
        let _turn = self.gpu.turn();
        // SAFETY: the event was created by `new` and is destroyed by `drop` only.
        unsafe { result::event::record(self.event, self.gpu.stream.cu_stream()) }
            .map_err(|e| failed("an event cannot be recorded", e))
    }

    pub(super) fn wait(&self) -> Result<()> {
        self.gpu.bind()?;
        // SAFETY: the same.
        unsafe { result::event::synchronize(self.event) }.map_err(|e| failed("the GPU failed", e))
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if self.gpu.bind().is_ok() {
            // SAFETY: created by `new`, destroyed nowhere else; CUDA keeps what is still to come.
            let _ = unsafe { result::event::destroy(self.event) };
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        let _turn = self.gpu.turn();
        if self.gpu.bind().is_ok() && self.gpu.wait().is_ok() {
            // SAFETY: allocated by `new`, freed nowhere else, and nothing that runs uses it any more. An error has nobody to tell.
            let _ = unsafe { result::free_sync(self.start) };
        }
    }
}

pub(super) fn gib(bytes: usize) -> f64 {
    bytes as f64 / f64::from(1u32 << 30)
}

/// A kernel that is on the GPU.
#[derive(Clone)]
pub(super) struct Kernel(CudaFunction);

/// Kernels of a compiled source, by name.
pub(super) fn load(gpu: &Gpu, image: Vec<u8>, names: &[String]) -> Result<Vec<Kernel>> {
    let module: Arc<CudaModule> = gpu
        .context
        .load_module(nvrtc::Ptx::from_binary(image))
        .map_err(|e| failed("the kernels cannot be loaded", e))?;
    let find = |name: &String| {
        module
            .load_function(name)
            .map(Kernel)
            .map_err(|e| failed(&format!("the kernel `{name}` is missing"), e))
    };
    names.iter().map(find).collect()
}

/// The version of the compiler.
pub(super) fn compiler_version() -> Result<(i32, i32)> {
    let (mut major, mut minor): (c_int, c_int) = (0, 0);
    // SAFETY: two numbers are written.
    let status = unsafe { nvrtc::sys::nvrtcVersion(&mut major, &mut minor) };
    status
        .result()
        .map_err(|e| Error::Device(format!("the compiler for GPU kernels does not answer: {e:?}")))?;
    Ok((major, minor))
}

/// Compiles a source for a kind of GPU.
pub(super) fn compile(source: &str, (major, minor): (i32, i32)) -> Result<Vec<u8>> {
    let wrong = |message: String| Error::Device(format!("kernels cannot be compiled: {message}"));
    let text = CString::new(source).map_err(|e| wrong(e.to_string()))?;
    let program = nvrtc::result::create_program(&text, None).map_err(|e| wrong(format!("{e:?}")))?;
    let options = [format!("--gpu-architecture=sm_{major}{minor}"), "--std=c++17".into(), "-w".into()];
    // SAFETY: the program was created above, is used by this thread only and destroyed once, at the end.
    unsafe {
        let compiled = nvrtc::result::compile_program(program, &options);
        let image = compiled.map_err(|e| {
            let log = nvrtc::result::get_program_log(program).unwrap_or_default();
            let log: Vec<u8> = log.into_iter().map(|c| c as u8).filter(|c| *c != 0).collect();
            wrong(format!("{e:?}: {}", String::from_utf8_lossy(&log)))
        });
        let image = image.and_then(|()| {
            let mut size = 0usize;
            nvrtc::sys::nvrtcGetCUBINSize(program, &mut size)
                .result()
                .map_err(|e| wrong(format!("{e:?}")))?;
            let mut image = vec![0u8; size];
            nvrtc::sys::nvrtcGetCUBIN(program, image.as_mut_ptr().cast())
                .result()
                .map_err(|e| wrong(format!("{e:?}")))?;
            Ok(image)
        });
        // The image is what matters; a program that cannot be destroyed only leaks.
        let _ = nvrtc::result::destroy_program(program);
        image
    }
}
