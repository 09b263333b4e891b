// Streams of events (`text/event-stream`) that take up where they broke off. `EventSource` cannot send a token, so the
// stream is read from `fetch`; `Last-Event-ID` of the last event makes a gap impossible.

import { ApiError, send } from "./api.js";

/** @typedef {{ id: string | null, event: string, data: any }} Message */
/** @typedef {"connecting" | "live" | "waiting" | "closed"} State */

/** Shortest and longest wait before another try, milliseconds. */
const WAIT_MIN_MS = 500;
const WAIT_MAX_MS = 15_000;

/** Reads the messages of a body one by one. @param {ReadableStream<Uint8Array>} body @returns {AsyncGenerator<Message>} */
export async function* messages(body) {
  const reader = body.pipeThrough(/** @type {any} */ (new TextDecoderStream())).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    rest += String(value).replaceAll("\r\n", "\n");
    for (let end = rest.indexOf("\n\n"); end >= 0; end = rest.indexOf("\n\n")) {
      const message = parsed(rest.slice(0, end));
      rest = rest.slice(end + 2);
      if (message) yield message;
    }
  }
}

/** @param {string} block @returns {Message | null} */
function parsed(block) {
  let id = null;
  let event = "message";
  let data = "";
  for (const line of block.split("\n")) {
    const [, name, value] = /^(id|event|data): ?(.*)$/s.exec(line) ?? [];
    if (name === "id") id = value;
    else if (name === "event") event = value;
    else if (name === "data") data += (data && "\n") + value;
  }
  return data ? { id, event, data: JSON.parse(data) } : null;
}

/** Follows a stream until the function that it returns is called.
 * @param {string} path
 * @param {{ after?: number | ((signal: AbortSignal) => Promise<number>), message: (data: any) => void, state?: (state: State) => void, fail?: (error: ApiError) => void }} options
 *   `after` a sequence number, or what finds it out, which is tried again as the stream is; `fail` is told of an answer
 *   that no further try mends, such as 404
 * @returns {() => void} */
export function follow(path, { after = 0, message, state = () => {}, fail = () => {} }) {
  const stop = new AbortController();
  /** @type {string | null} */
  let last = null;
  let wait = WAIT_MIN_MS;

  async function connect() {
    state("connecting");
    last ??= String(typeof after === "number" ? after : await after(stop.signal));
    const headers = last === "0" ? undefined : { "last-event-id": last };
    const response = await send("GET", path, { accept: "text/event-stream", headers, signal: stop.signal });
    if (!response.body) return;
    state("live");
    for await (const one of messages(response.body)) {
      wait = WAIT_MIN_MS;
      if (one.id !== null) last = one.id;
      message(one.data);
    }
  }

  (async () => {
    while (!stop.signal.aborted) {
      try {
        await connect();
      } catch (error) {
        if (stop.signal.aborted) break;
        if (error instanceof ApiError && error.status >= 400 && error.status < 500 && error.status !== 429) {
          fail(error);
          break;
        }
      }
      if (stop.signal.aborted) break;
      state("waiting");
      await new Promise((resolve) => setTimeout(resolve, wait));
      wait = Math.min(wait * 2, WAIT_MAX_MS);
    }
    state("closed");
  })();
  return () => stop.abort();
}
