//! Folders and files that only their owner can read: for stores, backups and keys. Modes are set at creation, whatever
//! the umask, so that nobody else can open them at any moment.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Mode bits of everybody but the owner.
const OTHERS: u32 = 0o077;

/// Creates a file with mode 0600, open for reading and writing; fails if it exists.
pub fn create(path: &Path) -> Result<File> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
    // A umask may have cleared bits of the owner as well.
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Creates a folder and its missing parents with mode 0700, durably: the parent of each new folder is synced.
pub fn create_folder(folder: &Path) -> Result<()> {
    let mut made: Vec<&Path> = folder.ancestors().take_while(|at| !at.as_os_str().is_empty() && !at.exists()).collect();
    made.reverse();
    for at in &made {
        DirBuilder::new().mode(0o700).create(at)?;
        std::fs::set_permissions(at, Permissions::from_mode(0o700))?;
    }
    made.iter().filter_map(|at| at.parent()).try_for_each(sync_folder)
}

/// Syncs a folder, so that names created or renamed in it survive a power cut.
pub fn sync_folder(folder: &Path) -> Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)?.sync_all()
}

/// Result of [`tighten`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tightened {
    /// Nobody else had any access.
    Was,
    /// It had this mode; everybody but the owner has lost access.
    From(u32),
    /// It keeps this mode: it belongs to another user, or its file system keeps no modes.
    Not(u32),
}

/// Removes the access of everybody but the owner from a file or folder that belongs to this process's user.
pub fn tighten(path: &Path) -> Result<Tightened> {
    let meta = std::fs::metadata(path)?;
    let mode = meta.mode() & 0o7777;
    if mode & OTHERS == 0 {
        return Ok(Tightened::Was);
    }
    let is_own = meta.uid() == rustix::process::geteuid().as_raw();
    let is_done = is_own && std::fs::set_permissions(path, Permissions::from_mode(mode & !OTHERS)).is_ok();
    Ok(if is_done { Tightened::From(mode) } else { Tightened::Not(mode) })
}

/// What to do if the file to be written exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Replace it.
    Replace,
    /// Keep it and write nothing.
    Keep,
}

/// A file that appears under its name once it is complete; if dropped before, it leaves nothing.
pub struct PartialFile {
    partial: PathBuf,
    path: PathBuf,
    existing: Existing,
    /// The partial file, to write to.
    pub file: File,
}

impl PartialFile {
    /// Creates the partial file beside `path`; fails if `path` exists and is to be kept.
    pub fn begin(path: &Path, existing: Existing) -> Result<Self> {
        refuse_existing(path, existing)?;
        let mut partial: OsString = path.as_os_str().to_owned();
        partial.push(format!(".{}.partial", std::process::id()));
        let partial = PathBuf::from(partial);
        // A killed process with the same id may have left one.
        let _ = std::fs::remove_file(&partial);
        let file =
            create(&partial).map_err(|error| Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        Ok(Self { partial, path: path.to_owned(), existing, file })
    }

    /// Syncs the file and renames it to its final name.
    pub fn finish(self) -> Result<()> {
        self.file.sync_all()?;
        refuse_existing(&self.path, self.existing)?;
        std::fs::rename(&self.partial, &self.path)?;
        self.path.parent().map_or(Ok(()), sync_folder)
    }
}

impl Drop for PartialFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.partial);
    }
}

fn refuse_existing(path: &Path, existing: Existing) -> Result<()> {
    if existing == Existing::Keep && path.symlink_metadata().is_ok() {
        return Err(Error::new(ErrorKind::AlreadyExists, format!("{} is there already", path.display())));
    }
    Ok(())
}
