//! The commands `completions` and `man`: the command line as shells and `man` read it.

use std::path::Path;

use clap::{Command, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;
use serde_json::json;

use super::{Cli, Failed, say};

/// Runs `completions`: prints a script that completes the command line in a shell.
pub fn completions(shell: Shell) -> Result<(), Failed> {
    // Written to memory first: a closed pipe is not an error, and clap panics at one.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut shown(), "switchboard", &mut script);
    say(String::from_utf8(script)?.trim_end())
}

/// Runs `man`: writes a page of each command into a folder, or prints that of the program.
pub fn man(folder: Option<&Path>, json: bool) -> Result<(), Failed> {
    let Some(folder) = folder else {
        let mut page = Vec::new();
        Man::new(shown()).render(&mut page)?;
        return say(String::from_utf8(page)?.trim_end());
    };
    let written = std::fs::create_dir_all(folder).and_then(|()| clap_mangen::generate_to(shown(), folder));
    written.map_err(|error| format!("{}: {error}", folder.display()))?;
    if json {
        return say(&json!({ "folder": folder }).to_string());
    }
    say(&format!("{} holds the pages: man -l {}", folder.display(), folder.join("switchboard.1").display()))
}

/// Returns the command line without its hidden commands, which completions would offer.
fn shown() -> Command {
    let all = Cli::command();
    let shown = all.get_subcommands().filter(|command| !command.is_hide_set());
    let bare = Command::new("switchboard").args(all.get_arguments()).subcommands(shown).subcommand_required(true);
    bare.version(env!("CARGO_PKG_VERSION")).about(all.get_about().cloned().unwrap_or_default())
}
