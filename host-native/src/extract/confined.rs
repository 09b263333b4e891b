//! The process that reads one file: the limits it sets on itself first, and the result it writes in the end.

use std::io::{Read, Write};

use rustix::process::{Resource, Rlimit, getrlimit, nice, setrlimit};
use serde::{Deserialize, Serialize};
use switchboard_core::limits::FILE_BYTES_MAX;
use switchboard_core::outside::{Extracted, TextForm};

use super::lock;

/// Nice value of the process, so that the service goes first when both want the processor.
const NICE: i32 = 10;
/// Limit of file descriptors: standard input, output and error; no file or socket can be opened.
const DESCRIPTORS: u64 = 3;
/// Seconds of processor time after the limit until the process is killed.
const CPU_GRACE_SECONDS: u64 = 5;

/// Resource limits of the process.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Limit of address space, bytes.
    pub memory_bytes: u64,
    /// Limit of processor time, seconds.
    pub cpu_seconds: u64,
}

impl Default for Bounds {
    /// Five times the memory that the largest valid test files need, and more than five times their time.
    fn default() -> Self {
        Self { memory_bytes: 512 << 20, cpu_seconds: 20 }
    }
}

/// Result of the process, as JSON on its standard output.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Said {
    /// The text, title and links.
    Read(ExtractedWire),
    /// Why the file could not be read, as a complete sentence.
    Failed(String),
}

/// [`Extracted`] in the form that is passed between the processes.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ExtractedWire {
    title: Option<String>,
    text: String,
    links: Vec<String>,
    base_href: Option<String>,
    noindex: bool,
}

impl From<Extracted> for ExtractedWire {
    fn from(extracted: Extracted) -> Self {
        let Extracted { title, text, links, base_href, noindex } = extracted;
        Self { title, text, links, base_href, noindex }
    }
}

impl From<ExtractedWire> for Extracted {
    fn from(found: ExtractedWire) -> Self {
        let ExtractedWire { title, text, links, base_href, noindex } = found;
        Self { title, text, links, base_href, noindex }
    }
}

/// Locks and confines this process for good, reads a file from `input` and writes the result to `output`. If the kernel
/// lacks a lock, it continues with the others: the service has warned its operator.
pub fn run(
    form: TextForm,
    bounds: Bounds,
    input: &mut impl Read,
    output: &mut impl Write,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    lock::close_files();
    confine(bounds)?;
    let mut bytes = Vec::new();
    // One byte over the limit is enough to see that the file is too large.
    input.take(FILE_BYTES_MAX as u64 + 1).read_to_end(&mut bytes)?;
    let said = match super::read(form, &bytes) {
        Ok(extracted) => Said::Read(extracted.into()),
        Err(sentence) => Said::Failed(sentence),
    };
    serde_json::to_writer(&mut *output, &said)?;
    Ok(output.flush()?)
}

/// Limits memory, processor time, descriptors, processes and core dumps of this process, then blocks all system calls
/// but a few; returns whether the kernel did the latter.
pub(super) fn confine(bounds: Bounds) -> std::io::Result<bool> {
    for (resource, most) in [
        (Resource::As, bounds.memory_bytes),
        (Resource::Cpu, bounds.cpu_seconds),
        (Resource::Nofile, DESCRIPTORS),
        (Resource::Nproc, 0),
        (Resource::Core, 0),
    ] {
        // A lower limit that is already set stays.
        let lower = |most: u64| getrlimit(resource).maximum.map_or(most, |maximum| maximum.min(most));
        // At the lower limit of time the system sends SIGXCPU, which tells the reason; at the higher one it kills.
        let maximum = if resource == Resource::Cpu { most.saturating_add(CPU_GRACE_SECONDS) } else { most };
        setrlimit(resource, Rlimit { current: Some(lower(most)), maximum: Some(lower(maximum)) })?;
    }
    // If this fails, the process merely competes equally with the service.
    let _ = nice(NICE);
    Ok(lock::close_calls())
}
