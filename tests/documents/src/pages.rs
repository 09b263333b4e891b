//! The files of the repository, read from the working folder.

use std::io::Result;
use std::path::{Path, PathBuf};

/// Folders that are skipped: built or fetched files, and those of other authors.
const PASSED_OVER: [&str; 6] = ["target", "node_modules", ".git", "deps", "docs-ui", "golden"];

/// Returns the root of the repository.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Reads a file, by its path from the root.
pub fn read(path: &str) -> Result<String> {
    std::fs::read_to_string(root().join(path))
}

/// Returns the files whose names have one of these endings, as sorted paths from the root.
pub fn files(ends: &[&str]) -> Result<Vec<String>> {
    let mut found = Vec::new();
    walk(&root(), "", ends, &mut found)?;
    found.sort();
    Ok(found)
}

fn walk(folder: &Path, prefix: &str, ends: &[&str], found: &mut Vec<String>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if entry.file_type()?.is_dir() {
            if !PASSED_OVER.contains(&&*name) {
                walk(&entry.path(), &format!("{path}/"), ends, found)?;
            }
        } else if ends.iter().any(|end| name.ends_with(end)) {
            found.push(path);
        }
    }
    Ok(())
}
