//! Whole pages, and scalp maps against golden numbers.
//!
//! One program, because linking one for each file took most of the time.

#![allow(clippy::unwrap_used)]

mod pages;
mod spline;
