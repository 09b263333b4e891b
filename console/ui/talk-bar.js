// The talk of this browser, above whichever page is open: how it stands, mute, hang up, and the ways to its pages.

import { to } from "../router.js";
import { dismiss, hangUp, mute, talk, talks } from "../talk.js";
import { text } from "../text.js";
import { html, useEffect, useRef } from "./base.js";
import { Badge, Notice } from "./parts.js";

export function TalkBar() {
  const now = talk.value;
  const sound = useRef(/** @type {HTMLAudioElement | null} */ (null));
  useEffect(() => {
    if (sound.current) sound.current.srcObject = now?.sound ?? null;
  }, [now?.sound]);
  if (!now || (!talks() && !now.error)) return null;
  const back = html`<a href=${to(`/assistants/${now.assistant.id}`)}>${text.talk.with(now.assistant.name)}</a>`;
  if (!talks())
    return html`<section class="talking" aria-label=${text.talk.title}><${Notice} tone="bad" role="alert">${now.error}<//>
      <div class="row">${back}<button type="button" onClick=${dismiss}>${text.close}</button></div></section>`;
  return html`<section class="talking" aria-label=${text.talk.title}>
    <div class="row"><span role="status"><${Badge} state="in-progress" words=${text.talk.states[now.state]} /></span>${back}</div>
    <div class="row"><button type="button" aria-pressed=${now.muted ? "true" : "false"} onClick=${mute}>${text.talk.mute}</button>
      <button type="button" class="danger" onClick=${hangUp}>${text.talk.end}</button>
      ${now.call > 0 && html`<a href=${to(`/calls/${now.call}`)}>${text.talk.page}</a>`}</div>
    <audio ref=${sound} autoplay></audio></section>`;
}
