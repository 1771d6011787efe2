//! Compiles one plain function several times and chooses at run time.
//!
//! Elementwise loops need no intrinsics: the compiler vectorises them for whatever the enclosing function
//! may use. The calls are sound because an [`Isa`] gets here only through a device, and `Cpu::with` refuses one that
//! detection did not find; nothing in `kernels` can be reached from outside the crate.

use crate::kernels::Isa;

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

/// Makes `fn name(isa, ..)` for f32 out of a kernel that is generic over its lanes: one copy per instruction set, chosen at
/// run time. The kernels are unsafe for two reasons, the instruction set and unchecked slices; whoever calls the result
/// has checked the slices.
macro_rules! f32_paths {
    ($(fn $name:ident($($arg:ident: $kind:ty),*) $(-> $out:ty)? = $kernel:ident;)*) => {$(
        pub(crate) fn $name(isa: $crate::kernels::Isa, $($arg: $kind),*) $(-> $out)? {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
            unsafe fn avx512($($arg: $kind),*) $(-> $out)? {
                // SAFETY: the features are enabled here; the caller has checked the slices.
                unsafe { $kernel::<f32, $crate::kernels::lanes::x86::Avx512>($($arg),*) }
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma")]
            unsafe fn avx2($($arg: $kind),*) $(-> $out)? {
                // SAFETY: as above.
                unsafe { $kernel::<f32, $crate::kernels::lanes::x86::Avx2>($($arg),*) }
            }
            match isa {
                // SAFETY: a device has this instruction set only where detection found it.
                #[cfg(target_arch = "x86_64")]
                $crate::kernels::Isa::Avx512 => unsafe { avx512($($arg),*) },
                // SAFETY: as above.
                #[cfg(target_arch = "x86_64")]
                $crate::kernels::Isa::Avx2 => unsafe { avx2($($arg),*) },
                // SAFETY: NEON is part of every aarch64 target; the caller has checked the slices.
                #[cfg(target_arch = "aarch64")]
                $crate::kernels::Isa::Neon => unsafe { $kernel::<f32, $crate::kernels::lanes::arm::Neon>($($arg),*) },
                // SAFETY: plain arrays need no instruction set; the caller has checked the slices.
                _ => unsafe { $kernel::<f32, $crate::kernels::lanes::PortableLanes<f32>>($($arg),*) },
            }
        }
    )*};
}
pub(crate) use f32_paths;
