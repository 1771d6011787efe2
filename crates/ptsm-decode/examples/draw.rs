//! Prints the drawing of PTSM's graph.
#![allow(clippy::print_stdout)]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    print!("{}", ptsm_decode::ptsm::drawing()?);
    Ok(())
}
