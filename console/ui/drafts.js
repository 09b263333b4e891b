// What was typed and not yet saved outlives the session and the network: forms keep it in `sessionStorage`, without
// secrets, until it is saved or discarded.

const PREFIX = "switchboard.draft:";
const SECRET = /password|secret|token|api_key|authorization/i;
/** A draft over this many characters is not kept. */
const CHARS_MAX = 1_500_000;

/** Leaves out values of members that are secret by their name, and of headers. @param {string} key @param {unknown} value */
const harmless = (key, value) =>
  SECRET.test(key)
    ? undefined
    : key === "headers" && Array.isArray(value)
      ? value.map((one) => ({ ...one, value: "" }))
      : value;

/** Whether nobody is signed in any more: a form that closes then keeps nothing. */
let shut = false;

/** @param {string} name @param {unknown} values */
export function keep(name, values) {
  if (shut) return;
  try {
    const written = JSON.stringify(values, harmless);
    if (written.length <= CHARS_MAX) sessionStorage.setItem(PREFIX + name, written);
  } catch {
    // A full or forbidden storage costs the draft alone.
  }
}

/** @param {string} name @returns {any} null where there is none */
export function drafted(name) {
  try {
    return JSON.parse(sessionStorage.getItem(PREFIX + name) ?? "null");
  } catch {
    return null;
  }
}

/** @param {string} name */
export function forget(name) {
  sessionStorage.removeItem(PREFIX + name);
}

/** Drafts are kept from now on: somebody signed in. */
export const allow = () => (shut = false);

/** Signing out leaves nothing behind. */
export function forgetAll() {
  shut = true;
  for (const key of Object.keys(sessionStorage)) if (key.startsWith(PREFIX)) sessionStorage.removeItem(key);
}
