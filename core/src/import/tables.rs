//! The tables of imports.

use alloc::string::String;
use alloc::vec::Vec;

use crate::key::Kind;
use crate::limits::{IMPORT_ERRORS_MAX, MAPPING_MAX};
use crate::record::{Json, Ref, any, boolean, choice, id, int, list, text};
use crate::{choice, record};

choice! {
    /// The states of an import.
    pub enum ImportStatus {
        /// Its lines are being read.
        Processing = "processing",
        /// Every line was read.
        Completed = "completed",
        /// It ended early; the lines that were not read count nowhere.
        Failed = "failed",
    }
}

record! {
    /// Query of `POST /user/leads/import`.
    pub struct LeadImport {
        /// The campaign of the leads.
        campaign_id: u64 = id().exists(Ref::Row(Kind::Campaign)).required(),
        /// Whether the campaign may have a number already; a line of `application/x-ndjson` may say otherwise.
        allow_dupplicate: bool = boolean().or_bool(false),
        /// For `text/csv`: which column is which member, as `Header=member` pairs separated by commas. Any other column is the variable of its name.
        mapping: Option<String> = text(1, MAPPING_MAX),
    }
}

record! {
    /// Query of `POST /user/do-not-call/import`.
    pub struct NumberImport {
        /// For `text/csv`: which column is `phone_number` and which is `reason`, as `Header=member` pairs separated by commas.
        mapping: Option<String> = text(1, MAPPING_MAX),
    }
}

record! {
    /// An import that was started.
    pub struct Started {
        /// Its id.
        id: u64 = id().required(),
        /// `processing`.
        status: ImportStatus = choice::<ImportStatus>().required(),
    }
}

record! {
    /// A line that was rejected.
    pub struct LineErrors {
        /// The line of the file on which the record starts, from 1.
        line: u32 = int(1, 4_294_967_295).required(),
        /// What is wrong, by field; `line` where it is the line itself.
        errors: Option<Json> = any(),
    }
}

record! {
    /// An import.
    pub struct Import {
        /// Its id.
        id: u64 = id().required(),
        /// Where it stands.
        status: ImportStatus = choice::<ImportStatus>().required(),
        /// Why it ended early.
        failure_reason: Option<String> = text(0, 255),
        /// Records that were read: created, duplicates and rejected ones.
        processed: u32 = int(0, 4_294_967_295).required(),
        /// Records that were taken.
        created: u32 = int(0, 4_294_967_295).required(),
        /// Records whose number is there already.
        duplicates: u32 = int(0, 4_294_967_295).required(),
        /// Records that are wrong.
        rejected: u32 = int(0, 4_294_967_295).required(),
        /// The first 1,000 rejected lines.
        errors: Vec<LineErrors> = list::<LineErrors>(IMPORT_ERRORS_MAX),
    }
}
