//! [`Components`]: what the `OpenAPI` document says once and refers to, under names that generators make types of.
//!
//! A record's schema is named as its table. Where one table is used in several ways, replies have its name, then
//! creations; the others add what they are. It knows no operation.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use crate::http::route::{BodyKind, Route};
use crate::json::{Members, Value};
use crate::record::schema::{self, Purpose, TableUse, object, string};

/// A kind of component: the member of `components` that holds it.
#[derive(Clone, Copy)]
pub enum Section {
    /// Schemas.
    Schemas,
    /// Responses.
    Responses,
    /// Headers of responses.
    Headers,
    /// Parameters.
    Parameters,
}

impl Section {
    const fn name(self) -> &'static str {
        match self {
            Self::Schemas => "schemas",
            Self::Responses => "responses",
            Self::Headers => "headers",
            Self::Parameters => "parameters",
        }
    }
}

/// The components of a document, gathered while its operations are described.
pub struct Components {
    /// The ways in which each table is used, by its name.
    uses: BTreeMap<&'static str, BTreeSet<(Purpose, bool)>>,
    sections: BTreeMap<&'static str, BTreeMap<String, Value>>,
}

impl Components {
    /// Gathers the schemas of all records that these operations take and show.
    pub fn of(routes: &[Route]) -> Self {
        let mut all = Vec::new();
        for route in routes {
            all.extend(body(route));
            let shown = [Some(route.shape), route.looks].into_iter().flatten().filter_map(|shape| shape.table());
            all.extend(shown.map(|table| TableUse::of(table, Purpose::Reply)));
        }
        let mut components = Self { uses: BTreeMap::new(), sections: BTreeMap::new() };
        let mut at = 0;
        while let Some(used) = all.get(at).copied() {
            let ways = components.uses.entry(used.table.name).or_default();
            if ways.insert((used.purpose, used.strict)) {
                all.extend(used.nested());
            }
            at += 1;
        }
        for used in &all {
            let schema = schema::of(used, &|nested| components.record(nested));
            components.named(Section::Schemas, &components.name(used), schema);
        }
        components
    }

    /// Returns a reference to the schema of a record.
    pub fn record(&self, used: &TableUse) -> Value {
        reference(Section::Schemas, &self.name(used))
    }

    /// Keeps a component under a name, and returns a reference to it; the same name always means the same.
    pub fn named(&mut self, section: Section, name: &str, component: Value) -> Value {
        let kept = self.sections.entry(section.name()).or_default();
        debug_assert!(kept.get(name).is_none_or(|other| *other == component), "two components are named {name}");
        kept.insert(name.to_string(), component);
        reference(section, name)
    }

    /// Returns all components as members of `components`.
    pub fn members(self) -> Members {
        let sections = self
            .sections
            .into_iter()
            .map(|(name, kept)| (name.to_string(), Value::Object(Members(kept.into_iter().collect()))));
        Members(sections.collect())
    }

    fn name(&self, used: &TableUse) -> String {
        let TableUse { table, purpose, strict, .. } = *used;
        let ways = &self.uses[table.name];
        let first = [Purpose::Reply, Purpose::Create, Purpose::Update]
            .into_iter()
            .find_map(|purpose| ways.range((purpose, false)..=(purpose, true)).next());
        let (way, name) = ((purpose, strict), table.name);
        match purpose {
            _ if first == Some(&way) => name.to_string(),
            _ if strict => format!("{name}Strict"),
            Purpose::Update => format!("{}Changes", name.trim_start_matches("New")),
            _ => format!("{name}Input"),
        }
    }
}

/// Returns how an operation uses the table of its body; `None` where it takes none.
pub fn body(route: &Route) -> Option<TableUse> {
    let (table, purpose) = match route.body {
        BodyKind::None | BodyKind::File(..) | BodyKind::Object(..) => return None,
        BodyKind::Json(table, purpose) => (table, purpose),
        BodyKind::Document(table) => (table, Purpose::Create),
    };
    Some(TableUse { strict: route.strict, ..TableUse::of(table, purpose) })
}

fn reference(section: Section, name: &str) -> Value {
    object([("$ref", string(&format!("#/components/{}/{name}", section.name())))])
}
