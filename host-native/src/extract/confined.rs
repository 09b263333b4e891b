//! The process that reads one file: what it takes from itself first, and what it says in the end.

use std::io::{Read, Write};

use rustix::process::{Resource, Rlimit, getrlimit, nice, setrlimit};
use serde::{Deserialize, Serialize};
use switchboard_core::limits::FILE_BYTES_MAX;
use switchboard_core::outside::{Extracted, TextForm};

use super::lock;

/// How much lower than the service it stands when both want the processor.
const NICE: i32 = 10;
/// Standard input, output and error: nothing else can be opened, no file and no socket.
const DESCRIPTORS: u64 = 3;
/// How long after its time is over the process is killed, seconds.
const CPU_GRACE_SECONDS: u64 = 5;

/// What the process may use.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Address space, bytes.
    pub memory_bytes: u64,
    /// Time of a processor, seconds.
    pub cpu_seconds: u64,
}

impl Default for Bounds {
    /// Five times what the largest good files that were tried need, and more of time.
    fn default() -> Self {
        Self { memory_bytes: 512 << 20, cpu_seconds: 20 }
    }
}

/// What the process says, as JSON on its standard output.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Said {
    /// What it read.
    Read(Found),
    /// Why it could not, as a finished sentence.
    Failed(String),
}

/// [`Extracted`] between two processes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Found {
    title: Option<String>,
    text: String,
    links: Vec<String>,
    base_href: Option<String>,
    noindex: bool,
}

impl From<Extracted> for Found {
    fn from(extracted: Extracted) -> Self {
        let Extracted { title, text, links, base_href, noindex } = extracted;
        Self { title, text, links, base_href, noindex }
    }
}

impl From<Found> for Extracted {
    fn from(found: Found) -> Self {
        let Found { title, text, links, base_href, noindex } = found;
        Self { title, text, links, base_href, noindex }
    }
}

/// Locks and confines this process for good, reads a file on the input and says what it found on the output. Where
/// the kernel lacks a lock, it goes on with the others: the service told its operator.
pub fn run(
    form: TextForm,
    bounds: Bounds,
    input: &mut impl Read,
    output: &mut impl Write,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    lock::close_files();
    confine(bounds)?;
    let mut bytes = Vec::new();
    // One byte more than a file may have is enough to see that it is too large.
    input.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    let said = match super::read(form, &bytes) {
        Ok(extracted) => Said::Read(extracted.into()),
        Err(sentence) => Said::Failed(sentence),
    };
    serde_json::to_writer(&mut *output, &said)?;
    Ok(output.flush()?)
}

/// Takes memory, time, descriptors, processes and core dumps from this process, and then all system calls but a few;
/// tells whether the kernel took those.
pub(super) fn confine(bounds: Bounds) -> std::io::Result<bool> {
    for (resource, most) in [
        (Resource::As, bounds.memory_bytes),
        (Resource::Cpu, bounds.cpu_seconds),
        (Resource::Nofile, DESCRIPTORS),
        (Resource::Nproc, 0),
        (Resource::Core, 0),
    ] {
        // What the system allows less of stays as it is.
        let lower = |most: u64| getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
        // At the higher bound of time the system kills; at the lower one it says why.
        let maximum = if resource == Resource::Cpu { most.saturating_add(CPU_GRACE_SECONDS) } else { most };
        setrlimit(resource, Rlimit { current: Some(lower(most)), maximum: Some(lower(maximum)) })?;
    }
    // Where the system does not let it, the service's own threads are as important.
    let _ = nice(NICE);
    Ok(lock::close_calls())
}
