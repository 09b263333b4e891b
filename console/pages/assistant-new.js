// A new assistant: the same form as that of one that is there, with sensible values to begin with.

import { create } from "../api.js";
import { go, to } from "../router.js";
import { account } from "../session.js";
import { text } from "../text.js";
import { html } from "../ui/base.js";
import { SchemaForm } from "../ui/form.js";
import { Head } from "../ui/parts.js";
import { toast } from "../ui/toast.js";
import { applies, place, sections } from "./assistant/sections.js";

export default function NewAssistant() {
  const save = async (/** @type {any} */ body) => {
    const { message, data } = await create("/user/assistant", body);
    toast(message);
    go(to(`/assistants/${data.id}`));
  };
  const preset = { type: "outbound", mode: "pipeline", timezone: account.value?.me.timezone };
  return html`<${Head} title=${text.assistants.new} up=${["/assistants", text.assistants.title]} />
    <${SchemaForm} schema="NewAssistant" preset=${preset} draft="assistant" save=${save}
      verb=${text.assistants.create} bar
      show=${(/** @type {string} */ name, /** @type {any} */ values) => applies(name, values.mode)} order=${place} sections=${(/** @type {any} */ { mode }) => sections(mode)} />`;
}
