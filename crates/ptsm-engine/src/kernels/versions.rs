//! Compiles one plain function several times and chooses at run time.
//!
//! Elementwise loops need no intrinsics: the compiler vectorises them for whatever the enclosing function
//! may use. The calls are sound because an [`Isa`] gets here only through a device, and `Cpu::with` refuses one that
//! detection did not find; nothing in `kernels` can be reached from outside the crate.

use crate::cpu::Isa;

/// Runs `body` compiled for `isa`.
#[inline(always)]
pub(crate) fn vectorised<R>(isa: Isa, body: impl FnOnce() -> R) -> R {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma,bmi2")]
        unsafe fn avx512<R>(body: impl FnOnce() -> R) -> R {
            body()
        }
        #[target_feature(enable = "avx2,fma,bmi2")]
        unsafe fn avx2<R>(body: impl FnOnce() -> R) -> R {
            body()
        }
        match isa {
            // SAFETY: this variant exists only where detection found these features.
            Isa::Avx512 => unsafe { avx512(body) },
            // SAFETY: as above.
            Isa::Avx2 => unsafe { avx2(body) },
            _ => body(),
        }
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        let _ = isa;
        body()
    }
}
