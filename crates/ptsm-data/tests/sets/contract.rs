//! What holds for every data set of the catalogue.

use std::collections::BTreeSet;
use std::path::Component;

use ptsm_data::catalogue::{DATA_SETS, DataSet, Options};
use ptsm_data::sources;

/// All ways to choose one thing differently.
fn choices(set: &dyn DataSet) -> Vec<Options> {
    let id = set.about().id;
    let mut given = vec![vec![]];
    for choice in set.choices() {
        let values = choice.values.split('|').filter(|_| choice.values.contains('|'));
        given.extend(values.map(|value| vec![(choice.name.to_string(), value.to_string())]));
    }
    given.iter().map(|given| Options::new(&id, set.choices(), given).unwrap()).collect()
}

#[test]
fn everything_that_should_be_known_of_a_data_set_is_said() {
    let ids: Vec<String> = DATA_SETS.iter().map(|set| set.about().id).collect();
    assert_eq!(
        ids,
        ["physionet-mi", "openbmi-mi", "openbmi-erp", "openbmi-ssvep", "kul-aad", "bci-iv-2a", "bci-iv-2b"]
    );
    let listed: Vec<String> = sources().into_iter().map(|entry| entry.id).collect();
    assert!(ids.iter().all(|id| listed.contains(id)));
    for set in DATA_SETS {
        let about = set.about();
        assert!(about.subject_count > 0 && about.title.len() > 20, "{about:?}");
        assert!(about.citation.contains("doi:10.") && about.home.starts_with("https://"), "{about:?}");
        assert!(!about.licence.is_empty() && !about.events.is_empty() && !about.pipeline.is_empty());
        assert!(!about.cautions.is_empty(), "{}", about.id);
        // Lines are continued in the source: none of them may keep its indentation.
        let all = [&about.title, &about.licence, &about.citation, &about.pipeline];
        let choices = set.choices().iter().map(|choice| choice.about);
        for text in all.into_iter().chain(&about.cautions).map(String::as_str).chain(choices) {
            assert!(!text.contains("  ") && text.trim() == text, "{text}");
        }
    }
}

/// Only hands of the body and sides of attention swap. Targets that flicker at the left or right of a screen are frequencies.
#[test]
fn every_data_set_declares_its_task_and_only_sides_of_the_body_swap() {
    let declared: Vec<(String, String, String)> = DATA_SETS
        .iter()
        .map(|set| {
            let task = set.task(&choices(*set)[0]);
            (set.about().id, task.paradigm.unwrap().to_string(), task.symmetry.to_string())
        })
        .collect();
    let hands = "left_hand=right_hand";
    let expected = [
        ("physionet-mi", "motor-imagery", hands),
        ("openbmi-mi", "motor-imagery", hands),
        ("openbmi-erp", "erp", "none"),
        ("openbmi-ssvep", "ssvep", "none"),
        ("kul-aad", "auditory-attention", "left=right"),
        ("bci-iv-2a", "motor-imagery", hands),
        ("bci-iv-2b", "motor-imagery", hands),
    ];
    assert_eq!(declared, expected.map(|(id, task, swap)| (id.into(), task.into(), swap.into())));
}

#[test]
fn defaults_are_among_the_values() {
    for choice in DATA_SETS.iter().flat_map(|set| set.choices()) {
        assert!(!choice.about.is_empty());
        if choice.values.contains('|') {
            assert!(choice.values.split('|').any(|value| value == choice.default), "{choice:?}");
        }
    }
}

#[test]
fn every_choice_has_a_pipeline_that_works_and_files_to_download() {
    for set in DATA_SETS {
        for options in choices(*set) {
            set.pipeline(&options).unwrap().check().unwrap();
            let remote = set.remote(&options).unwrap();
            assert!(!remote.is_empty());
            let paths: BTreeSet<_> = remote.iter().map(|file| &file.path).collect();
            assert_eq!(paths.len(), remote.len());
            for file in &remote {
                assert!(file.url.starts_with("https://") && file.subject.is_some(), "{file:?}");
                assert!(file.path.components().all(|part| matches!(part, Component::Normal(_))), "{file:?}");
            }
        }
    }
}

#[test]
fn an_empty_folder_is_refused_with_what_should_be_there() {
    let folder = tempfile::tempdir().unwrap();
    for set in DATA_SETS {
        for options in choices(*set) {
            let found = set.find(folder.path(), &options).unwrap();
            assert!(found.items.is_empty() && found.excluded.is_empty() && found.notes.is_empty());
            // What is missing is what would be downloaded.
            let remote = set.remote(&options).unwrap();
            let remote: Vec<_> =
                remote.into_iter().filter_map(|file| Some((file.subject?, file.path))).collect();
            assert_eq!(found.missing, remote);
        }
        let id = set.about().id;
        let error = super::common::load(&id, folder.path(), &[], None).unwrap_err();
        assert!(error.to_string().contains("there is no recording of it"), "{error}");
        assert!(error.hint().unwrap().contains(&format!("ptsm data get {id}")));
        let error = set.find(&folder.path().join("absent"), &choices(*set)[0]).unwrap_err();
        assert!(error.to_string().contains("there is no folder") && error.hint().is_some(), "{error}");
    }
}
