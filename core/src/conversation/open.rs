//! `POST /conversations` and `GET /conversations/{uuid}`: what anybody may begin and read (docs/api.md, Conversations).

use alloc::string::String;
use alloc::vec::Vec;

use super::ended;
use super::rows::{ConversationMessage, ConversationRow, ConversationState, customer_key};
use super::send::NO_BALANCE;
use super::tables::{
    Conversation, ConversationType, Customer, NewConversation, OpenConversation, OpenType, Role, ShownMessage,
    StartedConversation,
};
use super::talk::Talk;
use super::visit;
use crate::account::profile::Profile;
use crate::assistant;
use crate::http::ctx::Ctx;
use crate::http::refusal::{Halt, Refusal};
use crate::http::reply::Reply;
use crate::http::route::Handled;
use crate::id;
use crate::json::Members;
use crate::key::{self, Kind, Unique};
use crate::limits::VISIT_SECONDS;
use crate::record::{Iso, Rest, VariableChanges, Variables, is_e164};
use crate::store::Scope;
use crate::time::Timestamp;
use crate::tool::plain;
use crate::view::Stop;

/// Message of a 404: what another account has is as missing as what there never was.
pub const MISSING: &str = "Conversation not found";
const LARGE: &str = "The filled texts of the assistant are larger than 1 MiB.";

/// `POST /conversations`
pub fn start(ctx: &Ctx<'_>) -> Handled {
    let body: NewConversation = ctx.body()?;
    let kind = match body.r#type {
        OpenType::Widget => ConversationType::Widget,
        OpenType::Test => ConversationType::Test,
    };
    let (account, talk) = named(ctx, &body.assistant_id, kind)?;
    if Profile::of(account)?.state.is_used_up() {
        return Err(Refusal::Declined(NO_BALANCE.into()).into());
    }
    if ctx.caller.is_none() {
        visit::begin_visit(ctx, account)?;
    }
    let given = if ctx.caller.is_some() { body.variables } else { VariableChanges::default() };
    let begun = begin(ctx, account, &talk, kind, given, None)?;
    let history = begun.messages(account)?.iter().map(|message| message.shown(false)).collect();
    Ok(Reply::ok(&StartedConversation { status: true, conversation_id: begun.shown.id, history }))
}

/// Finds an assistant that the caller names: an owner's own, or one that strangers may talk to.
pub fn named<'a>(ctx: &Ctx<'a>, name: &str, kind: ConversationType) -> Result<(Scope<'a>, Talk), Halt> {
    if ctx.caller.is_none() {
        return of_stranger(ctx, name, kind);
    }
    let account = ctx.account();
    Ok((account, of_owner(account, name, kind)?.ok_or(Refusal::NotFound(assistant::MISSING))?))
}

/// Finds an assistant of the account by its id or UUID.
pub fn of_owner(account: Scope<'_>, name: &str, kind: ConversationType) -> Result<Option<Talk>, Stop> {
    let count = match id::parse(account.space(), name) {
        Some(count) => Some(count),
        None => by_uuid(account, name)?,
    };
    count.map_or(Ok(None), |count| Talk::of(account, count, kind))
}

/// Returns the local id of the assistant of the account with this UUID.
pub fn by_uuid(account: Scope<'_>, uuid: &str) -> Result<Option<u32>, Stop> {
    if uuid.len() != 36 {
        return Ok(None);
    }
    let found = account.get(key::unique(account.space(), Unique::AssistantUuid, uuid.to_lowercase().as_bytes()))?;
    Ok(found.and_then(|bytes| Some(u32::from_be_bytes(bytes.try_into().ok()?))))
}

/// Finds an assistant that strangers may talk to; 403 for a page that may not embed it.
fn of_stranger<'a>(ctx: &Ctx<'a>, uuid: &str, kind: ConversationType) -> Result<(Scope<'a>, Talk), Halt> {
    let missing = || Refusal::NotFound(assistant::MISSING);
    let account = id::account_of_uuid(uuid).filter(|_| kind == ConversationType::Widget).ok_or_else(missing)?;
    let account = visited(ctx, account)?.ok_or_else(missing)?;
    let count = by_uuid(account, uuid)?.ok_or_else(missing)?;
    let talk = Talk::of(account, count, kind)?.filter(Talk::is_open).ok_or_else(missing)?;
    admit(ctx, &talk)?;
    Ok((account, talk))
}

/// Returns the space of an account that a stranger visits; `None` if it is not there for anybody.
fn visited<'a>(ctx: &Ctx<'a>, account: u32) -> Result<Option<Scope<'a>>, Stop> {
    let scope = ctx.space_of(account);
    let is_there = Profile::load(scope)?.is_some_and(|profile| !profile.state.suspended && !profile.state.deleting);
    if is_there {
        ctx.works_for(scope.space());
    }
    Ok(is_there.then_some(scope))
}

fn admit(ctx: &Ctx<'_>, talk: &Talk) -> Result<(), Halt> {
    if talk.allows(ctx.request.header("origin")) { Ok(()) } else { Err(Refusal::Origin.into()) }
}

/// Begins a conversation; `customer` is what the account knows the person by.
pub fn begin(
    ctx: &Ctx<'_>,
    account: Scope<'_>,
    talk: &Talk,
    kind: ConversationType,
    given: VariableChanges,
    customer: Option<String>,
) -> Result<ConversationRow, Halt> {
    let number = account.account_number()?;
    visit::begin(account, ctx.now, ctx.caller.is_none())?;
    let (count, at) = account.allot(Kind::Conversation, ctx.now)?;
    let mut variables = match kind {
        ConversationType::Widget => talk.assistant.widget_settings.variables.clone(),
        _ => Variables::default(),
    };
    given.merge_into(&mut variables);
    let shown = Conversation {
        id: id::uuid_of_row(number, count, ctx.seed.uuid("conversation")),
        assistant_id: talk.assistant.uuid.clone(),
        assistant_name: talk.assistant.name.clone(),
        r#type: kind,
        customer: customer_of(&variables.0, customer.as_deref()),
        variables: variables.clone(),
        external_identifier: customer,
        message_count: 0,
        total_cost: 0.0,
        ai_enabled: true,
        created_at: Iso(at),
        updated_at: Iso(at),
        evaluation: None,
        rest: Rest::default(),
    };
    if let Some(identifier) = &shown.external_identifier {
        account.put(customer_key(account.space(), talk.count, identifier), count.to_be_bytes().to_vec())?;
    }
    let mut begun = ConversationRow::enter(account, count, shown, progress(talk.count, variables, at))?;
    // Whoever writes for a customer has the customer's words already: there the assistant does not begin.
    if kind != ConversationType::Api {
        greet(account, talk, &mut begun, at)?;
    }
    ended::watch(account, &mut begun, &talk.assistant, at)?;
    begun.save(account, at)?;
    Ok(begun)
}

fn progress(assistant: u32, input: Variables, at: Timestamp) -> ConversationState {
    ConversationState {
        assistant,
        user_messages: 0,
        bytes: 0,
        turn: None,
        messages_full_at: Timestamp::default(),
        last_at: at,
        ended_at: None,
        reports: 0,
        tries: 0,
        cost_micros: 0,
        input,
        extracted: Variables::default(),
        rest: Rest::default(),
    }
}

fn greet(account: Scope<'_>, talk: &Talk, begun: &mut ConversationRow, at: Timestamp) -> Result<(), Halt> {
    let values = talk.values(&begun.shown.variables.0, begun.phone(), at);
    let texts = talk.texts(account, &values)?.ok_or_else(|| Refusal::Unprocessable(LARGE.into()))?;
    let (role, asides, calls) = (Role::Assistant, Vec::new(), Vec::new());
    let greeting =
        ConversationMessage { role, content: texts.greeting, at: Iso(at), asides, calls, rest: Rest::default() };
    Ok(begun.say(account, &greeting)?)
}

/// Returns what is known of the person: the variables `customer_phone` and `customer_name`, and an identifier that is a
/// phone number.
pub fn customer_of(variables: &Members, identifier: Option<&str>) -> Option<Customer> {
    let text = |name: &str| variables.get(name).map(plain).filter(|text| !text.is_empty());
    let phone = text("customer_phone").or_else(|| identifier.map(String::from)).filter(|phone| is_e164(phone));
    let name = text("customer_name").map(|name| name.chars().take(255).collect());
    (phone.is_some() || name.is_some()).then_some(Customer { phone, name })
}

/// A conversation whose UUID is in the path, for its owner or for a stranger who may go on with it.
pub struct Visit<'a> {
    /// Space of the account.
    pub account: Scope<'a>,
    /// The conversation.
    pub conversation: ConversationRow,
    /// Its assistant; `None` if it was deleted.
    pub talk: Option<Talk>,
    /// Whether the caller has no token.
    pub is_stranger: bool,
}

impl<'a> Visit<'a> {
    /// Finds it; every reason that a stranger may not see it is the same 404, but for the page's origin, 403.
    pub fn of(ctx: &Ctx<'a>) -> Result<Self, Halt> {
        let missing = || Refusal::NotFound(MISSING);
        let uuid = ctx.params.first().copied().unwrap_or_default();
        let is_stranger = ctx.caller.is_none();
        let account = if is_stranger {
            let account = id::account_of_uuid(uuid).ok_or_else(missing)?;
            visited(ctx, account)?.ok_or_else(missing)?
        } else {
            ctx.account()
        };
        let conversation = ConversationRow::named(account, uuid)?.ok_or_else(missing)?;
        let kind = conversation.shown.r#type;
        let talk = Talk::of(account, conversation.assistant(), kind)?;
        if is_stranger {
            let last = conversation.live.last_at.plus_seconds(VISIT_SECONDS);
            let talk = talk.as_ref().filter(|talk| talk.is_open()).ok_or_else(missing)?;
            if kind != ConversationType::Widget || ctx.now > last {
                return Err(missing().into());
            }
            admit(ctx, talk)?;
        }
        Ok(Self { account, conversation, talk, is_stranger })
    }
}

/// `GET /conversations/{uuid}`
pub fn read(ctx: &Ctx<'_>) -> Handled {
    let Visit { account, conversation, is_stranger, .. } = Visit::of(ctx)?;
    let messages = conversation.messages(account)?;
    let history: Vec<ShownMessage> = messages.iter().map(|message| message.shown(!is_stranger)).collect();
    let ConversationRow { shown, .. } = conversation;
    Ok(Reply::ok(&if is_stranger {
        let variables = Variables::default();
        OpenConversation { status: true, history, variables, external_identifier: None, customer: None }
    } else {
        let Conversation { variables, external_identifier, customer, .. } = shown;
        OpenConversation { status: true, history, variables, external_identifier, customer }
    }))
}
