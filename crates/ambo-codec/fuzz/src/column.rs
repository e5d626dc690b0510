//! Hostile bytes for `ambo_codec::column`.
