//! Tables of conversations: bodies, queries, and what answers show (docs/api.md, Conversations).

use alloc::string::String;
use alloc::vec::Vec;

use crate::assistant::tables::{WidgetPosition, WidgetTheme};
use crate::limits::{MESSAGE_CHARS_MAX, RELAYED_CHARS_MAX, TURN_CALLS_MAX};
use crate::record::{
    Iso, Json, Strictness, VariableChanges, Variables, any, boolean, choice, format, id, id_or_uuid, int, iso, list,
    number, object, ordered, per_page, text, variable_changes, variables,
};
use crate::{choice, record};

choice! {
    /// Where a conversation takes place.
    pub enum ConversationType {
        /// On a page that embeds the widget.
        Widget = "widget",
        /// Between the account's own people and the assistant, to try it.
        Test = "test",
        /// Wherever the account's own program writes to its customers.
        Api = "api",
        /// On WhatsApp; there is none of this type.
        Whatsapp = "whatsapp",
    }
}

choice! {
    /// Type of a conversation that is begun by itself.
    pub enum OpenType {
        /// As strangers on a page have it.
        Widget = "widget",
        /// To try the assistant, with all its tools.
        Test = "test",
    }
}

choice! {
    /// Who says a message.
    pub enum Role {
        /// The assistant.
        Assistant = "assistant",
        /// The person it talks to.
        User = "user",
    }
}

record! {
    /// Body of `POST /conversations`.
    pub struct NewConversation {
        /// UUID of the assistant; its owner may give its id.
        assistant_id: String = id_or_uuid().required(),
        /// Whether it is a conversation as strangers have it, or a test.
        r#type: OpenType = choice::<OpenType>().or_text("widget"),
        /// Values of `{{variable_name}}` in the assistant's texts, laid over its own; those of strangers are ignored.
        variables: VariableChanges = variable_changes(),
    }
}

record! {
    /// Body of `POST /conversations/{uuid}/messages`.
    pub struct NewUserMessage {
        /// What the person says.
        message: String = text(1, MESSAGE_CHARS_MAX).required(),
    }
}

record! {
    /// Body of `POST /user/ai/generate-reply`.
    pub struct NewReply {
        /// Id or UUID of the assistant that answers; it may be inactive.
        assistant_id: String = id_or_uuid().required(),
        /// What the account knows its customer by, such as a phone number: one conversation for each with an assistant.
        customer_identifier: String = text(1, 255).required(),
        /// What the customer says.
        message: String = text(1, RELAYED_CHARS_MAX).required(),
        /// Values of `{{variable_name}}` from now on, laid over those that the conversation has; `null` removes a name.
        variables: VariableChanges = variable_changes(),
    }
}

record! {
    /// A function that the assistant called.
    pub struct FunctionCalled {
        /// Name of the function.
        name: String = text(0, 64).required(),
        /// Arguments by name; a text where the model wrote no JSON object.
        arguments: Option<Json> = any(),
        /// What came of it, as the model was shown it.
        result: String = text(0, 0).required(),
    }
}

record! {
    /// A message of a conversation.
    pub struct ShownMessage {
        /// Who says it.
        role: Role = choice::<Role>().required(),
        /// What is said.
        content: String = text(0, 0).required(),
        /// Functions that the assistant called before it said this; not given if it called none, or to strangers.
        function_calls: Vec<FunctionCalled> = list::<FunctionCalled>(TURN_CALLS_MAX).sparse(),
    }
}

record! {
    /// Answer of `POST /conversations`.
    pub struct StartedConversation {
        /// Always true.
        status: bool = boolean().required(),
        /// UUID of the conversation, by which whoever may talk in it goes on with it.
        conversation_id: String = text(36, 36).required(),
        /// The assistant's greeting.
        history: Vec<ShownMessage> = list::<ShownMessage>(1),
    }
}

record! {
    /// Answer of `GET /widgets/{uuid}`.
    pub struct Widget {
        /// Always true.
        status: bool = boolean().required(),
        /// Title above the conversation: that of `widget_settings`, else the assistant's name.
        title: String = text(0, 255).required(),
        /// Colour of the widget, as CSS has it; null: the widget's own.
        color: Option<String> = text(1, 64),
        /// Side of the page on which it stands.
        position: WidgetPosition = choice::<WidgetPosition>().required(),
        /// Its colours.
        theme: WidgetTheme = choice::<WidgetTheme>().required(),
        /// Whether visitors can talk now: `widget_settings.voice`, and an engine that takes browsers.
        voice: bool = boolean().required(),
    }
}

record! {
    /// Answer of `GET /conversations/{uuid}`.
    pub struct OpenConversation {
        /// Always true.
        status: bool = boolean().required(),
        /// What was said, oldest first.
        history: Vec<ShownMessage> = list::<ShownMessage>(200),
        /// Variables of the conversation; none to strangers.
        variables: Variables = variables(),
        /// What the account knows its customer by; not given if there is nothing.
        external_identifier: Option<String> = text(0, 255).sparse(),
        /// The person it is with; not given if nothing is known.
        customer: Option<Customer> = object::<Customer>().sparse(),
    }
}

record! {
    /// The person that a conversation is with.
    pub struct Customer {
        /// Phone number, E.164; null if it is not known.
        phone: Option<String> = text(0, 16),
        /// Name; null if it is not known.
        name: Option<String> = text(0, 255),
    }
}

record! {
    /// Answer to a message.
    pub struct MessageAnswer {
        /// Always true.
        status: bool = boolean().required(),
        /// What the assistant says; null if a person took over.
        message: Option<String> = text(0, 0),
        /// Functions that it called before; none to strangers.
        function_calls: Vec<FunctionCalled> = list::<FunctionCalled>(TURN_CALLS_MAX),
    }
}

record! {
    /// Answer of `POST /user/ai/generate-reply`.
    pub struct Generated {
        /// Always true.
        success: bool = boolean().required(),
        /// UUID of the conversation.
        conversation_id: String = text(36, 36).required(),
        /// What the account knows its customer by.
        customer_identifier: String = text(0, 255).required(),
        /// What the assistant says; null if a person took over.
        reply: Option<String> = text(0, 0),
        /// Functions that it called before.
        function_calls: Vec<FunctionCalled> = list::<FunctionCalled>(TURN_CALLS_MAX),
        /// Whether a person took over, so that the assistant says nothing.
        ai_disabled: bool = boolean().required(),
    }
}

record! {
    /// Answer of the operations that switch the assistant of a conversation off and on.
    pub struct AiSwitched {
        /// Always true.
        status: bool = boolean().required(),
        /// Whether the assistant answers; if not, a person took over.
        ai_enabled: bool = boolean().required(),
    }
}

record! {
    /// A conversation in a list.
    pub struct Conversation stored as "a conversation" {
        /// UUID of the conversation.
        id: String = text(36, 36).required(),
        /// UUID of its assistant.
        assistant_id: String = text(36, 36).required(),
        /// Name of the assistant when the conversation began.
        assistant_name: String = text(0, 255).required(),
        /// Where it takes place.
        r#type: ConversationType = choice::<ConversationType>().required(),
        /// Variables that it was given, overlaid with those extracted when it ended.
        variables: Variables = variables(),
        /// What the account knows its customer by; null if it gave nothing.
        external_identifier: Option<String> = text(0, 255),
        /// Messages so far, the greeting among them.
        message_count: u32 = int(0, 4_294_967_295).required(),
        /// Price of its turns so far, USD.
        total_cost: f64 = number(0.0, 0.0).required(),
        /// Whether the assistant answers; if not, a person took over.
        ai_enabled: bool = boolean().required(),
        /// When it began, UTC.
        created_at: Iso = iso().required(),
        /// When it last changed, UTC.
        updated_at: Iso = iso().required(),
        /// The person it is with; null if nothing is known.
        customer: Option<Customer> = object::<Customer>(),
        /// Evaluation after it ended; null until then, or without `post_call_evaluation`.
        evaluation: Option<Json> = any(),
    }
}

record! {
    /// A conversation with all that was said.
    pub struct WholeConversation {
        /// Always true.
        status: bool = boolean().required(),
        /// UUID of the conversation.
        id: String = text(36, 36).required(),
        /// UUID of its assistant.
        assistant_id: String = text(36, 36).required(),
        /// Name of the assistant when the conversation began.
        assistant_name: String = text(0, 255).required(),
        /// Where it takes place.
        r#type: ConversationType = choice::<ConversationType>().required(),
        /// Variables that it was given, overlaid with those extracted when it ended.
        variables: Variables = variables(),
        /// What the account knows its customer by; null if it gave nothing.
        external_identifier: Option<String> = text(0, 255),
        /// Messages so far, the greeting among them.
        message_count: u32 = int(0, 4_294_967_295).required(),
        /// Price of its turns so far, USD.
        total_cost: f64 = number(0.0, 0.0).required(),
        /// Whether the assistant answers; if not, a person took over.
        ai_enabled: bool = boolean().required(),
        /// When it began, UTC.
        created_at: Iso = iso().required(),
        /// When it last changed, UTC.
        updated_at: Iso = iso().required(),
        /// The person it is with; null if nothing is known.
        customer: Option<Customer> = object::<Customer>(),
        /// Evaluation after it ended; null until then, or without `post_call_evaluation`.
        evaluation: Option<Json> = any(),
        /// What was said, oldest first.
        history: Vec<ShownMessage> = list::<ShownMessage>(200),
    }
}

record! {
    /// Query of `GET /user/conversations`.
    pub struct ConversationQuery {
        /// Only conversations that take place here.
        r#type: Option<ConversationType> = choice::<ConversationType>(),
        /// Only conversations with this assistant.
        assistant_id: Option<String> = id_or_uuid(),
        /// Only conversations with this customer's phone number; the whole number, not a part of it.
        customer_phone: Option<String> = text(1, 32),
        /// Only conversations with the customer that the account knows by this.
        external_identifier: Option<String> = text(1, 255),
        /// Only conversations begun on or after this UTC day, `YYYY-MM-DD`.
        date_from: Option<String> = text(1, 10).form(&format::DATE),
        /// Only conversations begun on or before this UTC day, `YYYY-MM-DD`.
        date_to: Option<String> = text(1, 10).form(&format::DATE),
        /// Number of conversations on a page.
        per_page: u32 = per_page(15),
        /// Number of the page, from 1.
        page: u64 = id().or_int(1),
        /// Where the list goes on: `next_cursor` or `prev_cursor` of an answer; empty for its beginning.
        cursor: Option<String> = text(1, 64),
    } rules {
        ordered("date_from", "date_to", Strictness::OrEqual, "field must not be before the date from field."),
    }
}
