//! API records of knowledgebases and documents.

use alloc::string::String;
use alloc::vec::Vec;

use crate::limits::{ENTRIES_MAX, PASSAGES_MAX, URL_MAX};
use crate::record::{Iso, choice, count, format, id, int, iso, list, object, one_of, text};
use crate::{choice, record};

choice! {
    /// State of a knowledgebase, derived from its documents.
    pub enum BaseStatus {
        /// No document in it.
        Empty = "empty",
        /// At least one document is being processed.
        Processing = "processing",
        /// Every document can be searched.
        Active = "active",
        /// None is being processed, and at least one failed.
        Failed = "failed",
    }
}

impl BaseStatus {
    /// Returns the state's label for people.
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
    /// State of a document.
    pub enum DocumentStatus {
        /// Its text is being read and indexed.
        Processing = "processing",
        /// Its text can be searched.
        Active = "active",
        /// Its text could not be read.
        Failed = "failed",
    }
}

impl DocumentStatus {
    /// Returns the state's label for people.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Processing => "Processing",
            Self::Active => "Active",
            Self::Failed => "Failed",
        }
    }
}

choice! {
    /// Source of a document.
    pub enum DocumentType {
        /// Pages of a website, fetched by the service.
        Website = "website",
        /// An uploaded PDF file.
        Pdf = "pdf",
        /// An uploaded text file.
        Txt = "txt",
        /// An uploaded Word file.
        Docx = "docx",
    }
}

impl DocumentType {
    /// Returns the type's label for people.
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
        /// Name of the knowledgebase, shown in lists.
        name: String = text(1, 255).required(),
        /// What the knowledgebase is about.
        description: Option<String> = text(1, 255).clears(),
    }
}

record! {
    /// A knowledgebase, with counts of what belongs to it.
    pub struct Base {
        /// Id of the knowledgebase, assigned by the service.
        id: u64 = id().required(),
        /// Name of the knowledgebase, shown in lists.
        name: String = text(0, 255).required(),
        /// What the knowledgebase is about; null if not given.
        description: Option<String> = text(0, 255),
        /// State derived from the documents: any `processing`, else any `failed`, else `active`; `empty` without
        /// documents.
        status: BaseStatus = choice::<BaseStatus>().required(),
        /// The state for people, such as `Active`.
        status_label: String = text(0, 16).required(),
        /// Number of documents in it.
        documents_count: u64 = id().required(),
        /// Number of assistants that use it.
        assistants_count: u64 = id().required(),
        /// When the knowledgebase was created, UTC.
        created_at: Iso = iso().required(),
        /// When its name or description last changed, UTC.
        updated_at: Iso = iso().required(),
    }
}

record! {
    /// A page of a website to read.
    pub struct Link {
        /// URL of the page, http or https.
        link: String = text(1, URL_MAX).form(&format::URL).required(),
    }
}

record! {
    /// Body of `POST` of a document; its file is sent as the part `file` of `multipart/form-data`.
    pub struct NewDocument {
        /// Name of the document, shown in lists and search results.
        name: String = text(1, 255).required(),
        /// What the document is about.
        description: Option<String> = text(1, 255),
        /// Source of the document: `website`, or the type of the uploaded file.
        r#type: DocumentType = choice::<DocumentType>().required(),
        /// Website: URL of the first page to read.
        url: Option<String> = text(1, URL_MAX).form(&format::URL),
        /// Website: pages to read.
        links: Vec<Link> = list::<Link>(ENTRIES_MAX),
        /// Website: most further pages of the same site to read, as those pages link to them.
        relative_links_limit: u32 = int(1, 50).or_int(10),
    } rules {
        one_of(&["url", "links"], "type", &["website"]),
    }
}

record! {
    /// Body of `PUT` of a document.
    pub struct ChangedDocument {
        /// New name of the document.
        name: String = text(1, 255).required(),
        /// What the document is about.
        description: Option<String> = text(1, 255).clears(),
    }
}

record! {
    /// How far a document is read.
    pub struct DocumentProgress {
        /// Pages of the website that were read or skipped; of a file, pieces of its text that can be searched.
        done: u32 = count().required(),
        /// Pages that are known to be read, which links may add to; of a file, pieces of 64 KiB of its text.
        total: u32 = count().required(),
    }
}

record! {
    /// A document of a knowledgebase.
    pub struct Document stored as "a document" {
        /// Id of the document, assigned by the service.
        id: u64 = id().required(),
        /// Name of the document, shown in lists and search results.
        name: String = text(0, 255).required(),
        /// What the document is about; null if not given.
        description: Option<String> = text(0, 255),
        /// Source of the document.
        r#type: DocumentType = choice::<DocumentType>().required(),
        /// The type for people, such as `PDF`.
        type_label: String = text(0, 16).required(),
        /// Current state of the document.
        status: DocumentStatus = choice::<DocumentStatus>().required(),
        /// The state for people, such as `Active`.
        status_label: String = text(0, 16).required(),
        /// Why it failed, as a sentence; null unless it did.
        failure_reason: Option<String> = text(0, 255),
        /// How far it is read; null unless it is `processing`.
        progress: Option<DocumentProgress> = object::<DocumentProgress>(),
        /// When the document was created, UTC.
        created_at: Iso = iso().required(),
        /// When the document last changed, UTC.
        updated_at: Iso = iso().required(),
    }
}

record! {
    /// Body of a search in a knowledgebase.
    pub struct Question {
        /// Words to search for.
        query: String = text(1, 1_000).required(),
        /// Most passages to return.
        limit: u32 = int(1, PASSAGES_MAX as i64).or_int(5),
    }
}
