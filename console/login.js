// Signing in and out: by e-mail and password, by the operator's token, by the code in the address that `switchboard dev`
// prints, and by the cookie of a browser that stays signed in.

import { get, request } from "./api.js";
import { go, to } from "./router.js";
import { account, operator, remember, remembered, resume } from "./session.js";
import { hangUp } from "./talk.js";
import { allow, forgetAll } from "./ui/drafts.js";

/** @param {{ email: string, password: string, stay: boolean }} typed */
export async function signIn({ email, password, stay }) {
  const body = stay ? { email, password, remember: true } : { email, password };
  await admit(await request("POST", "/user/login", { body }));
}

/** Keeps what a login answered, and asks who it is. Where there is a cookie, the token itself is not kept. @param {any} told */
async function admit({ token, csrf = null, user }) {
  const held = csrf ? { token: null, csrf } : { token, csrf: null };
  remember(csrf);
  account.value = { ...held, me: account.value?.me ?? { ...user, timezone: "", plan: "", total_balance: 0 } };
  account.value = { ...held, me: await get("/user/me") };
  allow();
  resume(true);
}

/** Takes a token that the service knows. @param {string} token */
export async function signInOperator(token) {
  await request("GET", "/admin/plans", { headers: { authorization: `Bearer ${token}` } });
  operator.value = token;
  allow();
  resume(true);
}

/** Before the first page: a code in the fragment, or a cookie. Neither is an error. */
export async function enter() {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code) {
    history.replaceState(null, "", location.pathname + location.search);
    await request("POST", "/user/login/code", { body: { code, remember: true } }).then(admit, () => {});
    return;
  }
  const csrf = remembered();
  if (csrf)
    await get("/user/me").then(
      (me) => (account.value = { token: null, csrf, me }),
      () => remember(null),
    );
}

/** Signs the account out, here and at the service; a talk ends first. */
export async function signOut() {
  await hangUp();
  await request("POST", "/user/logout", { body: {} }).catch(() => {});
  remember(null);
  forgetAll();
  account.value = null;
  if (!operator.value) go(to("/"), { replace: true });
}

/** Forgets the operator's token. */
export function signOutOperator() {
  operator.value = null;
  forgetAll();
  if (!account.value) return;
  allow();
  go(to("/"), { replace: true });
}
