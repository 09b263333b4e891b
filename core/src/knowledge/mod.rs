//! Knowledgebases and their documents (docs/api.md, Knowledgebases).

mod bases;
mod documents;
mod find;
mod ingest;
pub mod links;
mod progress;
pub mod robots;
mod rows;
pub mod search;
pub mod states;
pub mod tables;

pub use bases::{all, create, delete, detach_all, read, update};
pub use documents::{
    all as all_documents, create as create_document, delete as delete_document, facet_of_status, read as read_document,
    update as update_document,
};
pub use find::{Passage, find, found};
pub use ingest::{drop_passages, give_up, index, ingest};
pub use rows::name_of;
