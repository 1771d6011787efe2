//! Engine.

mod cpu;
mod error;
mod gradient;
mod graph;
mod kernels;
mod lower;
mod ops;
mod parameters;
mod program;
mod random;
mod real;
mod schedule;
mod step;

pub use cpu::{Cpu, Isa};
pub use error::{Error, Result};
pub use graph::{Graph, Id, Init, Input, Node, Tensor};
pub use lower::Mode;
pub use ops::{BinaryKind, Op, Padding, Pooling, UnaryKind};
pub use parameters::{Parameters, metadata};
pub use program::{Feed, Objective, Program};
pub use real::Real;
pub use schedule::{Schedule, Shape};
pub use step::{Adam, Checkpoint, Decay, Step, StepSpec};

#[cfg(test)]
mod microbench {
    use crate::cpu::Isa;
    use crate::random::{Draw, drop_row};
    use std::time::Instant;

    #[test]
    #[ignore]
    fn rows() {
        let n = 640usize;
        let x: Vec<f32> = (0..n).map(|i| (i as f32 * 0.1).sin()).collect();
        let mut z = x.clone();
        for isa in Isa::available() {
            let mut time = |name: &str, f: &mut dyn FnMut(&mut [f32])| {
                let start = Instant::now();
                for _ in 0..20000 {
                    f(&mut z);
                }
                eprintln!(
                    "{isa:?} {name}: {:.2} ns/element",
                    start.elapsed().as_secs_f64() * 1e9 / 20000.0 / n as f64
                );
                z.copy_from_slice(&x);
            };
            time("drop", &mut |z| drop_row(isa, Draw { seed: 1, step: 2 }, 3, 4, 0.5, z));
            time("elu", &mut |z| crate::ops::UnaryKind::Elu.apply(isa, z));
            time("chain", &mut |z| crate::ops::UnaryKind::Elu.chain(isa, &x, z));
            time("total", &mut |z| z[0] = crate::kernels::rows::Sum::Dot(&x, z).on(isa));
            time("poolback", &mut |z| {
                crate::kernels::versions::vectorised(
                    isa,
                    #[inline(always)]
                    || crate::ops::Pooling::Adaptive { length: 16 }.row_back(&[], &x[..16], z),
                )
            });
            time("pool", &mut |z| {
                let mut o = [0.0f32; 16];
                crate::ops::Pooling::Adaptive { length: 16 }.row(isa, z, &mut o);
                z[0] = o[3] * 1e-30;
            });
        }
    }
}
