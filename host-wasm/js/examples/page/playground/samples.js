/**
 * Sample requests in the order of a story: each may refer to what earlier ones created, whose ids begin at 1.
 *
 * @typedef {{ title: string, method: string, path: string, body?: object, token?: Token, live?: true }} Sample
 * @typedef {"apiKey" | "adminToken" | "engineToken"} Token the token to send; by default the user's
 */

const CALL_EVENTS = [
  { type: "ringing" },
  { type: "answered", answered_by: "human" },
  { type: "transcript", sender: "bot", text: "Hello, this is Anna." },
  { type: "transcript", sender: "human", text: "Tuesday at nine suits me." },
  { type: "variables", variables: { day: "Tuesday" } },
  { type: "ended", by: "customer", reason: "hung up" },
];

/** An assistant that calls. */
export const ASSISTANT = {
  name: "Anna",
  voice_id: 1,
  language_id: 1,
  type: "outbound",
  mode: "pipeline",
  timezone: "Europe/Bucharest",
  llm_model_id: 1,
  initial_message: "Hello, this is Anna.",
  system_prompt: "You confirm appointments for {{customer_name}}.",
  webhook_url: "https://hooks.example/calls",
  is_webhook_active: true,
};

const TOOL = {
  name: "free_times",
  description: "Says which times are free.",
  method: "POST",
  timeout: 5,
  endpoint: "https://calendar.example/free",
};

/** Returns the events of a conversation that takes place right now. */
const events = () =>
  CALL_EVENTS.map((event, index) => ({ seq: index + 1, at: new Date(Date.now() + index).toISOString(), ...event }));

/** @returns {[string, Sample[]][]} */
export const stories = () => [
  ["An assistant", [
    { title: "Who am I?", method: "GET", path: "/user/me" },
    { title: "Make an assistant", method: "POST", path: "/user/assistant", body: ASSISTANT },
    { title: "Make one with mistakes", method: "POST", path: "/user/assistant", body: { name: "", type: "sideways" } },
    { title: "Switch it on", method: "PATCH", path: "/user/assistant/1", body: { status: "active" } },
    { title: "List assistants", method: "GET", path: "/user/assistants/get?per_page=5" },
    { title: "Voices to choose from", method: "GET", path: "/user/assistants/voices?language_id=1" },
  ]],
  ["A call", [
    {
      title: "Call somebody",
      method: "POST",
      path: "/user/make_call",
      body: { assistant_id: 1, phone_number: "+40700000001", variables: { customer_name: "Ion" } },
    },
    { title: "Calls", method: "GET", path: "/user/calls" },
  ]],
  ["The engine that carries it", [
    {
      title: "Give it a token",
      method: "POST",
      path: "/admin/engine-tokens",
      body: { name: "playground" },
      token: "adminToken",
    },
    {
      title: "Claim the call",
      method: "POST",
      path: "/engine/claim",
      body: { engine: "playground" },
      token: "engineToken",
    },
    {
      title: "Tell what happens",
      method: "POST",
      path: "/engine/calls/1/events",
      body: { events: events() },
      token: "engineToken",
    },
    { title: "Look at the call", method: "GET", path: "/user/calls/1" },
    { title: "Its webhook", method: "GET", path: "/user/webhook-deliveries" },
    { title: "All events, live", method: "GET", path: "/user/events", live: true },
  ]],
  ["A campaign", [
    { title: "Make a campaign", method: "POST", path: "/user/campaigns", body: { name: "Reminders", assistant_id: 1 } },
    {
      title: "Add a lead",
      method: "POST",
      path: "/user/lead",
      body: { campaign_id: 1, phone_number: "+40700000002", variables: { customer_name: "Maria" } },
    },
    {
      title: "Start it",
      method: "POST",
      path: "/user/campaigns/update-status",
      body: { campaign_id: 1, action: "start" },
    },
    { title: "Why is it not called?", method: "GET", path: "/user/leads/1/explain" },
  ]],
  ["A tool", [
    { title: "Make a tool", method: "POST", path: "/user/tools", body: TOOL },
    { title: "Try it", method: "POST", path: "/user/tools/1/test", body: {} },
  ]],
  ["The service itself", [
    { title: "Is it well?", method: "GET", path: "/readyz" },
    { title: "All it can do (OpenAPI)", method: "GET", path: "/openapi.json" },
  ]],
];
