#![allow(clippy::unwrap_used)]
use super::*;

fn axes(said: &str, dims: &[usize]) -> Result<Vec<MatrixAxis>, (String, String)> {
    toml::from_str::<Variables>(said).unwrap().axes_of(dims, None, None)
}

#[test]
fn the_longer_side_is_time_unless_it_is_said() {
    assert_eq!(axes("", &[3, 2]).unwrap(), [MatrixAxis::Time, MatrixAxis::Channels]);
    assert_eq!(axes("", &[2, 3]).unwrap(), [MatrixAxis::Channels, MatrixAxis::Time]);
    assert_eq!(axes("rows = \"samples\"", &[2, 3]).unwrap(), [MatrixAxis::Time, MatrixAxis::Channels]);
    assert_eq!(
        axes("axes = [\"epochs\", \"samples\"]", &[2, 3]).unwrap(),
        [MatrixAxis::Trials, MatrixAxis::Time]
    );
    for (said, dims, says) in [
        ("", &[0, 3][..], "is empty"),
        ("", &[2, 3, 4], "is 2 x 3 x 4"),
        ("", &[2, 3, 4, 5], "is 2 x 3 x 4 x 5"),
        ("axes = [\"time\"]\nrows = \"samples\"", &[2, 3], "both"),
    ] {
        assert!(axes(said, dims).unwrap_err().0.contains(says), "{said}");
    }
}

#[test]
fn labels_come_in_many_forms() {
    let text = |text: &str| Value::Text(vec![text.into()]);
    for (value, labels) in [
        (Value::row(vec![1.0, 2.0, 0.0]), &["1", "2", "0"][..]),
        (Value::matrix(vec![3, 1], vec![1.0, -1.0, 2.5]), &["1", "-1", "2.5"]),
        (Value::Cell { dims: vec![1, 2], values: vec![text("left "), text("right")] }, &["left", "right"]),
        (Value::Cell { dims: vec![2, 1], values: vec![Value::row(vec![3.0]), text("x")] }, &["3", "x"]),
        (Value::Text(vec!["left ".into(), "right".into()]), &["left", "right"]),
        (Value::matrix(vec![2, 3], vec![1.0, 0.0, 0.0, 1.0, 0.0, 1.0]), &["1", "2", "2"]),
        (Value::matrix(vec![3, 2], vec![1.0, 0.0, 0.0, 0.0, 1.0, 1.0]), &["1", "2", "2"]),
    ] {
        assert_eq!(label_list(&value).unwrap(), labels, "{value:?}");
    }
    assert_eq!(label_list(&Value::matrix(vec![2, 3], vec![1.0; 6])), None);
    assert_eq!(label_list(&Value::matrix(vec![2, 3], vec![0.0, 1.0, 5.0, 1.0, 1.0, 0.0])), None);
}

#[test]
fn an_event_begins_where_the_trigger_changes_to_something() {
    let events = triggers(&[0.0, 1.0, 1.0, 0.0, -1.0, 2.5, 2.5, f64::NAN, 0.0, 2.5]);
    let all: Vec<_> = events.iter().map(|e| (e.sample, &*e.code)).collect();
    assert_eq!(all, [(1, "1"), (4, "-1"), (5, "2.5"), (9, "2.5")]);
    assert_eq!(triggers(&[3.0])[0].sample, 0);
}

#[test]
fn own_settings_go_over_those_of_all() {
    let all: Variables = toml::from_str("samples = \"y\"\nrate = 250\nchannels = [\"C3\", 4]\n").unwrap();
    assert_eq!(all.rate, Some(Words::One("250".into())));
    assert_eq!(all.channels.clone().unwrap().list(), ["C3", "4"]);
    let own: Variables = toml::from_str("rows = \"channels\"\nrate = \"fs\"").unwrap();
    let both = own.or(&all);
    assert_eq!((both.samples.as_deref(), both.rows), (Some("y"), Some(Rows::Channels)));
    assert_eq!(both.rate, Some(Words::One("fs".into())));
    assert!(toml::from_str::<Variables>("channels = [[1]]").is_err());
    assert!(toml::from_str::<Variables>("samples = 3").is_err());
}
