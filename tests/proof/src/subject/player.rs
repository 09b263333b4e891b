//! Hosts that are not written in Rust: their program plays the script from a file, and writes a transcript.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::said::Transcript;
use crate::script::Script;

/// A program that plays scripts.
pub struct Player {
    /// Path of the executable.
    pub program: PathBuf,
    /// Arguments before the names of the script and the transcript.
    pub before: Vec<String>,
    /// Arguments after those names.
    pub after: Vec<String>,
}

impl Player {
    /// Plays a script in a folder of its own.
    pub fn play(&self, script: &Script, folder: &Path) -> Result<Transcript, String> {
        self.play_all(&[script], folder)?.pop().ok_or_else(|| "there is no transcript".into())
    }

    /// Plays scripts one after another, each over a new store.
    pub fn play_all(&self, scripts: &[&Script], folder: &Path) -> Result<Vec<Transcript>, String> {
        let (asked, said) = (folder.join("script.jsonl"), folder.join("said.jsonl"));
        let lines: String = scripts.iter().map(|script| script.to_json_lines()).collect();
        std::fs::write(&asked, lines).map_err(|error| error.to_string())?;
        let output = Command::new(&self.program)
            .args(&self.before)
            .args([&asked, &said])
            .args(&self.after)
            .current_dir(folder)
            .output()
            .map_err(|error| format!("{}: {error}", self.program.display()))?;
        if !output.status.success() {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        let all = Transcript::all_of(&std::fs::read_to_string(&said).map_err(|error| error.to_string())?)?;
        if all.len() == scripts.len() { Ok(all) } else { Err(format!("{} transcripts", all.len())) }
    }
}

/// Returns the folder with the tests of the JavaScript host.
pub fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../host-wasm/js/test")
}
