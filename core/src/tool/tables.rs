//! Tables of tools, and of the requests that run one.

use alloc::string::String;
use alloc::vec::Vec;

use crate::limits::{ENTRIES_MAX, URL_MAX};
use crate::record::{
    Iso, Json, Secret, Variables, any, boolean, choice, format, id, int, iso, list, object, text, variables,
};
use crate::{choice, record};

choice! {
    /// The method of the request to a tool's endpoint.
    pub enum ToolMethod {
        /// `GET`, parameters in the query.
        Get = "GET",
        /// `POST`, parameters in a JSON body.
        Post = "POST",
        /// `PUT`, parameters in a JSON body.
        Put = "PUT",
        /// `PATCH`, parameters in a JSON body.
        Patch = "PATCH",
        /// `DELETE`, parameters in the query.
        Delete = "DELETE",
    }
}

impl ToolMethod {
    /// Returns whether parameters go into a JSON body rather than into the query.
    pub const fn has_body(self) -> bool {
        matches!(self, Self::Post | Self::Put | Self::Patch)
    }
}

choice! {
    /// The type of a tool's parameter.
    pub enum ParameterType {
        /// A JSON string; `"test"` in a test.
        String = "string",
        /// A JSON number; `1` in a test.
        Number = "number",
        /// A JSON boolean; `true` in a test.
        Boolean = "boolean",
    }
}

record! {
    /// A header of the request to a tool's endpoint.
    pub struct ToolHeader stored as "a tool" {
        /// Name of the header; not one that the service sets itself, such as `Host`.
        name: String = text(1, 128).form(&format::HEADER_NAME).required(),
        /// Value of the header; `{{variable}}` in it is filled in.
        value: Secret = text(1, 2_048).form(&format::HEADER_VALUE).required(),
    }
}

choice! {
    /// How parameters are written into the body of a request.
    pub enum BodyFormat {
        /// A JSON object.
        Json = "json",
        /// `application/x-www-form-urlencoded`.
        Form = "form",
    }
}

record! {
    /// A field that every request of a tool carries.
    pub struct StaticField stored as "a tool" {
        /// Name of the field; none of a parameter.
        key: String = text(1, 255).required(),
        /// Its value, sent as it is.
        value: String = text(1, 2_048).required(),
    }
}

record! {
    /// A parameter that the model extracts from the conversation.
    pub struct Parameter stored as "a tool" {
        /// Name of the parameter, in the request and as `{name}` in the endpoint.
        name: String = text(2, 32).form(&format::PARAMETER_NAME).required(),
        /// JSON type of the parameter.
        r#type: ParameterType = choice::<ParameterType>().required(),
        /// Tells the model what to pass.
        description: String = text(3, 255).required(),
        /// Whether the model must pass it; not given: it must.
        required: Option<bool> = boolean().sparse(),
    }
}

record! {
    /// Body of `POST /user/tools`.
    pub struct NewTool {
        /// Name by which the model calls it.
        name: String = text(1, 64).form(&format::TOOL_NAME).required(),
        /// Tells the model when and how to use it.
        description: String = text(1, 255).required(),
        /// URL to request; `{parameter}` and `{{variable}}` in it are filled in.
        endpoint: String = text(1, URL_MAX).form(&format::ENDPOINT).required(),
        /// HTTP method of the request.
        method: ToolMethod = choice::<ToolMethod>().required(),
        /// Time the endpoint has to answer, seconds.
        timeout: u32 = int(1, 30).or_int(10),
        /// Headers of the request; `{{variable}}` in their values is filled in.
        headers: Vec<ToolHeader> = list::<ToolHeader>(ENTRIES_MAX),
        /// Parameters that the model extracts from the conversation and that are sent.
        schema: Vec<Parameter> = list::<Parameter>(ENTRIES_MAX).unique("name"),
        /// Fields that every request carries besides; with `GET` and `DELETE` in the query.
        static_fields: Vec<StaticField> = list::<StaticField>(ENTRIES_MAX).unique("key").sparse(),
        /// How parameters are written into the body of `POST`, `PUT` and `PATCH`; not given: as JSON.
        body_format: Option<BodyFormat> = choice::<BodyFormat>().clears().sparse(),
    }
}

record! {
    /// A mid-call tool: an HTTP request that the model can have made during a call.
    pub struct Tool stored as "a tool" {
        /// Id of the tool, as in `tool_ids`.
        id: u64 = id().required(),
        /// Name by which the model calls it.
        name: String = text(0, 64).required(),
        /// Tells the model when and how to use it.
        description: String = text(0, 255).required(),
        /// URL to request; `{parameter}` and `{{variable}}` in it are filled in.
        endpoint: String = text(0, URL_MAX).required(),
        /// HTTP method of the request.
        method: ToolMethod = choice::<ToolMethod>().required(),
        /// Time the endpoint has to answer, seconds.
        timeout: u32 = int(1, 30).required(),
        /// Headers of the request; values are masked for a read-only key.
        headers: Vec<ToolHeader> = list::<ToolHeader>(ENTRIES_MAX),
        /// Parameters that the model extracts from the conversation and that are sent.
        schema: Vec<Parameter> = list::<Parameter>(ENTRIES_MAX),
        /// Fields that every request carries besides; shown where they were set.
        static_fields: Vec<StaticField> = list::<StaticField>(ENTRIES_MAX).sparse(),
        /// How parameters are written into a body; shown where it was set.
        body_format: Option<BodyFormat> = choice::<BodyFormat>().sparse(),
        /// Time of creation, UTC.
        created_at: Iso = iso().required(),
        /// Time of the last change, UTC; that of creation until then.
        updated_at: Iso = iso().required(),
    }
}

record! {
    /// Body of `POST /engine/calls/{id}/tools/{name}` and of a tool's test.
    pub struct Arguments {
        /// Arguments by parameter name; those not in the schema are not sent.
        arguments: Variables = variables(),
    }
}

record! {
    /// The request that a test made.
    pub struct TestedRequest {
        /// HTTP method.
        method: String = text(0, 0).required(),
        /// URL with its placeholders filled in.
        url: String = text(0, 0).required(),
        /// Headers, by name; what of their values is secret is masked.
        headers: Option<Json> = any(),
        /// Body; empty for none.
        body: String = text(0, 0).required(),
    }
}

record! {
    /// Answer of a tool's endpoint to a test.
    pub struct ToolTest {
        /// HTTP status of the answer.
        status: u32 = int(100, 599).required(),
        /// Time from the request to the end of the answer, milliseconds.
        duration_ms: u64 = id().required(),
        /// Headers of the answer, by name.
        headers: Option<Json> = any(),
        /// Body of the answer, cut at 1 MiB.
        body: String = text(0, 0).required(),
        /// The request that was made.
        request: TestedRequest = object::<TestedRequest>().required(),
    }
}
