// The price list: one form, made of the document.

import { put } from "../../api.js";
import { form } from "../../schema.js";
import { text } from "../../text.js";
import { html } from "../../ui/base.js";
import { SchemaForm } from "../../ui/form.js";
import { Await, Head, Panel } from "../../ui/parts.js";
import { useGet } from "../../ui/resource.js";
import { toast } from "../../ui/toast.js";

export default function Prices() {
  const list = useGet("/admin/prices");
  // The list is replaced as a whole, so that all of it is sent, whatever was changed.
  const save = (/** @type {any} */ stored) => async (/** @type {any} */ body) => {
    const known = Object.fromEntries(form("PricesInput").fields.map(({ name }) => [name, stored[name]]));
    list.set(await put("/admin/prices", { ...known, ...body, items: body.items ?? stored.items ?? [] }));
    toast(text.saved);
  };
  return html`<${Head} title=${text.operator.prices} /><p class="muted">${text.operator.pricesWords}</p>
    <${Await} of=${list}>${(/** @type {any} */ { data }) => html`<${Panel} title=${text.operator.prices}><${SchemaForm}
      schema="PricesInput" stored=${data} draft="prices" save=${save(data)} verb=${text.operator.savePrices} />
      <//>`}<//>`;
}
