//! What `data check` calls wrong is told before training, and a recording under two subjects is on one side of a split or refused.

use ptsm::io::npy::{Array, Data};

use crate::common::{Arrays, Place, cohort};

const SUBJECTS: usize = 6;
const EACH: usize = 16;

/// Samples of all subjects, changed: `change` gets the subject's number and the samples of all their epochs.
fn changed(change: impl Fn(usize, &mut [f32], &[f32])) -> Arrays {
    let arrays = cohort(SUBJECTS, EACH, 0.8);
    let x = arrays.get("X").clone();
    let shape = x.shape().to_vec();
    let Data::F32(mut values) = x.into_data() else { panic!("X is f32") };
    let before = values.clone();
    let one = values.len() / SUBJECTS;
    for (i, own) in values.chunks_mut(one).enumerate() {
        change(i + 1, own, &before);
    }
    arrays.with("X", Array::new(shape, values).unwrap())
}

/// The fifth subject's recording is the second's, scaled, and its samples a little smoothed.
fn doubled() -> Arrays {
    changed(|subject, own, all| {
        if subject == 5 {
            let second = &all[own.len()..][..own.len()];
            for (i, x) in own.iter_mut().enumerate() {
                let before = if i % 128 == 0 { second[i] } else { second[i - 1] };
                *x = 3.0 * (0.95 * second[i] + 0.05 * before);
            }
        }
    })
}

#[test]
fn issue_19_a_recording_under_two_subjects_is_refused_on_two_sides() {
    let place = Place::new();
    doubled().write(&place.path("twice.npz"));
    let says = "S02 and S05 have 16 epochs in common: the same recording under two subjects";
    let refused = place.ptsm("benchmark --data twice.npz --models csp-lda --protocol loso --out loso").run();
    assert_ne!(refused.code, Some(0));
    assert!(refused.stderr.contains(says), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("S02 is in the") && refused.stderr.contains("hint: "),
        "{}",
        refused.stderr
    );
    // No subject is tested on training data where both are on one side.
    let line = "benchmark --data twice.npz --models csp-lda --protocol fixed:2,5,1/3/4,6 --out fixed";
    let output = place.ptsm(line).succeed().stderr;
    assert!(output.contains(&format!("warning: twice.npz: {says}")), "{output}");
    place
        .ptsm("benchmark --data twice.npz --subjects 1-4,6 --models csp-lda --protocol loso --out four")
        .succeed();
    let refused =
        place.ptsm("tune --data twice.npz --develop 1-6 --model csp-lda --try filters=2,4 --out tuned").run();
    assert!(refused.code != Some(0) && refused.stderr.contains(says), "{}", refused.stderr);
    // Drawn with these seeds the two are on two sides, or on one and told.
    for seed in 1..=4 {
        let line = format!(
            "train --data twice.npz --model eegnet --set training.epochs=1 --seed {seed} --out run{seed}"
        );
        let outcome = place.ptsm(&line).run();
        assert!(outcome.stderr.contains(says), "{}", outcome.stderr);
        let both = outcome.stderr.contains("in the validation set");
        assert_eq!(outcome.code == Some(0), !both, "{}", outcome.stderr);
    }
    let check = place.ptsm("data check twice.npz").run();
    assert!(check.code != Some(0) && check.stderr.contains(says), "{}", check.stderr);
}

#[test]
fn issue_19_findings_are_reported_once_before_training_and_refused_by_strict() {
    let place = Place::new();
    // One subject in volts, one with a dead electrode.
    let volts = changed(|subject, own, _| match subject {
        3 => own.iter_mut().for_each(|x| *x *= 1e-6),
        4 => own.chunks_mut(128).skip(2).step_by(5).for_each(|channel| channel.fill(0.5)),
        _ => own.iter_mut().for_each(|x| *x *= 10.0),
    });
    volts.with("unit", Array::vector(vec!["uV".to_string()])).write(&place.path("volts.npz"));
    let line =
        "benchmark --data volts.npz --models csp-lda,mdm --set pipeline.alignment=none --protocol kfold:3";
    let output = place.ptsm(&format!("{line} --out told")).succeed().stderr;
    let scale = "warning: volts.npz: amplitudes are odd: S03 session 1 run 1: ";
    assert_eq!(output.matches(scale).count(), 1, "{output}");
    assert!(output.contains("right for volts") && output.contains("to do: see which unit"), "{output}");
    assert!(output.contains("channels are flat, in this share of their trials: S04"), "{output}");
    let refused = place.ptsm(&format!("{line} --strict --out strict")).run();
    assert!(refused.code != Some(0) && refused.stderr.contains("amplitudes are odd"), "{}", refused.stderr);
    assert!(
        refused.stderr.contains("(and 1 finding more)") && refused.stderr.contains("hint: "),
        "{}",
        refused.stderr
    );
    assert!(!place.path("strict").exists());
    let trained = place.ptsm("train --data volts.npz --model csp-lda --json --out run").succeed().json();
    assert_eq!(trained["findings"][0]["kind"], "scale");
    place.ptsm("train --data volts.npz --subjects 1,2,5,6 --strict --model csp-lda --out good").succeed();
}

#[test]
fn issue_19_a_channel_that_tells_the_classes_is_refused_whatever_its_name() {
    let place = Place::new();
    // Epochs of pure noise; `P4` is the label, held from the cue on.
    let labels: Vec<f32> = (0..SUBJECTS * EACH).map(|epoch| (epoch % 2) as f32).collect();
    let triggers = changed(|subject, own, _| {
        for (i, channel) in own.chunks_mut(128).enumerate().skip(4).step_by(5) {
            let label = labels[(subject - 1) * EACH + i / 5];
            channel.iter_mut().enumerate().for_each(|(t, x)| *x = if t < 3 { 0.0 } else { 1.0 + label });
        }
    });
    triggers.write(&place.path("noise.npz"));
    for command in ["train --data noise.npz --model csp-lda --out run", "data check noise.npz"] {
        let refused = place.ptsm(command).run();
        assert_ne!(refused.code, Some(0), "{command}");
        let says = "channels hold triggers: they rest at a few levels, and their values tell the class of every epoch (channel `P4`";
        assert!(refused.stderr.contains(says) && refused.stderr.contains("pick"), "{}", refused.stderr);
    }
}
