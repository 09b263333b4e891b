//! Filters of the assistants' lists. Type, folder and labels are sets; status, name and "in no folder" are read from the
//! rows, of which a plan bounds the number.

use alloc::string::String;
use alloc::vec::Vec;

use super::rows::{facet_of_folder, facet_of_label, facet_of_type};
use super::tables::{Assistant, Direction, Status};
use crate::collection::{self, Facet, Query};
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::key::Kind;
use crate::limits::{FILTERED_BYTES_MAX, FILTERED_ROWS, PLAN_ROWS_MAX};
use crate::record::{Errors, MemberTuple};
use crate::store::{Row, Scope};
use crate::view::{Order, Stop};

const TOO_LARGE: &str = "cannot be asked of so much stored text: narrow the list by folder_id, label_id or type.";

/// What a list of assistants is narrowed to.
pub(super) struct AssistantFilter {
    /// Only assistants of this type.
    pub r#type: Option<Direction>,
    /// Only assistants of this status.
    pub status: Option<Status>,
    /// Only assistants in the folder with this id; 0: in none.
    pub folder: Option<u64>,
    /// Only assistants with all labels of these ids.
    pub labels: Vec<u64>,
    /// Only assistants whose name contains this, whatever the case of its letters.
    pub search: Option<String>,
}

impl AssistantFilter {
    /// Returns the sets that the assistants must be in. An id that is not the caller's own names an empty one.
    pub fn facets(&self, ctx: &Ctx<'_>) -> Vec<Facet> {
        let own = |id: u64| ctx.own(id).unwrap_or(0);
        let mut facets: Vec<Facet> = self.r#type.map(facet_of_type).into_iter().collect();
        facets.extend(self.folder.filter(|id| *id > 0).map(|id| facet_of_folder(own(id))));
        facets.extend(self.labels.iter().map(|id| facet_of_label(own(*id))));
        facets
    }

    /// Returns whether rows must be read to tell which assistants pass.
    pub const fn reads_rows(&self) -> bool {
        self.status.is_some() || self.search.is_some() || matches!(self.folder, Some(0))
    }

    /// Returns the assistants of these sets that pass, oldest first; 422 where more than [`FILTERED_BYTES_MAX`] would have
    /// to be read.
    pub fn select(&self, account: Scope<'_>, facets: &[Facet]) -> Result<Vec<u32>, Halt> {
        let query = Query::of(facets.to_vec(), Order::Ascending, 0, PLAN_ROWS_MAX);
        let ids = collection::page(account, Kind::Assistant, &query)?.ids;
        if !self.reads_rows() {
            return Ok(ids);
        }
        let part = self.search.as_ref().map(|text| text.to_lowercase());
        let (mut passed, mut bytes) = (Vec::new(), 0);
        for some in ids.chunks(FILTERED_ROWS) {
            account.each_row(Kind::Assistant, some, |count, row| {
                bytes += row.len();
                if self.passes(part.as_deref(), row)? {
                    passed.push(count);
                }
                Ok(())
            })?;
            if bytes > FILTERED_BYTES_MAX {
                return Err(self.too_large());
            }
        }
        Ok(passed)
    }

    /// Returns whether a stored assistant has the status and the part of a name, in lower case, and is in no folder where
    /// that is asked.
    fn passes(&self, part: Option<&str>, row: &[u8]) -> Result<bool, Stop> {
        let members = (Assistant::MEMBERS.name, Assistant::MEMBERS.status, Assistant::MEMBERS.folder_id);
        let (name, status, folder) = members.read(Row::public_of(row)?)?;
        let is_named = part.is_none_or(|part| name.to_lowercase().contains(part));
        let is_status = self.status.is_none_or(|asked| asked == status);
        Ok(is_named && is_status && (self.folder != Some(0) || folder.is_none()))
    }

    /// Refuses to read so much, on the parameter that asks for it.
    fn too_large(&self) -> Halt {
        let asked = [("search", self.search.is_some()), ("status", self.status.is_some()), ("folder_id", true)];
        let mut errors = Errors::default();
        for (name, _) in asked.iter().filter(|(_, is_asked)| *is_asked).take(1) {
            errors.say(name, TOO_LARGE);
        }
        Refusal::Invalid(errors).into()
    }
}
