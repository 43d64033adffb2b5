//! In-memory adapters for the domain's ports, held to the same contracts as the real ones.
