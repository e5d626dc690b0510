//! What a server refuses.
