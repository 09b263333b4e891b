// The operator says whether an account may show a number of its own, where the carrier cannot tell.

import { put } from "../../api.js";
import { text } from "../../text.js";
import { html, useState } from "../../ui/base.js";
import { Badge, Panel } from "../../ui/parts.js";
import { useAction } from "../../ui/resource.js";

/** @param {{ path: string }} props `path` of the account */
export function CallerId({ path }) {
  const [id, setId] = useState("");
  const [told, setTold] = useState(/** @type {any} */ (null));
  const [say, busy] = useAction(async (/** @type {boolean} */ verified) => {
    setTold(null);
    const { message, data } = await put(`${path}/caller-ids/${id}`, { verified });
    setTold(data);
    return message;
  });
  const submit = (/** @type {Event} */ event) => (event.preventDefault(), say(true));
  return html`<${Panel} title=${text.operator.callerId}><p class="muted small">${text.operator.callerIdWords}</p>
    <form class="stack tight" onSubmit=${submit}>
      <label class="field"><span>${text.operator.callerIdOf}</span><input inputmode="numeric" pattern="[1-9][0-9]*"
        required autocomplete="off" value=${id}
        onInput=${(/** @type {any} */ event) => setId(event.target.value)} /></label>
      <div class="row"><button type="submit" class="primary" disabled=${busy}>${text.operator.confirm}</button>
        <button type="button" disabled=${busy || !id}
          onClick=${(/** @type {any} */ event) => event.currentTarget.form.reportValidity() && say(false)}>${text.operator.forbid}</button></div>
    </form>
    <p role="status">${
      told &&
      html`${told.phone_number} ${
        told.verified
          ? html`<${Badge} state="ok" words=${text.numbers.verified} />`
          : html`<${Badge} state="warn" tone="warn" words=${text.numbers.notVerified} />`
      }`
    }</p><//>`;
}
