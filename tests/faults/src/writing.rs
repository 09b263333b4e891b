//! Clients that write until the server is gone, and note what was acknowledged.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use serde_json::{Value, json};
use switchboard_sim::random::Random;
use switchboard_tests::house::{assistant, campaign, lead, tool, with};

use crate::wire::Line;

/// Rows of a kind that one client has at once: a client that has them deletes one before it makes another.
const ROWS_MAX: usize = 6;

/// What a client makes, changes and deletes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A mid-call tool.
    Tool,
    /// An assistant.
    Assistant,
    /// A campaign.
    Campaign,
    /// Leads are only made: all of all time are there.
    Lead,
}

impl Kind {
    const ALL: [Self; 4] = [Self::Tool, Self::Assistant, Self::Campaign, Self::Lead];

    /// Where its rows are made, and listed.
    pub fn path(self) -> &'static str {
        match self {
            Self::Tool => "/user/tools",
            Self::Assistant => "/user/assistants",
            Self::Campaign => "/user/campaigns",
            Self::Lead => "/user/leads",
        }
    }

    /// The member that tells one version of a row from another.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Tool => "description",
            Self::Assistant | Self::Campaign => "name",
            Self::Lead => "phone_number",
        }
    }
}

/// A row: its kind and id.
pub type At = (Kind, u64);

/// A write, and what is known of it.
#[derive(Clone, Debug)]
pub enum Write {
    /// A row with a mark.
    Create(Kind, String),
    /// Another mark.
    Update(At, String),
    /// No row.
    Delete(At),
}

/// What one client's rows are: the last acknowledged mark of each.
#[derive(Clone, Debug, Default)]
pub struct Notes {
    /// By row.
    pub rows: BTreeMap<At, String>,
    /// Writes that were acknowledged.
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

    /// Learns from what is there what came of the write under way.
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

/// What the clients' rows refer to.
#[derive(Clone, Copy)]
pub struct Base {
    /// Whom campaigns call with.
    pub assistant: u64,
    /// What leads belong to.
    pub campaign: u64,
}

/// A client that writes.
pub struct Client {
    /// What is known of its writes.
    pub notes: Notes,
    number: u64,
    random: Random,
    marks: u64,
}

impl Client {
    /// A client that wrote nothing.
    pub fn new(number: u64, random: Random) -> Self {
        Self { notes: Notes::default(), number, random, marks: 0 }
    }

    /// Writes until the server is gone; an error is an answer that should not have come.
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
            // A number of its own for each lead.
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
