//! Pure transformations of bytes: no I/O, no hidden allocation, every decoder safe on hostile input.
