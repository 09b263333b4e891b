// One knowledgebase: its documents with their progress, and a search that shows what an assistant would find.

import { create, patch, post, remove, request } from "../api.js";
import { go, to } from "../router.js";
import { text } from "../text.js";
import { html, useState } from "../ui/base.js";
import { confirm, Dialog } from "../ui/dialog.js";
import { SchemaForm } from "../ui/form.js";
import { Await, Badge, Copy, Empty, Head, Panel, Time } from "../ui/parts.js";
import { useAction, useEvery, useGet } from "../ui/resource.js";
import { Table } from "../ui/table.js";
import { toast } from "../ui/toast.js";

/** @param {{ params: { id: string } }} props */
export default function KnowledgebasePage({ params: { id } }) {
  const one = useGet(`/user/knowledgebases/${id}`);
  return html`<${Await} page
    of=${one}>${(/** @type {any} */ { data }) => html`<${One} row=${data} reload=${one.reload} />`}<//>`;
}

/** @param {{ row: any, reload: () => Promise<void> }} props */
function One({ row, reload }) {
  const path = `/user/knowledgebases/${row.id}`;
  const documents = useGet(`${path}/documents`);
  const [open, setOpen] = useState(/** @type {"site" | "file" | "text" | null} */ (null));
  const close = () => setOpen(null);
  const again = () => Promise.all([documents.reload(), reload()]);
  const reading = documents.data?.data.some((/** @type {any} */ one) => one.status === "processing");
  useEvery(again, reading ? 1_500 : null);
  const add = async (/** @type {any} */ answer) => {
    const { message } = await answer;
    close();
    await again();
    toast(message);
  };
  const [erase] = useAction(async (/** @type {any} */ one) => {
    if (
      !(await confirm({
        title: `${text.knowledge.eraseDocument}: ${one.name}`,
        words: text.knowledge.eraseDocumentWords,
        verb: text.erase,
      }))
    )
      return undefined;
    const { message } = await remove(`${path}/documents/${one.id}`);
    await again();
    return message;
  });
  const save = async (/** @type {any} */ body) => {
    const { message } = await patch(path, body);
    await reload();
    toast(message);
  };
  return html`<${Top} row=${row} path=${path} open=${setOpen} />
    <div class="columns"><div class="stack">
        <${Panel} title=${text.knowledge.documents} flush><${Await}
          of=${documents}>${(/** @type {any} */ { data }) => html`<${Table} label=${text.knowledge.documents}
          columns=${columns(erase)} rows=${data} empty=${html`<${Empty} title=${text.knowledge.noDocuments}
          words=${text.knowledge.noDocumentsWords} />`} />`}<//><//>
      </div><div class="stack"><${Search} path=${path} /><${Panel} title=${text.knowledge.settings}><${SchemaForm}
        schema="BaseChanges" stored=${row} draft=${`knowledgebase:${row.id}`} save=${save} verb=${text.save} /><//></div></div>
    ${
      open === "site" &&
      html`<${Dialog} title=${text.knowledge.addSite} kind="broad" close=${close}><${SchemaForm}
      schema="NewDocument" preset=${{ type: "website" }} draft=${`website-of:${row.id}`}
      show=${(/** @type {string} */ name) => name !== "type"} verb=${text.knowledge.addSite} cancel=${close}
      save=${(/** @type {any} */ body) => add(create(`${path}/documents`, { ...body, type: "website", links: body.links?.length ? body.links : undefined }))} />
      <//>`
    }
    ${
      open === "file" &&
      html`<${Dialog} title=${text.knowledge.addFile} close=${close}><${SchemaForm} schema=${FILED}
      verb=${text.knowledge.upload} cancel=${close}
      save=${(/** @type {any} */ { name, file }) => add(send(path, name ?? file.name, file))} /><//>`
    }
    ${
      open === "text" &&
      html`<${Dialog} title=${text.knowledge.addText} kind="broad" close=${close}><${SchemaForm}
      schema=${WRITTEN} draft=${`text-of:${row.id}`} verb=${text.save} cancel=${close}
      save=${(/** @type {any} */ { name, text: words }) => add(send(path, name, new File([words], "text.txt", { type: "text/plain" })))} /><//>`
    }`;
}

/** @param {{ row: any, path: string, open: (kind: "site" | "file" | "text") => void }} props */
function Top({ row, path, open }) {
  const [erase, busy] = useAction(async () => {
    if (
      !(await confirm({
        title: text.knowledge.erase,
        words: text.knowledge.eraseWords,
        name: row.name,
        verb: text.erase,
      }))
    )
      return undefined;
    const { message } = await remove(path);
    go(to("/knowledge"));
    return message;
  });
  return html`<${Head} title=${row.name} up=${["/knowledge", text.knowledge.title]}
    sub=${html`<${Badge} state=${row.status} words=${row.status_label} /><${Copy} value=${row.id}
    name=${text.knowledge.title} />`}>
    <button type="button" class="primary" onClick=${() => open("site")}>${text.knowledge.addSite}</button><button
      type="button" onClick=${() => open("file")}>${text.knowledge.addFile}</button><button
      type="button" onClick=${() => open("text")}>${text.knowledge.addText}</button>
    <button type="button" class="danger" disabled=${busy} onClick=${erase}>${text.erase}</button><//>`;
}

/** @param {(row: any) => void} erase @returns {import("../ui/table.js").Column[]} */
const columns = (erase) => [
  { name: text.knowledge.documentName, cell: (row) => row.name, clip: true },
  { name: text.knowledge.type, cell: (row) => row.type_label },
  {
    name: text.knowledge.status,
    cell: (row) =>
      html`<${Badge} state=${row.status}
        words=${row.status_label} />${
          row.progress &&
          row.status === "processing" &&
          html` <span
        class="muted small">${text.knowledge.progress(row.progress.done, row.progress.total)}</span>`
        }${
          row.failure_reason &&
          html`<p
        class="small">${row.failure_reason}</p>`
        }`,
    clip: true,
  },
  { name: text.knowledge.added, cell: (row) => html`<${Time} at=${row.created_at} />` },
  {
    name: "",
    cell: (row) =>
      html`<button type="button" class="quiet danger" aria-label=${`${text.erase}: ${row.name}`}
        onClick=${() => erase(row)}>${text.erase}</button>`,
  },
];

/** Endings of files that are read. */
const FILES = ".pdf,.docx,.txt,.md";
/** More than this is no file that the service takes. */
const FILE_CHARS_MAX = 20 * 1024 * 1024;

/** The type of a document by its file's name. @param {string} name */
const typeOf = (name) => (/\.pdf$/i.test(name) ? "pdf" : /\.docx$/i.test(name) ? "docx" : "txt");

/** Sends a document. @param {string} path @param {string} name @param {File} file @returns {Promise<any>} */
function send(path, name, file) {
  const body = new FormData();
  body.append("name", name);
  body.append("type", typeOf(file.name));
  body.append("file", file);
  return request("POST", `${path}/documents`, { body });
}

const NAME = { name: "name", kind: /** @type {const} */ ("text"), nullable: false, max: 255 };
/** @type {import("../schema.js").Form} */
const WRITTEN = {
  fields: [
    { ...NAME, required: true, hint: text.knowledge.textHint },
    { name: "text", kind: "long", required: true, nullable: false, hint: "", max: FILE_CHARS_MAX },
  ],
  rules: [],
};
/** @type {import("../schema.js").Form} */
const FILED = {
  fields: [
    { name: "file", kind: "file", required: true, nullable: false, hint: text.knowledge.fileHint, accept: FILES },
    { ...NAME, required: false, hint: text.knowledge.nameHint },
  ],
  rules: [],
};

/** @param {{ path: string }} props */
function Search({ path }) {
  const [found, setFound] = useState(/** @type {any[] | null} */ (null));
  const find = async (/** @type {any} */ body) => setFound((await post(`${path}/search`, body)).data);
  return html`<${Panel} title=${text.knowledge.search}><${SchemaForm} schema="Question" save=${find}
    verb=${text.knowledge.find} />
    ${
      found &&
      html`<div class="stack tight" role="status">${
        found.length === 0
          ? html`<p
      class="muted">${text.knowledge.noPassages}</p>`
          : found.map(
              (one, at) => html`<div class="item" key=${at}><div
      class="row spread small"><strong>${one.document_name}</strong><span
      class="muted">${text.knowledge.score} ${one.score.toFixed(2)}</span></div>
      <p>${one.text}</p></div>`,
            )
      }</div>`
    }<//>`;
}
