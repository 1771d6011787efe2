//! Benchmarks that come with the program.

/// A benchmark that comes with the program.
pub struct Preset {
    /// What `ptsm benchmark NAME` takes.
    pub name: &'static str,
    /// The file.
    pub text: &'static str,
}

macro_rules! presets {
    ($($name:literal),*) => {
        &[$(Preset { name: $name, text: include_str!(concat!("presets/", $name, ".toml")) }),*]
    };
}

/// All of them.
pub const PRESETS: &[Preset] = presets![
    "paper-table-1",
    "paper-table-2",
    "paper-table-3",
    "paper-table-4",
    "paper-table-5",
    "paper-table-6"
];

/// The preset of a name.
pub fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

/// All names, for a sentence.
pub fn names() -> String {
    PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use std::path::PathBuf;

    use ptsm_decode::registry::find as method;
    use ptsm_signal::{Channel, Layout};

    use super::*;
    use crate::phrases::with_variant;
    use crate::plan::Plan;
    use crate::settings::SettingChanges;

    fn plan(preset: &Preset) -> Plan {
        let mut plan = Plan::named(preset.name).unwrap();
        plan.data.iter_mut().for_each(|data| data.root = Some(PathBuf::from("nowhere")));
        plan.check().unwrap();
        plan
    }

    #[test]
    fn everything_in_them_is_known() {
        for preset in PRESETS {
            let plan = plan(preset);
            assert!(plan.title.as_ref().is_some_and(|title| title.starts_with("PTSM paper, table ")));
            assert!(
                plan.about.len() > 5 && plan.protocol.is_some() && plan.seeds == Some(5),
                "{}",
                preset.name
            );
            // The choices about the data set exist, and every pipeline is a possible one.
            assert_eq!(plan.stages().unwrap().len(), plan.data.len(), "{}", preset.name);
            let classes = match plan.data[0].id.as_str() {
                "openbmi-erp" => ["target", "nontarget"],
                "kul-aad" => ["left", "right"],
                _ => ["left_hand", "right_hand"],
            };
            let layout = Layout {
                channels: ["C3", "Cz", "C4"].map(Channel::named).to_vec(),
                samples: 128,
                rate_hz: 128.0,
                start_s: 0.0,
                classes: classes.map(String::from).to_vec(),
                task: Default::default(),
            };
            for entry in plan.entries() {
                let method = method(&entry.model).unwrap();
                let changes = SettingChanges::layered(&[&plan.set, &entry.set]).unwrap();
                let settings = changes.settings(method, &layout).unwrap();
                assert_eq!(settings == method.defaults(&layout).unwrap(), entry.name.is_none(), "{entry:?}");
                method.build(settings).unwrap();
            }
        }
    }

    #[test]
    fn every_published_value_has_a_place() {
        for preset in PRESETS {
            let plan = plan(preset);
            assert!(!plan.paper.is_empty());
            let ours: Vec<String> =
                plan.entries().iter().map(|e| with_variant(&e.model, e.name.as_deref())).collect();
            for column in &plan.paper {
                let is_run = column.transfer.as_ref().is_none_or(|t| plan.transfers.contains(t));
                let is_tuned = column.shots.is_none_or(|n| n == 0 || plan.shots.contains(&n));
                assert!(is_run && is_tuned, "{}: {column:?}", preset.name);
                assert!(plan.metrics.contains(&column.metric), "{}: {column:?}", preset.name);
                for method in column.values.keys() {
                    let beside = &plan.beside[method];
                    assert!(beside.iter().any(|name| ours.contains(name)), "{}: {method}", preset.name);
                }
            }
            for name in plan.beside.values().flatten() {
                assert!(ours.contains(name) || method(name).is_ok(), "{}: {name}", preset.name);
            }
        }
    }
}
