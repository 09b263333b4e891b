//! Clients that write until the server is gone, and note what was acknowledged.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde_json::{Value, json};
use switchboard_sim::random::Random;
use switchboard_tests::house::{assistant, campaign, lead, tool, with};

use crate::wire::Line;

/// Most rows of a kind per client: at the limit a client deletes one before it creates another.
const ROWS_MAX: usize = 6;

/// What a client creates, changes and deletes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A mid-call tool, marked by its description.
    Tool,
    /// An assistant.
    Assistant,
    /// A campaign.
    Campaign,
    /// A lead: only created, never deleted, so all of them accumulate.
    Lead,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Tool, Self::Assistant, Self::Campaign, Self::Lead];

    /// Returns the path at which its rows are created and listed.
    pub fn path(self) -> &'static str {
        match self {
            Self::Tool => "/user/tools",
            Self::Assistant => "/user/assistants",
            Self::Campaign => "/user/campaigns",
            Self::Lead => "/user/leads",
        }
    }

    /// Returns the member that distinguishes versions of a row.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Tool => "description",
            Self::Assistant | Self::Campaign => "name",
            Self::Lead => "phone_number",
        }
    }
}

/// A row, by kind and id.
pub type At = (Kind, u64);

/// A write with its expected result.
#[derive(Clone, Debug)]
pub enum Write {
    /// Creates a row with this mark.
    Create(Kind, String),
    /// Replaces the mark of a row.
    Update(At, String),
    /// Deletes a row, so that it is not listed.
    Delete(At),
}

/// The last acknowledged mark of each of a client's rows.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// Last acknowledged mark of each row.
    pub rows: BTreeMap<At, String>,
    /// Number of acknowledged writes.
    pub acknowledged: u64,
    under_way: Option<Write>,
}

impl Notes {
    fn note(&mut self, write: Write, id: u64) {
        match write {
            Write::Create(kind, mark) => self.rows.insert((kind, id), mark),
            Write::Update(at, mark) => self.rows.insert(at, mark),
            Write::Delete(at) => self.rows.remove(&at),
        };
    }

    /// Resolves the write in progress from what is there.
    pub fn settle(&mut self, found: &BTreeMap<At, String>) {
        let Some(write) = self.under_way.take() else { return };
        match &write {
            Write::Create(kind, mark) => {
                let made = found.iter().find(|((of, _), at)| of == kind && *at == mark);
                if let Some(((_, id), _)) = made {
                    self.note(write, *id);
                }
            }
            Write::Update(at, mark) if found.get(at) == Some(mark) => self.note(write, 0),
            Write::Delete(at) if !found.contains_key(at) => self.note(write, 0),
            Write::Update(..) | Write::Delete(_) => {}
        }
    }
}

/// Resources that the clients' rows refer to.
#[derive(Clone, Copy)]
pub struct Base {
    /// Id of the campaigns' assistant.
    pub assistant: u64,
    /// Id of the leads' campaign.
    pub campaign: u64,
}

/// A client that writes.
pub struct Client {
    /// What the server acknowledged to it.
    pub notes: Notes,
    number: u64,
    random: Random,
    marks: u64,
}

impl Client {
    /// Creates a client that has written nothing.
    pub fn new(number: u64, random: Random) -> Self {
        Self { notes: Notes::default(), number, random, marks: 0 }
    }

    /// Writes until the server is gone; an error is an unexpected answer.
    pub fn write(&mut self, address: SocketAddr, key: &str, base: Base) -> Result<(), String> {
        let Ok(mut line) = Line::to(address, key) else { return Ok(()) };
        loop {
            let write = self.draw();
            let (method, path, body) = request(&write, base);
            self.notes.under_way = Some(write.clone());
            let Ok(answer) = line.ask(method, &path, body.as_ref()) else { return Ok(()) };
            if !matches!(answer.status, 200 | 201) {
                return Err(format!("client {}: {write:?} came to {} {}", self.number, answer.status, answer.json));
            }
            self.notes.note(write, answer.json["data"]["id"].as_u64().unwrap_or_default());
            self.notes.acknowledged += 1;
            self.notes.under_way = None;
        }
    }

    fn draw(&mut self) -> Write {
        let kind = self.random.one(&Kind::ALL);
        self.marks += 1;
        let mark = match kind {
            // Each lead has a number of its own.
            Kind::Lead => format!("+407{}{:07}", self.number, self.marks),
            _ => format!("c{}m{}", self.number, self.marks),
        };
        let own: Vec<At> = self.notes.rows.keys().filter(|(of, _)| *of == kind).copied().collect();
        match self.random.pick(&own) {
            None => Write::Create(kind, mark),
            _ if kind == Kind::Lead => Write::Create(kind, mark),
            Some(at) if own.len() >= ROWS_MAX => Write::Delete(*at),
            Some(at) => match self.random.below(4) {
                0 => Write::Delete(*at),
                1 => Write::Update(*at, mark),
                _ => Write::Create(kind, mark),
            },
        }
    }
}

fn request(write: &Write, base: Base) -> (&'static str, String, Option<Value>) {
    let body = |kind, mark: &str| match kind {
        Kind::Tool => with(tool("look_up"), &json!({ "description": mark })),
        Kind::Assistant => with(assistant(), &json!({ "name": mark })),
        Kind::Campaign => with(campaign(base.assistant), &json!({ "name": mark })),
        Kind::Lead => lead(base.campaign, mark),
    };
    match write {
        Write::Create(Kind::Assistant, mark) => ("POST", "/user/assistant".into(), Some(body(Kind::Assistant, mark))),
        Write::Create(kind, mark) => ("POST", kind.path().into(), Some(body(*kind, mark))),
        Write::Update((kind, id), mark) => ("PUT", format!("{}/{id}", kind.path()), Some(body(*kind, mark))),
        Write::Delete((kind, id)) => ("DELETE", format!("{}/{id}", kind.path()), None),
    }
}
