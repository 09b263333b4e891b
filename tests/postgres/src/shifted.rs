//! Programs that are shown a system time of their own, by the library `libfaketime`.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use crate::packages;

/// The package, and its library for programs with threads.
const PACKAGE: &str = "libfaketime";
const LIBRARY: &str = "faketime/libfaketimeMT.so.1";

static FOUND: LazyLock<Result<PathBuf, String>> = LazyLock::new(look);

/// A system time that programs are shown, so many seconds from the machine's; their monotonic clock is the machine's. It
/// may be shifted while they run.
#[derive(Clone, Debug)]
pub struct ShownTime {
    file: PathBuf,
}

impl ShownTime {
    /// Makes a time that is the machine's, until it is shifted; it stands in a file. The library is the installed one, or
    /// comes from Debian's package, which is fetched and unpacked below the target folder.
    pub fn new(file: &Path) -> Result<Self, String> {
        FOUND.as_ref()?;
        let shown = Self { file: file.to_owned() };
        shown.shift(0)?;
        Ok(shown)
    }

    /// Has a program that is about to start see it.
    pub fn show_to(&self, command: &mut Command) {
        command
            .envs(FOUND.iter().map(|library| ("LD_PRELOAD", library)))
            .env("FAKETIME_TIMESTAMP_FILE", &self.file)
            .env("FAKETIME_NO_CACHE", "1")
            .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
            .env("DONT_FAKE_MONOTONIC", "1");
    }

    /// Sets it so many seconds ahead of the machine's, or behind if negative.
    pub fn shift(&self, seconds: i64) -> Result<(), String> {
        let told = |error: std::io::Error| format!("{}: {error}", self.file.display());
        // Whole, or not at all: it is read at any time.
        let next = self.file.with_extension("next");
        std::fs::write(&next, format!("{seconds:+}s\n")).and_then(|()| std::fs::rename(next, &self.file)).map_err(told)
    }
}

fn look() -> Result<PathBuf, String> {
    let inside = |root: &Path| {
        let folders = packages::libraries(root).into_iter();
        folders.map(|folder| folder.join(LIBRARY)).find(|file| file.is_file())
    };
    if let Some(installed) = inside(Path::new("/")) {
        return Ok(installed);
    }
    let why = |why: String| format!("{PACKAGE} is not installed, and its package cannot be fetched: {why}");
    let root = packages::unpacked(&packages::target().join(PACKAGE), || Ok(vec![PACKAGE.into()])).map_err(why)?;
    inside(&root).ok_or_else(|| format!("the package in {} has no {LIBRARY}", root.display()))
}

#[cfg(test)]
mod tests {
    use std::time::{SystemTime, UNIX_EPOCH};

    use super::*;

    #[test]
    fn a_program_sees_the_time_that_it_is_shown() {
        let folder = tempfile::tempdir().expect("a folder");
        let shown = ShownTime::new(&folder.path().join("time")).expect("the library");
        let seconds = || {
            let mut command = Command::new("date");
            shown.show_to(command.arg("+%s"));
            let told = String::from_utf8(command.output().expect("it runs").stdout).expect("text");
            told.trim().parse::<i64>().expect("seconds")
        };
        let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs();
        let now = i64::try_from(now).expect("seconds");
        for shift in [0, -3_600, 3_600] {
            shown.shift(shift).expect("a file");
            assert!((seconds() - now - shift).abs() <= 2, "{shift}");
        }
    }
}
