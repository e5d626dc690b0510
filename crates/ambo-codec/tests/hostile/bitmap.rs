//! Hostile bytes for `ambo_codec::bitmap`.
