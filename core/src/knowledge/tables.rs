//! The tables of knowledgebases and documents.

use alloc::string::String;
use alloc::vec::Vec;

use crate::limits::{ENTRIES_MAX, URL_MAX};
use crate::record::{Iso, choice, format, id, int, iso, list, one_of, text};
use crate::{choice, record};

choice! {
    /// The states of a knowledgebase, derived from its documents.
    pub enum BaseStatus {
        /// It has no documents.
        Empty = "empty",
        /// Some document is being processed.
        Processing = "processing",
        /// All documents are ready.
        Active = "active",
        /// Some document failed.
        Failed = "failed",
    }
}

impl BaseStatus {
    /// For people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Processing => "Processing",
            Self::Active => "Active",
            Self::Failed => "Failed",
        }
    }
}

choice! {
    /// The states of a document.
    pub enum DocumentStatus {
        /// Its text is being read.
        Processing = "processing",
        /// It is ready.
        Active = "active",
        /// Its text could not be read.
        Failed = "failed",
    }
}

impl DocumentStatus {
    /// For people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Processing => "Processing",
            Self::Active => "Active",
            Self::Failed => "Failed",
        }
    }
}

choice! {
    /// What a document is made from.
    pub enum DocumentType {
        /// Pages of a website.
        Website = "website",
        /// A PDF file.
        Pdf = "pdf",
        /// A text file.
        Txt = "txt",
        /// A Word file.
        Docx = "docx",
    }
}

impl DocumentType {
    /// For people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Website => "Website",
            Self::Pdf => "PDF",
            Self::Txt => "TXT",
            Self::Docx => "DOCX",
        }
    }
}

record! {
    /// Body of `POST` and `PUT` of a knowledgebase.
    pub struct NewBase {
        /// Its name.
        name: String = text(1, 255).required(),
        /// What it is about.
        description: Option<String> = text(1, 255).clears(),
    }
}

record! {
    /// A knowledgebase.
    pub struct Base {
        /// Its id.
        id: u64 = id().required(),
        /// Its name.
        name: String = text(0, 255).required(),
        /// What it is about.
        description: Option<String> = text(0, 255),
        /// Where its documents stand.
        status: BaseStatus = choice::<BaseStatus>().required(),
        /// That, for people.
        status_label: String = text(0, 16).required(),
        /// Documents in it.
        documents_count: u64 = id().required(),
        /// Assistants that use it.
        assistants_count: u64 = id().required(),
        /// When it was made.
        created_at: Iso = iso().required(),
        /// When it last changed.
        updated_at: Iso = iso().required(),
    }
}

record! {
    /// A page to read.
    pub struct Link {
        /// Its URL.
        link: String = text(1, URL_MAX).form(&format::URL).required(),
    }
}

record! {
    /// Body of `POST` of a document; a file comes as the part `file` of `multipart/form-data`.
    pub struct NewDocument {
        /// Its name.
        name: String = text(1, 255).required(),
        /// What it is about.
        description: Option<String> = text(1, 255),
        /// What it is made from.
        r#type: DocumentType = choice::<DocumentType>().required(),
        /// The first page of a website.
        url: Option<String> = text(1, URL_MAX).form(&format::URL),
        /// Pages of a website.
        links: Vec<Link> = list::<Link>(ENTRIES_MAX),
        /// Pages read beyond those, at most.
        relative_links_limit: u32 = int(1, 50).or_int(10),
    } rules {
        one_of(&["url", "links"], "type", &["website"]),
    }
}

record! {
    /// Body of `PUT` of a document.
    pub struct ChangedDocument {
        /// Its name.
        name: String = text(1, 255).required(),
        /// What it is about.
        description: Option<String> = text(1, 255).clears(),
    }
}

record! {
    /// A document.
    pub struct Document stored as "a document" {
        /// Its id.
        id: u64 = id().required(),
        /// Its name.
        name: String = text(0, 255).required(),
        /// What it is about.
        description: Option<String> = text(0, 255),
        /// What it is made from.
        r#type: DocumentType = choice::<DocumentType>().required(),
        /// That, for people.
        type_label: String = text(0, 16).required(),
        /// Where it stands.
        status: DocumentStatus = choice::<DocumentStatus>().required(),
        /// That, for people.
        status_label: String = text(0, 16).required(),
        /// Why it failed.
        failure_reason: Option<String> = text(0, 255),
        /// When it was made.
        created_at: Iso = iso().required(),
        /// When it last changed.
        updated_at: Iso = iso().required(),
    }
}

record! {
    /// A search of a knowledgebase.
    pub struct Question {
        /// What to look for.
        query: String = text(1, 1_000).required(),
        /// How many passages at most.
        limit: u32 = int(1, 20).or_int(5),
    }
}
