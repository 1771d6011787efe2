//! The drawing in the engine's documentation is the one the program makes.

#[test]
fn the_committed_drawing_is_current() {
    let committed = include_str!("../../../ptsm-engine/docs/ptsm.svg");
    assert!(committed == ptsm_decode::ptsm::drawing().unwrap(), "docs/ptsm.svg is old: run `cargo lab draw`");
}
