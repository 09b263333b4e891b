//! Folders and labels (docs/api.md, Folders and labels): an assistant is in at most one folder, and has any number of
//! labels.
//!
//! Both are the same but for their words and for what an assistant holds of them: [`Grouping`] says which. How many
//! assistants one has is the size of a set in which assistants are filed (`assistant/rows.rs`).

pub mod tables;

use alloc::vec::Vec;

use crate::account::plan;
use crate::assistant::rows::{detach, facet_of_folder, facet_of_label};
use crate::assistant::tables::Assistant;
use crate::collection::{Facet, Query, count};
use crate::http::ctx::Ctx;
use crate::http::page;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::{Reply, message, message_data};
use crate::http::route::Handled;
use crate::id;
use crate::json::ToJson;
use crate::key::{self, Key, Kind, Unique};
use crate::record::{Errors, Rest, Stored};
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::view::{Order, Stop};
use tables::{Folder, FolderQuery, FolderRow, NewFolder};

const TAKEN: &str = "The name has already been taken.";

/// Folders or labels.
pub struct Grouping {
    kind: Kind,
    names: Unique,
    plural: &'static str,
    created: &'static str,
    updated: &'static str,
    deleted: &'static str,
    missing: &'static str,
    facet: fn(u32) -> Facet,
    leave: fn(&mut Assistant, u64),
}

/// Folders: an assistant is in one, or in none.
pub static FOLDERS: Grouping = Grouping {
    kind: Kind::Folder,
    names: Unique::FolderName,
    plural: "folders",
    created: "Folder created successfully",
    updated: "Folder updated successfully",
    deleted: "Folder deleted successfully",
    missing: "Folder not found",
    facet: facet_of_folder,
    leave: |assistant, _| assistant.folder_id = None,
};

/// Labels: an assistant has any number of them.
pub static LABELS: Grouping = Grouping {
    kind: Kind::Label,
    names: Unique::LabelName,
    plural: "labels",
    created: "Label created successfully",
    updated: "Label updated successfully",
    deleted: "Label deleted successfully",
    missing: "Label not found",
    facet: facet_of_label,
    leave: |assistant, id| assistant.label_ids.retain(|label| *label != id),
};

impl Grouping {
    /// `GET /user/folders`, `GET /user/labels`
    pub fn list(&self, ctx: &Ctx<'_>) -> Handled {
        let query: FolderQuery = ctx.asks()?;
        let account = ctx.account();
        let query = Query::page(Vec::new(), 0..u32::MAX, Order::Ascending, query.per_page, query.page);
        page::list(ctx, account, self.kind, &query, |count, row, out| {
            self.shown(account, count, FolderRow::read(Row::public_of(row)?)?)?.write(out);
            Ok(())
        })
    }

    /// `POST /user/folder`, `POST /user/label`
    pub fn create(&self, ctx: &Ctx<'_>) -> Handled {
        let new: NewFolder = ctx.body()?;
        let account = ctx.account();
        self.free(account, &new.name, None)?;
        ctx.plan_room(self.kind, self.plural, plan::of(account)?.folders.into(), Refusal::Forbidden)?;
        let (count, at) = account.allot(self.kind, ctx.now)?;
        account.put(self.name(account, &new.name), count.to_be_bytes().to_vec())?;
        let row = FolderRow { name: new.name, color: new.color, rest: Rest::default() };
        account.insert(self.kind, count, at, &Row::open(Vec::new(), row.to_json()))?;
        Ok(Reply::created(&message_data(self.created, &self.shown(account, count, row)?)))
    }

    /// `PUT`, `PATCH` of a folder or label
    pub fn update(&self, ctx: &Ctx<'_>) -> Handled {
        let (count, row) = ctx.named(self.kind, self.missing)?;
        let account = ctx.account();
        let before = FolderRow::read(&row.public)?;
        let new: NewFolder = ctx.update(FolderRow::members(&row.public)?)?;
        ctx.if_match(&self.shown(account, count, before.clone())?)?;
        self.free(account, &new.name, Some(count))?;
        account.delete(self.name(account, &before.name))?;
        account.put(self.name(account, &new.name), count.to_be_bytes().to_vec())?;
        let after = FolderRow { name: new.name, color: new.color, rest: before.rest };
        account.replace(self.kind, count, &row, &Row::open(Vec::new(), after.to_json()))?;
        Ok(Reply::ok(&message_data(self.updated, &self.shown(account, count, after)?)))
    }

    /// `DELETE` of a folder or label: its assistants stay.
    pub fn delete(&self, ctx: &Ctx<'_>) -> Handled {
        let account = ctx.account();
        if ctx.answered() == 0 {
            let (count, row) = ctx.named(self.kind, self.missing)?;
            ctx.if_match(&self.shown(account, count, FolderRow::read(&row.public)?)?)?;
        }
        let count = ctx.param(0).ok_or(Refusal::NotFound(self.missing))?;
        ctx.detached(self.kind, count, self.detach_all(account, count, ctx.now)?)?;
        Ok(Reply::ok(&message(self.deleted)))
    }

    /// Takes a slice of its assistants out of it, and deletes it once none is left; returns whether that is done.
    pub fn detach_all(&self, account: Scope<'_>, count: u32, now: Timestamp) -> Result<bool, Stop> {
        let Some(row) = account.find(self.kind, count)? else { return Ok(true) };
        let id = id::of(account.space(), count);
        let done = detach(account, &(self.facet)(count), now, |assistant| (self.leave)(assistant, id))?;
        if done {
            account.delete(self.name(account, &FolderRow::MEMBERS.name.read(&row.public)?))?;
            account.remove(self.kind, count, &row)?;
        }
        Ok(done)
    }

    fn shown(&self, account: Scope<'_>, number: u32, row: FolderRow) -> Result<Folder, Stop> {
        let assistants = count(account, Kind::Assistant, &(self.facet)(number))?;
        Ok(Folder {
            id: id::of(account.space(), number),
            name: row.name,
            color: row.color,
            assistants_count: u32::try_from(assistants).unwrap_or(u32::MAX),
        })
    }

    /// Returns the key of a name: of all spellings that differ in the case of letters, one.
    fn name(&self, account: Scope<'_>, name: &str) -> Key {
        key::unique(account.space(), self.names, name.to_lowercase().as_bytes())
    }

    /// Refuses a name that another folder, or label, has.
    fn free(&self, account: Scope<'_>, name: &str, own: Option<u32>) -> Result<(), Halt> {
        let holder = account.get(self.name(account, name))?;
        if holder.is_none() || holder == own.map(|count| count.to_be_bytes().to_vec()) {
            return Ok(());
        }
        let mut errors = Errors::default();
        errors.add("name", TAKEN);
        Err(Refusal::Invalid(errors).into())
    }
}

/// Returns folders or labels by their kind; `None` for any other kind.
pub fn of(kind: Kind) -> Option<&'static Grouping> {
    [&FOLDERS, &LABELS].into_iter().find(|grouping| grouping.kind == kind)
}
