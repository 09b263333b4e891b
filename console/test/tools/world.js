// What a test account holds: something of everything, so that every page shows rows, errors and long texts.

import { client } from "./service.js";

/** @typedef {import("./service.js").Service} Service */
/** @typedef {Awaited<ReturnType<typeof fill>>} World */

const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** Addresses of the operator's pages. */
export const OPERATED = [
  "/operator",
  "/operator/accounts/1",
  "/operator/plans",
  "/operator/engines",
  "/operator/nodes",
  "/operator/queues",
  "/operator/store",
  "/operator/settings",
  "/operator/prices",
];

/** The body of an assistant that calls people, with some members of its own. @param {Record<string, any>} own */
export const caller = (own) => ({
  voice_id: 1,
  language_id: 1,
  type: "outbound",
  mode: "pipeline",
  timezone: "Etc/UTC",
  llm_model_id: 1,
  initial_message: "Hello",
  system_prompt: "Be brief.",
  ...own,
});

/** Waits until `look` gives something. @template T @param {() => Promise<T | null | undefined | false>} look @param {string} what @param {number} [ms] @returns {Promise<T>} */
export async function until(look, what, ms = 20_000) {
  for (const end = Date.now() + ms; Date.now() < end; await sleep(80)) {
    const found = await look();
    if (found) return found;
  }
  throw new Error(`Waited ${ms} ms for: ${what}`);
}

/** @param {Service} service */
export async function fill({ service, secrets, endpoint }) {
  const owner = client(`${service}/api`, secrets.api_key);
  const operator = client(service, secrets.admin_token);
  await operator("PUT", "/admin/prices", {
    currency: "USD",
    items: [
      ["stt_second", 0.00012],
      ["tts_character", 0.00003],
      ["llm_token_in", 0.000003],
      ["llm_token_out", 0.00001],
      ["carrier_second", 0.00022],
      ["platform_minute", 0.01],
    ].map(([unit, price]) => ({ unit, price })),
  });
  await owner("PUT", "/user/me", { name: "Clinic North", timezone: "Europe/Bucharest" });
  endpoint.answer("/hook", { status: 500, body: '{"error":"the receiver is being rebuilt"}' });
  endpoint.answer("/slots/2026-12-01", { body: '{"free":["09:30","11:00"]}' });
  const knowledge = await documents(owner);
  const tools = await makeTools(owner, endpoint.url);
  const numbers = await makeNumbers(owner);
  const assistants = await makeAssistants(owner, endpoint.url, {
    knowledge,
    tool: tools.slots,
    number: numbers.bought,
  });
  await owner("POST", "/user/do-not-call", { phone_number: "+40700009999", reason: "Asked not to be called" });
  await owner("POST", "/user/api-keys", { name: "Spreadsheet export", read_only: true });
  const calls = await makeCalls(owner, assistants.anna);
  const campaign = await makeCampaign(owner, assistants.anna);
  const conversation = await converse(owner, assistants.anna);
  return { owner, operator, conversation, knowledge, tools, numbers, assistants, calls, campaign };
}

/** @typedef {ReturnType<typeof client>} Client */

/** @param {Client} owner */
async function documents(owner) {
  const { data } = await owner("POST", "/user/knowledgebases", {
    name: "Clinic North",
    description: "Hours, prices and directions",
  });
  const add = async (/** @type {string} */ name, /** @type {string} */ type, /** @type {string} */ content) => {
    const form = new FormData();
    form.append("name", name);
    form.append("type", type);
    form.append("file", new Blob([content]), `${name}.${type}`);
    return owner("POST", `/user/knowledgebases/${data.id}/documents`, form);
  };
  await add(
    "Opening hours",
    "txt",
    "Opening hours: Monday to Friday from 8:00 to 18:00, Saturday from 9:00 to 13:00. The clinic is closed on Sundays.\n\nParking is free behind the house; the entrance is on Oak Street.",
  );
  await add("Price list", "pdf", "This is no PDF.");
  await until(
    async () =>
      !(await owner("GET", `/user/knowledgebases/${data.id}/documents`)).data.some(
        (/** @type {any} */ one) => one.status === "processing",
      ),
    "documents are read",
  );
  return data.id;
}

/** @param {Client} owner @param {string} url */
async function makeTools(owner, url) {
  const slots = await owner("POST", "/user/tools", {
    name: "find_slots",
    description: "Finds free appointments of a day",
    endpoint: `${url}/slots/{day}`,
    method: "GET",
    timeout: 5,
    headers: [{ name: "X-Clinic", value: "north" }],
    schema: [{ name: "day", type: "string", description: "The day, as YYYY-MM-DD" }],
  });
  const book = await owner("POST", "/user/tools", {
    name: "book_appointment",
    description: "Books an appointment",
    endpoint: `${url}/book`,
    method: "POST",
    schema: [
      { name: "time", type: "string", description: "Start of the appointment" },
      { name: "reminder", type: "boolean", description: "Whether a reminder is sent" },
    ],
  });
  return { slots: slots.data.id, book: book.data.id };
}

/** @param {Client} owner */
async function makeNumbers(owner) {
  const [first] = (await owner("GET", "/user/phone-numbers/search?country_code=US")).data;
  const { data } = await owner("POST", "/user/phone-numbers/purchase", { phone_number: first.phone_number });
  const trunk = await owner("POST", "/user/phone-numbers/sip-trunks", {
    phone_number: "+40311234567",
    nickname: "Office PBX",
    sip_address: "sip.example.com",
    sip_username: "clinic",
    sip_password: "not-a-real-one",
  });
  await owner("POST", "/user/phone-numbers/caller-ids", { phone_number: "+40721000111" });
  return { bought: data.id, trunk: trunk.data.id };
}

/** @param {Client} owner @param {string} url @param {{ knowledge: number, tool: number, number: number }} has */
async function makeAssistants(owner, url, { knowledge, tool, number }) {
  const folder = (await owner("POST", "/user/folders", { name: "Reception", color: "teal" })).data.id;
  const label = (await owner("POST", "/user/labels", { name: "Live", color: "green" })).data.id;
  const common = {
    voice_id: 1,
    language_id: 1,
    mode: "pipeline",
    timezone: "Europe/Bucharest",
    llm_model_id: 1,
    webhook_url: `${url}/hook`,
    is_webhook_active: true,
    record: true,
  };
  const anna = await owner("POST", "/user/assistant", {
    ...common,
    name: "Anna, appointments",
    type: "outbound",
    folder_id: folder,
    label_ids: [label],
    knowledgebase_id: knowledge,
    tool_ids: [tool],
    initial_message: "Hello {{customer_name}}, this is Anna from Clinic North. Is this a good moment?",
    system_prompt:
      "You are Anna, the friendly receptionist of Clinic North. You confirm the appointment of {{customer_name}} on {{appointment}}.\n\nBe brief. If another time is wanted, look for free slots and offer two. Mention {{insurance}} only when asked.",
    variables: { customer_name: "Ana", appointment: "Tuesday at 10:00" },
    tools: [{ type: "end_call", description: "When everything is settled" }],
    post_call_schema: [{ name: "confirmed", type: "bool", description: "Whether the appointment was confirmed" }],
  });
  const ion = await owner("POST", "/user/assistant", {
    ...common,
    webhook_url: undefined,
    is_webhook_active: false,
    name: "Ion, front desk",
    type: "inbound",
    initial_message: "Clinic North, Ion speaking. How can I help?",
    system_prompt: "You answer callers of Clinic North.",
    phone_number_id: number,
    knowledgebase_id: knowledge,
  });
  await owner("PATCH", `/user/assistant/${ion.data.id}`, { status: "active" });
  await owner("POST", "/user/assistant", {
    ...common,
    name: "Maria, satisfaction survey",
    type: "outbound",
    mode: "multimodal",
    llm_model_id: undefined,
    multimodal_model_id: (await owner("GET", "/user/assistants/models?type=multimodal"))[0].id,
    voice_id: (await owner("GET", "/user/assistants/voices?mode=multimodal"))[0].id,
    initial_message: "Hello, do you have a minute?",
    system_prompt: "You ask three questions about the last visit.",
  });
  return { anna: anna.data.id, ion: ion.data.id };
}

/** Calls with each of the courses that the simulated engine knows by the last digits. @param {Client} owner @param {number} assistant */
async function makeCalls(owner, assistant) {
  /** @type {Record<string, number>} */
  const calls = {};
  for (const [name, digits] of [
    ["talk", "0001"],
    ["busy", "0002"],
    ["voicemail", "0004"],
    ["short", "0005"],
    ["failed", "0006"],
    ["tool", "0008"],
    ["knowledge", "0010"],
    ["refused", "0012"],
  ]) {
    calls[name] = (
      await owner("POST", "/user/make_call", {
        assistant_id: assistant,
        phone_number: `+4070000${digits}`,
        variables: { customer_name: "Ana Pop" },
      })
    ).call_id;
  }
  await until(
    async () =>
      (await owner("GET", "/user/calls?per_page=20")).data.every((/** @type {any} */ one) =>
        ["completed", "busy", "no-answer", "failed"].includes(one.status),
      ),
    "calls are over",
  );
  return calls;
}

/** A conversation that looks something up and asks a tool, and one with somebody who is known.
 * @param {Client} owner @param {number} assistant @returns {Promise<string>} */
async function converse(owner, assistant) {
  await owner("POST", "/user/ai/generate-reply", {
    assistant_id: assistant,
    customer_identifier: "+40700000555",
    message: "Can I come at ten?",
  });
  const { conversation_id: id } = await owner("POST", "/conversations", { assistant_id: assistant, type: "test" });
  await owner("POST", `/conversations/${id}/messages`, { message: "Where can I park?" });
  await owner("POST", `/conversations/${id}/messages`, { message: "find slots day=2026-12-01" });
  return id;
}

/** @param {Client} owner @param {number} assistant */
async function makeCampaign(owner, assistant) {
  const { data } = await owner("POST", "/user/campaigns", {
    name: "December check-ups",
    assistant_id: assistant,
    goal_completion_variable: "confirmed",
    max_calls_in_parallel: 5,
    retry_interval: 10,
  });
  const names = ["Ana Pop", "Ion Ionescu", "Maria Radu", "Elena Stan", "Andrei Dima"];
  const rows = Array.from(
    { length: 40 },
    (_, at) =>
      `+4071${String(at).padStart(3, "0")}00${String([1, 1, 1, 2, 4, 12, 1, 8][at % 8]).padStart(2, "0")},${names[at % names.length]}`,
  );
  await owner("POST", `/user/leads/import?campaign_id=${data.id}`, `phone_number,customer_name\n${rows.join("\n")}\n`, {
    "content-type": "text/csv",
  });
  await until(
    async () => (await owner("GET", `/user/leads?campaign_id=${data.id}&per_page=1`)).total === 40,
    "leads are imported",
  );
  await owner("POST", "/user/campaigns/update-status", { campaign_id: data.id, action: "start" });
  await until(
    async () => (await owner("GET", `/user/campaigns/${data.id}`)).leads.completed >= 20,
    "the campaign gets on",
    40_000,
  );
  return data.id;
}
