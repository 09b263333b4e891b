// Which keys do what.

import { operator } from "../session.js";
import { text } from "../text.js";
import { html } from "./base.js";
import { Dialog } from "./dialog.js";
import { above, letters, PLACES, setLetters } from "./keys.js";
import { NAVIGATION } from "./shell.js";

export function Help() {
  const names = Object.fromEntries(NAVIGATION.flatMap(({ pages }) => pages));
  const close = () => (above.value = null);
  return html`<${Dialog} title=${text.keysHelp.title} light close=${close}>
    <dl class="facts">
      <dt><kbd>Ctrl</kbd> <kbd>K</kbd></dt><dd>${text.palette.open}</dd>
      <dt><kbd>/</kbd></dt><dd>${text.keysHelp.filter}</dd>
      <dt><kbd>?</kbd></dt><dd>${text.keysHelp.title}</dd>
      ${Object.entries(PLACES)
        .filter(([, page]) => page !== "/operator" || operator.value)
        .map(
          ([key, page]) => html`<dt><kbd>g</kbd> <kbd>${key}</kbd></dt>
        <dd>${names[page]}</dd>`,
        )}
    </dl>
    <div class="choice"><input type="checkbox" id="letters" checked=${letters.value}
      onChange=${(/** @type {any} */ event) => setLetters(event.target.checked)} />
      <label for="letters">${text.keysHelp.letters}</label></div>
    <div class="row"><button type="button" onClick=${close}>${text.close}</button></div>
  <//>`;
}
