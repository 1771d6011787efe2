//! Level 5 files put together by hand, little-endian.

#![allow(dead_code, unreachable_pub)] // each test uses some

use std::io::Write;

/// The first 128 bytes.
pub fn header() -> Vec<u8> {
    let mut header = format!("{:116}", "MATLAB 5.0 MAT-file, by hand").into_bytes();
    header.extend([0; 8]);
    header.extend(*b"\x00\x01IM");
    header
}

/// A file of some elements.
pub fn file(elements: &[Vec<u8>]) -> Vec<u8> {
    [header(), elements.concat()].concat()
}

/// An element with a whole tag.
pub fn element(kind: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = [kind.to_le_bytes(), (data.len() as u32).to_le_bytes()].concat();
    bytes.extend(data);
    bytes.resize(bytes.len().next_multiple_of(8), 0);
    bytes
}

/// An element of at most four bytes.
pub fn small(kind: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = (kind | (data.len() as u32) << 16).to_le_bytes().to_vec();
    bytes.extend(data);
    bytes.resize(8, 0);
    bytes
}

/// An array of some class.
pub fn matrix(class: u32, flags: u32, dims: &[i32], name: &str, content: &[u8]) -> Vec<u8> {
    let flags: Vec<u8> = [class | flags << 8, 0].into_iter().flat_map(u32::to_le_bytes).collect();
    let dims: Vec<u8> = dims.iter().copied().flat_map(i32::to_le_bytes).collect();
    let name = if name.is_empty() { element(1, &[]) } else { element(1, name.as_bytes()) };
    element(14, &[element(6, &flags), element(5, &dims), name, content.to_vec()].concat())
}

/// A deflated element.
pub fn packed(element: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::ZlibEncoder::new(vec![], flate2::Compression::default());
    encoder.write_all(element).unwrap();
    let data = encoder.finish().unwrap();
    let mut bytes = [15_u32.to_le_bytes(), (data.len() as u32).to_le_bytes()].concat();
    bytes.extend(data);
    bytes
}
