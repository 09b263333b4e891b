/** Switchboard for JavaScript: the service as a function from `Request` to `Response`, over a storage. */

import type { Change, MaybePromise, Storage } from "./storage/storage.d.ts";
import type { Answer, Answered, Asked, Decided, Extracted, Form, Own, Reply, Ticket, Work } from "./host/types.d.ts";

export type { Answered, Asked, Decided, Extracted, Form, Reply, Ticket, Work };

/** What the owner of a new store gets; it is shown once and kept nowhere. */
export type Secrets = { email: string; password: string; apiKey: string; adminToken: string };

/** The settings of an operator, by the names that the flags of the native host have, in snake case. */
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
  /** Where everything is kept. */
  storage: Storage<any>;

  /** Settings; a wrong one is an exception with a sentence that says what is wrong. */
  config?: Config;

  /** The WebAssembly module; by default the file beside this one. Platforms that compile nothing need it given. */
  wasm?: WebAssembly.Module | BufferSource | Response | URL | string;

  /** How requests are sent; by default `globalThis.fetch`. It is asked not to follow redirects. */
  fetch?: typeof fetch;

  /**
   * The IP addresses of a host name: an address that a user chose is asked only if all of them may be reached.
   * Without it a name of such an address is not judged, other than `localhost`: then the platform must see to it
   * that `fetch` reaches the public internet only.
   */
  resolve?(name: string): MaybePromise<string[]>;

  /**
   * The text of a file or page; what it throws should have a message for the user. Whoever sent the bytes chose
   * them: read them where they can do no harm. Without it such files are refused.
   */
  extract?(form: Form, bytes: Uint8Array): MaybePromise<Extracted>;

  /** Milliseconds since 1970; fractions count. By default `Date.now`. */
  now?(): number;
  /**
   * Milliseconds that only go on, by which time passes while `now` was set back. By default `performance.now`; where
   * `now` is given, time then stands still.
   */
  monotonic?(): number;

  /** Fills an array with randomness; by default `crypto.getRandomValues`. */
  random?(bytes: Uint8Array<ArrayBuffer>): unknown;

  /**
   * Told when to call `tick`, milliseconds since 1970, whenever that changes; `null`: there is nothing to come
   * back for. By default `createService` calls it by `setTimeout`.
   */
  schedule?(atMs: number | null): void;

  /** Given what goes on in the background, for platforms that stop a program between requests. */
  waitUntil?(work: Promise<unknown>): void;

  /**
   * How often whoever waits for something looks without being told, milliseconds: for stores that others change
   * without a call of `committed`. By default never.
   */
  pollMs?: number;

  /** Told what went wrong; by default `console.error`. */
  report?(error: unknown): void;

  /** Acts after so many milliseconds, unless it is cancelled: for time that passes otherwise. */
  timer?(ms: number, act: () => void): () => void;
};

export type ServiceOptions = HostOptions & {
  /** Whether an empty store gets its owner; by default it does. */
  firstStart?: boolean;

  /** Told the owner's secrets, once in the life of a store; by default they are printed. */
  onFirstStart?(secrets: Secrets): unknown;
};

/** Who asks. */
export type Caller = {
  /** The IP address at the other end of the connection. */
  peer?: string;
};

/** A running service. */
export interface Service {
  /** Answers a request; it throws nothing. */
  (request: Request, caller?: Caller): Promise<Response>;

  /** Does some of what is due; gives when to come back, milliseconds since 1970, or `null`. */
  tick(): Promise<number | null>;

  /** Tells of changes that somebody else committed to the store: whoever waits for them is woken. */
  committed(changes: Iterable<Change>): void;

  /** Ends what waits and what is under way, writes down what is left, and closes the storage. */
  close(): Promise<void>;
}

/** What a service consists of. Times are microseconds since 1970 here. */
export interface Host {
  /** Answers a request. */
  answer(asked: Asked): Promise<Answered>;

  /** Carries out an input that is no request; its sends are left to the caller. */
  decide(input: Own): Promise<Decided>;

  /** Does what a step asked for. */
  perform(work: Work): Promise<Answer>;

  /** Makes the owner of an empty store; gives the JSON that shows their secrets once. */
  firstStart(): Promise<Reply | undefined>;

  /** Plans a tick for what was due while nothing ran. */
  start(): void;
  tick(): Promise<number | null>;
  committed(changes: Iterable<Change>): void;
  close(): Promise<void>;
}

/** Opens the store and starts the service. */
export function createService(options: ServiceOptions): Promise<Service>;

/** The service without its first start and without a schedule of its own. */
export function createHost(options: HostOptions): Promise<Host>;

/** Compiles a module once, to be given to several services. */
export function loadModule(source?: HostOptions["wasm"]): Promise<WebAssembly.Module>;
