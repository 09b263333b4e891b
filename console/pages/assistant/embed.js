// The line by which a page of the account embeds the assistant, once its widget is switched on.

import { ROOT } from "../../api.js";
import { text } from "../../text.js";
import { html } from "../../ui/base.js";
import { Copy, Panel } from "../../ui/parts.js";

/** @param {{ row: any }} props */
export function Embed({ row }) {
  const { enabled, allowed_origins: origins } = row.widget_settings ?? {};
  if (!enabled) return null;
  const script = new URL("widget.js", ROOT).href;
  const line = `<script type="module" src="${script}" data-assistant="${row.uuid}"></script>`;
  const lacks =
    row.status !== "active" ? text.assistants.embedInactive : !origins?.length && text.assistants.embedNowhere;
  return html`<${Panel} title=${text.assistants.embed}>
    <p class="muted small">${text.assistants.embedWords}</p>
    <${Copy} value=${line} name=${text.assistants.embedLine} />
    ${lacks && html`<p class="small">${lacks}</p>`}
  <//>`;
}
