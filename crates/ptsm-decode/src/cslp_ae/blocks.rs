//! What the autoencoder is put together from.

use ptsm_engine::{Graph, Id, Init, Padding};

use crate::error::Result;
use crate::layers::{attention, linear};

const EPS: f64 = 1e-5;
/// Deviation of the positional embedding's start values.
const EMBEDDING: f64 = 0.02;
/// Taps, stride and zeros on both sides where the length is halved or doubled.
const TAPS: usize = 4;
const STRIDE: usize = 2;
const ZEROS: usize = 1;

fn channels(g: &Graph, x: Id) -> usize {
    g.shape(x)[1]
}

/// Convolution, ReLU, then instance norm; the input is added where it has as many channels.
pub(super) fn conv_relu(g: &mut Graph, name: &str, x: Id, outputs: usize, taps: usize) -> Result<Id> {
    g.scoped(name, |g| {
        let inputs = channels(g, x);
        let w = g.parameter("weight", &[outputs, inputs, taps], Init::fan_in(inputs * taps))?;
        let h = g.conv1d(x, w, None, 1, Padding::Same)?;
        let h = g.relu(h)?;
        let h = g.scoped("norm", |g| g.instance_norm(h, EPS))?;
        Ok(if inputs == outputs { g.add(h, x)? } else { h })
    })
}

/// Three convolutions (3, 1 and 1 taps); the input is added where it has as many channels.
pub(super) fn conv_block(g: &mut Graph, name: &str, x: Id, middle: usize, outputs: usize) -> Result<Id> {
    g.scoped(name, |g| {
        let inputs = channels(g, x);
        let h = conv_relu(g, "wide", x, middle, 3)?;
        let h = conv_relu(g, "narrow", h, middle, 1)?;
        let h = g.scoped("norm", |g| g.instance_norm(h, EPS))?;
        let h = g.scoped("out", |g| -> Result<Id> {
            let w = g.parameter("weight", &[outputs, middle, 1], Init::fan_in(middle))?;
            let b = g.parameter("bias", &[outputs], Init::fan_in(middle))?;
            Ok(g.conv1d(h, w, Some(b), 1, Padding::Same)?)
        })?;
        Ok(if inputs == outputs { g.add(h, x)? } else { h })
    })
}

/// Half as many samples.
pub(super) fn halved(g: &mut Graph, x: Id) -> Result<Id> {
    let c = channels(g, x);
    let w = g.parameter("weight", &[c, c, TAPS], Init::fan_in(c * TAPS))?;
    Ok(g.strided_conv(x, w, STRIDE, ZEROS)?)
}

/// Twice as many samples.
pub(super) fn doubled(g: &mut Graph, x: Id) -> Result<Id> {
    let c = channels(g, x);
    let w = g.parameter("weight", &[c, c, TAPS], Init::fan_in(c * TAPS))?;
    Ok(g.transposed_conv(x, w, STRIDE, ZEROS)?)
}

/// Layers of self-attention over time: `[B, c, L]` to the same.
pub(super) fn transformer(g: &mut Graph, x: Id, layers: usize) -> Result<Id> {
    let mut h = g.transpose(x, &[0, 2, 1])?;
    for layer in 0..layers {
        h = g.scoped(layer.to_string(), |g| attend(g, h))?;
    }
    Ok(g.transpose(h, &[0, 2, 1])?)
}

/// `[B, L, c]` to the same: a positional embedding is added, then attention with one head and two linear layers, each normalised with its input.
fn attend(g: &mut Graph, x: Id) -> Result<Id> {
    let [_, length, width] = *g.shape(x) else { unreachable!("tokens are [B, L, c]") };
    // The name in model files.
    let embedding = g.parameter("places", &[1, length, width], Init::Normal(EMBEDDING))?;
    let x = g.add(x, embedding)?;
    let h = g.scoped("attention", |g| -> Result<Id> {
        let all = g.scoped("in", |g| -> Result<Id> {
            let w = g.parameter("weight", &[3 * width, width], Init::glorot(width, 3 * width))?;
            let b = g.parameter("bias", &[3 * width], Init::Constant(0.0))?;
            Ok(g.linear(x, w, Some(b))?)
        })?;
        let mut part = |i: usize| g.slice(all, 2, i * width, width);
        let queries_keys_values = [part(0)?, part(1)?, part(2)?];
        let h = attention(g, queries_keys_values, (width as f64).sqrt(), None)?;
        g.scoped("out", |g| {
            let w = g.parameter("weight", &[width, width], Init::fan_in(width))?;
            let b = g.parameter("bias", &[width], Init::Constant(0.0))?;
            Ok(g.linear(h, w, Some(b))?)
        })
    })?;
    let x = g.add(x, h)?;
    let x = g.scoped("attention_norm", |g| g.layer_norm(x, EPS))?;
    let h = g.scoped("forward", |g| -> Result<Id> {
        let h = linear(g, "0", x, width)?;
        let h = g.relu(h)?;
        linear(g, "1", h, width)
    })?;
    let x = g.add(x, h)?;
    Ok(g.scoped("forward_norm", |g| g.layer_norm(x, EPS))?)
}
