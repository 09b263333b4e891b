//! Commands: `serve` and `dev` run the service; the others call a running one, or work on a closed data folder.

mod announce;
mod chat;
mod copy;
mod engine_check;
mod extract;
mod listen;
mod login_link;
mod manual;
mod missing;
mod node;
mod offline;
mod reign;
mod remote;
mod run;
mod simulated;

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use switchboard::private::Existing;
use switchboard::settings::ServeSettings;

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
    Serve(Box<ServeSettings>),
    /// Run the service for development: data in ./switchboard-data, loopback reachable, no rate limit
    Dev(Box<ServeSettings>),
    /// Manage the accounts of a running service
    Account {
        #[command(subcommand)]
        command: Account,
    },
    /// Manage the API keys of a running service
    Key {
        #[command(subcommand)]
        command: Key,
    },
    /// Manage the tokens of voice engines that attach to a running service
    EngineToken {
        #[command(subcommand)]
        command: EngineToken,
    },
    /// Look at the voice engines of a running service, and drain them
    Engine {
        #[command(subcommand)]
        command: Engine,
    },
    /// Manage the operator's own token of a running service
    OperatorToken {
        #[command(subcommand)]
        command: OperatorToken,
    },
    /// Manage durable work of a running service: jobs that wait, run or were set aside
    Jobs {
        #[command(subcommand)]
        command: Jobs,
    },
    /// Look at the nodes of a running service, and drain them
    Nodes {
        #[command(subcommand)]
        command: Nodes,
    },
    /// Hold a conversation with an assistant: each line of standard input is a message
    Chat(chat::Chat),
    /// Print an account's events as they happen: the payloads of its webhooks, without a public address
    Listen(listen::Listen),
    /// Play a hostile service to a voice engine and print which rules of the engine interface it breaks
    EngineCheck(engine_check::EngineCheck),
    /// Save a consistent snapshot of a running service
    Backup {
        /// File to write
        file: PathBuf,
        /// Replace the file if it exists
        #[arg(long)]
        force: bool,
        #[command(flatten)]
        at: At,
    },
    /// Check a store: that of a data folder that no service has open, or one in a PostgreSQL, also while a node serves it
    Verify {
        /// Data folder of the store, or URL of the PostgreSQL
        store: String,
        #[command(flatten)]
        seal: SealKeys,
    },
    /// Prepare a PostgreSQL as a store
    Store {
        #[command(subcommand)]
        command: StoreCommand,
    },
    /// Make a new key for sealing secrets
    SealKey {
        /// File to write, which must not exist; without it the key is printed
        file: Option<PathBuf>,
    },
    /// Restore a backup into a new data folder
    Restore {
        /// File written by `backup`
        file: PathBuf,
        /// Folder to create; one that exists must be empty
        folder: PathBuf,
    },
    /// Copy all rows of a store to another place, and compare both
    Copy(copy::CopyArgs),
    /// Print the `OpenAPI` document
    Openapi,
    /// Print a script that completes commands and flags in a shell
    Completions {
        /// Shell to print it for
        shell: Shell,
    },
    /// Print the manual page of the program, or write one for each command
    Man {
        /// Folder to write the pages to; it is created if it does not exist
        folder: Option<PathBuf>,
    },
    /// Read a file from standard input and print its text as JSON; the service runs this for each file
    #[command(hide = true)]
    Extract(extract::ExtractArgs),
}

#[derive(Subcommand)]
enum StoreCommand {
    /// Make the tables; the service itself needs no more than the right to read and write them
    Init {
        /// URL of the database, with a role that may make a schema: `postgres://USER:PASSWORD@HOST/DATABASE`
        #[arg(env = "SWITCHBOARD_STORE", hide_env_values = true)]
        url: String,
    },
}

/// Seal keys of a store.
#[derive(Args)]
struct SealKeys {
    /// File with the keys that seal secrets in the store
    #[arg(long, env = "SWITCHBOARD_SEAL_KEY_FILE", value_name = "FILE")]
    seal_key_file: Option<PathBuf>,
    /// The keys themselves, instead of a file
    #[arg(long, env = "SWITCHBOARD_SEAL_KEYS", value_name = "KEYS", hide_env_values = true)]
    seal_keys: Option<String>,
}

/// Where a running service is.
#[derive(Args)]
struct Base {
    /// URL of the service, with or without /api
    #[arg(long, env = "SWITCHBOARD_URL", default_value = "http://127.0.0.1:8080", value_parser = remote::base)]
    url: String,
}

/// Address of the operator's API, and the token for it.
#[derive(Args)]
struct At {
    #[command(flatten)]
    base: Base,
    /// Operator token
    #[arg(long, env = "SWITCHBOARD_ADMIN_TOKEN", hide_env_values = true)]
    admin_token: String,
}

#[derive(Subcommand)]
enum Account {
    /// Create an account
    Create {
        /// E-mail address to log in with
        #[arg(long)]
        email: String,
        /// Name of the account
        #[arg(long)]
        name: String,
        /// Name of its plan; without it, the service's default
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
    /// Move an account to another plan
    SetPlan {
        /// Id of the account
        id: u64,
        /// Name of the plan
        plan: String,
        #[command(flatten)]
        at: At,
    },
    /// Delete an account with all that it has: calls end and numbers are given back
    Delete {
        /// Id of the account
        id: u64,
        #[command(flatten)]
        at: At,
    },
}

#[derive(Subcommand)]
enum Key {
    /// Create an API key for an account
    Create {
        /// Id of the account
        #[arg(long)]
        account: u64,
        /// Name of the key, shown in lists
        #[arg(long)]
        name: String,
        /// Limit the key to reading
        #[arg(long)]
        read_only: bool,
        #[command(flatten)]
        at: At,
    },
    /// List the API keys of an account
    List {
        /// Id of the account
        #[arg(long)]
        account: u64,
        #[command(flatten)]
        at: At,
    },
    /// Delete an API key of an account
    Revoke {
        /// Id of the account
        #[arg(long)]
        account: u64,
        /// Id of the key
        id: u64,
        #[command(flatten)]
        at: At,
    },
}

#[derive(Subcommand)]
enum EngineToken {
    /// Create a token for an engine
    Create {
        /// Name of the token, shown in lists
        #[arg(long)]
        name: String,
        /// Id of an account whose calls the engine may take; repeatable; without any, all accounts
        #[arg(long = "account", value_name = "ID")]
        accounts: Vec<u64>,
        /// Give the engine the credentials of SIP trunks and of the carrier, so that it places calls itself
        #[arg(long)]
        telephony: bool,
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
        /// Id of the token
        id: u64,
        #[command(flatten)]
        at: At,
    },
}

#[derive(Subcommand)]
enum Engine {
    /// List the engines that are attached, or were so lately
    List {
        #[command(flatten)]
        at: At,
    },
    /// Give an engine no more calls
    Drain {
        /// Id of the engine
        id: u64,
        /// Give it calls again
        #[arg(long)]
        end: bool,
        #[command(flatten)]
        at: At,
    },
}

#[derive(Subcommand)]
enum OperatorToken {
    /// Replace the token and print the new one, once; the old one ends
    Rotate {
        #[command(flatten)]
        at: At,
    },
}

#[derive(Subcommand)]
enum Jobs {
    /// List the jobs: those set aside, then those that run, then those that wait
    List {
        /// Only jobs in this state: waiting, running or `set_aside`
        #[arg(long)]
        state: Option<String>,
        /// Only jobs of this kind
        #[arg(long)]
        kind: Option<String>,
        /// Only jobs of the account with this id
        #[arg(long)]
        account: Option<u64>,
        #[command(flatten)]
        at: At,
    },
    /// Retry a job that was set aside
    Retry {
        /// Id of the job
        id: String,
        #[command(flatten)]
        at: At,
    },
    /// Drop a job that was set aside; the work it was for ends as failed
    Drop {
        /// Id of the job
        id: String,
        #[command(flatten)]
        at: At,
    },
}

#[derive(Subcommand)]
enum Nodes {
    /// List the nodes that serve the store, and those that did so within the last hour
    List {
        #[command(flatten)]
        at: At,
    },
    /// Have a node give its accounts to the others, before it is stopped; it passes requests on until then
    Drain {
        /// Id of the node
        id: String,
        #[command(flatten)]
        at: At,
    },
}

/// Error of a command: its text is a sentence for the person who typed it.
type Failed = Box<dyn std::error::Error + Send + Sync>;

/// Parses the arguments and runs the command; errors go to standard error, as JSON with `--json`.
pub fn main() -> ExitCode {
    let (cli, given) = parsed()
        .map_err(|error| missing::described(error, Cli::command(), std::env::args().skip(1)))
        .unwrap_or_else(|error| error.exit());
    let json = cli.json;
    let done = match cli.command {
        Command::Serve(settings) => run::serve(*settings, &given, json),
        Command::Dev(settings) => run::dev(*settings, &given, json),
        Command::Account { command } => remote::account(command, json),
        Command::Key { command } => remote::key(command, json),
        Command::EngineToken { command } => remote::engine_token(command, json),
        Command::Engine { command } => remote::engine(command, json),
        Command::OperatorToken { command } => remote::operator_token(command, json),
        Command::Jobs { command } => remote::jobs(command, json),
        Command::Nodes { command } => remote::nodes(command, json),
        Command::Chat(chat) => chat::chat(&chat, json),
        Command::EngineCheck(check) => engine_check::engine_check(&check, json),
        Command::Listen(listen) => listen::listen(&listen, json),
        Command::Backup { file, force, at } => {
            remote::backup(&file, if force { Existing::Replace } else { Existing::Keep }, &at, json)
        }
        Command::Verify { store, seal } => offline::verify(&store, &seal, json),
        Command::Store { command: StoreCommand::Init { url } } => offline::init(&url, json),
        Command::SealKey { file } => offline::seal_key(file.as_deref(), json),
        Command::Restore { file, folder } => offline::restore(&file, &folder, json),
        Command::Copy(places) => copy::copy(&places, json),
        Command::Openapi => offline::openapi(),
        Command::Completions { shell } => manual::completions(shell),
        Command::Man { folder } => manual::man(folder.as_deref(), json),
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

/// Parses the arguments; returns the arguments of the subcommand too, which tell where each value comes from.
fn parsed() -> Result<(Cli, ArgMatches), clap::Error> {
    let mut given = Cli::command().try_get_matches()?;
    let cli = Cli::from_arg_matches(&given).map_err(|error| error.format(&mut Cli::command()))?;
    let given = given.remove_subcommand().map(|(_, given)| given).unwrap_or_default();
    Ok((cli, given))
}

/// Prints a line; a closed pipe is not an error.
fn say(line: &str) -> Result<(), Failed> {
    let mut out = std::io::stdout().lock();
    match writeln!(out, "{line}").and_then(|()| out.flush()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => Err(error.into()),
        _ => Ok(()),
    }
}
