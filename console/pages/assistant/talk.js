// Talking with an assistant: a call of this browser, with what is said. The bar above the page moves it.

import { begin, talk, talks } from "../../talk.js";
import { text } from "../../text.js";
import { html, useEffect, useRef } from "../../ui/base.js";
import { Panel } from "../../ui/parts.js";

/** @param {{ row: any }} props */
export function Talk({ row }) {
  const own = talk.value?.assistant.id === row.id ? talk.value : null;
  const { said = [], partial = "" } = own ?? {};
  const log = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => log.current?.scrollTo({ top: log.current.scrollHeight }), [said, partial]);
  return html`<${Panel} title=${text.talk.title}>
    <p class="muted small">${text.talk.words}</p>
    ${
      own && talks()
        ? html`<p>${text.talk.above}</p>`
        : html`${talks() && html`<p>${text.talk.other(talk.value?.assistant.name ?? "")}</p>`}
        <div><button type="button" class="primary" disabled=${talks()}
          onClick=${() => begin(row)}>${text.talk.begin}</button></div>`
    }
    ${
      (said.length > 0 || partial) &&
      html`<div class="chat" role="log" aria-label=${text.talk.title} tabindex="0" ref=${log}>
        ${said.map((one) => html`<div key=${one.seq} class=${bubble(one.sender)}>${one.text}</div>`)}
        ${partial && html`<div class=${bubble("human")}>${partial} …</div>`}
      </div>`
    }
  <//>`;
}

/** @param {import("../../talk.js").Said["sender"]} sender */
const bubble = (sender) => `bubble ${sender === "bot" ? "assistant" : "user"}`;
