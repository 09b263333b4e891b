//! Prints the `OpenAPI` document as it is committed: `cargo xtask openapi`.

fn main() {
    print!("{}", switchboard_tests::examples::described());
}
