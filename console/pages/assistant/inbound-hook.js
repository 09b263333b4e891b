// The inbound webhook of an assistant, which has operations of its own.

import { post } from "../../api.js";
import { text } from "../../text.js";
import { html } from "../../ui/base.js";
import { confirm } from "../../ui/dialog.js";
import { SchemaForm } from "../../ui/form.js";
import { Panel } from "../../ui/parts.js";
import { useAction } from "../../ui/resource.js";
import { toast } from "../../ui/toast.js";

/** @param {{ row: any, reload: () => Promise<void> }} props */
export function InboundHook({ row, reload }) {
  const save = async (/** @type {any} */ { webhook_url: url }) => {
    const { message } = await post("/user/assistants/enable-inbound-webhook", {
      assistant_id: row.id,
      webhook_url: url,
    });
    await reload();
    toast(message);
  };
  const [off, busy] = useAction(async () => {
    const title = text.assistants.hookOffTitle(row.name);
    const words = text.assistants.hookOffWords(row.inbound_webhook_url);
    if (!(await confirm({ title, words, verb: text.assistants.hookOff }))) return undefined;
    const { message } = await post("/user/assistants/disable-inbound-webhook", { assistant_id: row.id });
    await reload();
    return message;
  });
  return html`<${Panel} title=${text.assistants.inboundHook} actions=${
    row.inbound_webhook_url &&
    html`<button
    type="button" disabled=${busy} onClick=${off}>${text.assistants.hookOff}</button>`
  }>
    <p class="muted small">${text.assistants.inboundHookWords}</p>
    <${SchemaForm} schema="Enable" ids="hook" draft=${`inbound-webhook:${row.id}`} preset=${{ webhook_url: row.inbound_webhook_url }}
      show=${(/** @type {string} */ name) => name === "webhook_url"} save=${save} verb=${text.assistants.hookOn} />
  <//>`;
}
