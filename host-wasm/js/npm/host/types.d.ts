/**
 * Input and output of the WebAssembly module. Times are microseconds since 1970, seeds 32 bytes.
 *
 * @see ../../src for the Rust side
 */

import type { Bytes, Change, Found, Read } from "../storage/storage.d.ts";

/** A request's body: none, all of it, or why it is missing. */
export type Body = null | Bytes | "pending" | "cut" | "too-large";

/** A request; `headers` holds `name: value` lines. */
export type Request = { method: string; target: string; headers: string; body: Body; peer: string | undefined };

/** A task of an account, passed back unread with the answer to its send. */
export type Ticket = { account: number; task: Bytes; lease: number };

/** A credential that authenticated. */
export type Credential = { account: number; session: boolean; count: number };

export type Http = {
  kind: "http";
  method: string;
  url: string;
  headers: [name: string, value: string][];
  body: Bytes;
  timeoutMs: number;
  replyBytesMax: number;
  egress: "user" | "operator" | "model";
  redirects: "none" | "same-origin" | "any";
};

/** Format of a source for text extraction. */
export type Form = "pdf" | "docx" | "txt" | "html";

export type Password =
  | { kind: "hash"; password: string; salt: Bytes }
  | { kind: "verify"; password: string; stored: Bytes };

/** Work of a send. A `turn` needs none: its task is begun by itself. */
export type Work = Http | Password | { kind: "extract"; form: Form; bytes: Bytes } | { kind: "yield" };

/** Work outside the module; without a ticket its answer goes to the request that asked. */
export type Send = { ticket: Ticket | undefined; work: Work };

export type HttpAnswer = {
  kind: "http";
  status: number;
  headers: [name: string, value: string][];
  body: Bytes;
  cut: boolean;
  durationMs: number;
};

/** Text of a file or page. */
export type Extracted = {
  title?: string | null;
  text: string;
  links?: string[];
  baseHref?: string | null;
  noindex?: boolean;
};

export type Answer =
  | HttpAnswer
  | { kind: "failed"; error: "refused" | "unreachable" | "timed-out" }
  | { kind: "hashed"; digest: Bytes }
  | { kind: "verified"; fits: boolean }
  | { kind: "elapsed" }
  | { kind: "yielded" }
  | ({ kind: "extracted"; links: string[] } & Extracted)
  | { kind: "unreadable"; reason: string };

/** What happened outside since the last step. */
export type Event =
  | "begin"
  | "changed"
  | "committed"
  | "news"
  | "elapsed"
  | "yielded"
  | { found: Found[] }
  | { body: Body }
  | { answers: Answer[] };

/**
 * A reply; `page` is one that the host renders, `stream` the topic of an event stream that continues after event
 * `last`.
 */
export type Reply = {
  status: number;
  headers: string;
  media?: string;
  body?: Bytes;
  page?: "ready" | "metrics" | "docs" | "home" | "console" | "widget" | "backup" | "store" | "nodes" | "drain-node";
  stream?: string;
  last?: number;
};

/** Result of an input; all of it is durable. */
export type Decided = {
  reply: Reply | undefined;
  sends: Send[];
  wake: number | undefined;
  used: Credential | undefined;
};

/** Changes, the topics whose watchers they wake, and when durable work is due according to them. */
export type Commit = { commit: Change[]; topics: string[]; due: number | undefined };

export type Park = { park: string; until: number };

/** What the host must do next. */
export type Next =
  | { read: Read[] }
  | Commit
  | { readBody: number }
  | { perform: Send[] }
  | { yield: true }
  | Park
  | { done: Decided }
  | { failed: string; reply: Reply | undefined };

/** Input of an exchange: a request, or work of the service's own. */
export type Input = { request: Request } | Own;

export type Own =
  | { tick: true }
  | { used: Credential[] }
  | { firstStart: true }
  | { answered: { ticket: Ticket; answer: Answer } };

/** A request, whatever the transport. */
export type Asked = {
  method: string;
  /** Path and query as received. */
  target: string;
  /** Names in lower case; each character of a value is one byte. */
  headers: [name: string, value: string][];
  body: ReadableStream<Uint8Array> | null;
  /** IP address of the other end. */
  peer?: string;
  /** Aborted when the client has gone. */
  signal?: AbortSignal;
};

/** A complete answer, whatever the transport. */
export type Answered = {
  status: number;
  headers: [name: string, value: string][];
  body: Bytes | ReadableStream<Uint8Array> | null;
};

export interface Course {
  careful(): void;
  next(service: Service, event: Event, now: number): Next;
  unavailable(): Reply | undefined;
  broken(): Reply | undefined;
  follow(last: number, now: number, seed: Bytes): Course | undefined;
  free(): void;
}

export interface Service {
  allows(address: string): boolean | undefined;
}

/** Generated bindings of one instance of the module. */
export interface Bindings {
  initSync(options: { module: WebAssembly.Module }): unknown;
  Service: new (settings: string) => Service;
  Course: {
    http(request: Request, answers: Answer[], now: number, seed: Bytes): Course;
    tick(now: number, seed: Bytes): Course;
    answered(ticket: Ticket, answer: Answer, now: number, seed: Bytes): Course;
    used(credentials: Credential[], now: number, seed: Bytes): Course;
    firstStart(answers: Answer[], now: number, seed: Bytes): Course;
  };
  headerNames(): string;
  isWrite(method: string): boolean;
  topicOf(key: Bytes): string | undefined;
  dueOf(key: Bytes): number | undefined;
  perform(work: Password): Answer | undefined;
}
