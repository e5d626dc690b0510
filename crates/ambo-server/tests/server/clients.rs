//! Which clients there are.

use std::path::PathBuf;

/// Python with the clients that `tests/requirements.txt` names.
pub fn python() -> PathBuf {
    match std::env::var_os("AMBO_SERVER_PYTHON") {
        Some(python) => python.into(),
        None => panic!(
            "AMBO_SERVER_PYTHON names no Python with psycopg, asyncpg and SQLAlchemy: `make test` makes one and says where"
        ),
    }
}
