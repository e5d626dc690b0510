//! Hostile bytes for `ambo_codec::integer`.
