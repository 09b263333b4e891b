// The store: its size, its last backup and check, a backup now; and the operator's token.

import { download, post } from "../../api.js";
import { ago, size } from "../../format.js";
import { operator } from "../../session.js";
import { text } from "../../text.js";
import { html, useState } from "../../ui/base.js";
import { confirm, Dialog } from "../../ui/dialog.js";
import { Await, Copy, Figures, Head, Notice, Panel, Time } from "../../ui/parts.js";
import { useAction, useGet } from "../../ui/resource.js";

export default function Store() {
  const store = useGet("/admin/store");
  const [backup, busy] = useAction(async () => {
    await download("/admin/backup", {
      accept: "application/octet-stream, */*",
      name: `switchboard-${new Date().toISOString().slice(0, 10)}.backup`,
    });
    await store.reload();
  });
  return html`<${Head} title=${text.operator.store}><button type="button" class="primary" disabled=${busy}
    onClick=${backup}>${busy ? text.loading : text.operator.backup}</button><//>
    <${Await} of=${store}>${(/** @type {any} */ { data }) =>
      html`<${Figures} of=${[
        [text.operator.size, size(data.bytes)],
        [text.operator.free, size(data.free_bytes)],
        [
          text.operator.lastBackup,
          data.last_backup_at ? ago(data.last_backup_at) : text.operator.never,
          data.last_backup_at && html`<${Time} at=${data.last_backup_at} />`,
        ],
        [
          text.operator.lastVerify,
          data.last_verify
            ? data.last_verify.ok
              ? text.operator.verifyOk
              : text.operator.verifyBad
            : text.operator.never,
          data.last_verify && html`<${Time} at=${data.last_verify.at} />`,
        ],
        [text.operator.release, data.release],
      ]} />`}<//>
    <p class="muted">${text.operator.backupWords}</p>
    <${Rotation} />`;
}

function Rotation() {
  const [token, setToken] = useState(/** @type {string | null} */ (null));
  const [rotate, busy] = useAction(async () => {
    if (
      !(await confirm({
        title: text.operator.rotate,
        words: text.operator.rotateWords,
        name: text.operator.rotateName,
        verb: text.webhooks.rotate,
      }))
    )
      return;
    const { token: made } = await post("/admin/operator-token/rotate");
    operator.value = made;
    setToken(made);
  });
  return html`<${Panel} title=${text.operator.token}><p class="muted">${text.operator.rotateWords}</p><div><button
    type="button" class="danger" disabled=${busy} onClick=${rotate}>${text.operator.rotate}</button></div><//>
    ${
      token &&
      html`<${Dialog} title=${text.operator.token} once close=${() => setToken(null)}><${Notice} tone="warn"
      role="alert">${text.keys.once}<//><${Copy} value=${token} name=${text.keys.token} /><div class="row"><button
      type="button" onClick=${() => setToken(null)}>${text.close}</button></div><//>`
    }`;
}
