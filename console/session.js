// Who is signed in. Tokens are in memory alone; a reload forgets them, except where the person chose to stay signed in:
// then the service's cookie, which no script can read, speaks for the account. Writes by it show a text that is worth
// nothing without the cookie, and so may be kept beside it.

import { signal } from "./ui/base.js";

/** @typedef {"account" | "operator"} Role */
/** @typedef {{ id: number, name: string, email: string, timezone: string, plan: string, total_balance: number }} Me */
/** @typedef {{ token: string | null, csrf: string | null, me: Me }} Account */

/** The account, null while nobody is signed in. @type {import("@preact/signals").Signal<Account | null>} */
export const account = signal(null);

/** The operator's token, null while there is none. @type {import("@preact/signals").Signal<string | null>} */
export const operator = signal(null);

/** The role whose session has ended while its page is open; the page stays, and a dialog asks to sign in.
 * @type {import("@preact/signals").Signal<Role | null>} */
export const expired = signal(null);

/** Requests that wait for that. @type {((again: boolean) => void)[]} */
let waiting = [];

/** Headers that say who asks. @param {string} path @param {string} method @returns {Record<string, string>} */
export function credentials(path, method) {
  if (path.startsWith("/admin")) return operator.value ? { authorization: `Bearer ${operator.value}` } : {};
  const { token, csrf } = account.value ?? {};
  if (token) return { authorization: `Bearer ${token}` };
  return csrf && method !== "GET" ? { "x-csrf-token": csrf } : {};
}

/** Asks to sign in again; false where nobody was signed in, or the person gave up. @param {Role} role @returns {Promise<boolean>} */
export function expire(role) {
  if (role === "account" ? !account.value : !operator.value) return Promise.resolve(false);
  expired.value = role;
  return new Promise((resolve) => waiting.push(resolve));
}

/** Ends the wait. @param {boolean} again whether the person signed in */
export function resume(again) {
  expired.value = null;
  const all = waiting;
  waiting = [];
  for (const resolve of all) resolve(again);
}

/** Name under which the text is kept that writes by cookie show. */
const REMEMBERED = "switchboard.csrf";

/** @param {string | null} csrf null: this browser is not remembered */
export function remember(csrf) {
  if (csrf) localStorage.setItem(REMEMBERED, csrf);
  else localStorage.removeItem(REMEMBERED);
}

/** What writes by cookie show, where this browser may hold one. */
export const remembered = () => localStorage.getItem(REMEMBERED);
