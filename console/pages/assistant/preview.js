// The texts of a call before one is placed: what variables fill in, and what stays without a value.

import { post } from "../../api.js";
import { size } from "../../format.js";
import { text } from "../../text.js";
import { html, useEffect, useState } from "../../ui/base.js";
import { SchemaForm } from "../../ui/form.js";
import { Failure, Notice, Panel } from "../../ui/parts.js";

/** @param {{ row: any }} props */
export function Preview({ row }) {
  const [shown, setShown] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const load = async (/** @type {any} */ body) => {
    const { data } = await post(`/user/assistant/${row.id}/preview`, body);
    setError(null);
    setShown(data);
  };
  useEffect(() => {
    load({}).catch(setError);
  }, [row.id, row.updated_at]);
  return html`<${Panel} title=${text.assistants.preview}>
    <p class="muted small">${text.assistants.previewWords}</p>
    <${SchemaForm} schema="PreviewBody" ids="preview" preset=${{ variables: row.variables }} save=${load}
      verb=${text.assistants.show} />
    ${error && html`<${Failure} error=${error} />`}
    ${
      shown &&
      html`<${Notice} tone=${shown.unknown.length ? "warn" : ""}>${shown.unknown.length ? text.assistants.unknown(shown.unknown) : text.assistants.complete} <span
        class="nowrap">${text.assistants.bytes(size(shown.bytes))}</span><//>
      <h3>${text.assistants.greeting}</h3><${Filled} words=${shown.initial_message} name=${text.assistants.greeting} />
      <h3>${text.assistants.prompt}</h3><${Filled} words=${shown.system_prompt} name=${text.assistants.prompt} />`
    }
  <//>`;
}

/** A text with its open placeholders marked. @param {{ words: string, name: string }} props */
const Filled = ({ words, name }) =>
  html`<pre class="prompt" tabindex="0" role="region"
    aria-label=${name}>${words.split(/(\{\{[^{}]*\}\})/).map((part, at) =>
      at % 2
        ? html`<mark
    key=${at}>${part}</mark>`
        : part,
    )}</pre>`;
