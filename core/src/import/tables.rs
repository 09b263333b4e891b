//! API records of imports.

use alloc::string::String;
use alloc::vec::Vec;

use crate::key::Kind;
use crate::limits::{IMPORT_ERRORS_MAX, MAPPING_MAX};
use crate::record::{Json, Ref, any, boolean, choice, id, int, list, text};
use crate::{choice, record};

choice! {
    /// State of an import.
    pub enum ImportStatus {
        /// Its records are being read.
        Processing = "processing",
        /// Every record was read.
        Completed = "completed",
        /// It ended early; records that were not read are not counted.
        Failed = "failed",
    }
}

record! {
    /// Query of `POST /user/leads/import`.
    pub struct LeadImport {
        /// Id of the campaign that the leads are created in.
        campaign_id: u64 = id().exists(Ref::Row(Kind::Campaign)).required(),
        /// Whether a lead is created even if the campaign already has its number; a line of `application/x-ndjson` may
        /// override it.
        allow_dupplicate: bool = boolean().or_bool(false),
        /// For `text/csv`: which column holds which member, as `Header=member` pairs separated by commas. Any other
        /// column becomes the variable of its name.
        mapping: Option<String> = text(1, MAPPING_MAX),
    }
}

record! {
    /// Query of `POST /user/do-not-call/import`.
    pub struct NumberImport {
        /// For `text/csv`: which columns hold `phone_number` and `reason`, as `Header=member` pairs separated by
        /// commas.
        mapping: Option<String> = text(1, MAPPING_MAX),
    }
}

record! {
    /// An import that was just started.
    pub struct Started {
        /// Id of the import, to ask for its progress with.
        id: u64 = id().required(),
        /// State of the import, always `processing`.
        status: ImportStatus = choice::<ImportStatus>().required(),
    }
}

record! {
    /// A rejected record and its errors.
    pub struct LineErrors {
        /// The line of the file on which the record starts, from 1.
        line: u32 = int(1, 4_294_967_295).required(),
        /// What is wrong, a list of texts by field; under `line` what concerns the whole record.
        errors: Option<Json> = any(),
    }
}

record! {
    /// Progress or result of an import.
    pub struct Import {
        /// Id of the import.
        id: u64 = id().required(),
        /// Current state of the import.
        status: ImportStatus = choice::<ImportStatus>().required(),
        /// Why it ended early; null unless it failed.
        failure_reason: Option<String> = text(0, 255),
        /// Records read so far: created, duplicate and rejected ones.
        processed: u32 = int(0, 4_294_967_295).required(),
        /// Records that became a lead or a number.
        created: u32 = int(0, 4_294_967_295).required(),
        /// Records left out because their number is there already.
        duplicates: u32 = int(0, 4_294_967_295).required(),
        /// Records left out because of errors.
        rejected: u32 = int(0, 4_294_967_295).required(),
        /// The first rejected records, at most 1,000, in the order of the file.
        errors: Vec<LineErrors> = list::<LineErrors>(IMPORT_ERRORS_MAX),
    }
}
