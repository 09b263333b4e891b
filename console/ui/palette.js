// The command palette: pages, first steps and assistants by name, under Ctrl-K.

import { get } from "../api.js";
import { go, to } from "../router.js";
import { account, operator } from "../session.js";
import { text } from "../text.js";
import { html, useEffect, useState } from "./base.js";
import { Dialog } from "./dialog.js";
import { above } from "./keys.js";
import { NAVIGATION } from "./shell.js";

/** @typedef {{ words: string, note: string, href: string }} Command */

/** @returns {Command[]} */
function fixed() {
  const pages = NAVIGATION.filter(({ role }) => (role === "account" ? account.value : operator.value)).flatMap(
    ({ title, pages: all }) => all.map(([page, words]) => ({ words, note: title, href: to(page) })),
  );
  const steps = account.value
    ? [
        { words: text.assistants.new, note: text.palette.step, href: to("/assistants/new") },
        { words: text.campaigns.new, note: text.palette.step, href: to("/campaigns", { new: 1 }) },
      ]
    : [];
  return [...pages, ...steps];
}

/** Commands that fit what was typed, and assistants and a call by it. @param {string} typed @returns {Command[]} */
function useCommands(typed) {
  const [found, setFound] = useState({ of: "", commands: /** @type {Command[]} */ ([]) });
  useEffect(() => {
    if (!account.value || typed.length < 2) return undefined;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      get("/user/assistants/get", { search: typed, per_page: 8 }, stop.signal).then(
        ({ data }) =>
          setFound({
            of: typed,
            commands: data.map((/** @type {any} */ row) => ({
              words: row.name,
              note: text.assistants.one,
              href: to(`/assistants/${row.id}`),
            })),
          }),
        () => {},
      );
    }, 120);
    return () => (clearTimeout(timer), stop.abort());
  }, [typed]);
  const words = typed.toLowerCase();
  const call = /^\d+$/.test(typed)
    ? [{ words: text.calls.number(typed), note: text.calls.title, href: to(`/calls/${typed}`) }]
    : [];
  const phone =
    account.value && /^\+\d{4,}$/.test(typed)
      ? [{ words: text.palette.phone(typed), note: text.calls.title, href: to("/calls", { phone_number: typed }) }]
      : [];
  const pages = fixed().filter((one) => one.words.toLowerCase().includes(words));
  return [...call, ...phone, ...pages, ...(found.of === typed ? found.commands : [])].slice(0, 30);
}

export function Palette() {
  const [typed, setTyped] = useState("");
  const [at, setAt] = useState(0);
  const commands = useCommands(typed.trim());
  const close = () => (above.value = null);
  const run = (/** @type {Command | undefined} */ one) => one && (close(), go(one.href));
  useEffect(() => document.getElementById(`command-${at}`)?.scrollIntoView({ block: "nearest" }), [at]);
  const keys = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Enter") (event.preventDefault(), run(commands[at]));
    else if (step && commands.length) (event.preventDefault(), setAt((at + step + commands.length) % commands.length));
  };
  return html`<${Dialog} title=${text.palette.title} hideTitle light close=${close} kind="palette">
    <input role="combobox" aria-expanded="true" aria-controls="commands"
      aria-activedescendant=${commands.length ? `command-${at}` : undefined}
      aria-label=${text.palette.title} placeholder=${text.palette.hint} autocomplete="off" value=${typed}
      onInput=${(/** @type {any} */ event) => (setAt(0), setTyped(event.target.value))} onKeyDown=${keys} />
    <ul class="list" role="listbox" id="commands" aria-label=${text.palette.title}>
      ${commands.map(
        (one, index) => html`<li role="option" id=${`command-${index}`} key=${one.href + one.words}
        aria-selected=${index === at ? "true" : "false"} onClick=${() => run(one)}><span>${one.words}</span><span
        class="muted small">${one.note}</span></li>`,
      )}
      ${
        !commands.length &&
        html`<li class="muted" role="option" aria-selected="false"
        aria-disabled="true">${text.palette.nothing}</li>`
      }
    </ul>
  <//>`;
}
