/**
 * What a new store holds, so that there is something to look at: an assistant with a tool and a knowledgebase, and calls
 * for the simulated engine. All of it is made through the API.
 *
 * @import { Service } from "./engine/engine.js"
 * @import { Tokens } from "./service.js"
 */

/** Customers, whose last digits choose what the simulated engine plays. */
const CUSTOMERS = [
  ["Ana Pop", "+40700000001"],
  ["Ion Radu", "+40700000012"],
  ["Maria Ene", "+40700000003"],
  ["Radu Stan", "+40700000010"],
  ["Ilinca Dan", "+40700000004"],
  ["Dan Marin", "+40700000002"],
  ["Elena Rus", "+40700000009"],
];

const KNOWLEDGE = `Opening hours: Monday to Friday from nine to six, Saturday until noon.

Parking: in the yard behind the house, free for an hour; the entrance is on Oak Street.

Prices: the first visit is free. A check-up costs 40 euro, and is paid by card or on a bill within two weeks.

An appointment can be moved until the evening before, by phone or at the desk.`;

const TOOL = {
  name: "free_times",
  description: "Says which times are free on a day.",
  method: "GET",
  timeout: 5,
  endpoint: "https://calendar.example/free",
  schema: [{ name: "day", type: "string", description: "The day, such as Tuesday", required: true }],
};

/** @param {Service} service @param {string} origin @param {Tokens} tokens @returns {Promise<string>} a token for the engine */
export async function fill(service, origin, { apiKey, adminToken }) {
  /** @param {string} token @param {string} method @param {string} path @param {object} body JSON, or a form */
  const ask = async (token, method, path, body) => {
    const isForm = body instanceof FormData;
    const headers = { authorization: `Bearer ${token}`, ...(isForm ? {} : { "content-type": "application/json" }) };
    const request = new Request(origin + path, { method, headers, body: isForm ? body : JSON.stringify(body) });
    const answer = await service(request);
    const told = await answer.json();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(told)}`);
    return told.data ?? told;
  };
  const tool = await ask(apiKey, "POST", "/user/tools", TOOL);
  const base = await ask(apiKey, "POST", "/user/knowledgebases", {
    name: "The clinic",
    description: "What callers ask",
  });
  const document = new FormData();
  document.set("type", "txt");
  document.set("name", "Good to know");
  document.set("file", new File([KNOWLEDGE], "good-to-know.txt", { type: "text/plain" }));
  await ask(apiKey, "POST", `/user/knowledgebases/${base.id}/documents`, document);
  const assistant = await ask(apiKey, "POST", "/user/assistant", {
    name: "Anna",
    voice_id: 1,
    language_id: 1,
    type: "outbound",
    mode: "pipeline",
    timezone: "Europe/Bucharest",
    llm_model_id: 1,
    initial_message: "Hello {{customer_name}}, this is Anna from the clinic. Is this a good moment?",
    system_prompt: "You confirm appointments for {{customer_name}}. Be kind and brief.",
    knowledgebase_id: base.id,
    tool_ids: [tool.id],
    tools: [{ type: "call_transfer", phone_number: "+40700000100", description: "Puts through to the desk." }],
    post_call_schema: [{ name: "confirmed", type: "bool", description: "Whether the appointment stands" }],
  });
  await ask(apiKey, "PATCH", `/user/assistant/${assistant.id}`, { status: "active" });
  for (const [customer_name, phone_number] of CUSTOMERS) {
    await ask(apiKey, "POST", "/user/make_call", {
      assistant_id: assistant.id,
      phone_number,
      variables: { customer_name },
    });
  }
  const { token } = await ask(adminToken, "POST", "/admin/engine-tokens", { name: "this page" });
  return token;
}
