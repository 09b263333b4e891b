//! All limits of the service, except the bounds of columns, which are in their tables.

/// Largest body of a JSON request, bytes.
pub const JSON_BODY_BYTES_MAX: usize = 1 << 20;
/// Largest body of a login, bytes (docs/api.md, Budgets).
pub const LOGIN_BODY_BYTES_MAX: usize = 4 << 10;
/// Failed logins of an e-mail after which addresses that never logged in to it are refused (docs/api.md, Logins).
pub const LOGIN_FAILURES_MAX: usize = 20;
/// How long a failed login counts, seconds.
pub const LOGIN_FAILURES_SECONDS: u64 = 900;
/// Addresses remembered of an account because a login from them succeeded.
pub const LOGIN_ADDRESSES_MAX: usize = 64;
/// How long such an address is remembered, seconds.
pub const LOGIN_ADDRESS_SECONDS: u64 = 30 * 86_400;
/// Largest file uploaded as a document, bytes (docs/api.md, Documents).
pub const FILE_BYTES_MAX: usize = 20_000_000;
/// Most text read from one file or page, bytes of UTF-8: one with more is refused, not cut, so that no answer is wrong
/// because of a part that is missing unnoticed.
pub const TEXT_BYTES_MAX: usize = 5_000_000;
/// Links followed from one page.
pub const LINKS_MAX: usize = 1_000;
/// Bytes of a robots.txt that are read (RFC 9309, section 2.5).
pub const ROBOTS_BYTES_MAX: usize = 500 << 10;
/// Largest body of a document upload, bytes: the file and a mebibyte for multipart framing.
pub const UPLOAD_BODY_BYTES_MAX: usize = FILE_BYTES_MAX + (1 << 20);
/// Largest reply with an entity tag, bytes: a longer one has none (docs/api.md, Conditional requests). A longer list is
/// written in pieces, where the host supports that.
pub const TAGGED_BYTES_MAX: usize = 1 << 20;
/// Size of a further piece of such a list, bytes; its last row may exceed it.
pub const PIECE_BYTES: usize = 256 << 10;
/// Largest list as CSV where the host takes lists whole, bytes; its last row may exceed it.
pub const CSV_BYTES_MAX: usize = 16 << 20;
/// Rows that a list as CSV reads at once.
pub const CSV_READ_ROWS: usize = 256;
/// Delay before a retry of what found no room in a budget (`Retry-After`), seconds.
pub const BUSY_SECONDS: u64 = 1;
/// Delay before a retry while the host's disk is full, seconds: the interval at which a host checks for free space.
pub const FULL_SECONDS: u64 = 10;
/// Deepest nesting of a JSON body, levels.
pub const JSON_DEPTH_MAX: usize = 32;
/// Most unknown members of a body that a refusal names.
pub const UNKNOWN_MAX: usize = 1_000;
/// Most ignored members that an answer names.
pub const IGNORED_MAX: usize = 20;
/// Longest name of an ignored member, bytes as written; a longer one is cut.
pub const IGNORED_NAME_BYTES_MAX: usize = 64;
/// Longest list of ignored members, bytes.
pub const IGNORED_BYTES_MAX: usize = 1 << 10;
/// Longest request target (path and query), bytes.
pub const TARGET_BYTES_MAX: usize = 8 << 10;
/// Most query parameters of one request.
pub const QUERY_PARAMETERS_MAX: usize = 100;
/// Redirects that one request outside follows at most; `host-wasm/js/npm/host/send.js` has the same number.
pub const REDIRECTS_MAX: u32 = 3;
/// Longest URL anywhere in the service, characters.
pub const URL_MAX: usize = 2048;
/// Most entries in `tools`, `tool_ids`, `post_call_schema`, `headers` and `schema`.
pub const ENTRIES_MAX: usize = 50;
/// Most keys of a `variables` object.
pub const VARIABLES_MAX: usize = 100;
/// Most filler words of a tone.
pub const FILLERS_MAX: usize = 20;
/// Most origins and variables of a widget.
pub const WIDGET_ENTRIES_MAX: usize = 20;
/// Longest name of a variable, characters.
pub const VARIABLE_NAME_MAX: usize = 64;
/// Deepest nesting of a variable's value, levels; a text, a number or a boolean is one.
pub const VARIABLE_DEPTH_MAX: usize = 8;
/// Largest `variables` object as compact JSON, bytes (docs/api.md, Assistants).
pub const VARIABLES_BYTES_MAX: usize = 16 << 10;
/// Largest result collected in a call, from its engine and by extraction, as compact JSON, bytes.
pub const COLLECTED_BYTES_MAX: usize = 64 << 10;
/// Largest assistant of a claimed call as JSON, bytes (docs/api.md, The claimed assistant).
pub const ASSISTANT_BYTES_MAX: usize = 1 << 20;
/// Size of the calls in one claim's reply, bytes, from which on no further call is added.
pub const CLAIMED_BYTES_MAX: usize = 4 << 20;
/// Largest filled request to a tool or calendar: URL, headers and body, bytes (docs/api.md, How parameters reach the
/// endpoint).
pub const TOOL_REQUEST_BYTES_MAX: usize = 64 << 10;
/// Most rows of an unpaged list that no plan bounds: API keys, documents of a knowledgebase.
pub const UNPAGED_ROWS_MAX: u64 = 1_000;
/// Size of a row that holds part of something large, bytes.
pub const PART_BYTES: usize = 1 << 20;
/// Most rows of a kind that any plan allows: an account's whole list of such a kind is never longer.
pub const PLAN_ROWS_MAX: usize = 10_000;
/// How long an idempotency key is remembered, seconds.
pub const IDEMPOTENCY_SECONDS: u64 = 86_400;
/// How long a first request with an idempotency key may stay unfinished, seconds.
pub const IDEMPOTENCY_RUNNING_SECONDS: u64 = 60;
/// Records of a file that a dry run of an import checks.
pub const DRY_RUN_RECORDS: usize = 100;
/// Records of a file that a dry run of an import shows.
pub const DRY_RUN_ROWS: usize = 10;
/// Most secondary contacts of a lead.
pub const SECONDARY_CONTACTS_MAX: usize = 10;
/// Lanes of accounts that one tick works on.
pub const ACCOUNTS_PER_TICK: usize = 8;
/// Due tasks of a lane that one tick runs.
pub const JOBS_PER_TURN: usize = 8;
/// Failed runs in a row after which a job is set aside.
pub const JOB_FAULTS_MAX: u32 = 5;
/// Waiting or running jobs that one list of the operator's scans.
pub const JOBS_LISTED_MAX: usize = 20_000;
/// Requests to the outside that an account's tasks may have under way at once.
pub const ASKING_MAX: usize = 32;
/// How long an engine keeps a call without reporting, seconds (docs/api.md, Leases).
pub const LEASE_SECONDS: u64 = 30;
/// How long the token of a web call can be shown, seconds.
pub const WEB_TOKEN_SECONDS: u64 = 60;
/// Most SIP trunks that an engine is told of.
pub const TRUNKS_MAX: usize = 10_000;
/// Registrations with trunks that one heartbeat tells of.
pub const REGISTRATIONS_TOLD_MAX: usize = 1_000;
/// How long a trunk's check is waited for, seconds.
pub const TRUNK_CHECK_SECONDS: u64 = 30;
/// Most steps of a trunk's check.
pub const TRUNK_CHECK_STEPS_MAX: usize = 8;
/// Checks of trunks that are under way at once: of all accounts, and of one.
pub const TRUNK_CHECKS_MAX: usize = 64;
/// As [`TRUNK_CHECKS_MAX`], of one account.
pub const TRUNK_CHECKS_OF_ACCOUNT_MAX: usize = 4;
/// Shortest silence that ends a customer's turn, milliseconds: words have gaps as well.
pub const TURN_STOP_MS_MIN: u32 = 200;
/// Longest text about arguments that do not fit a function, bytes.
pub const ARGUMENT_FAULTS_BYTES_MAX: usize = 1 << 10;
/// Largest arguments of a function, bytes of JSON.
pub const ARGUMENTS_BYTES_MAX: usize = 16 << 10;
/// Most of a partial line that is shown, bytes.
pub const PARTIAL_BYTES_MAX: usize = 1 << 10;
/// Shortest time between two partial lines that a live stream shows, milliseconds.
pub const PARTIAL_MILLISECONDS: u64 = 200;
/// Most calls that one heartbeat names.
pub const HEARTBEAT_CALLS_MAX: usize = 10_000;
/// How long a one-time code logs in, seconds.
pub const LOGIN_CODE_SECONDS: u64 = 600;
/// Most origins of each kind that the console's content security policy names besides its own.
pub const PAGE_ORIGINS_MAX: usize = 16;
/// Engines that are remembered: of all tokens, and of one.
pub const ENGINES_MAX: usize = 2_000;
/// As [`ENGINES_MAX`], of one token.
pub const ENGINES_OF_TOKEN_MAX: usize = 1_000;
/// Most legs that an engine names.
pub const ENGINE_LEGS_MAX: usize = 8;
/// Accounts whose leases one tick restores after a start.
pub const ACCOUNTS_PER_RESTORE: usize = 64;
/// Leases that one tick looks at, and that it restores after a start.
pub const LEASES_PER_TICK: usize = 1_000;
/// How long a call may wait for an engine to dial it, seconds (docs/api.md, States).
pub const UNCLAIMED_SECONDS: u64 = 600;
/// Longest wait of a claim, seconds.
pub const CLAIM_WAIT_SECONDS: u32 = 30;
/// Most calls that one claim may ask for.
pub const CAPACITY_MAX: u32 = 1_000;
/// Unfinished tries to hand a call to an engine after which the call fails.
pub const CLAIM_TRIES_MAX: u8 = 3;
/// Pause after such a try before the next, seconds: longer than a step takes.
pub const CLAIM_TRY_SECONDS: u64 = 10;
/// Waiting calls of one mode of an account that one claim looks at.
pub const CLAIM_LOOKS_MAX: usize = 256;
/// Most calls that one claim returns.
pub const CLAIMED_MAX: usize = 32;
/// Accounts with waiting calls that one claim looks at.
pub const CLAIM_ACCOUNTS_MAX: usize = 256;
/// Largest `engine` object of a catalogue entry as compact JSON, bytes (docs/configuration.md, The catalogue).
pub const ENGINE_OBJECT_BYTES_MAX: usize = 4 << 10;
/// Most events in one request of an engine.
pub const ENGINE_EVENTS_MAX: usize = 100;
/// Largest event of an engine whose type this release does not know, bytes.
pub const UNKNOWN_EVENT_BYTES_MAX: usize = 4 << 10;
/// Most commands of a call that its engine has not ended.
pub const COMMANDS_MAX: usize = 16;
/// How long a command is repeated to an engine that does not say how it ended, seconds.
pub const COMMAND_SECONDS: u64 = 60;
/// Calls with new commands of an engine token that one claim looks at.
pub const COMMANDED_CALLS_MAX: usize = 1_000;
/// Most settings that an engine says it cannot do, in one event.
pub const SETTINGS_MAX: usize = 64;
/// Most entries of each list of a claim's filter.
pub const FILTER_MAX: usize = 1_000;
/// How often a call that was claimed and not dialed goes back to the queue; the last time it fails instead.
pub const RETURNS_MAX: u32 = 3;
/// How long after a call lines of its transcript are accepted that were said before its end, seconds.
pub const LATE_LINES_SECONDS: u64 = 30;
/// Transcript text stored of a call, bytes.
pub const TRANSCRIPT_BYTES_MAX: usize = 256 << 10;
/// Events stored of a call, its tool requests and searches among them; later ones are acknowledged and only change the
/// call's state. Its end is stored all the same.
pub const CALL_EVENTS_MAX: u32 = 20_000;
/// Bytes of those events.
pub const CALL_EVENTS_BYTES_MAX: usize = 8 << 20;
/// Body of an endpoint's answer in the event of a tool request, bytes.
pub const TOOL_EVENT_BODY_BYTES_MAX: usize = 4 << 10;
/// Most passages that a search returns.
pub const PASSAGES_MAX: u32 = 20;
/// How long after a call its recording and cost are accepted, seconds.
pub const AFTERMATH_SECONDS: u64 = 86_400;
/// Largest recording of a call, bytes (docs/api.md, Recordings).
pub const RECORDING_BYTES_MAX: usize = 256 << 20;
/// How long an upload of a recording may take, seconds: longer than the largest does at the lowest rate of a body.
/// What is left of one that began earlier is deleted.
pub const RECORDING_UPLOAD_SECONDS: u64 = 3 * 3_600;
/// Uploads of recordings of a call that may be under way at once.
pub const RECORDING_UPLOADS_MAX: usize = 4;
/// Days after today on which the link of a recording is valid that an answer shows, and that a webhook or the feed does.
pub const RECORDING_LINK_DAYS: u64 = 1;
/// The same, of a link in a webhook and in the feed.
pub const REPORTED_LINK_DAYS: u64 = 7;
/// Failed tries to delete an object after which its job is set aside.
pub const OBJECT_TRIES_MAX: u32 = 8;
/// Most events in one reply.
pub const EVENTS_PAGE_MAX: usize = 1_000;
/// Most bytes of events in one reply; the first event is included whatever its size.
pub const EVENTS_BYTES_MAX: usize = 4 << 20;
/// Most bytes of events that a live stream sends at once, which a slow reader holds in memory; the first event is
/// included whatever its size.
pub const STREAM_BYTES_MAX: usize = 128 << 10;
/// How long events and deliveries are kept, seconds.
pub const EVENTS_SECONDS: u64 = 30 * 86_400;
/// Timeout of a webhook request, milliseconds (docs/api.md, Delivery).
pub const WEBHOOK_TIMEOUT_MS: u64 = 15_000;
/// Timeout of the incoming-call webhook, milliseconds.
pub const INCOMING_TIMEOUT_MS: u64 = 2_000;
/// Bytes stored of a webhook's response body; the rest is cut.
pub const WEBHOOK_REPLY_BYTES_MAX: usize = 16 << 10;
/// How long a webhook address may keep failing before it is switched off, seconds.
pub const ADDRESS_FAILS_SECONDS: u64 = 5 * 86_400;
/// Largest response read from a tool, bytes.
pub const TOOL_REPLY_BYTES_MAX: usize = 1 << 20;
/// Most calls at once that a plan may allow an account, and so a campaign.
pub const LINES_MAX: u32 = 10_000;
/// Leads that one run of a campaign's dialer looks at.
pub const DIALED_PER_RUN: usize = 64;
/// Largest page read from a website, bytes.
pub const PAGE_BYTES_MAX: usize = (1 << 20) - 256;
/// Timeout of a website's page, milliseconds.
pub const PAGE_TIMEOUT_MS: u64 = 20_000;
/// Size of a part of a document's text that waits to be indexed, bytes.
pub const TEXT_PART_BYTES: usize = 64 << 10;
/// Parts of such text that one slice of indexing reads.
pub const TEXT_WINDOW_PARTS: usize = 4;
/// Longest answer of a model in a conversation: its text and the arguments of its calls; as one object, all of it, bytes.
pub const CHAT_BYTES_MAX: usize = 256 << 10;
/// Longest answer of a model in pieces, with what is around each, bytes.
pub const CHAT_STREAM_BYTES_MAX: usize = 4 << 20;
/// Longest line of such an answer, bytes; one with a longer line is not read any further.
pub const CHAT_LINE_BYTES_MAX: usize = 64 << 10;
/// Longest piece of such an answer, of however many lines, bytes; as with a line.
pub const CHAT_PIECE_BYTES_MAX: usize = 1 << 20;
/// Functions that one answer of a model may call.
pub const CHAT_CALLS_MAX: usize = 16;
/// Longest name of a function that a model calls, characters.
pub const FUNCTION_NAME_CHARS_MAX: usize = 64;
/// Longest id of a function call, characters.
pub const CALL_ID_CHARS_MAX: usize = 128;
/// Arguments of one function call, bytes.
pub const FUNCTION_ARGUMENTS_BYTES_MAX: usize = 16 << 10;
/// Longest message of a person in a conversation, characters.
pub const MESSAGE_CHARS_MAX: usize = 2_000;
/// Longest message of a customer that a program relays, such as an e-mail, characters.
pub const RELAYED_CHARS_MAX: usize = 20_000;
/// Largest body of the operations that strangers may call, bytes.
pub const VISITOR_BODY_BYTES_MAX: usize = 16 << 10;
/// Messages after which a conversation is full.
pub const CONVERSATION_MESSAGES_MAX: u32 = 200;
/// Bytes of messages, function calls and results after which a conversation is full; the answer to the last message may
/// exceed it.
pub const CONVERSATION_BYTES_MAX: u32 = 1 << 20;
/// Messages of a conversation that a model is shown, the last ones, bytes.
pub const CONTEXT_BYTES_MAX: usize = 128 << 10;
/// How often a model is asked in a turn.
pub const TURN_ROUNDS_MAX: usize = 8;
/// Function calls of a turn.
pub const TURN_CALLS_MAX: usize = 32;
/// Time for a turn, seconds.
pub const TURN_SECONDS: u64 = 60;
/// How long a turn whose host died keeps its conversation busy, seconds: longer than a host may take to settle it.
pub const TURN_LAPSE_SECONDS: u64 = TURN_SECONDS + 15;
/// All that the model says in a turn, with the results of its function calls, bytes.
pub const TURN_BYTES_MAX: usize = 256 << 10;
/// Result of a function call that the model is shown, bytes; the rest is cut off.
pub const RESULT_BYTES_MAX: usize = 16 << 10;
/// Passages of the knowledgebase that the model is shown for a question.
pub const CONVERSATION_PASSAGES: u32 = 5;
/// How long strangers may read and continue a conversation after its last message, seconds.
pub const VISIT_SECONDS: u64 = 86_400;
/// Conversations that an address without a token may begin with an account's assistants a minute.
pub const VISITS_A_MINUTE: u32 = 10;
/// The same, a day.
pub const VISITS_A_DAY: u32 = 60;
/// Messages of a conversation a minute, whoever sends them.
pub const MESSAGES_A_MINUTE: u32 = 20;
/// Turns of strangers with an assistant a day.
pub const VISITED_TURNS_A_DAY: u32 = 1_000;
/// Rows of earlier days that a new visit deletes.
pub const VISITS_SWEPT: usize = 4;
/// Replies that a token may have generated a minute, unless the operator sets another limit.
pub const REPLIES_A_MINUTE: u32 = 5;
/// Most knowledge put into a prompt, bytes.
pub const KNOWLEDGE_BYTES_MAX: usize = 64 << 10;
/// Largest body of an import, bytes (docs/api.md, Imports).
pub const IMPORT_BODY_BYTES_MAX: usize = 64_000_000;
/// Size of a row that holds part of an import's file, bytes: a little less than a power of two, to which stores round
/// up.
pub const IMPORT_PART_BYTES: u32 = 127 << 10;
/// Parts of an import's file that one commit stores: other accounts wait for no more than that.
pub const IMPORT_TURN_PARTS: usize = 8;
/// How long an import waits for the rest of its file, seconds.
pub const IMPORT_UPLOAD_SECONDS: u64 = 3_600;
/// Largest record of an import, bytes.
pub const IMPORT_RECORD_BYTES_MAX: usize = 64 << 10;
/// Records that one slice of an import processes.
pub const IMPORT_SLICE_RECORDS: usize = 64;
/// Rejected lines stored of an import.
pub const IMPORT_ERRORS_MAX: usize = 1_000;
/// Largest stored form of a rejected line, bytes.
pub const IMPORT_ERROR_BYTES_MAX: usize = 4 << 10;
/// Most unfinished imports of an account.
pub const IMPORTS_MAX: usize = 16;
/// Longest `mapping` of an import, characters.
pub const MAPPING_MAX: usize = 4_096;
/// Most stored bytes of assistants that one list reads to find those of a status, of a name or in no folder.
pub const FILTERED_BYTES_MAX: usize = 64 << 20;
/// Assistants that it reads at a time: the largest ones fit into one message to a node at the edge.
pub const FILTERED_ROWS: usize = 12;

/// Stored bytes of the assistants from which one step detaches a deleted resource: it rewrites each in full, and other
/// writers wait for no more than that.
pub const DETACHED_BYTES: usize = 512 << 10;
/// Assistants that such a step reads at a time.
pub const DETACHED_ROWS: usize = 32;
/// How long a deletion in several steps may pause before a job continues it, seconds.
pub const DETACH_SECONDS: u64 = 60;
/// Rows that one slice of a clean-up job deletes.
pub const SLICE_ROWS: usize = 256;
/// Largest response read from a carrier, bytes.
pub const CARRIER_REPLY_BYTES_MAX: usize = 1 << 20;
/// Timeout of a request to a carrier, milliseconds.
pub const CARRIER_TIMEOUT_MS: u64 = 15_000;

/// Limits of the search of knowledgebases.
pub mod search {
    /// Most passages of a knowledgebase.
    pub const PASSAGES_MAX: u32 = 50_000;
    /// Most segments of a knowledgebase: full ones for all its passages, and one partly filled for most documents.
    pub const SEGMENTS_MAX: u32 = 2_500;
    /// Passages of a full segment: what one step adds to a document.
    pub const SEGMENT_PASSAGES_MAX: usize = 32;
    /// Longest passage, characters; a character of a script without spaces counts as two.
    pub const PASSAGE_CHARS_MAX: usize = 1_000;
    /// Longest passage in UTF-8, bytes.
    pub const PASSAGE_BYTES_MAX: usize = 4 * PASSAGE_CHARS_MAX;
    /// Bytes read of a query.
    pub const QUERY_BYTES_MAX: usize = 4_096;
    /// Distinct words used of a query, not counting stop words.
    pub const QUERY_WORDS_MAX: usize = 16;
    /// Terms that these words yield in all languages of a knowledgebase.
    pub const QUERY_TERMS_MAX: usize = 32;
    /// Index rows read for all terms of a query.
    pub const QUERY_ROWS_MAX: usize = 80_000;
    /// Most passages that a search returns.
    pub const HITS_MAX: usize = 20;
    /// Terms that one step adds to the index or removes from it: a segment has some 1,500, and other writers wait for
    /// no more than a step.
    pub const SLICE_TERMS: usize = 512;
}

/// Budget of one step; `tests/api/budgets.rs` shows that no route comes near it. In a tick each task has a budget of
/// its own, and none is begun once half of one is spent.
pub mod step {
    /// Reads of the host's view: keys, ranges, and rows of ranges.
    pub const READS_MAX: usize = 100_000;
    /// Changed rows; several changes of one row count once.
    pub const CHANGES_MAX: usize = 60_000;
    /// Bytes read of the host's view: enough to build a page of a hundred rows of a megabyte in one step, even when it
    /// is read twice.
    pub const READ_BYTES_MAX: usize = 256 << 20;
    /// Bytes changed, keys included: enough to store an upload of 20 MB in one step, and to rewrite the assistants to
    /// which a deleted tool is attached.
    pub const CHANGED_BYTES_MAX: usize = 256 << 20;
}

/// Limits of steps over a remote store.
pub mod remote {
    /// Most rounds of reads of one step.
    pub const ROUNDS_MAX: usize = 1_024;
    /// How often a step is retried because what it read has changed meanwhile.
    pub const CONFLICTS_MAX: usize = 16;
    /// Largest message of the store protocol, bytes: a request whose step needs a larger one is handed to the region as
    /// a whole.
    pub const MESSAGE_BYTES_MAX: usize = 16 << 20;
    /// Largest head of a request that is handed over as a whole, bytes.
    pub const HEAD_BYTES_MAX: usize = 256 << 10;
    /// Most items of a list in a message: more than a step may read or change.
    pub const ITEMS_MAX: usize = 1 << 17;
}
/// Campaigns that the overview of an account shows.
pub const OVERVIEW_CAMPAIGNS_MAX: usize = 20;
/// Most things of one kind that the overview of an account asks to look at.
pub const ATTENTION_OF_CODE_MAX: usize = 20;
/// Events of a call that its bundle has, bytes of JSON.
pub const BUNDLE_EVENTS_BYTES_MAX: usize = 4 << 20;
/// Header values of tools that a bundle looks for in answers; with more of them it shows no answer.
pub const BUNDLE_SECRETS_MAX: usize = 64;
