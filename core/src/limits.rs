//! Every limit of the service that is not a column's bound (those stand in their tables).

/// Body of a JSON request, bytes.
pub const JSON_BODY_BYTES_MAX: usize = 1 << 20;
/// Body of a login, bytes (docs/api.md, Budgets).
pub const LOGIN_BODY_BYTES_MAX: usize = 4 << 10;
/// Failed logins of an e-mail after which addresses that never logged in there are refused (docs/api.md, Logins).
pub const LOGIN_FAILURES_MAX: usize = 20;
/// For how long a failed login counts, seconds.
pub const LOGIN_FAILURES_SECONDS: u64 = 900;
/// Addresses of an account that are remembered because they logged in.
pub const LOGIN_ADDRESSES_MAX: usize = 64;
/// For how long, seconds.
pub const LOGIN_ADDRESS_SECONDS: u64 = 30 * 86_400;
/// A file uploaded as a document, bytes (docs/api.md, Documents).
pub const FILE_BYTES_MAX: usize = 20_000_000;
/// Text read from one file or page, bytes of UTF-8: one with more is refused, not cut, so that no answer is
/// wrong for a part that nobody knows to be missing.
pub const TEXT_BYTES_MAX: usize = 5_000_000;
/// Links taken from one page.
pub const LINKS_MAX: usize = 1_000;
/// How much of a robots.txt counts, bytes (RFC 9309, section 2.5).
pub const ROBOTS_BYTES_MAX: usize = 500 << 10;
/// Body of a document upload, bytes: the file and what multipart adds.
pub const UPLOAD_BODY_BYTES_MAX: usize = FILE_BYTES_MAX + (1 << 20);
/// An answer with an entity tag, bytes: a longer one has none (docs/api.md, Conditional requests). A list that is
/// longer is written in pieces, where a host takes them.
pub const TAGGED_BYTES_MAX: usize = 1 << 20;
/// A further piece of such a list, bytes, not counting the rest of its last row.
pub const PIECE_BYTES: usize = 256 << 10;
/// When to try again what found no room, seconds.
pub const BUSY_SECONDS: u64 = 1;
/// When to try again what the host's disk had no room for, seconds: a host looks for room that often.
pub const FULL_SECONDS: u64 = 10;
/// Nesting of a JSON body.
pub const JSON_DEPTH_MAX: usize = 32;
/// Request target (path and query), bytes.
pub const TARGET_BYTES_MAX: usize = 8 << 10;
/// Query parameters of one request.
pub const QUERY_PARAMETERS_MAX: usize = 100;
/// A URL anywhere in the service, characters.
pub const URL_MAX: usize = 2048;
/// Entries in `tools`, `tool_ids`, `post_call_schema`, `headers`, `schema`.
pub const ENTRIES_MAX: usize = 50;
/// Keys of a `variables` object.
pub const VARIABLES_MAX: usize = 100;
/// A `variables` object as compact JSON, bytes (docs/api.md, Assistants).
pub const VARIABLES_BYTES_MAX: usize = 16 << 10;
/// What is collected in a call, from its engine and by extraction, as compact JSON, bytes.
pub const COLLECTED_BYTES_MAX: usize = 64 << 10;
/// The assistant of a claimed call as JSON, bytes (docs/api.md, The claimed assistant).
pub const ASSISTANT_BYTES_MAX: usize = 1 << 20;
/// The calls of one claim's answer, bytes, once there is one.
pub const CLAIMED_BYTES_MAX: usize = 4 << 20;
/// A filled request to a tool or calendar: URL, headers and body, bytes (docs/api.md, How parameters reach the
/// endpoint).
pub const TOOL_REQUEST_BYTES_MAX: usize = 64 << 10;
/// Rows of lists without pages that no plan bounds: API keys, documents of a knowledgebase.
pub const UNPAGED_ROWS_MAX: u64 = 1_000;
/// A row that holds part of something large, bytes.
pub const PART_BYTES: usize = 1 << 20;
/// Rows of a kind that the largest plan allows: an account's whole list of such a kind is never longer.
pub const PLAN_ROWS_MAX: usize = 10_000;
/// How long an idempotency key is remembered, seconds.
pub const IDEMPOTENCY_SECONDS: u64 = 86_400;
/// How long a first request with an idempotency key may stay unfinished, seconds.
pub const IDEMPOTENCY_RUNNING_SECONDS: u64 = 60;
/// Secondary contacts of a lead.
pub const SECONDARY_CONTACTS_MAX: usize = 10;
/// Lanes of accounts that one tick looks after.
pub const ACCOUNTS_PER_TICK: usize = 8;
/// Due tasks of a lane that one tick takes.
pub const JOBS_PER_TURN: usize = 8;
/// Runs of a job that may come to nothing in a row; then it is set aside.
pub const JOB_FAULTS_MAX: u32 = 5;
/// Jobs that wait or run which a list of the operator's looks at.
pub const JOBS_LISTED_MAX: usize = 20_000;
/// Questions that an account's tasks may have under way at once.
pub const ASKING_MAX: usize = 32;
/// How long an engine keeps a call without a word, seconds (docs/api.md, Leases).
pub const LEASE_SECONDS: u64 = 30;
/// How long a call may wait to be dialed, seconds (docs/api.md, States).
pub const UNCLAIMED_SECONDS: u64 = 600;
/// Longest wait of a claim, seconds.
pub const CLAIM_WAIT_SECONDS: u32 = 30;
/// Calls that one claim may ask for.
pub const CAPACITY_MAX: u32 = 1_000;
/// Tries to give a call that may come to no end; then it fails.
pub const CLAIM_TRIES_MAX: u8 = 3;
/// How long after such a try the call is left alone, seconds: longer than a step takes.
pub const CLAIM_TRY_SECONDS: u64 = 10;
/// Waiting calls that one claim looks at in a mode of an account.
pub const CLAIM_LOOKS_MAX: usize = 256;
/// Calls that one claim gives.
pub const CLAIMED_MAX: usize = 32;
/// Accounts that one claim looks at.
pub const CLAIM_ACCOUNTS_MAX: usize = 256;
/// Events of one request of an engine.
pub const ENGINE_EVENTS_MAX: usize = 100;
/// Text of a call's transcript that is kept, bytes.
pub const TRANSCRIPT_BYTES_MAX: usize = 256 << 10;
/// Events of a call that are kept; later ones are acknowledged and only move the call's state.
pub const CALL_EVENTS_MAX: u32 = 10_000;
/// How long after a call its recording and cost are taken, seconds.
pub const AFTERMATH_SECONDS: u64 = 86_400;
/// Events of one answer.
pub const EVENTS_PAGE_MAX: usize = 1_000;
/// Bytes of events of one answer, once there is one.
pub const EVENTS_BYTES_MAX: usize = 4 << 20;
/// Bytes of events of a live stream that go out at once, once there is one: what a slow reader holds in memory.
pub const STREAM_BYTES_MAX: usize = 128 << 10;
/// How long events and deliveries are kept, seconds.
pub const EVENTS_SECONDS: u64 = 30 * 86_400;
/// How long a receiver of a webhook may take, milliseconds (docs/api.md, Delivery).
pub const WEBHOOK_TIMEOUT_MS: u64 = 15_000;
/// How long a receiver of the incoming-call webhook may take, milliseconds.
pub const INCOMING_TIMEOUT_MS: u64 = 2_000;
/// Answer of a webhook that is kept, bytes.
pub const WEBHOOK_REPLY_BYTES_MAX: usize = 16 << 10;
/// How long an address may fail before it is switched off, seconds.
pub const ADDRESS_FAILS_SECONDS: u64 = 5 * 86_400;
/// Answer of a tool that is read, bytes.
pub const TOOL_REPLY_BYTES_MAX: usize = 1 << 20;
/// Leads that one run of a dialer looks at.
pub const DIALED_PER_RUN: usize = 64;
/// Page of a website that is read, bytes.
pub const PAGE_BYTES_MAX: usize = (1 << 20) - 256;
/// How long a page of a website may take, milliseconds.
pub const PAGE_TIMEOUT_MS: u64 = 20_000;
/// A part of a document's text that waits to be indexed, bytes.
pub const TEXT_PART_BYTES: usize = 64 << 10;
/// Parts of it that one slice looks at.
pub const TEXT_WINDOW_PARTS: usize = 4;
/// Knowledge that is put into a prompt, bytes.
pub const KNOWLEDGE_BYTES_MAX: usize = 64 << 10;
/// Body of an import, bytes (docs/api.md, Imports).
pub const IMPORT_BODY_BYTES_MAX: usize = 64_000_000;
/// A row that holds part of an import's file, bytes: a little less than a power of two, to which stores round.
pub const IMPORT_PART_BYTES: u32 = 127 << 10;
/// Parts of an import's file that one commit keeps: no neighbour waits for more of it.
pub const IMPORT_TURN_PARTS: usize = 8;
/// How long an import waits for the rest of its file, seconds.
pub const IMPORT_UPLOAD_SECONDS: u64 = 3_600;
/// A record of an import, bytes.
pub const IMPORT_RECORD_BYTES_MAX: usize = 64 << 10;
/// Records that one slice of an import takes.
pub const IMPORT_SLICE_RECORDS: usize = 64;
/// Rejected lines of an import that are kept.
pub const IMPORT_ERRORS_MAX: usize = 1_000;
/// A rejected line as it is kept, bytes.
pub const IMPORT_ERROR_BYTES_MAX: usize = 4 << 10;
/// Imports of an account that may be under way.
pub const IMPORTS_MAX: usize = 16;
/// The `mapping` of an import, characters.
pub const MAPPING_MAX: usize = 4_096;
/// Stored bytes of the assistants from which one step takes a resource that is deleted: it rewrites all of each, and
/// nobody waits for more of them.
pub const DETACHED_BYTES: usize = 512 << 10;
/// Assistants that such a step reads at once.
pub const DETACHED_ROWS: usize = 32;
/// How long a deletion in several steps may pause before it is taken up as a job, seconds.
pub const DETACH_SECONDS: u64 = 60;
/// Rows that one slice of a clean-up job deletes.
pub const SLICE_ROWS: usize = 256;
/// Largest answer read from a carrier, bytes.
pub const CARRIER_REPLY_BYTES_MAX: usize = 1 << 20;
/// How long a carrier may take, milliseconds.
pub const CARRIER_TIMEOUT_MS: u64 = 15_000;

/// The search of knowledgebases.
pub mod search {
    /// Passages of a knowledgebase.
    pub const PASSAGES_MAX: u32 = 50_000;
    /// Segments of a knowledgebase: full ones for all its passages, and one that is not full for most documents.
    pub const SEGMENTS_MAX: u32 = 2_500;
    /// Passages of a segment: what one step adds to a document.
    pub const SEGMENT_PASSAGES_MAX: usize = 32;
    /// A passage, characters; a character of a script without spaces counts as two.
    pub const PASSAGE_CHARS_MAX: usize = 1_000;
    /// The same in UTF-8, bytes.
    pub const PASSAGE_BYTES_MAX: usize = 4 * PASSAGE_CHARS_MAX;
    /// What is read of a query, bytes.
    pub const QUERY_BYTES_MAX: usize = 4_096;
    /// Different words of a query, those that only hold a sentence together left out.
    pub const QUERY_WORDS_MAX: usize = 16;
    /// Terms that these words come to in all languages of a knowledgebase.
    pub const QUERY_TERMS_MAX: usize = 32;
    /// Rows of the index read for all terms of a query.
    pub const QUERY_ROWS_MAX: usize = 80_000;
    /// Passages that a search finds.
    pub const HITS_MAX: usize = 20;
    /// Terms that one step writes to the index, or takes out of it: a segment has some 1,500, and whoever else writes
    /// waits for no more than a step.
    pub const SLICE_TERMS: usize = 512;
}

/// What one step may do; `tests/api/budgets.rs` shows that no route comes near. In a tick each task has a budget of
/// its own, and none is begun after half of one is spent.
pub mod step {
    /// Keys, ranges and rows of ranges that are read of the host's view.
    pub const READS_MAX: usize = 100_000;
    /// Changes made.
    pub const CHANGES_MAX: usize = 60_000;
    /// Bytes read of the host's view: a page of a hundred rows of a megabyte is made in one step, and read twice over
    /// it still is.
    pub const READ_BYTES_MAX: usize = 256 << 20;
    /// Bytes changed, keys included: an upload of 20 MB is stored in one step, and the deletion of a tool rewrites the
    /// assistants that it is attached to.
    pub const CHANGED_BYTES_MAX: usize = 256 << 20;
}

/// Steps over a store that is elsewhere.
pub mod remote {
    /// Rounds of reads of one step.
    pub const ROUNDS_MAX: usize = 1_024;
    /// How often a step runs again because what it read was changed meanwhile.
    pub const CONFLICTS_MAX: usize = 16;
    /// A message of the store protocol, bytes: what is larger goes to the region as a whole.
    pub const MESSAGE_BYTES_MAX: usize = 16 << 20;
    /// The head of a request that is handed over as a whole, bytes.
    pub const HEAD_BYTES_MAX: usize = 256 << 10;
    /// Items of a list of a message: more than a step may read or change.
    pub const ITEMS_MAX: usize = 1 << 17;
}
