//! Tools as they are stored: as the API shows them.

use alloc::string::String;
use alloc::vec::Vec;

use super::{NewTool, Tool, schema_of};
use crate::collection::Facet;
use crate::http::ctx::Ctx;
use crate::json::{ToJson, Value};
use crate::key::Kind;
use crate::record::{Iso, Rest, Secret, Stored};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;

/// Tools by name: what must differ among the tools of one assistant.
pub fn facet_of_name(name: &str) -> Facet {
    Facet::new(1, name.as_bytes())
}

/// The name of a tool, from its stored bytes.
pub fn name_of(row: &[u8]) -> Result<String, Stop> {
    Tool::MEMBERS.name.read(Row::public_of(row)?)
}

/// A tool of the account.
pub fn find(account: Scope<'_>, count: u32) -> Result<Option<Tool>, Stop> {
    account.find(Kind::Tool, count)?.map(|row| Tool::read(&row.public)).transpose()
}

/// The row of a tool.
pub fn row(tool: &Tool) -> Row {
    Row::open([facet_of_name(&tool.name)].into(), tool.to_json())
}

impl Tool {
    /// A new tool.
    pub fn new(new: NewTool, id: u64, at: Timestamp) -> Self {
        Self {
            id,
            name: new.name,
            description: new.description,
            endpoint: new.endpoint,
            method: new.method,
            timeout: new.timeout,
            headers: new.headers,
            schema: new.schema,
            created_at: Iso(at),
            updated_at: Iso(at),
            rest: Rest::default(),
        }
    }

    /// The tool with other settings.
    pub fn changed(self, new: NewTool, now: Timestamp) -> Self {
        let updated_at = Iso(now.max(self.updated_at.0));
        Self { created_at: self.created_at, updated_at, rest: self.rest, ..Self::new(new, self.id, now) }
    }
}

/// What a caller sees of a stored tool: a read-only key sees that headers are there, not their values.
pub fn shown(ctx: &Ctx<'_>, public: &[u8]) -> Result<Vec<u8>, Stop> {
    if !ctx.caller().read_only {
        return Ok(public.to_vec());
    }
    let mut tool = Tool::read(public)?;
    tool.headers.iter_mut().for_each(|header| header.value = Secret("****".into()));
    Ok(tool.to_json())
}

/// A tool as a JSON-Schema function.
pub fn function(tool: &Tool) -> Value {
    let parameters: Vec<(&str, &str, &str)> =
        tool.schema.iter().map(|p| (&*p.name, p.r#type.word(), &*p.description)).collect();
    schema_of(&tool.name, &tool.description, &parameters)
}
