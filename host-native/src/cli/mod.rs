//! Commands: `serve` and `dev` run the service; the others speak to one, or work on a closed folder.

mod extract;
mod listen;
mod offline;
mod remote;
mod run;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use switchboard::private::Existing;
use switchboard::settings::Settings;

#[derive(Parser)]
#[command(name = "switchboard", version, about = "A self-hosted voice assistant management service")]
struct Cli {
    /// Print JSON
    #[arg(long, global = true)]
    json: bool,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run the service
    Serve(Box<Settings>),
    /// Run the service for development: data in ./switchboard-data, loopback reachable, no rate limit
    Dev(Box<Settings>),
    /// Accounts of a running service
    Account {
        #[command(subcommand)]
        command: Account,
    },
    /// API keys of a running service
    Key {
        #[command(subcommand)]
        command: Key,
    },
    /// Tokens of voice engines that attach to a running service
    EngineToken {
        #[command(subcommand)]
        command: EngineToken,
    },
    /// Durable work of a running service: what waits, runs or was set aside
    Jobs {
        #[command(subcommand)]
        command: Jobs,
    },
    /// Print an account's events as they happen: what its webhooks carry, without an address of one's own
    Listen(listen::Listen),
    /// Save a consistent snapshot of a running service
    Backup {
        /// File to write
        file: PathBuf,
        /// Replace the file where it is there already
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        at: At,
    },
    /// Check the store of a closed folder
    Verify {
        /// Folder of the store
        folder: PathBuf,
        #[command(flatten)]
        seal: SealKeys,
    },
    /// Make a new key to seal secrets with
    SealKey {
        /// File to write, which must not be there; without it the key is printed
        file: Option<PathBuf>,
    },
    /// Make a folder from a backup
    Restore {
        /// File that `backup` wrote
        file: PathBuf,
        /// Folder to make
        folder: PathBuf,
    },
    /// Print the `OpenAPI` document
    Openapi,
    /// Read a file on the input and print its text as JSON: how the service has files read
    #[command(hide = true)]
    Extract(extract::Extract),
}

/// The keys of a store.
#[derive(Args)]
struct SealKeys {
    /// File with the keys under which secrets are sealed in the store
    #[arg(long, env = "SWITCHBOARD_SEAL_KEY_FILE", value_name = "FILE")]
    seal_key_file: Option<PathBuf>,
    /// The same keys themselves
    #[arg(long, env = "SWITCHBOARD_SEAL_KEYS", value_name = "KEYS", hide_env_values = true)]
    seal_keys: Option<String>,
}

/// Where the operator's API is.
#[derive(Args)]
struct At {
    /// URL of the service
    #[arg(long, env = "SWITCHBOARD_URL", default_value = "http://127.0.0.1:8080")]
    url: String,
    /// The operator's token
    #[arg(long, env = "SWITCHBOARD_ADMIN_TOKEN", hide_env_values = true)]
    admin_token: String,
}

#[derive(Subcommand)]
enum Account {
    /// Create an account
    Create {
        /// Address that logs in
        #[arg(long)]
        email: String,
        /// Its name
        #[arg(long)]
        name: String,
        /// Its plan
        #[arg(long)]
        plan: Option<String>,
        #[command(flatten)]
        at: At,
    },
    /// List the accounts
    List {
        #[command(flatten)]
        at: At,
    },
    /// Put an account on another plan
    SetPlan {
        /// The account's id
        id: u64,
        /// The plan's name
        plan: String,
        #[command(flatten)]
        at: At,
    },
}

#[derive(Subcommand)]
enum Key {
    /// Create an API key for an account
    Create {
        /// The account's id
        #[arg(long)]
        account: u64,
        /// A label
        #[arg(long)]
        name: String,
        /// It may only read
        #[arg(long)]
        read_only: bool,
        #[command(flatten)]
        at: At,
    },
    /// Delete an API key of an account
    Revoke {
        /// The account's id
        #[arg(long)]
        account: u64,
        /// The key's id
        id: u64,
        #[command(flatten)]
        at: At,
    },
}

#[derive(Subcommand)]
enum EngineToken {
    /// Create a token for an engine
    Create {
        /// A label
        #[arg(long)]
        name: String,
        /// An account whose calls it may have, by id; without any: all
        #[arg(long = "account", value_name = "ID")]
        accounts: Vec<u64>,
        #[command(flatten)]
        at: At,
    },
    /// List the tokens
    List {
        #[command(flatten)]
        at: At,
    },
    /// Delete a token
    Revoke {
        /// The token's id
        id: u64,
        #[command(flatten)]
        at: At,
    },
}

#[derive(Subcommand)]
enum Jobs {
    /// List the jobs: those that were set aside, then those that run, then those that wait
    List {
        /// Only those that stand there: waiting, running or `set_aside`
        #[arg(long)]
        state: Option<String>,
        /// Only those of this kind
        #[arg(long)]
        kind: Option<String>,
        /// Only those of this account, by its id
        #[arg(long)]
        account: Option<u64>,
        #[command(flatten)]
        at: At,
    },
    /// Try a job again that was set aside
    Retry {
        /// The job's id
        id: String,
        #[command(flatten)]
        at: At,
    },
    /// Drop a job that was set aside: what it was for ends as failed
    Drop {
        /// The job's id
        id: String,
        #[command(flatten)]
        at: At,
    },
}

/// A sentence for whoever typed the command.
type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Runs the command of this process.
pub fn main() -> ExitCode {
    let cli = Cli::parse();
    let json = cli.json;
    let done = match cli.command {
        Command::Serve(settings) => run::serve(*settings, json),
        Command::Dev(settings) => run::dev(*settings, json),
        Command::Account { command } => remote::account(command, json),
        Command::Key { command } => remote::key(command, json),
        Command::EngineToken { command } => remote::engine_token(command, json),
        Command::Jobs { command } => remote::jobs(command, json),
        Command::Listen(listen) => listen::listen(&listen, json),
        Command::Backup { file, force, at } => {
            remote::backup(&file, if force { Existing::Replace } else { Existing::Keep }, &at, json)
        }
        Command::Verify { folder, seal } => offline::verify(&folder, &seal, json),
        Command::SealKey { file } => offline::seal_key(file.as_deref(), json),
        Command::Restore { file, folder } => offline::restore(&file, &folder, json),
        Command::Openapi => offline::openapi(),
        Command::Extract(file) => extract::extract(&file),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if json {
                eprintln!("{}", serde_json::json!({ "error": error.to_string() }));
            } else {
                eprintln!("switchboard: {error}");
            }
            ExitCode::FAILURE
        }
    }
}

/// Prints a line; a reader that went away is no failure.
fn say(line: &str) -> Result<(), Failed> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
