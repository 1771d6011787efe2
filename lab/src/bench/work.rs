//! Multiply-adds of a training step, done the plain way.
//!
//! A layer with O outputs that each read I inputs through K taps, at P places, costs `O I K P` multiply-adds per trial
//! going forward. Its weight gradient costs the same again, and so does its input gradient, which is needed unless the
//! layer reads the data themselves:
//!
//! ```text
//! step = batch * sum over layers of (3, or 2 on the data) * O * I * K * P
//! ```
//!
//! Counted are convolutions and linear layers. Masks, norms, activations, pooling, the losses and the optimizer are not:
//! they are few multiply-adds and much memory traffic. There is no credit for tricks: the engine composes consecutive
//! convolutions into one and filters with Winograd's transforms, which takes fewer multiplications than counted here.

use ptsm_decode::{TrialShape, deepconvnet::DeepConvNet, eegnet::EegNet, ptsm::PoolPlacement, ptsm::Ptsm};

use crate::protocol::{Model, Request};

/// What reads a layer's input gradient.
#[derive(Clone, Copy, PartialEq)]
enum GradientReader {
    /// The data: nobody.
    Data,
    /// Another layer's output: that layer.
    Layer,
}

/// `O I K P` and what the layer reads.
struct Layer {
    outputs: usize,
    inputs: usize,
    taps: usize,
    places: usize,
    reads: GradientReader,
}

impl Layer {
    fn conv(reads: GradientReader, inputs: usize, outputs: usize, taps: usize, places: usize) -> Layer {
        Layer { outputs, inputs, taps, places, reads }
    }

    fn linear(reads: GradientReader, inputs: usize, outputs: usize) -> Layer {
        Layer { outputs, inputs, taps: 1, places: 1, reads }
    }

    fn step(&self) -> u64 {
        let passes = if self.reads == GradientReader::Data { 2 } else { 3 };
        (passes * self.outputs * self.inputs * self.taps * self.places) as u64
    }
}

/// Multiply-adds of one training step of one replica.
pub(crate) fn of_training_step(request: &Request) -> u64 {
    let layers = layers(&request.model(), request.trials());
    request.shape.batch as u64 * layers.iter().map(Layer::step).sum::<u64>()
}

fn layers(model: &Model, shape: TrialShape) -> Vec<Layer> {
    match model {
        Model::Ptsm(config) => ptsm(config, shape),
        Model::EegNet(config) => eegnet(config, shape),
        Model::DeepConvNet(config) => deepconvnet(config, shape),
    }
}

fn ptsm(config: &Ptsm, shape: TrialShape) -> Vec<Layer> {
    let TrialShape { channels, time, classes, subjects } = shape;
    let mut all = vec![];
    for _personal_and_common in 0..2 {
        let (width, taps) = (config.temporal_width, config.temporal_kernel);
        all.push(Layer::linear(GradientReader::Data, channels, config.spatial_width));
        all.push(Layer::linear(GradientReader::Layer, config.spatial_width, channels));
        all.push(Layer::conv(GradientReader::Data, channels, width, taps, time));
        all.push(Layer::conv(GradientReader::Layer, width, 1, taps, time));
    }
    // The first encoder layer reads masked data: the masks need its input gradient.
    let (mut inputs, mut places) = (channels, time);
    for (i, &outputs) in config.encoder.iter().enumerate() {
        all.push(Layer::conv(GradientReader::Layer, inputs, outputs, config.kernel, places));
        inputs = outputs;
        if config.pool == PoolPlacement::Each {
            places = config.pooled.max(time.div_ceil(4usize.pow(i as u32 + 1)));
        }
    }
    let [first, second] = config.shared;
    all.push(Layer::linear(GradientReader::Layer, inputs * config.pooled, first));
    all.push(Layer::linear(GradientReader::Layer, first, second));
    for outputs in [classes, subjects] {
        all.push(Layer::linear(GradientReader::Layer, second, config.features));
        all.push(Layer::linear(GradientReader::Layer, config.features, config.head));
        all.push(Layer::linear(GradientReader::Layer, config.head, outputs));
    }
    all
}

fn eegnet(config: &EegNet, shape: TrialShape) -> Vec<Layer> {
    let TrialShape { channels, time, classes, .. } = shape;
    let maps = config.filters * config.depth;
    let pooled = time / config.pools[0];
    let places = pooled / config.pools[1];
    vec![
        Layer::conv(GradientReader::Data, 1, config.filters, config.kernel, channels * time),
        // Each map reads one filter's channels.
        Layer::conv(GradientReader::Layer, channels, maps, 1, time),
        Layer::conv(GradientReader::Layer, 1, maps, config.separable_kernel, pooled),
        Layer::conv(GradientReader::Layer, maps, config.pointwise, 1, pooled),
        Layer::linear(GradientReader::Layer, config.pointwise * places, classes),
    ]
}

fn deepconvnet(config: &DeepConvNet, shape: TrialShape) -> Vec<Layer> {
    let TrialShape { channels, time, classes, .. } = shape;
    let (first, taps) = (config.maps[0], config.kernel);
    let mut places = time + 1 - taps;
    let mut all = vec![
        Layer::conv(GradientReader::Data, 1, first, taps, channels * places),
        Layer::conv(GradientReader::Layer, first * channels, first, 1, places),
    ];
    places /= config.pool;
    for pair in config.maps.windows(2) {
        places = places + 1 - taps;
        all.push(Layer::conv(GradientReader::Layer, pair[0], pair[1], taps, places));
        places /= config.pool;
    }
    let last = config.maps[config.maps.len() - 1];
    all.push(Layer::linear(GradientReader::Layer, last * places, classes));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every weight of the network belongs to a counted layer, and no other does.
    #[test]
    fn all_weights_are_counted() {
        let shape = TrialShape { channels: 20, time: 1000, classes: 2, subjects: 84 };
        let small = DeepConvNet { maps: vec![25, 50, 100], ..DeepConvNet::default() };
        for model in [
            Model::Ptsm(Box::default()),
            Model::Ptsm(Box::new(Ptsm { pool: PoolPlacement::Each, ..Ptsm::default() })),
            Model::EegNet(EegNet::default()),
            Model::DeepConvNet(small),
        ] {
            let counted: usize = layers(&model, shape).iter().map(|l| l.outputs * l.inputs * l.taps).sum();
            let network = model.build(shape.batch(4)).unwrap();
            let weights = network.graph.tensors().iter().filter(|t| t.name.ends_with(".weight"));
            assert_eq!(counted, weights.map(|t| t.len()).sum::<usize>(), "{model:?}");
        }
    }

    /// By hand for EEGNet at C=2, T=64: 2*8*64*2*64 + 3*(2*16*64 + 16*16*16 + 16*16*16 + 16*2*2) = 161 984.
    #[test]
    fn eegnet_by_hand() {
        let shape = TrialShape { channels: 2, time: 64, classes: 2, subjects: 1 };
        let sum: u64 = layers(&Model::EegNet(EegNet::default()), shape).iter().map(Layer::step).sum();
        assert_eq!(sum, 161_984);
    }
}
