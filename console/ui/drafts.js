// What was typed and not yet saved outlives the session and the network: forms keep it in `sessionStorage`, without
// secrets, until it is saved or discarded. It is of the account that typed it.

import { same } from "../schema.js";
import { account } from "../session.js";

const PREFIX = "switchboard.draft:";
const SECRET = /password|secret|token|api_key|authorization/i;
/** Lists of names and values whose values may be secrets: an API key that goes with each request of a tool. */
const PAIRS = ["headers", "static_fields"];
/** The beginning of a URL with who asks: before an `@`, or, where that was not typed yet, what is no host with a port. */
const USER = /^(\s*[a-z][a-z0-9+.-]*:\/\/)([^/?#\s]*@|[^/?#\s:[]*:(?!\d{0,5}(?![^/?#\s]))[^/?#\s]*)/i;
/** A URL with what is asked. */
const QUERY = /^(\s*[a-z][a-z0-9+.-]*:\/\/[^?#\s]*)[?#].*\s*$/i;
/** A draft over this many characters is not kept. */
const CHARS_MAX = 1_500_000;

/** Leaves out values of members that are secret by their name, of headers and static fields, and what in a URL may be
 * one: user, password and query. @param {string} key @param {unknown} value @returns {unknown} */
function harmless(key, value) {
  if (SECRET.test(key)) return undefined;
  if (PAIRS.includes(key) && Array.isArray(value)) return value.map((one) => ({ ...one, value: "" }));
  return typeof value === "string" ? value.replace(USER, "$1").replace(QUERY, "$1") : value;
}

/** @param {unknown} value @param {string} name of the member that has it @returns {any} */
const without = (value, name) => JSON.parse(JSON.stringify({ [name]: value }, harmless))[name];

/** Whether nobody is signed in any more: a form that closes then keeps nothing. */
let shut = false;

/** The key of a draft: of who is signed in now. @param {string} name */
export const keyOf = (name) => `${PREFIX}${account.value?.me.id ?? "operator"}:${name}`;

/** @param {string} key @param {Record<string, any>} values */
export function keep(key, values) {
  if (shut) return;
  const kept = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, without(value, name)]));
  const lacking = Object.keys(values).filter((name) => !same(values[name] || undefined, kept[name] || undefined));
  try {
    const written = JSON.stringify({ kept, lacking });
    if (written.length <= CHARS_MAX) sessionStorage.setItem(key, written);
  } catch {
    // A full or forbidden storage costs the draft alone.
  }
}

/** What was typed, over what the form starts with; a member that is as it was has its secrets from there.
 * @param {string} key @param {Record<string, any>} start
 * @returns {{ values: Record<string, any>, lacks: boolean } | null} `lacks`: something has to be typed again; null: there is no draft */
export function drafted(key, start) {
  const { kept, lacking } = read(key);
  if (!kept) return null;
  const typed = Object.entries(kept).filter(([name, value]) => !same(value, without(start[name], name)));
  const lacks = lacking.some(
    (/** @type {string} */ name) => !(name in kept) || typed.some(([other]) => other === name),
  );
  return { values: { ...start, ...Object.fromEntries(typed) }, lacks };
}

/** @param {string} key @returns {any} */
function read(key) {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "{}");
  } catch {
    return {};
  }
}

/** @param {string} key */
export function forget(key) {
  sessionStorage.removeItem(key);
}

/** Drafts are kept from now on: somebody signed in. */
export const allow = () => (shut = false);

/** Signing out leaves nothing behind. */
export function forgetAll() {
  shut = true;
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(PREFIX)) sessionStorage.removeItem(key);
}
