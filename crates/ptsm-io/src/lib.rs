//! Foreign bytes to arrays and back: NPY and NPZ.
