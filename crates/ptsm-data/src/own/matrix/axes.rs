//! What the dimensions of an array of samples are.

use serde::Deserialize;

use super::place::sizes;

/// What a dimension counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(in super::super) enum MatrixAxis {
    /// Epochs.
    #[serde(alias = "epochs", alias = "trial", alias = "epoch")]
    Trials,
    /// Epochs of one class each: the first class is called `1`.
    #[serde(alias = "class", alias = "targets", alias = "target")]
    Classes,
    /// Electrodes.
    #[serde(alias = "channel", alias = "electrodes")]
    Channels,
    /// Samples.
    #[serde(alias = "samples", alias = "times")]
    Time,
}

impl MatrixAxis {
    /// As it is written.
    pub(in super::super) fn name(self) -> &'static str {
        match self {
            MatrixAxis::Trials => "trials",
            MatrixAxis::Classes => "classes",
            MatrixAxis::Channels => "channels",
            MatrixAxis::Time => "time",
        }
    }

    /// Whether it counts epochs.
    pub(in super::super) fn of_epochs(self) -> bool {
        matches!(self, MatrixAxis::Trials | MatrixAxis::Classes)
    }
}

/// `["trials", "channels", "time"]`
pub(in super::super) fn written(axes: &[MatrixAxis]) -> String {
    format!("[{}]", axes.iter().map(|axis| format!("\"{}\"", axis.name())).collect::<Vec<_>>().join(", "))
}

/// The orders three dimensions can have, the most usual first.
const ORDERS: [[MatrixAxis; 3]; 6] = [
    [MatrixAxis::Trials, MatrixAxis::Channels, MatrixAxis::Time],
    [MatrixAxis::Channels, MatrixAxis::Time, MatrixAxis::Trials],
    [MatrixAxis::Time, MatrixAxis::Channels, MatrixAxis::Trials],
    [MatrixAxis::Trials, MatrixAxis::Time, MatrixAxis::Channels],
    [MatrixAxis::Channels, MatrixAxis::Trials, MatrixAxis::Time],
    [MatrixAxis::Time, MatrixAxis::Trials, MatrixAxis::Channels],
];

/// Every order of three dimensions that fits numbers of labels and of names of channels.
pub(in super::super) fn fitting(
    dims: &[usize],
    labels: Option<usize>,
    names: Option<usize>,
) -> Vec<[MatrixAxis; 3]> {
    let fits = |order: &&[MatrixAxis; 3]| {
        order.iter().zip(dims).all(|(axis, &count)| match axis {
            MatrixAxis::Trials => labels.is_none_or(|labels| labels == count),
            MatrixAxis::Channels => names.is_none_or(|names| names == count),
            _ => true,
        })
    };
    if dims.len() == 3 { ORDERS.iter().filter(fits).copied().collect() } else { vec![] }
}

/// The order that fits, the longer of two sides being time where only that is open.
pub(in super::super) fn likely(
    dims: &[usize],
    labels: Option<usize>,
    names: Option<usize>,
) -> Option<[MatrixAxis; 3]> {
    let all = fitting(dims, labels, names);
    all.iter()
        .copied()
        .find(|order| count(order, dims, MatrixAxis::Channels) <= count(order, dims, MatrixAxis::Time))
        .or(all.first().copied())
}

/// Other orders that fit about as well as one. Epochs with half as many samples as channels are not among them.
pub(in super::super) fn rivals(
    dims: &[usize],
    labels: Option<usize>,
    names: Option<usize>,
    taken: &[MatrixAxis; 3],
) -> Vec<[MatrixAxis; 3]> {
    let mut all = fitting(dims, labels, names);
    all.retain(|order| {
        order != taken && 2 * count(order, dims, MatrixAxis::Time) > count(order, dims, MatrixAxis::Channels)
    });
    all
}

/// How many an axis has.
fn count(order: &[MatrixAxis; 3], dims: &[usize], axis: MatrixAxis) -> usize {
    order.iter().zip(dims).find(|(own, _)| **own == axis).map_or(0, |(_, &count)| count)
}

/// What nobody says of three dimensions, told with their sizes and an example.
pub(super) fn infer(
    dims: &[usize],
    labels: Option<usize>,
    names: Option<usize>,
) -> Result<Vec<MatrixAxis>, (String, String)> {
    match &fitting(dims, labels, names)[..] {
        [one] => return Ok(one.to_vec()),
        [] => {
            let mut expected: Vec<String> =
                labels.map(|labels| format!("{labels} labels")).into_iter().collect();
            expected.extend(names.map(|names| format!("{names} names of channels")));
            let message = format!("is {}, which does not fit {}", sizes(dims), expected.join(" and "));
            let hint = "say in `[mat]` what its dimensions are, `axes = [\"trials\", \"channels\", \"time\"]`, and give one label per epoch";
            return Err((message, hint.into()));
        }
        _ => {}
    }
    let example = likely(dims, labels, names).unwrap_or(ORDERS[0]);
    let message = format!(
        "is {}, and it is not said which dimension is epochs, which channels and which time",
        sizes(dims)
    );
    Err((message, format!("say it in `[mat]` in this order, such as `axes = {}`", written(&example))))
}

/// Which numbers of an array are whose.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Layout {
    /// Where each channel begins, each epoch and each sample: the sum of three is the place of a number.
    channels: Vec<usize>,
    epochs: Vec<usize>,
    time: Vec<usize>,
    /// The class of each epoch, counted from 0, where a dimension tells it.
    pub(super) classes: Option<Vec<usize>>,
}

impl Layout {
    /// Axes for every dimension; one place of one dimension may be left out.
    pub(super) fn new(
        dims: &[usize],
        axes: &[MatrixAxis],
        without: Option<(usize, usize)>,
    ) -> Result<Layout, String> {
        let more = dims.iter().skip(axes.len()).any(|&count| count != 1);
        let count = |axis: MatrixAxis| axes.iter().filter(|own| **own == axis).count();
        if more || axes.len() < dims.len().min(2) {
            return Err(format!("is {}, and `axes` names {} dimensions", sizes(dims), axes.len()));
        }
        if count(MatrixAxis::Time) != 1 || count(MatrixAxis::Channels) > 1 || count(MatrixAxis::Classes) > 1 {
            return Err(format!(
                "cannot have the axes {}: time once, the others at most once",
                written(axes)
            ));
        }
        // MATLAB takes the last dimensions away where they are of one.
        let dims: Vec<usize> = (0..axes.len()).map(|at| dims.get(at).copied().unwrap_or(1)).collect();
        let strides: Vec<usize> = dims
            .iter()
            .scan(1, |next, &count| {
                let stride = *next;
                *next *= count;
                Some(stride)
            })
            .collect();
        let kept = |dim: usize| (0..dims[dim]).filter(move |&at| without != Some((dim, at)));
        let along = |axis_kind: MatrixAxis| {
            let dim = axes.iter().position(|axis| *axis == axis_kind);
            dim.map_or_else(|| vec![0], |dim| kept(dim).map(|at| at * strides[dim]).collect())
        };
        // The first of the dimensions that count epochs runs slowest.
        let mut epochs = vec![(0, 0)];
        for dim in (0..axes.len()).filter(|&dim| axes[dim].of_epochs()) {
            let step = |(offset, class): (usize, usize)| {
                let of_class = axes[dim] == MatrixAxis::Classes;
                let stride = strides[dim];
                kept(dim).map(move |at| (offset + at * stride, if of_class { at } else { class }))
            };
            epochs = epochs.into_iter().flat_map(step).collect();
        }
        let classes =
            (count(MatrixAxis::Classes) > 0).then(|| epochs.iter().map(|(_, class)| *class).collect());
        Ok(Layout {
            channels: along(MatrixAxis::Channels),
            epochs: epochs.into_iter().map(|(offset, _)| offset).collect(),
            time: along(MatrixAxis::Time),
            classes,
        })
    }

    pub(super) fn channels(&self) -> usize {
        self.channels.len()
    }

    pub(super) fn epochs(&self) -> usize {
        self.epochs.len()
    }

    /// Samples of an epoch, or of all where there are none.
    pub(super) fn samples(&self) -> usize {
        self.time.len()
    }

    /// Numbers of an array as `[C, epochs, T]`.
    pub(super) fn sorted(&self, numbers: &[f32]) -> Vec<f32> {
        let mut sorted = Vec::with_capacity(self.channels() * self.epochs() * self.samples());
        for channel in &self.channels {
            for epoch in &self.epochs {
                sorted.extend(self.time.iter().map(|time| numbers[channel + epoch + time]));
            }
        }
        sorted
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn any_order_of_dimensions_gives_the_same_epochs() {
        // Number 100 n + 10 c + t is of epoch n, channel c, sample t.
        let (epochs, channels, time) = (2, 3, 4);
        let expected: Vec<f32> = (0..channels)
            .flat_map(|c| {
                (0..epochs).flat_map(move |n| (0..time).map(move |t| (100 * n + 10 * c + t) as f32))
            })
            .collect();
        for order in ORDERS {
            let size = |axis: MatrixAxis| match axis {
                MatrixAxis::Trials => epochs,
                MatrixAxis::Channels => channels,
                _ => time,
            };
            let dims = order.map(size);
            let mut numbers = vec![];
            for k in 0..dims[2] {
                for j in 0..dims[1] {
                    for i in 0..dims[0] {
                        let weight = |axis: MatrixAxis| match axis {
                            MatrixAxis::Trials => 100,
                            MatrixAxis::Channels => 10,
                            _ => 1,
                        };
                        numbers.push(
                            (i * weight(order[0]) + j * weight(order[1]) + k * weight(order[2])) as f32,
                        );
                    }
                }
            }
            let layout = Layout::new(&dims, &order, None).unwrap();
            assert_eq!((layout.channels(), layout.epochs(), layout.samples()), (3, 2, 4));
            assert_eq!(layout.sorted(&numbers), expected, "{order:?}");
            assert_eq!(infer(&dims, Some(2), Some(3)).unwrap(), order);
        }
    }

    #[test]
    fn a_dimension_may_be_the_class() {
        // Channels x time x classes x blocks, as in benchmarks of SSVEP.
        let axes = [MatrixAxis::Channels, MatrixAxis::Time, MatrixAxis::Classes, MatrixAxis::Trials];
        let layout = Layout::new(&[2, 5, 3, 4], &axes, None).unwrap();
        assert_eq!((layout.channels(), layout.epochs(), layout.samples()), (2, 12, 5));
        assert_eq!(layout.classes.as_ref().unwrap()[..5], [0, 0, 0, 0, 1]);
        assert_eq!(layout.epochs[..5], [0, 30, 60, 90, 10]);
        // A last dimension of one is not written down.
        assert_eq!(Layout::new(&[2, 5, 3], &axes, None).unwrap().epochs(), 3);
        let rows = Layout::new(&[3, 5], &[MatrixAxis::Channels, MatrixAxis::Time], Some((0, 1))).unwrap();
        assert_eq!((rows.channels, rows.epochs), (vec![0, 2], vec![0]));
    }

    #[test]
    fn orders_that_fit_as_well_are_known() {
        let rivals = |dims: [usize; 3], labels: usize, names: Option<usize>| {
            let taken = likely(&dims, Some(labels), names).unwrap();
            rivals(&dims, Some(labels), names, &taken)
        };
        // As many epochs as channels; channels nearly as many as samples; and what is clear.
        assert_eq!(
            rivals([20, 200, 20], 20, None),
            [[MatrixAxis::Trials, MatrixAxis::Time, MatrixAxis::Channels]]
        );
        assert_eq!(
            rivals([40, 64, 100], 40, None),
            [[MatrixAxis::Trials, MatrixAxis::Time, MatrixAxis::Channels]]
        );
        assert!(rivals([40, 64, 100], 40, Some(64)).is_empty());
        assert!(rivals([40, 64, 512], 40, None).is_empty());
    }

    #[test]
    fn what_is_not_clear_is_reported_with_the_sizes() {
        let (message, hint) = infer(&[40, 64, 512], None, None).unwrap_err();
        assert!(message.contains("is 40 x 64 x 512"), "{message}");
        assert!(hint.contains("axes = [\"trials\", \"channels\", \"time\"]"), "{hint}");
        let (_, hint) = infer(&[64, 512, 40], Some(40), None).unwrap_err();
        assert!(hint.contains("axes = [\"channels\", \"time\", \"trials\"]"), "{hint}");
        let (message, _) = infer(&[64, 512, 40], Some(41), Some(64)).unwrap_err();
        assert!(message.contains("does not fit 41 labels and 64 names"), "{message}");
        assert_eq!(
            likely(&[512, 64, 40], Some(40), None),
            Some([MatrixAxis::Time, MatrixAxis::Channels, MatrixAxis::Trials])
        );
        for axes in [
            &[MatrixAxis::Trials, MatrixAxis::Channels][..],
            &[MatrixAxis::Time],
            &[MatrixAxis::Time, MatrixAxis::Time, MatrixAxis::Trials],
        ] {
            assert!(Layout::new(&[2, 3, 4], axes, None).is_err(), "{axes:?}");
        }
    }
}
