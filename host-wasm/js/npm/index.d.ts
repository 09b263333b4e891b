/** Switchboard for JavaScript: the service as a function from `Request` to `Response`, over a storage. */

import type { Change, MaybePromise, Storage } from "./storage/storage.d.ts";
import type { Answer, Answered, Asked, Decided, Extracted, Form, Own, Reply, Ticket, Work } from "./host/types.d.ts";

export type { Answered, Asked, Decided, Extracted, Form, Reply, Ticket, Work };

/** Credentials of the owner of a new store, returned once and not kept. */
export type Secrets = { email: string; password: string; apiKey: string; adminToken: string };

/** The operator's settings: the flags of the native host, in snake case. */
export type Config = {
  public_url?: string;
  trust_proxy?: string[];
  cors_origin?: string[];
  session_seconds?: number;
  rate_limit?: number;
  egress_allow?: string[];
  without_engine?: "queue" | "refuse";
  calendar_url?: string;
  llm?: { url: string; key?: string; model: string };
  twilio?: { account_sid: string; auth_token: string; base_url?: string; number_cents?: number };
  catalogue?: object;
};

export type HostOptions = {
  /** The store that holds all data. */
  storage: Storage<any>;

  /** Settings; an invalid one throws with a message that says what is wrong. */
  config?: Config;

  /**
   * The WebAssembly module; by default the file beside this one. Required on platforms that cannot compile at run time.
   */
  wasm?: WebAssembly.Module | BufferSource | Response | URL | string;

  /** Sends the service's own requests; by default `globalThis.fetch`. Called with redirects off. */
  fetch?: typeof fetch;

  /**
   * Resolves a host name to IP addresses: a URL that a user chose is requested only if all of them are public. Without
   * it such a name is not checked, other than `localhost`: then the platform must ensure that `fetch` reaches the
   * public internet only.
   */
  resolve?(name: string): MaybePromise<string[]>;

  /**
   * Extracts the text of a file or page; an error it throws should carry a message for the user. The bytes are
   * untrusted input: parse them in isolation. Without it such files are refused.
   */
  extract?(form: Form, bytes: Uint8Array): MaybePromise<Extracted>;

  /** The current time, milliseconds since 1970; fractions count. By default `Date.now`. */
  now?(): number;
  /**
   * A monotonic clock, milliseconds: time follows it while `now` is set back. By default `performance.now`; where `now`
   * is given without it, time then stands still.
   */
  monotonic?(): number;

  /** Fills an array with random bytes; by default `crypto.getRandomValues`. */
  random?(bytes: Uint8Array<ArrayBuffer>): unknown;

  /**
   * Called with the time of the next `tick`, milliseconds since 1970, whenever that changes; `null`: nothing is due. By
   * default `createService` calls `tick` by `setTimeout`.
   */
  schedule?(atMs: number | null): void;

  /** Called with the promise of each background task, for platforms that stop a program between requests. */
  waitUntil?(work: Promise<unknown>): void;

  /**
   * Polling interval of long polls and streams, milliseconds: for stores that others change without calling
   * `committed`. By default they do not poll.
   */
  pollMs?: number;

  /** Called with each unexpected error; by default `console.error`. */
  report?(error: unknown): void;

  /** Runs `act` after `ms` milliseconds and returns a function that cancels it; replaces `setTimeout`, for tests. */
  timer?(ms: number, act: () => void): () => void;
};

export type ServiceOptions = HostOptions & {
  /** Whether an empty store gets an owner account; by default true. */
  firstStart?: boolean;

  /** Called with the owner's credentials, once in the life of a store; by default they are printed. */
  onFirstStart?(secrets: Secrets): unknown;
};

/** The client behind a request. */
export type Caller = {
  /** IP address of the other end of the connection. */
  peer?: string;
};

/** A running service, called with each request. */
export interface Service {
  /** Answers a request; never rejects. */
  (request: Request, caller?: Caller): Promise<Response>;

  /** Runs a batch of due work; returns when to call again, milliseconds since 1970, or `null` if nothing is due. */
  tick(): Promise<number | null>;

  /** Reports changes that another process committed to the store: wakes the requests that wait for them. */
  committed(changes: Iterable<Change>): void;

  /** Ends waiting and running requests, commits what is left, and closes the storage. */
  close(): Promise<void>;
}

/** The parts of a service, for platforms that drive it themselves. Times are microseconds since 1970 here. */
export interface Host {
  /** Answers a request, whatever it was sent over. */
  answer(asked: Asked): Promise<Answered>;

  /** Executes an input that is not a request; its sends are left to the caller. */
  decide(input: Own): Promise<Decided>;

  /** Performs the work of a send: an HTTP request, a password hash or a text extraction. */
  perform(work: Work): Promise<Answer>;

  /** Creates the owner of an empty store; returns the JSON with their credentials, once. */
  firstStart(): Promise<Reply | undefined>;

  /** Schedules a tick for work that fell due while the service was not running. */
  start(): void;
  tick(): Promise<number | null>;
  committed(changes: Iterable<Change>): void;
  close(): Promise<void>;
}

/** Opens the store and starts the service. */
export function createService(options: ServiceOptions): Promise<Service>;

/** Creates the service without its first start and without a schedule of its own. */
export function createHost(options: HostOptions): Promise<Host>;

/** Compiles a module once, for use by several services. */
export function loadModule(source?: HostOptions["wasm"]): Promise<WebAssembly.Module>;
