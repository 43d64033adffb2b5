//! Migrations are embedded when the crate is compiled: a changed step must compile it anew.

fn main() {
    println!("cargo::rerun-if-changed=migrations");
}
