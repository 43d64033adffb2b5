//! What the domain needs from the outside, one trait a need.
