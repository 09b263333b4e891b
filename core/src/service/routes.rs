//! The route table: every operation of the service, in the order of docs/api.md.
//!
//! Routing, 404, 405 with `Allow`, `HEAD`, `OPTIONS`, the `OpenAPI` document, the labels of metrics and the
//! tests that walk all routes come from these rows.

use super::console;
use super::home::{self, Home};
use super::overview::{self, Overview};
use super::tasks;
use crate::account::keys::{ApiKey, NewKey, ShownKey};
use crate::account::me::{ChangedMe, Me};
use crate::account::plan::Plan;
use crate::account::prices::Prices;
use crate::account::profile::Account;
use crate::account::session::{CodeLogin, LoggedIn, Login};
use crate::account::signing::SigningSecret;
use crate::account::{keys, me, session, signing};
use crate::admin::tables::{
    AdminQuery, ChangedAccount, Draining, EngineToken, GoingAccount, JobQuery, MadeAccount, NewAccount, NewEngineToken,
    OperatorToken, ShownEngine, ShownEngineToken, ShownNode, StoreState,
};
use crate::assistant::duplicate::Duplicate;
use crate::assistant::lookups::{
    Language, ListedModel, ModelQuery, NumberQuery, Provider, ProviderQuery, Voice, VoiceQuery,
};
use crate::assistant::tables::{AllQuery, ListQuery};
use crate::assistant::tables::{Assistant, NewAssistant, Outbound, Summary, UPDATE};
use crate::assistant::webhooks::{Disable, DisableThis, Enable, EnableThis};
use crate::assistant::{lookups, webhooks};
use crate::call::command::{NewCommand, SentCommand};
use crate::call::recording::UploadedRecording;
use crate::call::tables::EventsQuery;
use crate::call::tables::{Call, CallQuery, NewCall, PlacedCall};
use crate::call::web::{MadeWebCall, NewWebCall, OpenWebCall};
use crate::campaign::explain::Explanation;
use crate::campaign::progress::{self, CampaignProgress};
use crate::campaign::tables::{NewCampaign, Switch, SwitchReply, SwitchThis};
use crate::conversation::tables::{
    AiSwitched, Conversation, ConversationQuery, Generated, MessageAnswer, NewConversation, NewReply, NewUserMessage,
    OpenConversation, StartedConversation, WholeConversation, Widget,
};
use crate::engine::event::Report;
use crate::engine::tables::{
    Claim, Claimed, ClaimedCalls, Heartbeat, Interface, NewArrival, RenewedLeases, Reported, ToolCall, ToolReply,
};
use crate::engine::telephony::{Trunks, TrunksQuery};
use crate::engine::trunk_checks::TrunkCheckSteps;
use crate::engine::{Preview, PreviewBody};
use crate::folder::tables::{Folder, FolderQuery, NewFolder};
use crate::folder::{FOLDERS, LABELS};
use crate::http::cause::Cause;
use crate::http::refusal::{Form, Invalid};
use crate::http::reply::{HostPage, Reply};
use crate::http::route::{Group, ReplyForm, Route, Who, count, delete, flat, get, patch, post, put};
use crate::import::tables::{DryRun, Import, LeadImport, NumberImport, Started};
use crate::job::{JobQueue, ShownJob};
use crate::key::Kind;
use crate::knowledge::Passage;
use crate::knowledge::tables::{Base, ChangedDocument, Document, NewBase, NewDocument, Question};
use crate::lead::tables::{ChangedLead, Lead, LeadQuery, NewLead};
use crate::limits::{IMPORT_BODY_BYTES_MAX, LOGIN_BODY_BYTES_MAX, RECORDING_BYTES_MAX, VISITOR_BODY_BYTES_MAX};
use crate::number::tables::{
    Assignable, Available, NewTrunk, Number, OneNumber, Purchased, Rename, SearchQuery, Trunk, Verification,
};
use crate::record::Record;
use crate::setup::ShownSetting;
use crate::sms::{Message, NewMessage};
use crate::suppression::{NewSuppressed, Suppressed, SuppressedQuery};
use crate::tool::tables::{Arguments, ToolTest};
use crate::tool::{NewTool, Tool};
use crate::webhook::tables::{Delivery, DeliveryQuery, Event, EventQuery};
use crate::whatsapp::WhatsAppSender;
use crate::{
    admin, assistant, call, campaign, conversation, engine, import, knowledge, lead, number, sms, suppression, tool,
    webhook, whatsapp,
};

/// Every operation, one row each.
pub static ROUTES: &[Route] = &flat::<{ count(GROUPS) }>(GROUPS);

/// The operations in their groups. `refuses` lists only causes that do not follow from another column.
#[rustfmt::skip]
const GROUPS: &[Group] = &[
    Group("Account and keys", &[
    post(&["/user/login"], "login", "Log in.", session::login).by(Who::Anyone).takes(Login::TABLE).at_most(LOGIN_BODY_BYTES_MAX).gives(ReplyForm::Bare(LoggedIn::TABLE)).shows_token().without_idempotency().in_several_steps().refuses(&[Cause::WrongPassword, Cause::Suspended]),
    post(&["/user/login/code"], "loginByCode", "Log in by a one-time code.", session::login_by_code).by(Who::Anyone).takes(CodeLogin::TABLE).at_most(LOGIN_BODY_BYTES_MAX).gives(ReplyForm::Bare(LoggedIn::TABLE)).shows_token().without_idempotency().refuses(&[Cause::NotFound]),
    post(&["/user/logout"], "logout", "End the session.", session::logout).ends().refuses(&[Cause::NoSession]),
    get(&["/user/me"], "me", "The caller's account.", me::read).gives(ReplyForm::Bare(Me::TABLE)),
    put(&["/user/me"], "updateMe", "Change the caller's account, or its password.", me::update).takes(ChangedMe::TABLE).gives(ReplyForm::MessageData(Me::TABLE)).stores_nothing().in_several_steps(),
    get(&["/user/overview"], "overview", "The account at a glance.", overview::read).gives(ReplyForm::Data(Overview::TABLE)),
    post(&["/user/api-keys"], "createApiKey", "Create an API key.", keys::create).about(Kind::ApiKey).takes(NewKey::TABLE).makes(ReplyForm::MessageMember("api_key", ShownKey::TABLE)).shows_token().refuses(&[Cause::Limit]),
    get(&["/user/api-keys"], "listApiKeys", "List the API keys.", keys::list).about(Kind::ApiKey).gives(ReplyForm::MemberList("api_keys", ApiKey::TABLE)),
    delete(&["/user/api-keys/{id}"], "deleteApiKey", "Delete an API key.", keys::delete).about(Kind::ApiKey),
    ]),
    Group("Assistants", &[
    post(&["/user/assistant", "/user/assistants"], "createAssistant", "Create an assistant.", assistant::create).about(Kind::Assistant).takes(NewAssistant::TABLE).shown_as(&[Assistant::TABLE]).makes(ReplyForm::MessageData(Summary::TABLE)).invalid(Invalid::Failed).refuses(&[Cause::Limit]),
    put(&["/user/assistant/{id}", "/user/assistants/{id}"], "updateAssistant", "Change an assistant.", |ctx| assistant::update(ctx, campaign::wake_those_of)).about(Kind::Assistant).and_patch().takes(&UPDATE).shown_as(&[Assistant::TABLE]).gives(ReplyForm::MessageData(Summary::TABLE)).invalid(Invalid::Failed),
    post(&["/user/assistant/{id}/duplicate", "/user/assistants/{id}/duplicate"], "duplicateAssistant", "Copy an assistant.", assistant::duplicate).about(Kind::Assistant).takes(Duplicate::TABLE).makes(ReplyForm::MessageData(Summary::TABLE)).invalid(Invalid::Failed).refuses(&[Cause::Limit]),
    post(&["/user/assistant/{id}/preview", "/user/assistants/{id}/preview"], "previewAssistant", "Show the texts of a call before one is placed.", engine::preview).about(Kind::Assistant).takes(PreviewBody::TABLE).gives(ReplyForm::Data(Preview::TABLE)).stores_nothing().refuses(&[Cause::Unprocessable]),
    get(&["/user/assistant/{id}", "/user/assistants/{id}"], "getAssistant", "An assistant, by id or uuid.", assistant::read).about(Kind::Assistant).gives(ReplyForm::Bare(Assistant::TABLE)),
    delete(&["/user/assistant/{id}", "/user/assistants/{id}"], "deleteAssistant", "Delete an assistant.", |ctx| assistant::delete(ctx, campaign::stop_those_of)).about(Kind::Assistant),
    get(&["/user/assistants/get"], "listAssistants", "List the assistants, by pages.", assistant::page).about(Kind::Assistant).asks(ListQuery::TABLE).gives(ReplyForm::Page(Assistant::TABLE)),
    get(&["/user/assistants"], "allAssistants", "All assistants.", assistant::all).about(Kind::Assistant).asks(AllQuery::TABLE).gives(ReplyForm::BareList(Assistant::TABLE)),
    get(&["/user/assistants/outbound"], "outboundAssistants", "All outbound assistants, in short.", assistant::outbound).gives(ReplyForm::BareList(Outbound::TABLE)),
    get(&["/user/assistants/models"], "listModels", "Models to choose from; `code` is in the multimodal listing.", lookups::models).asks(ModelQuery::TABLE).gives(ReplyForm::BareList(ListedModel::TABLE)),
    get(&["/user/assistants/voices"], "listVoices", "Voices to choose from.", lookups::voices).asks(VoiceQuery::TABLE).gives(ReplyForm::BareList(Voice::TABLE)),
    get(&["/user/assistants/languages"], "listLanguages", "Languages to choose from.", lookups::languages).gives(ReplyForm::BareList(Language::TABLE)),
    get(&["/user/assistants/synthesizer-providers"], "listSynthesizerProviders", "Who turns text into speech.", lookups::synthesizers).asks(ProviderQuery::TABLE).gives(ReplyForm::BareList(Provider::TABLE)),
    get(&["/user/assistants/transcriber-providers"], "listTranscriberProviders", "Who turns speech into text.", lookups::transcribers).asks(ProviderQuery::TABLE).gives(ReplyForm::BareList(Provider::TABLE)),
    get(&["/user/assistants/phone-numbers"], "listAssignableNumbers", "Numbers that an assistant may hold.", assistant::assignable).asks(NumberQuery::TABLE).gives(ReplyForm::BareList(Assignable::TABLE)),
    post(&["/user/assistants/enable-inbound-webhook"], "enableInboundWebhook", "Switch an assistant's inbound webhook on.", webhooks::enable_inbound).takes(Enable::TABLE).gives(ReplyForm::MessageEmpty).invalid(Invalid::GivenData).refuses(&[Cause::NotFound]),
    post(&["/user/assistants/disable-inbound-webhook"], "disableInboundWebhook", "Switch an assistant's inbound webhook off.", webhooks::disable_inbound).takes(Disable::TABLE).gives(ReplyForm::MessageEmpty).invalid(Invalid::GivenData).stores_nothing().refuses(&[Cause::NotFound]),
    post(&["/user/assistants/enable-webhook"], "enableWebhook", "Switch an assistant's post-call webhook on.", webhooks::enable_post_call).takes(Enable::TABLE).gives(ReplyForm::MessageEmpty).invalid(Invalid::GivenData).refuses(&[Cause::NotFound]),
    post(&["/user/assistants/disable-webhook"], "disableWebhook", "Switch an assistant's post-call webhook off.", webhooks::disable_post_call).takes(Disable::TABLE).gives(ReplyForm::MessageEmpty).invalid(Invalid::GivenData).stores_nothing().refuses(&[Cause::NotFound]),
    post(&["/user/assistants/enable-conversation-ended-webhook"], "enableConversationEndedWebhook", "Switch an assistant's webhook of ended conversations on.", webhooks::enable_conversation_ended).takes(Enable::TABLE).gives(ReplyForm::MessageEmpty).invalid(Invalid::GivenData).refuses(&[Cause::NotFound]),
    post(&["/user/assistants/disable-conversation-ended-webhook"], "disableConversationEndedWebhook", "Switch an assistant's webhook of ended conversations off.", webhooks::disable_conversation_ended).takes(Disable::TABLE).gives(ReplyForm::MessageEmpty).invalid(Invalid::GivenData).stores_nothing().refuses(&[Cause::NotFound]),
    post(&["/user/assistant/{id}/enable-inbound-webhook", "/user/assistants/{id}/inbound-webhook"], "enableInboundWebhookOf", "Switch the inbound webhook of the assistant in the path on.", webhooks::enable_this_inbound).about(Kind::Assistant).takes(EnableThis::TABLE).gives(ReplyForm::MessageEmpty).invalid(Invalid::GivenData),
    post(&["/user/assistant/{id}/disable-inbound-webhook"], "disableInboundWebhookOf", "Switch the inbound webhook of the assistant in the path off.", webhooks::disable_this_inbound).about(Kind::Assistant).takes(DisableThis::TABLE).gives(ReplyForm::MessageEmpty).invalid(Invalid::GivenData).stores_nothing(),
    delete(&["/user/assistants/{id}/inbound-webhook"], "removeInboundWebhook", "Switch the inbound webhook of the assistant in the path off.", webhooks::remove_inbound).about(Kind::Assistant).gives(ReplyForm::MessageEmpty),
    post(&["/user/assistant/{id}/enable-webhook", "/user/assistants/{id}/webhook"], "enableWebhookOf", "Switch the post-call webhook of the assistant in the path on.", webhooks::enable_this_post_call).about(Kind::Assistant).takes(EnableThis::TABLE).gives(ReplyForm::MessageEmpty).invalid(Invalid::GivenData),
    post(&["/user/assistant/{id}/disable-webhook"], "disableWebhookOf", "Switch the post-call webhook of the assistant in the path off.", webhooks::disable_this_post_call).about(Kind::Assistant).takes(DisableThis::TABLE).gives(ReplyForm::MessageEmpty).invalid(Invalid::GivenData).stores_nothing(),
    delete(&["/user/assistants/{id}/webhook"], "removeWebhook", "Switch the post-call webhook of the assistant in the path off.", webhooks::remove_post_call).about(Kind::Assistant).gives(ReplyForm::MessageEmpty),
    post(&["/user/assistants/{id}/conversation-ended-webhook"], "enableConversationEndedWebhookOf", "Switch the webhook of ended conversations of the assistant in the path on.", webhooks::enable_this_conversation_ended).about(Kind::Assistant).takes(EnableThis::TABLE).gives(ReplyForm::MessageEmpty).invalid(Invalid::GivenData),
    delete(&["/user/assistants/{id}/conversation-ended-webhook"], "removeConversationEndedWebhook", "Switch the webhook of ended conversations of the assistant in the path off.", webhooks::remove_conversation_ended).about(Kind::Assistant).gives(ReplyForm::MessageEmpty),
    ]),
    Group("Folders and labels", &[
    get(&["/user/folders"], "listFolders", "List the folders.", |ctx| FOLDERS.list(ctx)).about(Kind::Folder).asks(FolderQuery::TABLE).gives(ReplyForm::Page(Folder::TABLE)),
    post(&["/user/folder", "/user/folders"], "createFolder", "Create a folder.", |ctx| FOLDERS.create(ctx)).about(Kind::Folder).takes(NewFolder::TABLE).makes(ReplyForm::MessageData(Folder::TABLE)).refuses(&[Cause::Limit]),
    put(&["/user/folder/{id}", "/user/folders/{id}"], "updateFolder", "Change a folder.", |ctx| FOLDERS.update(ctx)).about(Kind::Folder).and_patch().takes(NewFolder::TABLE).gives(ReplyForm::MessageData(Folder::TABLE)),
    delete(&["/user/folder/{id}", "/user/folders/{id}"], "deleteFolder", "Delete a folder; its assistants stay.", |ctx| FOLDERS.delete(ctx)).about(Kind::Folder),
    get(&["/user/labels"], "listLabels", "List the labels.", |ctx| LABELS.list(ctx)).about(Kind::Label).asks(FolderQuery::TABLE).gives(ReplyForm::Page(Folder::TABLE)),
    post(&["/user/label", "/user/labels"], "createLabel", "Create a label.", |ctx| LABELS.create(ctx)).about(Kind::Label).takes(NewFolder::TABLE).makes(ReplyForm::MessageData(Folder::TABLE)).refuses(&[Cause::Limit]),
    put(&["/user/label/{id}", "/user/labels/{id}"], "updateLabel", "Change a label.", |ctx| LABELS.update(ctx)).about(Kind::Label).and_patch().takes(NewFolder::TABLE).gives(ReplyForm::MessageData(Folder::TABLE)),
    delete(&["/user/label/{id}", "/user/labels/{id}"], "deleteLabel", "Delete a label; its assistants stay.", |ctx| LABELS.delete(ctx)).about(Kind::Label),
    ]),
    Group("Mid-call tools", &[
    get(&["/user/tools", "/user/mid-call-tools"], "listTools", "All mid-call tools.", tool::all).about(Kind::Tool).gives(ReplyForm::BareList(Tool::TABLE)),
    post(&["/user/tools", "/user/mid-call-tools"], "createTool", "Create a mid-call tool.", tool::create).about(Kind::Tool).takes(NewTool::TABLE).makes(ReplyForm::MessageData(Tool::TABLE)).invalid(Invalid::Tool).refuses(&[Cause::ToolLimit]),
    get(&["/user/tools/{id}", "/user/mid-call-tools/{id}"], "getTool", "A mid-call tool.", tool::read).about(Kind::Tool).gives(ReplyForm::Bare(Tool::TABLE)),
    put(&["/user/tools/{id}", "/user/mid-call-tools/{id}"], "updateTool", "Change a mid-call tool.", tool::update).about(Kind::Tool).and_patch().takes(NewTool::TABLE).gives(ReplyForm::MessageData(Tool::TABLE)).invalid(Invalid::Failed),
    delete(&["/user/tools/{id}", "/user/mid-call-tools/{id}"], "deleteTool", "Delete a mid-call tool.", tool::delete).about(Kind::Tool),
    post(&["/user/tools/{id}/test", "/user/mid-call-tools/{id}/test"], "testTool", "Make a tool's request, and show the answer.", tool::test).about(Kind::Tool).takes(Arguments::TABLE).gives(ReplyForm::Bare(ToolTest::TABLE)).stores_nothing().in_several_steps().refuses(&[Cause::Outside, Cause::Late]),
    ]),
    Group("Phone numbers", &[
    get(&["/user/phone-numbers/search"], "searchNumbers", "Numbers that can be bought.", number::search).asks(SearchQuery::TABLE).gives(ReplyForm::DataList(Available::TABLE)).error_form().without_etag().in_several_steps().refuses(&[Cause::Outside]),
    post(&["/user/phone-numbers/purchase"], "purchaseNumber", "Buy a number.", number::purchase).of_made(Kind::Number).takes(OneNumber::TABLE).strict().makes(ReplyForm::MessageData(Purchased::TABLE)).error_form().invalid(Invalid::Error).in_several_steps().refuses(&[Cause::Declined, Cause::Payment, Cause::Limit, Cause::Outside]),
    get(&["/user/phone-numbers/all"], "allNumbers", "All numbers of the account.", number::all).about(Kind::Number).gives(ReplyForm::DataList(Number::TABLE)).error_form(),
    get(&["/user/phone-numbers"], "listSmsNumbers", "Numbers that can send messages.", number::sms_capable).gives(ReplyForm::BareList(Number::TABLE)).error_form(),
    post(&["/user/phone-numbers/caller-ids"], "createCallerId", "Add a caller id.", number::create_caller_id).about(Kind::Number).takes(OneNumber::TABLE).makes(ReplyForm::MessageData(Number::TABLE)).error_form().invalid(Invalid::Error).in_several_steps().refuses(&[Cause::Declined, Cause::Limit]),
    get(&["/user/phone-numbers/sip-trunks"], "listTrunks", "All SIP trunks.", number::list_trunks).gives(ReplyForm::DataList(Trunk::TABLE)).error_form(),
    post(&["/user/phone-numbers/sip-trunks"], "createTrunk", "Add a SIP trunk.", number::create_trunk).about(Kind::Number).takes(NewTrunk::TABLE).makes(ReplyForm::MessageData(Trunk::TABLE)).error_form().invalid(Invalid::GivenData).refuses(&[Cause::Limit, Cause::Conflict]),
    get(&["/user/phone-numbers/sip-trunks/{id}"], "getTrunk", "A SIP trunk.", number::read_trunk).about(Kind::Number).gives(ReplyForm::Data(Trunk::TABLE)).error_form(),
    put(&["/user/phone-numbers/sip-trunks/{id}"], "updateTrunk", "Change a SIP trunk.", number::update_trunk).about(Kind::Number).takes(NewTrunk::TABLE).gives(ReplyForm::MessageData(Trunk::TABLE)).error_form().invalid(Invalid::GivenData).refuses(&[Cause::Conflict]),
    post(&["/user/phone-numbers/sip-trunks/{id}/check"], "checkTrunk", "Have an engine check a SIP trunk.", engine::check_trunk).about(Kind::Number).gives(ReplyForm::Data(TrunkCheckSteps::TABLE)).error_form().stores_nothing().in_several_steps().refuses(&[Cause::Conflict, Cause::NoEngine, Cause::Late]),
    get(&["/user/phone-numbers/{id}"], "getNumber", "A number.", number::read).about(Kind::Number).gives(ReplyForm::Data(Number::TABLE)).error_form(),
    put(&["/user/phone-numbers/{id}"], "updateNumber", "Rename a number.", number::update).about(Kind::Number).takes(Rename::TABLE).gives(ReplyForm::MessageData(Number::TABLE)).error_form(),
    delete(&["/user/phone-numbers/{id}"], "releaseNumber", "Give a number back.", |ctx| number::release(ctx, campaign::lose_number)).about(Kind::Number).error_form().in_several_steps().refuses(&[Cause::Declined, Cause::Outside]),
    ]),
    Group("Knowledgebases", &[
    get(&["/user/knowledgebases"], "listKnowledgebases", "All knowledgebases.", knowledge::all).about(Kind::Knowledgebase).gives(ReplyForm::DataList(Base::TABLE)).error_form(),
    post(&["/user/knowledgebases"], "createKnowledgebase", "Create a knowledgebase.", knowledge::create).about(Kind::Knowledgebase).takes(NewBase::TABLE).makes(ReplyForm::MessageData(Base::TABLE)).error_form().refuses(&[Cause::Limit]),
    get(&["/user/knowledgebases/{id}"], "getKnowledgebase", "A knowledgebase.", knowledge::read).about(Kind::Knowledgebase).gives(ReplyForm::Data(Base::TABLE)).error_form(),
    put(&["/user/knowledgebases/{id}"], "updateKnowledgebase", "Change a knowledgebase.", knowledge::update).about(Kind::Knowledgebase).and_patch().takes(NewBase::TABLE).gives(ReplyForm::MessageData(Base::TABLE)).error_form(),
    delete(&["/user/knowledgebases/{id}"], "deleteKnowledgebase", "Delete a knowledgebase and its documents.", knowledge::delete).about(Kind::Knowledgebase).error_form(),
    get(&["/user/knowledgebases/{id}/documents"], "listDocuments", "All documents of a knowledgebase.", knowledge::all_documents).about(Kind::Knowledgebase).gives(ReplyForm::DataList(Document::TABLE)).error_form(),
    post(&["/user/knowledgebases/{id}/documents"], "createDocument", "Add a document: JSON for a website, a form for a file.", knowledge::create_document).about(Kind::Knowledgebase).of_made(Kind::Document).takes_document(NewDocument::TABLE).makes(ReplyForm::MessageData(Document::TABLE)).error_form().refuses(&[Cause::Limit]),
    get(&["/user/knowledgebases/{id}/documents/{document_id}"], "getDocument", "A document.", knowledge::read_document).about(Kind::Knowledgebase).gives(ReplyForm::Data(Document::TABLE)).error_form(),
    put(&["/user/knowledgebases/{id}/documents/{document_id}"], "updateDocument", "Rename a document.", knowledge::update_document).about(Kind::Knowledgebase).and_patch().takes(ChangedDocument::TABLE).gives(ReplyForm::MessageData(Document::TABLE)).error_form(),
    delete(&["/user/knowledgebases/{id}/documents/{document_id}"], "deleteDocument", "Delete a document.", knowledge::delete_document).about(Kind::Knowledgebase).error_form(),
    post(&["/user/knowledgebases/{id}/search"], "searchKnowledgebase", "Search a knowledgebase.", knowledge::find).about(Kind::Knowledgebase).takes(Question::TABLE).gives(ReplyForm::DataList(Passage::TABLE)).error_form().stores_nothing(),
    ]),
    Group("Calls", &[
    get(&["/user/calls"], "listCalls", "List the calls, newest first.", call::list).about(Kind::Call).asks(CallQuery::TABLE).gives(ReplyForm::Page(Call::TABLE)).or_csv("calls.csv"),
    get(&["/user/calls/{id}"], "getCall", "A call.", call::read).about(Kind::Call).gives(ReplyForm::Bare(Call::TABLE)),
    delete(&["/user/calls/{id}"], "deleteCall", "Delete a call.", call::delete).about(Kind::Call).refuses(&[Cause::Conflict]),
    post(&["/user/make_call"], "makeCall", "Place a call.", call::make_call).about(Kind::Call).takes(NewCall::TABLE).strict().gives(ReplyForm::Bare(PlacedCall::TABLE)).refuses(&[Cause::Payment, Cause::NotFound, Cause::Unprocessable, Cause::NoEngine]),
    post(&["/user/calls/{id}/hangup"], "hangUpCall", "End a call.", call::hangup).about(Kind::Call).ends().refuses(&[Cause::Conflict]),
    post(&["/user/web_calls"], "makeWebCall", "Make a call from a page, and a token for its browser.", call::web::make).about(Kind::Call).takes(NewWebCall::TABLE).makes(ReplyForm::Bare(MadeWebCall::TABLE)).shows_token().refuses(&[Cause::Payment, Cause::NotFound, Cause::NoEngine]),
    post(&["/user/calls/{id}/commands"], "commandCall", "Tell the engine of a call what to do.", call::command::command).about(Kind::Call).takes(NewCommand::TABLE).accepts(ReplyForm::MessageData(SentCommand::TABLE)).refuses(&[Cause::Conflict]),
    delete(&["/user/calls/{id}/recording"], "deleteRecording", "Delete the recording of a call.", call::recording::delete).without_if_match().refuses(&[Cause::Conflict]),
    get(&["/recordings/{call}/{day}/{signature}"], "getRecording", "Play the recording of a call, by its signed link.", call::recording::read).by(Who::Anyone).gives(ReplyForm::Object("audio/*")).without_etag().refuses(&[Cause::Link, Cause::Range, Cause::NotKept, Cause::Outside]),
    get(&["/user/calls/{id}/bundle"], "bundleCall", "All that there is of a call, as a ZIP file.", call::bundle::read).about(Kind::Call).without_etag().gives(ReplyForm::Media("application/zip")),
    get(&["/user/calls/{id}/events"], "listCallEvents", "What happened in a call; live as `text/event-stream`.", call::events).about(Kind::Call).asks(EventsQuery::TABLE).gives(ReplyForm::CallEvents).without_etag().refuses(&[Cause::EventId]),
    ]),
    Group("Campaigns", &[
    get(&["/user/campaigns"], "listCampaigns", "All campaigns.", campaign::all).about(Kind::Campaign).gives(ReplyForm::BareList(&progress::SHOWN)),
    post(&["/user/campaigns", "/user/campaign"], "createCampaign", "Create a campaign.", campaign::create).about(Kind::Campaign).takes(NewCampaign::TABLE).makes(ReplyForm::MessageData(&progress::SHOWN)).invalid(Invalid::GivenData).refuses(&[Cause::Limit, Cause::NotFound]),
    get(&["/user/campaigns/{id}", "/user/campaign/{id}"], "getCampaign", "A campaign.", campaign::read).about(Kind::Campaign).gives(ReplyForm::Bare(&progress::SHOWN)),
    get(&["/user/campaigns/{id}/progress"], "getCampaignProgress", "How far a campaign is: its leads, calls, cost and forecast.", progress::progress).about(Kind::Campaign).gives(ReplyForm::Data(CampaignProgress::TABLE)),
    put(&["/user/campaigns/{id}", "/user/campaign/{id}"], "updateCampaign", "Change a campaign.", campaign::update).about(Kind::Campaign).and_patch().takes(NewCampaign::TABLE).gives(ReplyForm::MessageData(&progress::SHOWN)).invalid(Invalid::GivenData),
    delete(&["/user/campaigns/{id}", "/user/campaign/{id}"], "deleteCampaign", "Delete a campaign and its leads.", campaign::delete).about(Kind::Campaign),
    post(&["/user/campaigns/update-status"], "switchCampaign", "Start or stop a campaign.", campaign::switch).takes(Switch::TABLE).gives(ReplyForm::Bare(SwitchReply::TABLE)).invalid(Invalid::GivenData).ends().refuses(&[Cause::Unsuccessful, Cause::NotFoundUnsuccessful]),
    patch(&["/user/campaigns/{id}/status"], "switchCampaignOf", "Start or stop the campaign in the path.", campaign::switch_this).about(Kind::Campaign).takes(SwitchThis::TABLE).gives(ReplyForm::Bare(SwitchReply::TABLE)).invalid(Invalid::GivenData).refuses(&[Cause::Unsuccessful]),
    ]),
    Group("Leads", &[
    post(&["/user/lead", "/user/leads"], "createLead", "Create a lead.", lead::create).about(Kind::Lead).takes(NewLead::TABLE).gives(ReplyForm::MessageData(Lead::TABLE)).invalid(Invalid::Failed),
    post(&["/user/leads/import"], "importLeads", "Create leads from a file, in the background.", import::start_leads).takes_file(&import::MEDIA, IMPORT_BODY_BYTES_MAX).asks(LeadImport::TABLE).accepts(ReplyForm::MessageData(Started::TABLE)).or_looks(ReplyForm::Data(DryRun::TABLE)).in_several_steps().refuses(&[Cause::Limit]),
    get(&["/user/leads/imports/{id}"], "getLeadImport", "How far an import of leads came.", import::read_leads).about(Kind::Import).gives(ReplyForm::Data(Import::TABLE)),
    get(&["/user/leads"], "listLeads", "List the leads, newest first.", lead::list).about(Kind::Lead).asks(LeadQuery::TABLE).gives(ReplyForm::Page(Lead::TABLE)).or_csv("leads.csv"),
    get(&["/user/leads/{id}"], "getLead", "A lead.", lead::read).about(Kind::Lead).gives(ReplyForm::Bare(Lead::TABLE)),
    put(&["/user/leads/{id}", "/leads/{id}"], "updateLead", "Change a lead.", lead::update).about(Kind::Lead).and_patch().takes(ChangedLead::TABLE).shown_as(&[Lead::TABLE]).invalid(Invalid::Failed),
    delete(&["/user/leads/{id}"], "deleteLead", "Delete a lead and its secondary contacts.", lead::delete).about(Kind::Lead),
    get(&["/user/leads/{id}/explain"], "explainLead", "Why a lead is, or is not, called now.", campaign::explain).about(Kind::Lead).gives(ReplyForm::Data(Explanation::TABLE)).without_etag(),
    get(&["/user/do-not-call"], "listDoNotCall", "List the numbers that are not to be called.", suppression::list).about(Kind::DoNotCall).asks(SuppressedQuery::TABLE).gives(ReplyForm::Page(Suppressed::TABLE)),
    post(&["/user/do-not-call"], "addDoNotCall", "Add a number that is not to be called.", suppression::create).about(Kind::DoNotCall).takes(NewSuppressed::TABLE).makes(ReplyForm::MessageData(Suppressed::TABLE)),
    post(&["/user/do-not-call/import"], "importDoNotCall", "Add numbers that are not to be called from a file, in the background.", import::start_numbers).takes_file(&import::MEDIA, IMPORT_BODY_BYTES_MAX).asks(NumberImport::TABLE).accepts(ReplyForm::MessageData(Started::TABLE)).or_looks(ReplyForm::Data(DryRun::TABLE)).in_several_steps().refuses(&[Cause::Limit]),
    get(&["/user/do-not-call/imports/{id}"], "getDoNotCallImport", "How far an import of such numbers came.", import::read_numbers).about(Kind::Import).gives(ReplyForm::Data(Import::TABLE)),
    delete(&["/user/do-not-call/{id}"], "removeDoNotCall", "Remove a number from that list.", suppression::delete).about(Kind::DoNotCall),
    ]),
    Group("Events and webhooks", &[
    get(&["/user/webhook-deliveries"], "listDeliveries", "List the webhook deliveries, newest first.", webhook::list).about(Kind::Delivery).asks(DeliveryQuery::TABLE).gives(ReplyForm::Page(Delivery::TABLE)).or_csv("webhook-deliveries.csv"),
    post(&["/user/webhook-deliveries/{id}/resend"], "resendDelivery", "Send a webhook again.", webhook::resend).about(Kind::Delivery).accepts(ReplyForm::Message),
    get(&["/user/webhook-secrets"], "listWebhookSecrets", "The secrets that sign webhooks.", signing::list).gives(ReplyForm::Secrets(SigningSecret::TABLE)).not_for_read_only().shows_token(),
    post(&["/user/webhook-secrets/rotate"], "rotateWebhookSecret", "Make a new webhook secret beside the newest one.", signing::rotate).makes(ReplyForm::Secrets(SigningSecret::TABLE)).shows_token().stores_nothing(),
    get(&["/user/events"], "listEvents", "The account's events, oldest first; live as `text/event-stream`.", webhook::events).asks(EventQuery::TABLE).gives(ReplyForm::Feed(Event::TABLE)).without_etag().refuses(&[Cause::Forgotten, Cause::EventId]),
    ]),
    Group("Conversations", &[
    post(&["/conversations"], "startConversation", "Begin a conversation by text.", conversation::start).by(Who::Visitor).about(Kind::Conversation).takes(NewConversation::TABLE).at_most(VISITOR_BODY_BYTES_MAX).gives(ReplyForm::Bare(StartedConversation::TABLE)).form(Form::Status).refuses(&[Cause::Declined, Cause::NotFound, Cause::Origin, Cause::Limit, Cause::Unprocessable]),
    get(&["/widgets/{uuid}"], "getWidget", "How the widget of an assistant looks.", conversation::read_widget).by(Who::Visitor).about(Kind::Assistant).gives(ReplyForm::Bare(Widget::TABLE)).form(Form::Status).refuses(&[Cause::Origin]),
    post(&["/widgets/{uuid}/web_calls"], "callWidget", "Talk with the assistant of a widget.", conversation::call_widget).by(Who::Visitor).about(Kind::Call).at_most(VISITOR_BODY_BYTES_MAX).gives(ReplyForm::Bare(OpenWebCall::TABLE)).form(Form::Status).shows_token().refuses(&[Cause::Declined, Cause::Origin, Cause::NoEngine]),
    get(&["/conversations/{uuid}"], "getOpenConversation", "What was said in a conversation.", conversation::read_open).by(Who::Visitor).about(Kind::Conversation).gives(ReplyForm::Bare(OpenConversation::TABLE)).form(Form::Status).without_etag().refuses(&[Cause::Origin]),
    post(&["/conversations/{uuid}/messages"], "sendMessage", "Say something, and have the assistant answer.", conversation::send).by(Who::Visitor).about(Kind::Conversation).takes(NewUserMessage::TABLE).at_most(VISITOR_BODY_BYTES_MAX).gives(ReplyForm::BareOrStream(MessageAnswer::TABLE)).form(Form::Status).keyed_by_path().in_settled_steps().refuses(&[Cause::Declined, Cause::Origin, Cause::Conflict, Cause::Unprocessable, Cause::Outside, Cause::Late]),
    get(&["/user/conversations"], "listConversations", "List the conversations, newest first.", conversation::list).about(Kind::Conversation).asks(ConversationQuery::TABLE).gives(ReplyForm::PageOrCursor(Conversation::TABLE)),
    get(&["/user/conversations/{uuid}"], "getConversation", "A conversation with all that was said.", conversation::read).about(Kind::Conversation).gives(ReplyForm::Bare(WholeConversation::TABLE)),
    delete(&["/user/conversations/{uuid}"], "deleteConversation", "Delete a conversation.", conversation::delete).about(Kind::Conversation),
    post(&["/user/ai/generate-reply", "/ai/generate-reply", "/ai-replies/generate"], "generateReply", "Have an assistant answer a customer whom you write to yourself.", conversation::generate).about(Kind::Conversation).takes(NewReply::TABLE).gives(ReplyForm::Bare(Generated::TABLE)).form(Form::Success).in_settled_steps().refuses(&[Cause::Payment, Cause::NotFound, Cause::Conflict, Cause::Limit, Cause::Unprocessable, Cause::Outside, Cause::Late]),
    post(&["/automate/conversations/{uuid}/enable-ai"], "enableAi", "Let the assistant of a conversation answer again.", conversation::enable_ai).about(Kind::Conversation).gives(ReplyForm::Bare(AiSwitched::TABLE)).form(Form::Status).stores_nothing(),
    post(&["/automate/conversations/{uuid}/disable-ai"], "disableAi", "Take over from the assistant of a conversation.", conversation::disable_ai).about(Kind::Conversation).gives(ReplyForm::Bare(AiSwitched::TABLE)).form(Form::Status).stores_nothing(),
    ]),
    Group("Messages", &[
    post(&["/user/sms", "/user/sms/send"], "sendSms", "Send a text message.", sms::send).about(Kind::Message).takes(NewMessage::TABLE).strict().gives(ReplyForm::MessageData(Message::TABLE)).in_several_steps().refuses(&[Cause::Declined, Cause::Outside]),
    ]),
    Group("WhatsApp", &[
    get(&["/user/whatsapp/senders"], "listWhatsAppSenders", "The WhatsApp senders: none, as there is no WhatsApp here.", whatsapp::senders).gives(ReplyForm::DataList(WhatsAppSender::TABLE)),
    ]),
    Group("Engine", &[
    get(&["/engine"], "readInterface", "What an engine can rely on.", engine::interface).by(Who::Engine).gives(ReplyForm::Bare(Interface::TABLE)),
    post(&["/engine/claim"], "claimCalls", "Wait for calls, and take them.", engine::claim).by(Who::Engine).takes(Claim::TABLE).gives(ReplyForm::Bare(ClaimedCalls::TABLE)).in_several_steps().refuses(&[Cause::Exposed]),
    get(&["/engine/trunks"], "listEngineTrunks", "The SIP trunks of the accounts that an engine serves; waits for a change.", engine::trunks).by(Who::Engine).asks(TrunksQuery::TABLE).gives(ReplyForm::Bare(Trunks::TABLE)).without_etag().refuses(&[Cause::Exposed]),
    post(&["/engine/heartbeat"], "renewLeases", "Renew the leases of all calls of an engine.", engine::heartbeat).by(Who::Engine).takes(Heartbeat::TABLE).gives(ReplyForm::Bare(RenewedLeases::TABLE)).without_idempotency(),
    post(&["/engine/checks/{id}"], "answerTrunkCheck", "Answer the check of a SIP trunk.", engine::answer_check).by(Who::Engine).takes(TrunkCheckSteps::TABLE).gives(ReplyForm::Message),
    post(&["/engine/calls"], "bringCall", "Bring an inbound or web call.", engine::create).by(Who::Engine).takes(NewArrival::TABLE).makes(ReplyForm::Bare(Claimed::TABLE)).or_looks(ReplyForm::Bare(Claimed::TABLE)).in_several_steps().refuses(&[Cause::Exposed, Cause::OffTrunk, Cause::Elsewhere, Cause::NotFound, Cause::Conflict, Cause::Unprocessable]),
    post(&["/engine/calls/{id}/events"], "reportEvents", "Say what happened in a call.", engine::report).by(Who::Engine).takes(Report::TABLE).gives(ReplyForm::Bare(Reported::TABLE)).refuses(&[Cause::OutOfOrder]),
    put(&["/engine/calls/{id}/recording"], "uploadRecording", "Upload the recording of a call.", engine::recording).by(Who::Engine).takes_object(&call::recording::MEDIA, RECORDING_BYTES_MAX).makes(ReplyForm::Bare(UploadedRecording::TABLE)).without_if_match().in_settled_steps().refuses(&[Cause::NotRecorded, Cause::Storage, Cause::Conflict, Cause::Outside, Cause::DiskFull, Cause::NotKept]),
    post(&["/engine/calls/{id}/tools/{name}"], "runTool", "Have a mid-call tool's request made.", engine::tool).by(Who::Engine).takes(ToolCall::TABLE).gives(ReplyForm::Bare(ToolReply::TABLE)).in_several_steps().refuses(&[Cause::OutOfOrder, Cause::Unprocessable, Cause::Conflict, Cause::Outside, Cause::Late]),
    post(&["/engine/calls/{id}/knowledge"], "askKnowledge", "Search the knowledgebase of a call's assistant.", engine::knowledge).by(Who::Engine).takes(Question::TABLE).gives(ReplyForm::DataList(Passage::TABLE)).refuses(&[Cause::Conflict]),
    ]),
    Group("Operator", &[
    post(&["/admin/accounts"], "createAccount", "Create an account.", admin::create).by(Who::Operator).takes(NewAccount::TABLE).makes(ReplyForm::Bare(MadeAccount::TABLE)).shows_token().in_several_steps(),
    get(&["/admin/accounts"], "listAccounts", "List the accounts.", admin::list).by(Who::Operator).asks(AdminQuery::TABLE).gives(ReplyForm::Page(Account::TABLE)),
    get(&["/admin/accounts/{id}"], "getAccount", "An account.", admin::read).by(Who::Operator).gives(ReplyForm::Bare(Account::TABLE)),
    put(&["/admin/accounts/{id}"], "updateAccount", "Change an account.", admin::update).by(Who::Operator).takes(ChangedAccount::TABLE).gives(ReplyForm::MessageData(Account::TABLE)).in_several_steps(),
    delete(&["/admin/accounts/{id}"], "deleteAccount", "Delete an account with all that it has.", admin::delete).by(Who::Operator).accepts(ReplyForm::MessageData(GoingAccount::TABLE)),
    get(&["/admin/accounts/{id}/api-keys"], "listAccountKeys", "List the API keys of an account.", admin::list_keys).by(Who::Operator).gives(ReplyForm::MemberList("api_keys", ApiKey::TABLE)),
    post(&["/admin/accounts/{id}/api-keys"], "createAccountKey", "Create an API key for an account.", admin::create_key).by(Who::Operator).takes(NewKey::TABLE).makes(ReplyForm::MessageMember("api_key", ShownKey::TABLE)).shows_token().refuses(&[Cause::Limit]),
    delete(&["/admin/accounts/{id}/api-keys/{key_id}"], "deleteAccountKey", "Delete an API key of an account.", admin::delete_key).by(Who::Operator),
    put(&["/admin/accounts/{id}/caller-ids/{number_id}"], "verifyCallerId", "Say whether a caller id may be shown on calls.", admin::verify_caller_id).by(Who::Operator).takes_whole(Verification::TABLE).gives(ReplyForm::MessageData(Number::TABLE)),
    post(&["/admin/operator-token/rotate"], "rotateOperatorToken", "Replace the operator's token; the old one ends.", admin::rotate_token).by(Who::Operator).makes(ReplyForm::Bare(OperatorToken::TABLE)).shows_token().without_idempotency(),
    get(&["/admin/plans"], "listPlans", "All plans.", admin::plans).by(Who::Operator).gives(ReplyForm::DataList(Plan::TABLE)),
    post(&["/admin/plans"], "createPlan", "Create a plan.", admin::create_plan).by(Who::Operator).takes(Plan::TABLE).makes(ReplyForm::MessageData(Plan::TABLE)).refuses(&[Cause::Limit]),
    put(&["/admin/plans/{name}"], "updatePlan", "Change a plan.", admin::update_plan).by(Who::Operator).takes(Plan::TABLE).gives(ReplyForm::MessageData(Plan::TABLE)),
    get(&["/admin/prices"], "getPrices", "The price list.", admin::prices).by(Who::Operator).gives(ReplyForm::Data(Prices::TABLE)),
    put(&["/admin/prices"], "replacePrices", "Replace the price list.", admin::replace_prices).by(Who::Operator).takes_whole(Prices::TABLE).gives(ReplyForm::Data(Prices::TABLE)),
    get(&["/admin/engine-tokens"], "listEngineTokens", "All engine tokens.", admin::engine_tokens).by(Who::Operator).gives(ReplyForm::DataList(EngineToken::TABLE)),
    post(&["/admin/engine-tokens"], "createEngineToken", "Create an engine token.", admin::create_engine_token).by(Who::Operator).takes(NewEngineToken::TABLE).makes(ReplyForm::Bare(ShownEngineToken::TABLE)).shows_token().refuses(&[Cause::Limit]),
    delete(&["/admin/engine-tokens/{id}"], "deleteEngineToken", "Delete an engine token.", admin::delete_engine_token).by(Who::Operator),
    get(&["/admin/engines"], "listEngines", "The engines that are attached or were so lately.", admin::engines).by(Who::Operator).gives(ReplyForm::DataList(ShownEngine::TABLE)).without_etag(),
    post(&["/admin/engines/{id}/drain"], "drainEngine", "Give an engine no more calls, or end that.", admin::drain_engine).by(Who::Operator).takes(Draining::TABLE).accepts(ReplyForm::MessageData(ShownEngine::TABLE)),
    get(&["/admin/jobs"], "listJobs", "Durable work: what was set aside, what runs, what waits. Of what runs or waits the first 20,000 jobs are looked at.", admin::jobs).by(Who::Operator).asks(JobQuery::TABLE).gives(ReplyForm::Page(ShownJob::TABLE)).without_etag(),
    post(&["/admin/jobs/{id}/retry"], "retryJob", "Try a job again that was set aside.", admin::retry_job).by(Who::Operator).accepts(ReplyForm::Message).refuses(&[Cause::Conflict]),
    delete(&["/admin/jobs/{id}"], "dropJob", "Drop a job that was set aside; its call, delivery, document or import ends as failed.", |ctx| admin::drop_job(ctx, tasks::give_up)).by(Who::Operator).without_if_match().refuses(&[Cause::Conflict]),
    get(&["/admin/queues"], "listQueues", "How many jobs of each kind wait, run and were set aside. Of what runs or waits the first 20,000 jobs are counted.", admin::queues).by(Who::Operator).gives(ReplyForm::DataList(JobQueue::TABLE)).without_etag(),
    get(&["/admin/settings"], "listSettings", "The service's settings, and where each comes from.", admin::settings).by(Who::Operator).gives(ReplyForm::DataList(ShownSetting::TABLE)),
    get(&["/admin/store"], "getStore", "Size of the store, its last backup and its last check.", |_| Ok(Reply::host(HostPage::Store))).by(Who::Operator).gives(ReplyForm::Data(StoreState::TABLE)).without_etag(),
    get(&["/admin/nodes"], "listNodes", "The nodes that serve the store, and what each serves.", admin::nodes).by(Who::Operator).gives(ReplyForm::DataList(ShownNode::TABLE)).without_etag(),
    post(&["/admin/nodes/{id}/drain"], "drainNode", "Have a node give its accounts to the others.", admin::drain_node).by(Who::Operator).accepts(ReplyForm::Message).without_idempotency().refuses(&[Cause::Conflict]),
    get(&["/admin/backup"], "backup", "A consistent snapshot, streamed while serving.", |_| Ok(Reply::host(HostPage::Backup))).by(Who::Operator).gives(ReplyForm::Media("application/octet-stream")).without_etag(),
    ]),
    Group("Service", &[
    get(&["/"], "home", "Name and release of the service; a page for browsers.", home::read).by(Who::Anyone).gives(ReplyForm::BareOrPage(Home::TABLE)),
    get(&["/healthz"], "health", "Whether the process answers.", |_| Ok(Reply::ok_raw(br#"{"status":"ok"}"#.to_vec()))).by(Who::Anyone).without_etag().gives(ReplyForm::Status),
    get(&["/readyz"], "ready", "Whether the store answers.", |_| Ok(Reply::host(HostPage::Ready))).by(Who::Anyone).without_etag().gives(ReplyForm::Status),
    get(&["/metrics"], "metrics", "Metrics in the Prometheus text format.", |_| Ok(Reply::host(HostPage::Metrics))).by(Who::Operator).without_etag().gives(ReplyForm::Media("application/openmetrics-text; version=1.0.0; charset=utf-8")),
    get(&["/openapi.json"], "openapi", "This document.", |ctx| Ok(Reply::ok_raw(ctx.setup.openapi().to_vec()))).by(Who::Anyone).without_etag().gives(ReplyForm::Media("application/json")),
    get(&["/docs"], "docs", "The API explorer.", |_| Ok(Reply::host(HostPage::Docs))).by(Who::Anyone).gives(ReplyForm::Media("text/html")).with_files(&["/docs/{file}"]),
    get(&["/console"], "console", "The console.", console::read).by(Who::Anyone).gives(ReplyForm::Media("text/html")).with_files(&["/console/{*path}"]),
    get(&["/widget.js"], "widget", "The script by which a page embeds an assistant.", console::widget).by(Who::Anyone).gives(ReplyForm::Media("text/javascript")),
    ]),
];
