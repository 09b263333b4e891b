//! Which resources an answer shows, and whether they still exist: a kept answer that shows a deleted one is refused
//! with 410.
//!
//! An answer shows a resource if it contains its id. Ids are never reused, so a missing resource was deleted. No index
//! is stored: the ids are read from the kept answer when it is requested again.

use alloc::vec::Vec;

use crate::http::route::{ReplyForm, Route};
use crate::id;
use crate::json::{self, Members, Value};
use crate::key::{self, Kind, Space};
use crate::lead;
use crate::record::{ColumnType as ColumnKind, Table};
use crate::root;
use crate::store::Scope;
use crate::view::Stop;

/// Members that hold an id or a list of ids, and the kind they refer to.
const REFERENCES: [(&str, Kind); 8] = [
    ("assistant_id", Kind::Assistant),
    ("call_id", Kind::Call),
    ("campaign_id", Kind::Campaign),
    ("knowledgebase_id", Kind::Knowledgebase),
    ("lead_id", Kind::Lead),
    ("phone_number_id", Kind::Number),
    ("phone_number_ids", Kind::Number),
    ("tool_ids", Kind::Tool),
];

/// Members that hold a resource or a list of resources, and their kind.
const NESTED: [(&str, Kind); 4] = [
    ("assistant", Kind::Assistant),
    ("call", Kind::Call),
    ("campaign", Kind::Campaign),
    ("secondary_contacts", Kind::Lead),
];

/// Member with the UUID of a conversation.
const CONVERSATION: &str = "conversation_id";

/// Member with the list of calls that an engine claimed.
const CLAIMED: &str = "calls";

/// A resource by kind and public id, which includes its account.
type Shown = (Kind, u64);

/// Returns whether a kept answer of an operation shows a resource that no longer exists, or tells of the one in its path.
pub fn is_deleted(scope: Scope<'_>, route: &Route, params: &[&str], body: &[u8]) -> Result<bool, Stop> {
    if route.keyed_by_path && !params.first().map_or(Ok(true), |uuid| is_conversation(scope, uuid))? {
        return Ok(true);
    }
    let Ok(Value::Object(answer)) = json::parse(body) else { return Ok(false) };
    if let Some(uuid) = answer.get(CONVERSATION).and_then(Value::as_text)
        && !is_conversation(scope, uuid)?
    {
        return Ok(true);
    }
    for (kind, id) in of(&answer, route.made.or(route.about)) {
        let (account, count) = id::split(id);
        let account = root::space_of(scope, account);
        let is_there = match kind {
            // The leads of a deleted campaign are removed in slices, so their rows may still exist.
            Kind::Lead => lead::is_there(account, count)?,
            kind => account.get(key::row(account.space(), kind, count))?.is_some(),
        };
        if !is_there {
            return Ok(true);
        }
    }
    Ok(false)
}

fn is_conversation(scope: Scope<'_>, uuid: &str) -> Result<bool, Stop> {
    let Space::Account(account) = scope.space() else { return Ok(false) };
    let Some(count) = id::count_of_uuid(account, uuid) else { return Ok(false) };
    Ok(scope.get(key::row(scope.space(), Kind::Conversation, count))?.is_some())
}

/// Returns whether the answers of an operation may show a resource that can be deleted.
pub fn may_show(route: &Route) -> bool {
    if route.keyed_by_path {
        return true;
    }
    match route.shape {
        ReplyForm::Bare(table) | ReplyForm::Data(table) | ReplyForm::MessageData(table) => {
            table_shows(table, route.made.or(route.about).is_some())
        }
        _ => false,
    }
}

fn table_shows(table: &Table, has_own: bool) -> bool {
    table.columns.iter().any(|column| {
        let is_reference = REFERENCES.iter().chain(&NESTED).any(|(name, _)| column.name == *name);
        let is_data =
            matches!(column.spec.kind, ColumnKind::Record(data) if column.name == "data" && table_shows(data, has_own));
        // Ids of resources are numbers; a text is the id of something within one, such as a command.
        let is_own = column.name == "id" && matches!(column.spec.kind, ColumnKind::Int { .. });
        is_reference || is_data || is_own && has_own || [CLAIMED, CONVERSATION].contains(&column.name)
    })
}

/// Returns the resources that an answer shows. Content written by users, such as variables, is skipped.
fn of(answer: &Members, about: Option<Kind>) -> Vec<Shown> {
    let mut shown = Vec::new();
    add(answer, about, &mut shown);
    if let Some(Value::Object(data)) = answer.get("data") {
        add(data, about, &mut shown);
    }
    for claimed in answer.get(CLAIMED).and_then(Value::as_list).unwrap_or_default() {
        claimed.as_object().into_iter().for_each(|claimed| add(claimed, None, &mut shown));
    }
    shown
}

fn add(members: &Members, kind: Option<Kind>, shown: &mut Vec<Shown>) {
    let own = kind.and_then(|kind| Some((kind, members.get("id")?.as_u64()?)));
    shown.extend(own);
    for (name, kind) in REFERENCES {
        let value = members.get(name);
        let ids = value.and_then(Value::as_list).unwrap_or_default().iter().chain(value);
        shown.extend(ids.filter_map(Value::as_u64).map(|id| (kind, id)));
    }
    for (name, kind) in NESTED {
        let value = members.get(name);
        let nested = value.and_then(Value::as_list).unwrap_or_default().iter().chain(value);
        nested.filter_map(Value::as_object).for_each(|nested| add(nested, Some(kind), shown));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_found_where_the_service_wrote_them() {
        let answer =
            br#"{"message":"x","data":{"id":1,"campaign_id":2,"variables":{"call_id":9,"id":9},"campaign":{"id":2},
            "secondary_contacts":[{"id":3,"variables":{"lead_id":9}}],"assistant_id":null,"phone_number_ids":[4,5]},
            "headers":[{"id":9}],"calls":[{"call":{"id":6,"assistant_id":7},"assistant":{"id":7}}]}"#;
        let Ok(Value::Object(answer)) = json::parse(answer) else { panic!("an object") };
        let mut found = of(&answer, Some(Kind::Lead));
        found.sort_unstable();
        found.dedup();
        let want = [
            (Kind::Assistant, 7),
            (Kind::Number, 4),
            (Kind::Number, 5),
            (Kind::Call, 6),
            (Kind::Campaign, 2),
            (Kind::Lead, 1),
            (Kind::Lead, 3),
        ];
        assert_eq!(found, want);
        assert_eq!(of(&answer, None).iter().filter(|(_, id)| *id == 1).count(), 0, "an import's id is no resource");
    }
}
