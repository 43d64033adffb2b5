//! Measures Bidloop; prints every figure beside its goal.
fn main() {}
