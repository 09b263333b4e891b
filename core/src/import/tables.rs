//! API records of imports.

use alloc::string::String;
use alloc::vec::Vec;

use crate::key::Kind;
use crate::limits::{DRY_RUN_RECORDS, DRY_RUN_ROWS, IMPORT_ERRORS_MAX, MAPPING_MAX};
use crate::numbering::dialing;
use crate::record::{ColumnType, Json, Ref, any, boolean, choice, id, int, list, rows, text, texts};
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

choice! {
    /// What separates the cells of a line.
    pub enum Separator {
        /// A comma.
        Comma = ",",
        /// A semicolon.
        Semicolon = ";",
        /// A tab.
        Tab = "tab",
    }
}

impl Separator {
    /// Returns its byte in a file.
    pub const fn byte(self) -> u8 {
        match self {
            Self::Comma => b',',
            Self::Semicolon => b';',
            Self::Tab => b'\t',
        }
    }
}

choice! {
    /// How the characters of a file are written.
    pub enum Encoding {
        /// UTF-8.
        Utf8 = "utf-8",
        /// ISO 8859-1, with the further characters of Windows-1252.
        Latin1 = "latin-1",
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
        /// For `text/csv`: which column holds which member, as `Header:member` pairs separated by commas. Any other
        /// column becomes the variable of its name.
        mapping: Option<String> = text(1, MAPPING_MAX),
        /// For `text/csv`: what separates cells; found by itself if not given.
        separator: Option<Separator> = choice::<Separator>(),
        /// Country whose national numbers the file has, as an ISO 3166-1 alpha-2 code: with `DE`, `030 123456` is
        /// `+4930123456`. Without it every number must begin with `+`.
        default_country: Option<String> = text(2, 2).form(&dialing::COUNTRY),
        /// Whether the file is only looked at: nothing is stored.
        dry_run: bool = boolean().or_bool(false),
    }
}

record! {
    /// Query of `POST /user/do-not-call/import`.
    pub struct NumberImport {
        /// For `text/csv`: which columns hold `phone_number` and `reason`, as `Header:member` pairs separated by
        /// commas.
        mapping: Option<String> = text(1, MAPPING_MAX),
        /// For `text/csv`: what separates cells; found by itself if not given.
        separator: Option<Separator> = choice::<Separator>(),
        /// Country whose national numbers the file has, as an ISO 3166-1 alpha-2 code: with `DE`, `030 123456` is
        /// `+4930123456`. Without it every number must begin with `+`.
        default_country: Option<String> = text(2, 2).form(&dialing::COUNTRY),
        /// Whether the file is only looked at: nothing is stored.
        dry_run: bool = boolean().or_bool(false),
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

record! {
    /// What an import would make of a file.
    pub struct DryRun {
        /// Member that each column becomes; empty for `application/x-ndjson`.
        columns: Vec<String> = texts(&CELL, 0),
        /// What separates cells; null for `application/x-ndjson`.
        separator: Option<Separator> = choice::<Separator>(),
        /// How its characters are written.
        encoding: Encoding = choice::<Encoding>().required(),
        /// Cells of the first 10 records; of `application/x-ndjson` the lines.
        rows: Vec<Vec<String>> = rows(&ROW, DRY_RUN_ROWS),
        /// The records that would be rejected, among the first 100.
        errors: Vec<LineErrors> = list::<LineErrors>(DRY_RUN_RECORDS),
    }
}

/// Bounds of a cell.
static CELL: ColumnType = ColumnType::Text { min: 0, max: 65_536, format: None };
/// Cells of a record.
static ROW: ColumnType = ColumnType::List { of: &CELL, min: 0, max: 0, unique: None };
