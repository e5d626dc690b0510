//! Ambo: one embedded store for rows and columns.
