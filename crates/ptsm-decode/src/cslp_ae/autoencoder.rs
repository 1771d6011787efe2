//! Trials to two latents, and two latents to trials.

use ptsm_engine::{Graph, Id};

use super::CslpAe;
use super::blocks::{conv_block, conv_relu, doubled, halved, transformer};
use crate::error::Result;

/// What a trial becomes: `[B, d, L]` each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Latents {
    pub(super) subject: Id,
    pub(super) task: Id,
}

impl CslpAe {
    /// `[B, C, T]`, T a multiple of 2^levels.
    pub(super) fn encode(&self, g: &mut Graph, x: Id) -> Result<Latents> {
        let (c, d) = (self.width, self.latent);
        let mut h = g.scoped("encoder_in", |g| -> Result<Id> {
            let h = conv_relu(g, "0", x, c, 1)?;
            conv_block(g, "1", h, c, c)
        })?;
        for level in 0..self.levels {
            h = g.scoped(format!("encoder.{level}"), |g| -> Result<Id> {
                let h = conv_block(g, "block", h, c, c)?;
                g.scoped("halved", |g| halved(g, h))
            })?;
        }
        let h = g.scoped("encoder_attention", |g| transformer(g, h, self.levels))?;
        let h = conv_block(g, "shared", h, c, c)?;
        Ok(Latents {
            subject: conv_block(g, "subject_out", h, c, d)?,
            task: conv_block(g, "task_out", h, c, d)?,
        })
    }

    /// Back to `[B, C, T]`.
    pub(super) fn decode(&self, g: &mut Graph, latents: Latents, channels: usize) -> Result<Id> {
        let c = self.width;
        let both = g.concat(latents.subject, latents.task, 1)?;
        let together = conv_block(g, "decoder_in", both, c, c)?;
        let subject = conv_block(g, "subject_in", latents.subject, c, c)?;
        let task = conv_block(g, "task_in", latents.task, c, c)?;
        let sum = g.add(together, subject)?;
        let sum = g.add(sum, task)?;
        let mixed = conv_block(g, "mixed", sum, c, c)?;
        let h = g.add(together, mixed)?;
        let mut h = g.scoped("decoder_attention", |g| transformer(g, h, self.levels))?;
        for level in 0..self.levels {
            h = g.scoped(format!("decoder.{level}"), |g| -> Result<Id> {
                let h = g.scoped("doubled", |g| doubled(g, h))?;
                conv_block(g, "block", h, c, c)
            })?;
        }
        conv_block(g, "decoder_out", h, c, channels)
    }
}
