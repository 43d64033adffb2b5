//! Migrations are embedded when the crate is compiled: a changed step must compile it anew.

fn main() {
    // A build script speaks to Cargo over standard output.
    #[expect(clippy::print_stdout, reason = "this is how a build script speaks to Cargo")]
    {
        println!("cargo::rerun-if-changed=migrations");
    }
}
