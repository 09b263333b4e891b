//! Knowledgebases as they are stored; what is shown of one follows from its documents as well.

use alloc::string::String;
use alloc::vec::Vec;

use super::tables::NewBase;
use crate::json::ToJson;
use crate::record;
use crate::record::{Iso, iso, text};
use crate::store::Row;

record! {
    /// A knowledgebase.
    pub struct BaseRow stored as "a knowledgebase" {
        /// Its name.
        name: String = text(0, 255).required(),
        /// What it is about.
        description: Option<String> = text(0, 255),
        /// When it was made.
        created_at: Iso = iso().required(),
        /// When it last changed.
        updated_at: Iso = iso().required(),
    }
}

impl BaseRow {
    /// Its row; no list filters by anything.
    pub fn row(&self) -> Row {
        Row::open(Vec::new(), self.to_json())
    }

    /// The same with another name and description.
    pub fn with(self, new: NewBase, updated_at: Iso) -> Self {
        Self { name: new.name, description: new.description, updated_at, ..self }
    }
}
