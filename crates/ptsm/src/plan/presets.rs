//! Benchmarks that come with the program.

/// A benchmark that comes with the program.
pub(crate) struct Preset {
    pub(crate) name: &'static str,
    /// The file.
    pub(crate) text: &'static str,
}

macro_rules! presets {
    ($($name:literal),*) => {
        &[$(Preset { name: $name, text: include_str!(concat!("presets/", $name, ".toml")) }),*]
    };
}

pub(crate) const PRESETS: &[Preset] = presets![
    "paper-table-1",
    "paper-table-2",
    "paper-table-3",
    "paper-table-4",
    "paper-table-5",
    "paper-table-6"
];

pub(crate) fn find(name: &str) -> Option<&'static Preset> {
    PRESETS.iter().find(|preset| preset.name == name)
}

pub(crate) fn names() -> String {
    PRESETS.iter().map(|preset| preset.name).collect::<Vec<_>>().join(", ")
}
