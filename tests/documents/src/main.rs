//! Rewrites the generated parts of the documents: `cargo xtask docs`.

use std::error::Error;

use switchboard_documents::{GENERATED, marks, pages, part};

fn main() -> Result<(), Box<dyn Error>> {
    for path in GENERATED {
        let page = pages::read(path)?;
        let made = marks::filled(&page, part)?;
        if made != page {
            std::fs::write(pages::root().join(path), made)?;
            println!("{path} is written anew");
        }
    }
    Ok(())
}
