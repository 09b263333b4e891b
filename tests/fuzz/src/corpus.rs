//! The inputs in the repository: small files, one folder per target.

use std::path::{Path, PathBuf};

/// Returns the files of a target, sorted by name.
///
/// # Panics
/// If a file cannot be read.
pub fn of(target: &str) -> Vec<Vec<u8>> {
    let Ok(entries) = std::fs::read_dir(folder(target)) else { return Vec::new() };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    paths.iter().map(|path| std::fs::read(path).expect("a file of the corpus")).collect()
}

/// Returns the folder of a target.
pub fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target)
}

/// Saves an input under a name derived from its bytes.
pub fn keep(target: &str, input: &[u8]) -> std::io::Result<PathBuf> {
    let folder = folder(target);
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(format!("{:016x}", digest(input)));
    std::fs::write(&path, input)?;
    Ok(path)
}

/// Returns a hash of bytes (FNV-1a).
pub fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |sum, byte| (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
