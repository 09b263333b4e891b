// What a running call is told: a line to say, something to know, keys, a transfer.

import { post } from "../../api.js";
import { text } from "../../text.js";
import { html } from "../../ui/base.js";
import { SchemaForm } from "../../ui/form.js";
import { Panel } from "../../ui/parts.js";
import { toast } from "../../ui/toast.js";

/** Members that only some commands have; one that is not here stands with each. @type {Record<string, string[]>} */
const OF = { text: ["say", "context"], to: ["transfer"], digits: ["dtmf"], after: ["end"] };

/** @param {{ id: number }} props */
export function Command({ id }) {
  const send = async (/** @type {any} */ body) => {
    const { message } = await post(`/user/calls/${id}/commands`, body);
    toast(message);
  };
  return html`<${Panel} title=${text.call.tell}><${SchemaForm} schema="NewCommand" preset=${{ type: "say" }}
    show=${(/** @type {string} */ name, /** @type {any} */ { type }) => !OF[name] || OF[name].includes(type)}
    save=${send} verb=${text.send} /><//>`;
}
