//! Stores on PostgreSQL and embedded SQLite.
