// The page of those who are not signed in.

import { signIn, signInOperator } from "../login.js";
import { go, route, to } from "../router.js";
import { text } from "../text.js";
import { html, useEffect, useState } from "./base.js";
import { Notice } from "./parts.js";

/** @param {{ role: "account" | "operator" }} props */
export function Door({ role }) {
  useEffect(() => {
    document.title = text.page(text.login.title);
  }, []);
  return html`<main class="door"><div>
    <p class="brand"><img src=${new URL("../icon.svg", import.meta.url).href} alt="" />${text.name}</p>
    <div class="panel"><div class="body"><${SignIn} role=${role} /><p
      class="muted small">${text.login.first}</p></div></div>
  </div></main>`;
}

/** The form alone; `only`: for this role, as its session has ended. @param {{ role: "account" | "operator", only?: boolean }} props */
export function SignIn({ role, only }) {
  const [as, setAs] = useState(role);
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState(/** @type {string | null} */ (null));
  const submit = async (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const typed = new FormData(/** @type {HTMLFormElement} */ (event.currentTarget));
    const of = (/** @type {string} */ name) => String(typed.get(name) ?? "");
    setBusy(true);
    setError(null);
    try {
      if (as === "operator") await signInOperator(of("token").trim());
      else await signIn({ email: of("email"), password: of("password"), stay: typed.has("stay") });
      // A page of the other role is none of this one's.
      if ((route.value.row?.role ?? as) !== as) go(to(as === "operator" ? "/operator" : "/"), { replace: true });
    } catch (failure) {
      const status = /** @type {any} */ (failure).status;
      setError(
        status === 401
          ? as === "operator"
            ? text.login.wrongToken
            : text.login.wrong
          : /** @type {Error} */ (failure).message,
      );
    } finally {
      setBusy(false);
    }
  };
  return html`<form class="stack" onSubmit=${submit}>
    ${!only && html`<h1 class="visually-hidden">${text.login.title}</h1>`}
    ${error && html`<${Notice} tone="bad" role="alert">${error}<//>`}
    ${
      as === "operator"
        ? html`<label class="field"><span>${text.login.token}</span><input name="token" type="password"
          autocomplete="off" required /><span class="hint">${text.login.tokenHint}</span></label>`
        : html`<label class="field"><span>${text.login.email}</span><input name="email" type="email"
          autocomplete="username" required /></label>
        <label class="field"><span>${text.login.password}</span><input name="password" type="password"
          autocomplete="current-password" required /></label>
        <div class="choice"><input type="checkbox" name="stay" id="stay" />
          <label for="stay">${text.login.stay}</label></div>`
    }
    <div class="row spread"><button type="submit" class="primary"
      disabled=${busy}>${busy ? text.loading : text.login.in}</button>
      ${
        !only &&
        html`<button type="button" class="link"
        onClick=${() => (setAs(as === "operator" ? "account" : "operator"), setError(null))}>${as === "operator" ? text.login.asAccount : text.login.asOperator}</button>`
      }</div>
  </form>`;
}
