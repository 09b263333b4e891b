// The recording. One that this service keeps plays here, in step with timeline and transcript; one that is kept
// elsewhere is a link, as the console asks nothing of other hosts.

import { remove, ROOT } from "../../api.js";
import { text } from "../../text.js";
import { html, useEffect } from "../../ui/base.js";
import { confirm } from "../../ui/dialog.js";
import { Panel } from "../../ui/parts.js";
import { useAction } from "../../ui/resource.js";

/** @param {{ url: string, call: any, audio: { current: HTMLAudioElement | null }, at: import("@preact/signals").Signal<number | null>, from: number, reload: () => Promise<void> }} props
 *   `from`: milliseconds after the call's zero at which the recording begins */
export function Player({ url, call, audio, at, from, reload }) {
  const place = new URL(url, ROOT);
  const own = place.origin === ROOT.origin || place.pathname.startsWith("/recordings/");
  const [erase, busy] = useAction(async () => {
    if (
      !(await confirm({
        title: text.call.eraseRecording(call.id),
        words: text.call.eraseRecordingWords,
        verb: text.erase,
      }))
    )
      return undefined;
    const { message } = await remove(`/user/calls/${call.id}/recording`);
    await reload();
    return message;
  });
  useEffect(() => {
    if (!own) return undefined;
    // `timeupdate` comes four times a second: too coarse for a mark that moves.
    let frame = 0;
    const move = () => {
      frame = requestAnimationFrame(move);
      const player = audio.current;
      if (player && !player.paused) at.value = from + player.currentTime * 1000;
    };
    frame = requestAnimationFrame(move);
    return () => cancelAnimationFrame(frame);
  }, [own, from]);
  const actions =
    own &&
    html`<a href=${place.pathname} download>${text.call.save}</a><button type="button" class="quiet" disabled=${busy}
      onClick=${erase}>${text.erase}</button>`;
  return html`<${Panel} title=${text.call.recording} actions=${actions}>
    ${
      own
        ? html`<audio controls preload="metadata" src=${place.pathname + place.search}
          style=${{ width: "100%" }} ref=${audio}
          onSeeked=${(/** @type {any} */ event) => (at.value = from + event.target.currentTime * 1000)}></audio>`
        : html`<p>${text.call.elsewhere(place.host)} ${
            /^https?:$/.test(place.protocol) &&
            html`<a
          href=${place.href} target="_blank" rel="noreferrer noopener">${text.call.openRecording}</a>`
          }</p>`
    }
  <//>`;
}
