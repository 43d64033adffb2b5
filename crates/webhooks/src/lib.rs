//! The webhook sender: one attempt, guarded against private addresses.
