//! Knowledgebases as they are stored; state and counts are derived from their documents and assistants.

use alloc::string::String;
use alloc::vec::Vec;

use super::tables::NewBase;
use crate::json::ToJson;
use crate::key::Kind;
use crate::record;
use crate::record::{Iso, iso, text};
use crate::store::{Row, Scope};
use crate::view::Stop;

record! {
    /// A knowledgebase as it is stored.
    pub struct BaseRow stored as "a knowledgebase" {
        /// Name, shown in lists.
        name: String = text(0, 255).required(),
        /// What it is about.
        description: Option<String> = text(0, 255),
        /// When it was created.
        created_at: Iso = iso().required(),
        /// When its name or description last changed.
        updated_at: Iso = iso().required(),
    }
}

impl BaseRow {
    /// Builds its row, without facets: no list filters knowledgebases.
    pub fn row(&self) -> Row {
        Row::open(Vec::new(), self.to_json())
    }

    /// Returns the knowledgebase with a new name and description.
    pub fn with(self, new: NewBase, updated_at: Iso) -> Self {
        Self { name: new.name, description: new.description, updated_at, ..self }
    }
}

/// Returns the knowledgebase's name, or `None` if there is no such knowledgebase.
pub fn name_of(account: Scope<'_>, count: u32) -> Result<Option<String>, Stop> {
    account.find(Kind::Knowledgebase, count)?.map(|row| BaseRow::MEMBERS.name.read(&row.public)).transpose()
}
