//! What a command lacks: names each missing argument with what it is, not its placeholder alone.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{Arg, Command, Error};

/// Adds their descriptions to the arguments that an error says are missing; other errors stay as they are. `words` are
/// the words of the command line after the program's name.
pub fn described(mut error: Error, program: Command, words: impl Iterator<Item = String>) -> Error {
    if error.kind() != ErrorKind::MissingRequiredArgument {
        return error;
    }
    let Some(ContextValue::Strings(names)) = error.remove(ContextKind::InvalidArg) else { return error };
    let command = named(program, words);
    let width = names.iter().map(String::len).max().unwrap_or_default();
    let lines = names.iter().map(|name| match command.get_arguments().find(|arg| arg.to_string() == *name) {
        Some(arg) => format!("{name:<width$}  {}", meaning(arg)),
        None => name.clone(),
    });
    error.insert(ContextKind::InvalidArg, ContextValue::Strings(lines.collect()));
    error
}

/// Returns the innermost command that the words name.
fn named(mut program: Command, words: impl Iterator<Item = String>) -> Command {
    program.build();
    words.fold(program, |command, word| match command.find_subcommand(&word) {
        Some(inner) => inner.clone(),
        None => command,
    })
}

/// Returns what an argument is, and the variable that may hold it instead.
fn meaning(arg: &Arg) -> String {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    match arg.get_env() {
        Some(variable) => format!("{help} [env: {}]", variable.display()),
        None => help,
    }
}
