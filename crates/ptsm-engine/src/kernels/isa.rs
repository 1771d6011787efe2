//! The instruction sets that kernels are compiled for.

/// A path through the kernels. `Cpu::with` refuses one that the machine does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Isa {
    /// What every machine of the target has.
    Portable,
    /// x86-64 with AVX2 and FMA.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// x86-64 with AVX-512 (F, BW, DQ, VL).
    #[cfg(target_arch = "x86_64")]
    Avx512,
    /// ARM with NEON.
    #[cfg(target_arch = "aarch64")]
    Neon,
}

impl Isa {
    /// Every path this machine can take, the best one last.
    pub fn available() -> Vec<Isa> {
        let mut found = vec![Isa::Portable];
        #[cfg(target_arch = "x86_64")]
        {
            let avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
                && is_x86_feature_detected!("bmi2");
            if avx2 {
                found.push(Isa::Avx2);
            }
            if avx2
                && is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
            {
                found.push(Isa::Avx512);
            }
        }
        #[cfg(target_arch = "aarch64")]
        found.push(Isa::Neon);
        found
    }

    /// The best path this machine can take.
    pub fn best() -> Isa {
        Self::available().last().copied().unwrap_or(Isa::Portable)
    }
}
