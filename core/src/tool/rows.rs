//! Stored tools, in the form that the API shows.

use alloc::string::String;
use alloc::vec::Vec;

use super::{FunctionParameter, NewTool, Tool, function_of};
use crate::collection::Facet;
use crate::http::ctx::Ctx;
use crate::json::{ToJson, Value};
use crate::key::Kind;
use crate::record::{Iso, Rest, Secret, Stored};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::Stop;

/// Facet of the tools of a name; the tools of one assistant must differ in it.
pub fn facet_of_name(name: &str) -> Facet {
    Facet::new(1, name.as_bytes())
}

/// Reads the name of a tool from its stored bytes.
pub fn name_of(row: &[u8]) -> Result<String, Stop> {
    Tool::MEMBERS.name.read(Row::public_of(row)?)
}

/// Loads a tool of the account.
pub fn find(account: Scope<'_>, count: u32) -> Result<Option<Tool>, Stop> {
    account.find(Kind::Tool, count)?.map(|row| Tool::read(&row.public)).transpose()
}

/// Builds the row of a tool.
pub fn row(tool: &Tool) -> Row {
    Row::open([facet_of_name(&tool.name)].into(), tool.to_json())
}

impl Tool {
    /// Builds a tool from the body of its creation.
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
            static_fields: new.static_fields,
            body_format: new.body_format,
            created_at: Iso(at),
            updated_at: Iso(at),
            rest: Rest::default(),
        }
    }

    /// Returns the tool with the settings of an update.
    pub fn changed(self, new: NewTool, now: Timestamp) -> Self {
        let updated_at = Iso(now.max(self.updated_at.0));
        Self { created_at: self.created_at, updated_at, rest: self.rest, ..Self::new(new, self.id, now) }
    }
}

/// Returns the JSON of a tool for the caller; header values are `****` for a read-only key.
pub fn shown(ctx: &Ctx<'_>, public: &[u8]) -> Result<Vec<u8>, Stop> {
    if !ctx.caller().read_only {
        return Ok(public.to_vec());
    }
    let mut tool = Tool::read(public)?;
    tool.headers.iter_mut().for_each(|header| header.value = Secret("****".into()));
    Ok(tool.to_json())
}

/// Returns a tool as a JSON-Schema function, for the model.
pub fn function(tool: &Tool) -> Value {
    let parameters = tool.schema.iter().map(|parameter| FunctionParameter {
        required: parameter.required.unwrap_or(true),
        ..FunctionParameter::required((&parameter.name, parameter.r#type.word(), &parameter.description))
    });
    function_of(&tool.name, &tool.description, parameters)
}
