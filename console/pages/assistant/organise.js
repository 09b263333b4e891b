// Folders and labels: made, renamed, coloured and deleted where the list is.

import { create, put, remove } from "../../api.js";
import { text } from "../../text.js";
import { html, useState } from "../../ui/base.js";
import { confirm, Dialog } from "../../ui/dialog.js";
import { SchemaForm } from "../../ui/form.js";
import { Await } from "../../ui/parts.js";
import { useAction } from "../../ui/resource.js";

/** @typedef {import("../../ui/resource.js").Resource<any>} Resource */

/** @param {{ folders: Resource, labels: Resource }} props */
export function Organise({ folders, labels }) {
  return html`<details class="panel"><summary class="summary">${text.assistants.organise}</summary>
    <div class="columns even body"><${Kind} title=${text.assistants.folders}
      of=${folders} path="/user/folders" add=${text.assistants.newFolder} loss=${text.assistants.eraseFolder} />
      <${Kind} title=${text.assistants.labels}
        of=${labels} path="/user/labels" add=${text.assistants.newLabel} loss=${text.assistants.eraseLabel} /></div></details>`;
}

/** @param {{ title: string, of: Resource, path: string, add: string, loss: string }} props */
function Kind({ title, of, path, add, loss }) {
  const [open, setOpen] = useState(/** @type {any} */ (null));
  const [erase] = useAction(async (/** @type {any} */ row) => {
    if (!(await confirm({ title: `${text.erase}: ${row.name}`, words: loss, verb: text.erase }))) return undefined;
    const { message } = await remove(`${path}/${row.id}`);
    await of.reload();
    return message;
  });
  const save = async (/** @type {any} */ body) => {
    await (open.id ? put(`${path}/${open.id}`, body) : create(path, body));
    setOpen(null);
    await of.reload();
  };
  return html`<div class="stack tight"><h2>${title}</h2>
    <${Await} of=${of}>${(/** @type {any} */ { data }) =>
      html`<ul class="list stack tight">${data.map(
        (/** @type {any} */ row) => html`<li class="row spread" key=${row.id}>
      <span class="tag"><i class="swatch" data-color=${row.color}></i>${row.name}</span><span
        class="muted small">${text.assistants.count(row.assistants_count)}</span>
      <span class="row"><button type="button" class="quiet" aria-label=${`${text.edit}: ${row.name}`}
        onClick=${() => setOpen(row)}>${text.edit}</button><button type="button" class="quiet"
        aria-label=${`${text.erase}: ${row.name}`} onClick=${() => erase(row)}>${text.erase}</button></span></li>`,
      )}</ul>`}<//>
    <div><button type="button" onClick=${() => setOpen({})}>${add}</button></div>
    ${
      open &&
      html`<${Dialog} title=${open.id ? `${text.edit}: ${open.name}` : add} close=${() => setOpen(null)}>
      <${SchemaForm} schema=${open.id ? "FolderChanges" : "NewFolder"} stored=${open.id ? open : undefined}
      save=${save} verb=${text.save} cancel=${() => setOpen(null)} /><//>`
    }
  </div>`;
}
