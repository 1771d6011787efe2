//! The program: arguments in, library calls, words out.
fn main() {}
