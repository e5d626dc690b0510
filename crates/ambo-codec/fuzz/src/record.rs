//! Hostile bytes for `ambo_codec::record`.
