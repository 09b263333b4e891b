// API keys of the account.

import { text } from "../text.js";
import { ApiKeys } from "../ui/api-keys.js";
import { html } from "../ui/base.js";
import { Head } from "../ui/parts.js";

export default function Keys() {
  return html`<${Head} title=${text.keys.title} /><p class="muted">${text.keys.noneWords}</p>
    <${ApiKeys} path="/user/api-keys" title=${text.keys.title} />`;
}
