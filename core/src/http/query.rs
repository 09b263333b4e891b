//! Query strings: parsing, and their pairs as sent.

use alloc::borrow::Cow;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use percent_encoding::percent_decode_str;

use super::refusal::Refusal;
use crate::json::{Members, Value};
use crate::limits::QUERY_PARAMETERS_MAX;
use crate::record::format::dialed;

/// Parses a query; if a parameter is repeated, the last one counts (docs/api.md, Query parameters). More than
/// [`QUERY_PARAMETERS_MAX`] parameters or invalid UTF-8 are refused with 400.
pub fn parse(query: &str) -> Result<Members, Refusal> {
    let mut members = Members::default();
    for (at, pair) in pairs(query).enumerate() {
        if at == QUERY_PARAMETERS_MAX {
            return Err(Refusal::BadRequest(alloc::format!(
                "The query has more than {QUERY_PARAMETERS_MAX} parameters."
            )));
        }
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        members.set(&decode(name)?, Value::Text(decode(value)?));
    }
    Ok(members)
}

/// Returns the non-empty pairs of a query as sent, still encoded.
pub fn pairs(query: &str) -> impl Iterator<Item = &str> {
    query.split('&').filter(|pair| !pair.is_empty())
}

/// Returns every value of a parameter that may be repeated, but empty ones.
pub fn all(query: &str, name: &str) -> Result<Vec<Value>, Refusal> {
    let mut values = Vec::new();
    for (parameter, value) in pairs(query).filter_map(|pair| pair.split_once('=')) {
        if decode(parameter)? == name && !value.is_empty() {
            values.push(Value::Text(decode(value)?));
        }
    }
    Ok(values)
}

/// Returns the pairs as sent, except those of one parameter, for the URLs of a pagination envelope.
pub fn without<'q>(query: &'q str, name: &'q str) -> impl Iterator<Item = &'q str> {
    pairs(query).filter(move |pair| pair.split('=').next() != Some(name))
}

fn decode(text: &str) -> Result<String, Refusal> {
    let spaced: Cow<'_, str> = if text.contains('+') { text.replace('+', " ").into() } else { text.into() };
    let decoded = percent_decode_str(&spaced).decode_utf8();
    decoded.map(|text| text.to_string()).map_err(|_| Refusal::BadRequest("The query is not valid UTF-8.".into()))
}
/// Returns the number of a query as it is stored: its `+` may be missing or have been decoded to a space, and it may be
/// written with blanks, dots, dashes and brackets.
pub fn phone_number(text: &str) -> String {
    dialed(&alloc::format!("+{}", text.trim().trim_start_matches('+')))
}
