// What needs no browser: a call's course, streams, the document's forms, columns of a file, figures.

import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { posix } from "node:path";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { fileURLToPath } from "node:url";
import { create } from "../api.js";
import { check, narrowed } from "../checks.js";
import { besides, inUtc } from "../days.js";
import { duration, hint, label, money, offset, size, span } from "../format.js";
import { messages } from "../live.js";
import { course, heard, ticks } from "../pages/call/model.js";
import { Records, rows } from "../csv.js";
import { columnOfNumbers, mapped, sample, variable } from "../pages/campaign/mapping.js";
import { resultsByLead, sheet } from "../pages/campaign/results.js";
import { applies, place } from "../pages/assistant/sections.js";
import { body, changes, form, initial, loadDocument } from "../schema.js";
import { account } from "../session.js";
import { drafted, keep, keyOf } from "../ui/drafts.js";
import { unhurried } from "../ui/resource.js";
import { files } from "./tools/files.js";

const HERE = fileURLToPath(new URL("..", import.meta.url));

// The document as the service serves it: `loadDocument` asks for it by `fetch`.
const served = readFileSync(new URL("../../openapi.json", import.meta.url), "utf8");
globalThis.fetch = async () => new Response(served, { status: 200 });
await loadDocument();

/** @param {number} ms */
const at = (ms) => new Date(Date.UTC(2026, 10, 28) + ms).toISOString();

describe("a campaign's results", () => {
  /** @param {any[]} all */
  async function* each(all) {
    yield* all;
  }

  test("are a line for each lead and contact, with what came of the last call", async () => {
    const call = {
      created_at: "2026-11-28 10:00:00",
      answered_by: "human",
      duration: "30",
      recording_url: "",
      evaluation: "",
    };
    const calls = await resultsByLead(
      each([
        {
          ...call,
          id: "3",
          lead_id: "1",
          status: "completed",
          ended_reason: "ended",
          total_cost: "0.2",
          variables: '{"name":"Ana","slot":"=1+1"}',
          evaluation: '{"success":true,"summary":"Booked, at nine"}',
        },
        { ...call, id: "2", lead_id: "", status: "completed", ended_reason: "ended", total_cost: "9", variables: "{}" },
        { ...call, id: "1", lead_id: "1", status: "busy", ended_reason: "busy", total_cost: "0.1", variables: "{}" },
      ]),
    );
    const contact = { id: 3, phone_number: "+40700000003", status: "created", variables: { name: "Eva" } };
    const lines = sheet(
      [
        {
          id: "2",
          phone_number: "'+40700000002",
          status: "created",
          variables: '{"name":"Ion"}',
          secondary_contacts: JSON.stringify([contact]),
        },
        {
          id: "1",
          phone_number: "'+40700000001",
          status: "completed",
          variables: '{"name":"A","status":"x;=1"}',
          secondary_contacts: "[]",
        },
      ],
      calls,
    );
    const nothing = "0;;;;;;;;;;";
    assert.deepEqual(lines, [
      "lead_id;contact_of;phone_number;status;name;variables.status;slot;calls;last_call_id;last_call_at;call_status;ended_reason;answered_by;duration;total_cost;recording_url;evaluation.success;evaluation.summary\r\n",
      `1;;'+40700000001;completed;Ana;"x;'=1";'=1+1;2;3;2026-11-28 10:00:00;completed;ended;human;30;0.3;;true;"Booked, at nine"\r\n`,
      `2;;'+40700000002;created;Ion;;;${nothing}\r\n`,
      `3;2;'+40700000003;created;Eva;;;${nothing}\r\n`,
    ]);
  });
});

describe("a call's course", () => {
  const events = [
    { seq: 1, at: at(0), type: "initiated" },
    { seq: 2, at: at(500), type: "dialing" },
    { seq: 3, at: at(900), type: "ringing" },
    { seq: 4, at: at(4_500), type: "answered" },
    {
      seq: 5,
      at: at(6_000),
      type: "transcript",
      sender: "bot",
      text: "Hello",
      started_at: at(4_700),
      ended_at: at(6_000),
    },
    { seq: 6, at: at(8_000), type: "tool", name: "find", status: 200, duration_ms: 250, error: null },
    { seq: 7, at: at(9_000), type: "transcript", sender: "human", text: "Yes" },
    { seq: 8, at: at(9_500), type: "hold" },
    { seq: 9, at: at(9_700), type: "resume" },
    { seq: 10, at: at(10_500), type: "metrics", turn: 1, llm_ms: 300, tts_ms: 100, stt_ms: null },
    { seq: 11, at: at(10_500), type: "ended", by: "customer" },
  ];
  const told = course(events);

  test("begins when dialing does, to the millisecond", () => {
    assert.equal(told.zero, Date.parse(at(500)));
    assert.equal(told.waited, 500);
    assert.equal(told.answered, 4_000);
    assert.equal(told.length, 10_000);
  });
  test("has what was said from its beginning to its end", () => {
    const said = told.entries.filter(({ kind }) => kind === "said");
    assert.deepEqual(
      said.map(({ lane, start, end }) => [lane, start, end]),
      [
        ["assistant", 4_200, 5_500],
        ["customer", 8_500, 8_500],
      ],
    );
  });
  test("draws a tool for as long as it took", () => {
    const tool = told.spans.find(({ lane }) => lane === "tool");
    assert.deepEqual([tool?.start, tool?.end], [7_250, 7_500]);
  });
  test("draws the line without a hole", () => {
    const line = told.spans.filter(({ lane }) => lane === "line").map(({ kind, start, end }) => [kind, start, end]);
    assert.deepEqual(line, [
      ["dialing", 0, 400],
      ["ringing", 400, 4_000],
      ["talk", 4_000, 9_000],
      ["hold", 9_000, 9_200],
      ["talk", 9_200, 10_000],
    ]);
  });
  test("marks what happens on the line at one moment", () => {
    const all = course([
      ...events.slice(0, 4),
      { seq: 5, at: at(5_000), type: "detected", answered_by: "machine", kind: "voicemail" },
      { seq: 6, at: at(6_000), type: "dtmf", digits: "12#", by: null },
      { seq: 7, at: at(7_000), type: "transfer", to: "+40700000001", status: "accepted" },
      { seq: 8, at: at(8_000), type: "ended", by: "customer" },
      { seq: 9, at: at(9_000), type: "analysis" },
    ]);
    const marks = all.spans.filter(({ lane }) => lane === "mark").map(({ kind, start, end }) => [kind, start, end]);
    assert.deepEqual(marks, [
      ["detected", 4_500, 4_500],
      ["dtmf", 5_500, 5_500],
      ["transfer", 6_500, 6_500],
    ]);
    assert.equal(all.length, 7_500);
  });
  test("adds up a turn that tells no total", () =>
    assert.deepEqual(told.turns, [{ turn: 1, total: 400, stages: { llm_ms: 300, tts_ms: 100 } }]));
  test("knows what is heard", () => {
    assert.equal(heard(told.entries, 4_100), null);
    assert.equal(heard(told.entries, 5_000)?.event.text, "Hello");
    assert.equal(heard(told.entries, 99_999)?.event.text, "Yes");
  });
  test("is one of no events, too", () => assert.equal(course([]).length, 1));
  test("has an axis with few marks, whatever its length", () => {
    for (const length of [1, 700, 30_000, 1_200_000, 86_400_000]) assert.ok(ticks(length).length <= 75, String(length));
    assert.deepEqual(ticks(30_000).slice(0, 3), [0, 5_000, 10_000]);
  });
});

describe("a stream", () => {
  /** @param {string[]} parts */
  const read = async (...parts) => {
    const stream = new ReadableStream({
      start: (to) => (parts.forEach((part) => to.enqueue(new TextEncoder().encode(part))), to.close()),
    });
    const found = [];
    for await (const one of messages(stream)) found.push(one);
    return found;
  };
  test("is read over the borders of its chunks", async () => {
    assert.deepEqual(await read("id: 4\nda", 'ta: {"a":"ă', '"}\n', "\n:\n\nevent: done\r\ndata: 1\r\n\r\n"), [
      { id: "4", event: "message", data: { a: "ă" } },
      { id: null, event: "done", data: 1 },
    ]);
  });
  test("gives nothing that is not whole", async () => assert.deepEqual(await read('id: 1\ndata: {"a":1}'), []));
});

describe("reads that are asked for often", () => {
  /** Lets everything that is due happen. */
  const settled = async () => {
    for (let turns = 0; turns < 20; turns += 1) await Promise.resolve();
  };
  test("are one at a time, a pause apart, and none is lost", async (context) => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    /** @type {(() => void)[]} */
    const answers = [];
    const ask = unhurried(() => new Promise((resolve) => answers.push(() => resolve(0))), 2_000);
    for (let times = 0; times < 50; times += 1) ask();
    await settled();
    assert.equal(answers.length, 1);
    // However long an answer takes, nothing takes its place.
    context.mock.timers.tick(60_000);
    await settled();
    ask();
    assert.equal(answers.length, 1);
    answers[0]();
    await settled();
    assert.equal(answers.length, 2);
    answers[1]();
    ask();
    context.mock.timers.tick(1_999);
    await settled();
    assert.equal(answers.length, 2);
    context.mock.timers.tick(1);
    await settled();
    assert.equal(answers.length, 3);
    answers[2]();
    context.mock.timers.tick(2_000);
    await settled();
    assert.equal(answers.length, 3);
    ask();
    assert.equal(answers.length, 4);
  });
});

describe("forms of the document", () => {
  const assistant = form("NewAssistant");
  /** @param {string} name */
  const field = (name) => assistant.fields.find((one) => one.name === name);
  test("know the kind of each member", () => {
    const kinds = Object.fromEntries(
      [
        "name",
        "system_prompt",
        "mode",
        "voice_id",
        "record",
        "tools",
        "post_call_schema",
        "variables",
        "tool_ids",
        "filler_config",
        "inbound_webhook_events",
      ].map((name) => [name, field(name)?.kind]),
    );
    assert.deepEqual(kinds, {
      name: "text",
      system_prompt: "long",
      mode: "choice",
      voice_id: "number",
      record: "boolean",
      tools: "variants",
      post_call_schema: "list",
      variables: "variables",
      tool_ids: "list",
      filler_config: "record",
      inbound_webhook_events: "choices",
    });
    assert.equal(form("ChangedMe").fields.find(({ name }) => name === "password")?.kind, "secret");
  });
  test("show every member that a body has", () => {
    const all = Object.keys(JSON.parse(served).components.schemas.NewAssistant.properties);
    assert.deepEqual(
      assistant.fields.map(({ name }) => name),
      all,
    );
  });
  test("ask for what the mode asks for", () => {
    assert.equal(narrowed(assistant.rules, { mode: "pipeline" }).llm_model_id?.required, true);
    assert.equal(narrowed(assistant.rules, { mode: "multimodal" }).llm_model_id, undefined);
    assert.deepEqual(narrowed(assistant.rules, { mode: "multimodal" }).allow_interruptions?.allowed, [true]);
    assert.deepEqual(narrowed(assistant.rules, { mode: "dualplex" }).knowledgebase_mode?.allowed, ["function_call"]);
  });
  test("tell what is missing or out of bounds, beside its field", () => {
    const values = {
      ...initial(assistant.fields, {}),
      mode: "pipeline",
      name: "x".repeat(256),
      max_duration: "5",
      post_call_schema: [{ name: "", type: "bool", description: "abc" }],
    };
    const wrong = check(assistant, values);
    for (const name of [
      "voice_id",
      "llm_model_id",
      "name",
      "max_duration",
      "post_call_schema.0.name",
      "initial_message",
    ])
      assert.ok(wrong[name], name);
    assert.equal(wrong.multimodal_model_id, undefined);
  });
  test("count characters as the service does", () =>
    assert.equal(check(assistant, { ...initial(assistant.fields, {}), name: "😀".repeat(255) }).name, undefined));
  test("send numbers as numbers, and leave out what is empty", () => {
    const { fields } = assistant;
    const told = body(fields, { ...initial(fields, {}), name: "Anna", voice_id: "3", llm_temperature: "0.10" });
    assert.equal(told.voice_id, 3);
    assert.equal(told.llm_temperature, 0.1);
    assert.ok(!("webhook_url" in told) && !("phone_number_id" in told));
  });
  test("send what changed alone, and null for what was emptied", () => {
    const { fields } = form("UpdateAssistant");
    const before = initial(fields, {
      name: "Anna",
      webhook_url: "https://example.com",
      llm_temperature: "0.10",
      fillers: 0,
      tool_ids: [1],
    });
    assert.deepEqual(changes(fields, before, { ...before }), {});
    assert.deepEqual(
      changes(fields, before, { ...before, name: "Ana", webhook_url: "", fillers: true, tool_ids: [] }),
      { name: "Ana", webhook_url: null, fillers: true, tool_ids: [] },
    );
  });
  test("leave open what was left open", () => {
    const { fields } = form("ToolChanges");
    const before = initial(fields, { schema: [{ name: "day", type: "string", description: "The day" }] });
    assert.deepEqual(body(fields, before).schema, [{ name: "day", type: "string", description: "The day" }]);
  });
  test("put members that no section knows at the end", () => {
    assert.ok(place("a_new_column") > place("widget_settings"));
    assert.ok(applies("a_new_column", "pipeline") && !applies("llm_model_id", "multimodal"));
  });
});

describe("columns of a file", () => {
  const names = (/** @type {string} */ start, separator = "") => sample(start, separator, 2).names;
  test("are found, whatever separates them", () => {
    assert.deepEqual(names('\uFEFFPhone number;"Name; full"\r\n1;2'), ["Phone number", "Name; full"]);
    assert.deepEqual(names("a,b\n"), ["a", "b"]);
    assert.deepEqual(names("a\tb", "tab"), ["a", "b"]);
    assert.deepEqual(names('{"phone_number":"+1"}\n'), []);
    assert.deepEqual(names(""), []);
  });
  test("show what they have, quotes and line ends in cells included", () => {
    const { rows } = sample('a,b\r\n"1 ""one"" ","two\nlines"\r\n\r\n3,4\n5,6\n', "", 3);
    assert.deepEqual(rows, [
      ['1 "one" ', "two\nlines"],
      ["3", "4"],
    ]);
  });
  test("hold telephone numbers by their name, or by what they have", () => {
    const guess = (/** @type {string} */ start) => columnOfNumbers(sample(start, "", 2));
    assert.equal(guess("id,phone_number\n4155550100,1\n"), "phone_number");
    assert.equal(guess("Invoice,Telefon\n12345678,030 123456\n"), "Telefon");
    assert.equal(guess("Name,Reach at\nAna,(415) 555-0100\n"), "Reach at");
    assert.equal(guess("Name,Mobile\nAna,\n"), "Mobile");
    assert.equal(guess("Invoice,Due,Reach at\n12345678,2026-12-01,030 123456\n12345679,,nonsense\n"), "Reach at");
    assert.equal(guess("Name,City,Since\nAna,Cluj,2026-12-01\n"), undefined);
  });
  test("are the same, however the file comes in pieces", async () => {
    const file = 'a,b\r\n"1 ""one""","two\nlines"\r\n3,ü';
    const whole = [
      ["a", "b"],
      ['1 "one"', "two\nlines"],
      ["3", "ü"],
    ];
    for (let size = 1; size < file.length; size += 1) {
      const reader = new Records(",");
      const pieces = Array.from({ length: Math.ceil(file.length / size) }, (_, at) =>
        file.slice(at * size, (at + 1) * size),
      );
      assert.deepEqual(
        [...pieces.flatMap((piece) => reader.read(piece)), ...reader.rest()],
        whole,
        `pieces of ${size}`,
      );
    }
    const found = [];
    for await (const row of rows(/** @type {any} */ (new Response(file).body))) found.push(row);
    assert.deepEqual(found, [
      { a: '1 "one"', b: "two\nlines" },
      { a: "3", b: "ü" },
    ]);
  });

  test("become a mapping", () => {
    assert.equal(mapped(["Phone", "Name"], { Phone: "phone_number" }), "Phone:phone_number");
    assert.equal(mapped(["phone_number"], { phone_number: "phone_number" }), undefined);
    assert.equal(mapped(["First name", "Prénom"], { "First name": "First_name", Prénom: "name" }), "Prénom:name");
    assert.equal(variable(" E-Mail (work) "), "E-Mail_work");
  });
});

test("figures are written as people read them", () => {
  assert.deepEqual(
    [
      duration(65),
      duration(3_725),
      offset(65_250),
      span(950),
      span(1_250),
      money(0.0045),
      money(12),
      size(3_346_432),
      label("llm_model_id"),
      label("tool_ids"),
    ],
    ["1:05", "1:02:05", "1:05.250", "950 ms", "1.25 s", "$0.0045", "$12.00", "3.3 MB", "LLM model", "Tools"],
  );
});

test("days of filters are those of the zone that is shown, as the days of UTC that hold them", () => {
  const asked = { status: "busy", date_from: "2024-03-30", date_to: "2024-03-31" };
  assert.deepEqual(inUtc(asked, "Etc/UTC"), asked);
  assert.equal(besides(asked, "Etc/UTC"), null);
  // East of Greenwich a day begins on the day before; on the 31st clocks are put forward.
  assert.deepEqual(inUtc(asked, "Europe/Bucharest"), { ...asked, date_from: "2024-03-29" });
  assert.deepEqual(besides(asked, "Europe/Bucharest"), { from: "29 Mar 2024, 02:00", until: "1 Apr 2024, 03:00" });
  // West of it a day ends on the next one.
  assert.deepEqual(inUtc(asked, "America/New_York"), { ...asked, date_to: "2024-04-01" });
  assert.equal(besides({ date_to: "2024-03-31" }, "America/New_York")?.from, null);
  // Half hours count, and one end may be open.
  assert.deepEqual(inUtc({ date_from: "2024-03-30" }, "Asia/Kolkata"), { date_from: "2024-03-29" });
  // Nothing chosen, and what is no day, are left as they are.
  assert.deepEqual(inUtc({ date_from: undefined, date_to: "soon" }, "Asia/Tokyo"), {
    date_from: undefined,
    date_to: "soon",
  });
  assert.equal(besides({}, "Asia/Tokyo"), null);
});

test("what the document says of a member is said in the words of a form", () => {
  const said = {
    "Ids of the account's mid-call tools that the model may call.": "Mid-call tools that the model may call.",
    "Id or UUID of the assistant that answers; it may be inactive.": "Assistant that answers; it may be inactive.",
    "Colour of the widget; null: the service's.": "Colour of the widget; empty: the service's.",
    "Most calls, at most the plan's `parallel_calls`; if not given 3.":
      "Most calls, at most the plan's “Parallel calls”; if empty 3.",
    "Variables to add; `null` removes one, `pipeline` stays.":
      "Variables to add; `null` removes one, `pipeline` stays.",
  };
  for (const [description, words] of Object.entries(said)) assert.equal(hint(description), words);
});

/** Files of the console, and those that the widget is joined from. */
const modules = [...files(HERE), ...files(`${HERE}widget/`)];

describe("what is served", () => {
  test("is at most 200 kB compressed", () => {
    const bytes = files(HERE).reduce((sum, path) => sum + gzipSync(readFileSync(path), { level: 9 }).length, 0);
    console.log(`# served: ${files(HERE).length} files, ${bytes} bytes compressed`);
    assert.ok(bytes <= 200_000, String(bytes));
  });
  test("holds the libraries as they were published", () => {
    for (const { file, sha256 } of JSON.parse(readFileSync(`${HERE}vendor/versions.json`, "utf8"))) {
      assert.equal(
        createHash("sha256")
          .update(readFileSync(`${HERE}vendor/${file}`))
          .digest("hex"),
        sha256,
        file,
      );
    }
  });
  test("has no way to make markup of a text, and no address of another host", () => {
    for (const path of modules.filter((one) => one.endsWith(".js") && !one.includes("/vendor/"))) {
      const source = readFileSync(path, "utf8");
      assert.doesNotMatch(
        source,
        /innerHTML|outerHTML|insertAdjacentHTML|document\.write|dangerously|\beval\(|new Function/,
        path,
      );
      // The name of SVG's elements is an address that nobody asks.
      assert.doesNotMatch(source, /https?:\/\/(?!127\.0\.0\.1|www\.w3\.org\/2000\/svg")/, path);
    }
  });
  test("preloads the modules of the start, so that they are not asked for one after the other", () => {
    const start = new Set();
    const walk = (/** @type {string} */ path) => {
      if (start.has(path)) return;
      start.add(path);
      for (const [, name] of readFileSync(HERE + path, "utf8").matchAll(
        /^(?:import|export)\b[^;]*?from\s*"(\.[^"]+)"/gm,
      ))
        walk(posix.join(posix.dirname(path), name));
      for (const [, name] of readFileSync(HERE + path, "utf8").matchAll(/from"(\.[^"]+)"/g))
        walk(posix.join(posix.dirname(path), name));
    };
    walk("app.js");
    const named = [
      ...readFileSync(`${HERE}index.html`, "utf8").matchAll(/modulepreload" href="\/console\/([^"]+)"/g),
    ].map(([, path]) => path);
    assert.deepEqual(named, [...start].filter((path) => path !== "app.js").sort());
  });
  test("has short files", () => {
    const long = modules
      .filter((one) => one.endsWith(".js") && !one.includes("/vendor/") && !one.endsWith("/text.js"))
      .filter((one) => readFileSync(one, "utf8").split("\n").length > 300);
    assert.deepEqual(long, []);
  });
});

describe("a draft", () => {
  const kept = new Map();
  globalThis.sessionStorage = /** @type {any} */ ({
    getItem: (/** @type {string} */ key) => kept.get(key) ?? null,
    setItem: (/** @type {string} */ key, /** @type {string} */ value) => kept.set(key, value),
  });
  const start = {
    name: "",
    endpoint: "https://shop.example/a?key=old",
    headers: [{ name: "Authorization", value: "Bearer old" }],
    password: "",
  };

  test("has no secrets, and gets those that nobody changed from where the form starts", () => {
    const key = keyOf("tool");
    keep(key, { ...start, name: "look_up" });
    assert.ok(!kept.get(key).includes("old"));
    assert.deepEqual(drafted(key, start), { values: { ...start, name: "look_up" }, lacks: false });
  });

  test("says when something has to be typed again", () => {
    for (const typed of [
      { password: "new" },
      { headers: [...start.headers, { name: "X-Key", value: "new" }] },
      { endpoint: "https://me:new@other.example/?key=new" },
      { endpoint: "https://me:new" },
      { endpoint: "https://:new/" },
    ]) {
      keep("one", { ...start, ...typed });
      assert.ok(!/"[^"]*(new|old)/.test(kept.get("one")), kept.get("one"));
      assert.equal(drafted("one", start)?.lacks, true, JSON.stringify(typed));
    }
    assert.equal(drafted("none", start), null);
  });

  test("is of the account that typed it", () => {
    account.value = /** @type {any} */ ({ me: { id: 1 } });
    const mine = keyOf("tool");
    account.value = /** @type {any} */ ({ me: { id: 2 } });
    assert.notEqual(keyOf("tool"), mine);
    account.value = null;
  });
});

describe("what is made", () => {
  /** Makes calls of these bodies, of which each try is answered so, 0: not at all; returns the keys that went along.
   * @param {[any, number][]} tries */
  async function keys(tries) {
    const before = globalThis.fetch;
    /** @type {string[]} */
    const sent = [];
    for (const [body, status] of tries) {
      globalThis.fetch = async (_, request) => {
        sent.push(/** @type {any} */ (request).headers["idempotency-key"]);
        if (!status) throw new TypeError("gone");
        return new Response("{}", { status });
      };
      await create("/user/make_call", body).catch(() => {});
    }
    globalThis.fetch = before;
    return sent;
  }

  test("is tried again under the same key after an answer that got lost", async () => {
    const [first, second, third, fourth] = await keys([
      [{ to: 1 }, 0],
      [{ to: 1 }, 504],
      [{ to: 1 }, 409],
      [{ to: 1 }, 200],
    ]);
    assert.match(first, /^[\d-]{10,}$/);
    assert.deepEqual([second, third, fourth], [first, first, first]);
  });

  test("has another key with another body, and after an answer", async () => {
    const sent = await keys([
      [{ to: 1 }, 0],
      [{ to: 2 }, 422],
      [{ to: 2 }, 200],
      [{ to: 2 }, 200],
    ]);
    assert.equal(new Set(sent).size, 4);
    assert.equal((await keys([[{ to: 1 }, 200]]))[0], sent[0]);
  });
});
