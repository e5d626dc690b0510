//! The engine as a whole, from outside: one binary, because each links everything again.

mod columns;
mod formats;
mod found;
mod isolation;
mod model;
mod smoke;
mod support;
mod threads;
