//! Bytes of the protocol without a client.
