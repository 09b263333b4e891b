// The account: its name and zone, its password, its plan.

import { put, ROOT } from "../api.js";
import { money } from "../format.js";
import { account } from "../session.js";
import { text } from "../text.js";
import { html, useState } from "../ui/base.js";
import { SchemaForm } from "../ui/form.js";
import { Await, Copy, Facts, Head, Panel } from "../ui/parts.js";
import { useGet } from "../ui/resource.js";
import { toast } from "../ui/toast.js";

const SECRETS = ["password", "current_password"];

export default function AccountPage() {
  const me = useGet("/user/me");
  const [turn, setTurn] = useState(0);
  const save = async (/** @type {any} */ body) => {
    const { message, data } = await put("/user/me", body);
    if (account.value) account.value = { ...account.value, me: data };
    me.set(data);
    setTurn(turn + 1);
    toast(message);
  };
  return html`<${Head} title=${text.account.title} />
    <${Await} of=${me}>${(/** @type {any} */ row) => html`<div class="columns"><div class="stack">
      <${Panel} title=${text.account.profile}><${SchemaForm} schema="ChangedMe" stored=${row} draft="me"
        show=${(/** @type {string} */ name) => !SECRETS.includes(name)} save=${save} verb=${text.save} /><//>
      <${Panel} title=${text.account.password}><p class="muted small">${text.account.passwordWords}</p><${SchemaForm}
        key=${turn} schema="ChangedMe" show=${(/** @type {string} */ name) => SECRETS.includes(name)} save=${save}
        verb=${text.account.change} /><//>
    </div><div class="stack"><${Panel} title=${text.account.facts}><${Facts} of=${[
      [text.account.email, row.email],
      [text.account.id, html`<${Copy} value=${row.id} name=${text.account.id} />`],
      [text.account.plan, row.plan],
      [text.account.balance, row.total_balance ? money(row.total_balance) : text.account.noBalance(money(0))],
      [
        text.account.api,
        html`<${Copy} value=${new URL("api", ROOT).href} name=${text.account.api} /> <a
          href=${new URL("docs", ROOT).href} target="_blank">${text.account.docs}</a>`,
      ],
    ]} /><//></div></div>`}<//>`;
}
