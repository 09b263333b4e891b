//! The inputs that stand in the repository: small files, a folder for each target.

use std::path::{Path, PathBuf};

/// The files of a target, in the order of their names.
///
/// # Panics
/// Where a file cannot be read.
pub fn of(target: &str) -> Vec<Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(folder(target)) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("a file of the corpus")).collect()
}

/// Where they stand.
pub fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// Keeps an input under a name that follows from its bytes.
pub fn keep(target: &str, input: &[u8]) -> std::io::Result<PathBuf> {
    let folder = folder(target);
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{:016x}", digest(input)));
    std::fs::write(&path, input)?;
    Ok(path)
}

/// A number that stands for bytes (FNV-1a).
pub fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
