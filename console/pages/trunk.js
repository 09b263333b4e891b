// One SIP trunk: its settings, how its registration goes, and a check by an engine.

import { post, put } from "../api.js";
import { text } from "../text.js";
import { html, useState } from "../ui/base.js";
import { SchemaForm } from "../ui/form.js";
import { Await, Badge, Copy, Head, Panel, Time } from "../ui/parts.js";
import { useAction, useGet } from "../ui/resource.js";
import { toast } from "../ui/toast.js";

/** @param {{ params: { id: string } }} props */
export default function TrunkPage({ params: { id } }) {
  const one = useGet(`/user/phone-numbers/sip-trunks/${id}`);
  return html`<${Await} page
    of=${one}>${(/** @type {any} */ { data }) => html`<${One} row=${data} reload=${one.reload} />`}<//>`;
}

/** @param {{ row: any, reload: () => Promise<void> }} props */
function One({ row, reload }) {
  const path = `/user/phone-numbers/sip-trunks/${row.id}`;
  const save = async (/** @type {any} */ body) => {
    const { message } = await put(path, body);
    await reload();
    toast(message);
  };
  const [steps, setSteps] = useState(/** @type {any[] | null} */ (null));
  const [check, busy] = useAction(async () => {
    setSteps(null);
    setSteps((await post(`${path}/check`)).data.steps);
  });
  const { registration } = row;
  return html`<${Head} title=${text.numbers.trunk(row.phone_number)} up=${["/numbers", text.numbers.title]}
    sub=${html`<span>${row.sip_address}</span><${Copy} value=${row.id} name=${text.numbers.trunks} />`}>
      <button type="button" disabled=${busy}
        onClick=${check}>${busy ? text.numbers.checking : text.numbers.check}</button><//>
    <div class="columns"><${Panel} title=${text.knowledge.settings}><${SchemaForm} schema="TrunkChanges" stored=${row}
      draft=${`trunk:${row.id}`} save=${save} verb=${text.save} /><//>
      <div class="stack">
        <${Panel} title=${text.numbers.registration}>${
          registration
            ? html`<p>
          <${Badge} state=${registration.state} /> <${Time} at=${registration.since} /></p>${registration.detail && html`<p>${registration.detail}</p>`}`
            : html`<p
          class="muted">${text.numbers.noRegistration}</p>`
        }<//>
        ${
          steps &&
          html`<${Panel} title=${text.numbers.check}><ol class="list stack tight"
          role="status">${steps.map(
            (step) => html`<li key=${step.name}><${Badge} state=${step.ok ? "ok" : "failed"}
          words=${text.numbers.steps[step.name] ?? step.name} /> ${step.detail}</li>`,
          )}</ol><//>`
        }
      </div></div>`;
}
