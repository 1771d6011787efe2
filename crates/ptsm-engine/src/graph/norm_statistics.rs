//! The batch norms of a network that is applied, and the same network normalised by other statistics.

use super::ops::Op;
use super::{Graph, Id, Node};
use crate::error::{Error, Result};

/// A batch norm of a graph, as a network meets it when it is applied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BatchNormSite {
    /// What it normalises, `[rows, C, ..]`.
    pub x: Id,
    /// Its running statistics `[2, C]`: mean and variance.
    pub running: Id,
}

/// Operands of a node when the network is applied.
fn applied(node: &Node) -> &[Id] {
    match node.op {
        Op::ByMode(_) => &node.inputs[1..],
        _ => &node.inputs,
    }
}

impl Graph {
    /// Which nodes some values depend on when the network is applied.
    fn needed_by(&self, values: &[Id]) -> Result<Vec<bool>> {
        let mut needed = vec![false; self.nodes.len()];
        for &value in values {
            self.check(value)?;
            needed[value.index()] = true;
        }
        for i in (0..self.nodes.len()).rev() {
            if needed[i] {
                applied(&self.nodes[i]).iter().for_each(|input| needed[input.index()] = true);
            }
        }
        Ok(needed)
    }

    /// The batch norms that some values depend on when the network is applied ([`Mode::Infer`](crate::Mode::Infer)), each after those that
    /// it depends on itself.
    pub fn batch_norms(&self, values: &[Id]) -> Result<Vec<BatchNormSite>> {
        let needed = self.needed_by(values)?;
        let norms = self.nodes.iter().zip(needed).filter_map(|(node, needed)| match (&node.op, needed) {
            (Op::BatchNorm(_), true) => Some(BatchNormSite { x: node.inputs[0], running: node.inputs[3] }),
            _ => None,
        });
        Ok(norms.collect())
    }

    /// The tensor a node is, if it is one: its name.
    pub fn tensor_name(&self, id: Id) -> Option<&str> {
        match self.nodes.get(id.index())?.op {
            Op::Tensor(i) => Some(&self.tensors[i].name),
            _ => None,
        }
    }

    /// The network that makes some values when it is applied, each of its batch norms normalising by what `statistics` makes `[2, C]` of its
    /// input and its running statistics; and where the values went. The tensors stay the same, so that the same parameters fit; inputs may
    /// be added. Norms come in the order of [`batch_norms`](Self::batch_norms).
    pub fn with_norm_statistics(
        &self,
        values: &[Id],
        mut statistics: impl FnMut(&mut Graph, BatchNormSite) -> Result<Id>,
    ) -> Result<(Graph, Vec<Id>)> {
        let needed = self.needed_by(values)?;
        let mut out = self.sibling();
        let mut moved: Vec<Option<Id>> = vec![None; self.nodes.len()];
        let at = |moved: &[Option<Id>], id: Id| moved[id.index()].expect("an operand comes before its user");
        for (i, node) in self.nodes.iter().enumerate().filter(|(i, _)| needed[*i]) {
            out.enter_scope(self.scope_of(Id(i as u32)));
            let mut inputs: Vec<Id> = applied(node).iter().map(|&id| at(&moved, id)).collect();
            moved[i] = Some(match &node.op {
                Op::ByMode(_) => inputs[0],
                Op::BatchNorm(norm) => {
                    inputs[3] = statistics(&mut out, BatchNormSite { x: inputs[0], running: inputs[3] })?;
                    out.apply(*norm, &inputs)?
                }
                op => out.push(op.clone(), inputs, node.shape.clone())?,
            });
        }
        out.enter_scope("");
        let place = |id: &Id| {
            moved[id.index()].ok_or_else(|| Error::Program(format!("node {} is not part of it", id.0)))
        };
        let places = values.iter().map(place).collect::<Result<_>>()?;
        Ok((out, places))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cpu, Feed, Mode, Parameters, Program};

    const EPS: f64 = 1e-5;

    /// Two norms one behind the other, and a third that only training meets.
    fn network(g: &mut Graph, batch: usize) -> Result<Id> {
        let x = g.input("x", &[batch, 2, 3])?;
        let h = g.scoped("first", |g| g.batch_norm(x, EPS, 0.1))?;
        let beside = g.scoped("beside", |g| g.batch_norm(h, EPS, 0.1))?;
        let h = g.by_mode(beside, h)?;
        let h = g.mul(h, h)?;
        let h = g.flatten(h)?;
        g.scoped("second", |g| g.batch_norm(h, EPS, 0.1))
    }

    #[test]
    fn norms_are_found_in_their_order_and_those_of_training_are_not() -> Result<()> {
        let mut g = Graph::new();
        let y = network(&mut g, 4)?;
        let names = g.batch_norms(&[y])?;
        let names: Vec<_> = names.iter().filter_map(|norm| g.tensor_name(norm.running)).collect();
        assert_eq!(names, ["first.running", "second.running"]);
        assert!(g.tensor_name(y).is_none() && g.batch_norms(&[Id(99)]).is_err());
        Ok(())
    }

    #[test]
    fn by_its_own_statistics_a_batch_is_normalised() -> Result<()> {
        let mut g = Graph::new();
        let y = network(&mut g, 4)?;
        let (own, values) = g.with_norm_statistics(&[y], |g, norm| g.moments(norm.x))?;
        let cpu = Cpu::new()?;
        let mut program = Program::<f64>::new(&own, Mode::Infer, &values, 1, &cpu)?;
        let parameters = Parameters::new(&g, &[1])?;
        let x: Vec<f64> = (0..24).map(|i| f64::from(i * i % 17) * 3.0 + 5.0).collect();
        program.run(&parameters, &[("x", Feed::Shared(&x))])?;
        let y = program.output(&parameters, 0, 0);
        for feature in 0..6 {
            let column: Vec<f64> = (0..4).map(|trial| y[trial * 6 + feature]).collect();
            let mean = column.iter().sum::<f64>() / 4.0;
            let variance = column.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 4.0;
            assert!(mean.abs() < 1e-9 && (variance - 1.0).abs() < 1e-3, "{feature}: {mean} {variance}");
        }
        Ok(())
    }

    #[test]
    fn by_its_running_statistics_it_is_the_network_itself() -> Result<()> {
        let mut g = Graph::new();
        let y = network(&mut g, 4)?;
        let (same, values) = g.with_norm_statistics(&[y], |_, norm| Ok(norm.running))?;
        let cpu = Cpu::new()?;
        let mut parameters = Parameters::<f32>::new(&g, &[1])?;
        parameters.set(0, "first.running", &[1.0, -2.0, 3.0, 0.5])?;
        let x: Vec<f32> = (0..24).map(|i| (i as f32).sin()).collect();
        let run = |graph: &Graph, value: Id| {
            let mut program = Program::new(graph, Mode::Infer, &[value], 1, &cpu)?;
            program.run(&parameters, &[("x", Feed::Shared(&x))])?;
            Ok(program.output(&parameters, 0, 0).to_vec())
        };
        let (same, own): (Result<_>, Result<Vec<f32>>) = (run(&same, values[0]), run(&g, y));
        assert_eq!(same?, own?);
        Ok(())
    }
}
