//! What decoders and augmentations there are.

use ptsm_decode::augment::AUGMENTATIONS;
use ptsm_decode::registry::METHODS;
use ptsm_eval::phrases::mirrored_share;
use ptsm_eval::{Column, Result, Table};
use ptsm_signal::{Channel, Layout, Paradigm, TaskDeclaration};
use serde_json::{Value, json};

/// Every decoder and every augmentation.
pub struct DecoderList {
    /// A line for each decoder.
    pub decoders: Table,
    /// A line for each augmentation.
    pub augmentations: Table,
    /// All of it for machines, with all settings of each decoder and in what it differs from its paper.
    pub document: Value,
}

/// The shape that settings and counts are shown for: 4 s of 62 channels at 250 Hz.
fn example() -> Layout {
    let names = "Fp1 Fp2 F7 F3 Fz F4 F8 FC5 FC1 FC2 FC6 T7 C3 Cz C4 T8 TP9 CP5 CP1 CP2 CP6 TP10 P7 P3 Pz P4 P8 PO9 O1 Oz O2 PO10 FC3 FC4 \
                 C5 C1 C2 C6 CP3 CPz CP4 P1 P2 POz FT9 FTT9h TTP7h TP7 TPP9h FT10 FTT10h TPP8h TP8 TPP10h F9 F10 AF7 AF3 AF4 AF8 PO3 PO4";
    Layout {
        channels: names.split_whitespace().map(Channel::named).collect(),
        samples: 1000,
        rate_hz: 250.0,
        start_s: 0.0,
        classes: vec!["left_hand".into(), "right_hand".into()],
        task: TaskDeclaration::of(Paradigm::MotorImagery).swapping("left_hand", "right_hand"),
    }
}

/// Lists every decoder with its settings for an example of trials, and every augmentation.
pub fn list_decoders() -> Result<DecoderList> {
    let layout = example();
    // Not every cap has a partner for each electrode on the other side; this one has.
    let declared = Layout { channels: ["C3", "Cz", "C4"].map(Channel::named).to_vec(), ..layout.clone() };
    let undeclared = Layout { task: TaskDeclaration::default(), ..declared.clone() };
    let mut rows = vec![];
    let mut documents = vec![];
    for method in METHODS {
        let defaults = method.defaults(&layout)?;
        let parameters = method.build(defaults.clone())?.parameters(&layout)?;
        rows.push(vec![
            method.name.to_string(),
            method.about.to_string(),
            method.paper.to_string(),
            parameters.map_or("by the data".into(), |n| n.to_string()),
            method.target_access.to_string(),
            match method.adapts {
                [] => "no".to_string(),
                ways => ways.iter().map(|way| way.name()).collect::<Vec<_>>().join(", "),
            },
        ]);
        documents.push(json!({
            "name": method.name,
            "about": method.about,
            "paper": method.paper,
            "doi": method.doi,
            "differs": method.differs,
            "target_access": method.target_access,
            "parameters": parameters,
            "adapts": !method.adapts.is_empty(),
            "adaptation": method.adapts,
            "converts": method.converts,
            "mirroring": json!({
                "declared": mirrored_share(&method.defaults(&declared)?),
                "undeclared": mirrored_share(&method.defaults(&undeclared)?),
            }),
            "defaults": defaults,
        }));
    }
    let columns = vec![
        Column::text("model"),
        Column::text("description"),
        Column::text("paper"),
        Column::number("parameters"),
        Column::text("target access"),
        Column::text("adapts"),
    ];
    let note = "Parameters, and all settings and their defaults in `ptsm models --json`, are for 62 channels, 4 s at 250 Hz, 2 classes that swap when left and right are exchanged"
        .to_string();
    let models = Table { columns, rows, note };
    let augmentations = Table {
        columns: ["augmentation", "what its strength means (0 is off)"]
            .map(Column::text)
            .to_vec(),
        rows: AUGMENTATIONS.iter().map(|a| vec![a.name.to_string(), a.about.to_string()]).collect(),
        note: "For every deep decoder: `--set augment.NAME=STRENGTH`. Off unless a model's defaults say otherwise. `ptsm` needs no random mirroring: it is equivariant where the data declare which classes swap (`--symmetry`)".into(),
    };
    let listed: Vec<_> =
        AUGMENTATIONS.iter().map(|a| json!({ "name": a.name, "about": a.about, "most": a.most })).collect();
    let document = json!({ "models": documents, "augmentations": listed });
    Ok(DecoderList { decoders: models, augmentations, document })
}
