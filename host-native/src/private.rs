//! Folders and files that only their owner can read: what a store, a backup or a key is written to. Modes are set
//! when something is made, whatever the umask, so that at no moment anybody else can open it.

use std::ffi::OsString;
use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{Error, ErrorKind, Result};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// What others than the owner may do.
const OTHERS: u32 = 0o077;

/// Makes a file that was not there, to be read and written.
pub fn create(path: &Path) -> Result<File> {
    let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)?;
    // A umask may have taken something from the owner as well.
    file.set_permissions(Permissions::from_mode(0o600))?;
    Ok(file)
}

/// Makes a folder, with those above it, that outlives a power cut: each new folder's name is synced where it stands.
pub fn create_folder(folder: &Path) -> Result<()> {
    let mut made: Vec<&Path> = folder.ancestors().take_while(|at| !at.as_os_str().is_empty() && !at.exists()).collect();
    made.reverse();
    for at in &made {
        DirBuilder::new().mode(0o700).create(at)?;
        std::fs::set_permissions(at, Permissions::from_mode(0o700))?;
    }
    made.iter().filter_map(|at| at.parent()).try_for_each(sync_folder)
}

/// Syncs the names in a folder.
pub fn sync_folder(folder: &Path) -> Result<()> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    File::open(folder)?.sync_all()
}

/// What happened to the mode of a file or folder that was there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tightened {
    /// Nobody else could do anything with it.
    Was,
    /// It had this mode, which is taken from everybody but its owner.
    From(u32),
    /// It has this mode: it is somebody else's, or its disk keeps none.
    Not(u32),
}

/// Takes everything from everybody but the owner of a file or folder, where that is this process.
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

/// Whether a file may be written where one is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// It is replaced.
    Replace,
    /// Nothing is written.
    Keep,
}

/// A file that appears under its name once it is whole; dropped before, it leaves nothing.
pub struct Aside {
    partial: PathBuf,
    path: PathBuf,
    existing: Existing,
    /// Where to write to.
    pub file: File,
}

impl Aside {
    /// Begins a file.
    pub fn begin(path: &Path, existing: Existing) -> Result<Self> {
        refuse_existing(path, existing)?;
        let mut partial: OsString = path.as_os_str().to_owned();
        partial.push(format!(".{}.partial", std::process::id()));
        let partial = PathBuf::from(partial);
        // One that a process of this number left when it was killed.
        let _ = std::fs::remove_file(&partial);
        let file = create(&partial)?;
        Ok(Self { partial, path: path.to_owned(), existing, file })
    }

    /// Syncs it and gives it its name.
    pub fn finish(self) -> Result<()> {
        self.file.sync_all()?;
        refuse_existing(&self.path, self.existing)?;
        std::fs::rename(&self.partial, &self.path)?;
        self.path.parent().map_or(Ok(()), sync_folder)
    }
}

impl Drop for Aside {
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
