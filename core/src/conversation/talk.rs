//! [`Talk`]: the assistant as it takes part in a conversation: its texts filled in, the functions that its model may call,
//! and what they are carried out with.

use alloc::string::String;
use alloc::vec::Vec;

use base64ct::{Base64UrlUnpadded, Encoding};
use sha2::{Digest, Sha256};

use super::rows::ConversationRow;
use super::tables::ConversationType;
use crate::assistant::built_in::BuiltInTool;
use crate::assistant::rows as assistants;
use crate::assistant::tables::{Assistant, KnowledgeMode, Status};
use crate::assistant::visited;
use crate::catalogue::{Catalogue, Mode};
use crate::engine::{calendar_functions, filled, without_call};
use crate::id;
use crate::json::{Members, ToJson, Value};
use crate::key::Kind;
use crate::knowledge::search;
use crate::limits::KNOWLEDGE_BYTES_MAX;
use crate::record::Stored;
use crate::store::{Row, Scope};
use crate::time::Timestamp;
use crate::tool::{self, Tool, Values, schema_of};
use crate::view::Stop;

/// Name of the function that searches the knowledgebase.
pub const SEARCH: &str = "search_knowledgebase";

/// An assistant in a conversation.
pub struct Talk {
    /// Local id of the assistant.
    pub count: u32,
    /// Its stored members.
    pub assistant: Assistant,
    /// Its stored row, calendars in clear.
    pub row: Row,
    /// Mid-call tools that the model may call.
    pub tools: Vec<Tool>,
    /// Whether the calendar may be used.
    has_calendar: bool,
}

/// The texts of a conversation.
pub struct Texts {
    /// The prompt, with the knowledge where that is part of it.
    pub system: String,
    /// The greeting.
    pub greeting: String,
}

impl Talk {
    /// Reads the assistant for conversations of a type; `None` if it was deleted.
    pub fn of(account: Scope<'_>, count: u32, kind: ConversationType) -> Result<Option<Self>, Stop> {
        let Some(row) = account.find(Kind::Assistant, count)? else { return Ok(None) };
        let assistant = Assistant::read(&row.public)?;
        // A conversation on a page has what its owner chose for strangers, whoever holds it.
        let is_widget = kind == ConversationType::Widget;
        let ids = visited::tool_ids(&assistant, is_widget);
        let mut tools: Vec<Tool> = Vec::new();
        for id in ids {
            let found = tool::find(account, id::local(account.space(), *id).unwrap_or(0))?;
            // The settings of a widget may name two tools of one name: the first is taken.
            tools.extend(found.filter(|tool| tools.iter().all(|other| other.name != tool.name)));
        }
        Ok(Some(Self { count, assistant, row, tools, has_calendar: !is_widget }))
    }

    /// Returns whether strangers may talk to the assistant.
    pub fn is_open(&self) -> bool {
        self.assistant.status == Status::Active && self.assistant.widget_settings.enabled
    }

    /// Returns whether a page of this origin may embed the assistant.
    pub fn allows(&self, origin: Option<&str>) -> bool {
        let allowed = &self.assistant.widget_settings.allowed_origins;
        origin.is_none_or(|origin| allowed.iter().any(|known| known == origin))
    }

    /// Returns the values of placeholders: the conversation's variables over the assistant's.
    pub fn values(&self, variables: &Members, phone: Option<&str>, now: Timestamp) -> Values {
        let mut values = without_call(&self.assistant, variables, now);
        values.facts.customer_phone = phone.unwrap_or_default().into();
        values
    }

    /// Returns prompt and greeting filled in; `None` if they exceed what an assistant's texts may have.
    pub fn texts(&self, account: Scope<'_>, values: &Values) -> Result<Option<Texts>, Stop> {
        let Ok(texts) = filled(values, &self.assistant) else { return Ok(None) };
        let mut system = texts.prompt.unwrap_or_default();
        if self.assistant.knowledgebase_mode == KnowledgeMode::Prompt
            && let Some(base) = self.knowledgebase(account)
        {
            system.push_str("\n\nWhat you know:\n");
            system.push_str(&search::text(account, base, KNOWLEDGE_BYTES_MAX)?);
        }
        Ok(Some(Texts { system, greeting: texts.greeting.unwrap_or_default() }))
    }

    /// Returns whether the model searches a knowledgebase, rather than reading it in its prompt.
    pub fn searches(&self) -> bool {
        self.assistant.knowledgebase_mode == KnowledgeMode::FunctionCall
    }

    /// Returns the local id of its knowledgebase.
    pub fn knowledgebase(&self, account: Scope<'_>) -> Option<u32> {
        self.assistant.knowledgebase_id.and_then(|id| id::local(account.space(), id))
    }

    /// Returns the functions that the model may call: the tools, the calendar, the search. What belongs to a telephone, such
    /// as transfers and keypad tones, is none of them.
    pub fn functions(&self, account: Scope<'_>) -> Result<Value, Stop> {
        let mut functions: Vec<Value> = self.tools.iter().map(tool::function).collect();
        for built_in in self.assistant.tools.iter().filter(|_| self.has_calendar) {
            if let BuiltInTool::CalendarIntegration(calendar) = built_in {
                functions.extend(calendar_functions(calendar));
            }
        }
        if self.searches() && self.knowledgebase(account).is_some() {
            let about = "Searches the knowledgebase for what the customer asks about.";
            functions.push(schema_of(SEARCH, about, &[("query", "string", "What to look for")]));
        }
        Ok(Value::List(functions))
    }

    /// Returns the row for the calendar, if that may be used.
    pub fn calendar(&self) -> Option<&Row> {
        Some(&self.row).filter(|_| self.has_calendar)
    }

    /// Returns a digest of all that decides which questions a turn asks outside, so that a turn is not continued with
    /// another assistant than it began with.
    pub fn digest(&self) -> Result<String, Stop> {
        let mut digest = Sha256::new();
        digest.update(&self.row.public);
        digest.update(assistants::tools(&self.row)?.to_json());
        self.tools.iter().for_each(|tool| digest.update(tool.to_json()));
        Ok(Base64UrlUnpadded::encode_string(&digest.finalize()))
    }

    /// Returns the names of the models that answer, by the catalogue: the assistant's own, then its fallback.
    pub fn models<'c>(&self, catalogue: &'c Catalogue) -> [Option<&'c str>; 2] {
        let llm = |id: Option<u64>| {
            let found = catalogue.llm_models.iter().find(|model| Some(model.id) == id);
            found.map(|model| model.name.as_str())
        };
        let multimodal = |id: Option<u64>| {
            let found = catalogue.multimodal_models.iter().find(|model| Some(model.id) == id);
            found.map(|model| model.name.as_str())
        };
        match self.assistant.mode {
            Mode::Pipeline => [llm(self.assistant.llm_model_id), None],
            Mode::Multimodal | Mode::Dualplex => {
                [multimodal(self.assistant.multimodal_model_id), llm(self.assistant.chat_llm_fallback_id)]
            }
        }
    }
}

impl ConversationRow {
    /// Returns the customer's phone number, if it is known.
    pub fn phone(&self) -> Option<&str> {
        self.shown.customer.as_ref()?.phone.as_deref()
    }
}
