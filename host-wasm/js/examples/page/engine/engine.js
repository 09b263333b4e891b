/**
 * A voice engine without a voice, over the engine interface alone (docs/engines-writing.md): it claims calls, plays their
 * scripts faster than people talk, asks tools and knowledge, and carries out commands. Events wait until they are taken,
 * and a page that is loaded again goes on with its calls.
 *
 * @import { Claimed, Step } from "./script.js"
 */

import { ending, script, transfer } from "./script.js";

/** Calls at once. */
const CAPACITY = 16;
/** How long a claim waits, seconds. */
const WAIT_SECONDS = 20;
/** How often leases are renewed, milliseconds. */
const RENEW_MS = 8_000;
/** Pauses after a service that did not answer, milliseconds. */
const PAUSES_MS = [200, 400, 800, 1_600, 3_200];
/** States of a call that is not over. */
const RUNNING = ["initiated", "ringing", "in-progress"];

/** @typedef {(request: Request) => Promise<Response>} Service */
/** @typedef {{ call_id: number, id: string, type: string, text?: string, to?: string, digits?: string }} Command */

/** A call as far as it is played; `steps` are those that are left, `most` is how long it may take, milliseconds.
 * @typedef {{ id: number, seq: number, steps: Step[], most: number, isAnswered: boolean, talkedMs: number }} Course */
/** Where courses are kept over a load of the page.
 * @typedef {{ load: () => Course[], save: (courses: Course[]) => void }} Memory */

/** Why a call is not played to its end: it is over, or another's. */
class Left extends Error {}

const pause = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

export class Engine {
  /** @type {Map<number, Player>} */
  #players = new Map();
  #isStopped = false;

  /** @param {Service} service @param {string} origin of the service @param {string} token
   * @param {{ speed: number, memory: Memory }} how `speed`: times that it talks faster than people */
  constructor(service, origin, token, { speed, memory }) {
    this.service = service;
    this.origin = origin;
    this.token = token;
    this.speed = speed;
    this.memory = memory;
  }

  /** Carries calls until it is stopped. */
  async run() {
    const renewing = setInterval(() => void this.#renew(), RENEW_MS);
    for (const course of this.memory.load()) void this.#play(course);
    await this.#renew();
    while (!this.#isStopped) {
      const told = await this.#claim();
      for (const claimed of told?.calls ?? []) void this.#play(begun(claimed));
      this.#command(told?.commands ?? []);
      if (told === null) await pause(PAUSES_MS[4]);
    }
    clearInterval(renewing);
  }

  stop() {
    this.#isStopped = true;
  }

  /** Asks the service; the body is null where it answers no JSON.
   *
   * @param {string} path @param {object} body @param {Record<string, string>} [more] @returns {Promise<{ status: number, body: any }>} */
  async ask(path, body, more) {
    const headers = { authorization: `Bearer ${this.token}`, "content-type": "application/json", ...more };
    const request = new Request(this.origin + path, { method: "POST", headers, body: JSON.stringify(body) });
    const answer = await this.service(request);
    return { status: answer.status, body: await answer.json().catch(() => null) };
  }

  /** @returns {Promise<{ calls: Claimed[], commands: Command[] } | null>} */
  async #claim() {
    const capacity = Math.max(0, CAPACITY - this.#players.size);
    const { status, body } = await this.ask("/engine/claim", {
      engine: "simulated",
      protocol: 2,
      modes: ["pipeline", "multimodal", "dualplex"],
      capacity,
      wait: WAIT_SECONDS,
    });
    return status === 200 ? body : null;
  }

  async #renew() {
    const calls = [...this.#players.keys()];
    const { status, body } = await this.ask("/engine/heartbeat", {
      engine: "simulated",
      protocol: 2,
      calls,
      capacity: CAPACITY,
      running: calls.length,
      load: calls.length / CAPACITY,
      version: "in this page",
      host: "this page",
      legs: ["simulated"],
    });
    if (status !== 200) return;
    for (const id of body.lost ?? []) this.#players.get(id)?.leave();
    this.#command(body.commands ?? []);
  }

  /** @param {Command[]} commands */
  #command(commands) {
    for (const command of commands) this.#players.get(command.call_id)?.command(command);
  }

  /** @param {Course} course */
  async #play(course) {
    const player = new Player(this, course);
    this.#players.set(course.id, player);
    try {
      await player.play();
    } catch (error) {
      if (!(error instanceof Left)) throw error;
    } finally {
      this.#players.delete(course.id);
      this.keep();
    }
  }

  /** Keeps how far all calls are played. */
  keep() {
    this.memory.save([...this.#players.values()].map(({ course }) => course));
  }
}

/** @param {Claimed} claimed @returns {Course} */
function begun(claimed) {
  const { call, assistant, next_seq: seq } = claimed;
  const most = (assistant.max_duration ?? 600) * 1_000;
  return { id: call.id, seq, steps: script(claimed), most, isAnswered: false, talkedMs: 0 };
}

/** One call. */
class Player {
  /** Events that are not taken yet. @type {Record<string, unknown>[]} */
  #events = [];
  /** Commands that came and are not carried out. @type {Command[]} */
  #commands = [];
  /** Ids of all that came: each comes again until its end is told. */
  #known = new Set();
  #wake = () => {};
  #isLeft = false;
  /** What the assistant's next line mentions. */
  #learned = "";

  /** @param {Engine} engine @param {Course} course */
  constructor(engine, course) {
    this.engine = engine;
    this.course = course;
    this.path = `/engine/calls/${course.id}`;
  }

  async play() {
    const { course } = this;
    for (let step = course.steps[0]; step !== undefined; step = course.steps[0]) {
      this.engine.keep();
      await this.#wait(step);
      const command = this.#commands.shift();
      if (command) course.steps = this.#obeyed(command, course.steps);
      else {
        course.steps = course.steps.slice(1);
        await this.#perform(step);
      }
      await this.#report();
    }
  }

  /** Takes a command, once. @param {Command} command */
  command(command) {
    if (this.#known.has(command.id)) return;
    this.#known.add(command.id);
    this.#commands.push(command);
    this.#wake();
  }

  /** The call is another's. */
  leave() {
    this.#isLeft = true;
    this.#wake();
  }

  /** Waits until a step is due, or a command has come. @param {Step} step */
  async #wait({ afterMs }) {
    if (this.#commands.length === 0 && !this.#isLeft) {
      await new Promise((resolve) => {
        const timer = setTimeout(resolve, afterMs / this.engine.speed);
        this.#wake = () => (clearTimeout(timer), resolve(undefined));
      });
    }
    if (this.#isLeft) throw new Left();
  }

  /** @param {Step} step */
  async #perform(step) {
    if ("tool" in step) return this.#tool(step.tool, step.given);
    if ("search" in step) return this.#search(step.search);
    const { course } = this;
    if (course.isAnswered) course.talkedMs += step.afterMs;
    if (step.event.type === "answered") course.isAnswered = true;
    if (course.talkedMs > course.most) {
      course.steps = this.#cut("service", "max-duration");
      return;
    }
    this.#add(step.event);
  }

  /** @param {Record<string, any>} event */
  #add({ talkMs, ...event }) {
    const at = new Date();
    const said = talkMs === undefined ? {} : {
      started_at: new Date(at.getTime() - talkMs / this.engine.speed).toISOString(),
      ended_at: at.toISOString(),
    };
    if (event.type === "transcript" && event.sender === "bot" && this.#learned !== "") {
      event.text += ` ${this.#learned}`;
      this.#learned = "";
    }
    this.#events.push({ seq: this.course.seq, at: at.toISOString(), ...event, ...said });
    this.course.seq += 1;
  }

  /** Reports what happened, again and again until it is taken. */
  async #report() {
    for (let tries = 0; this.#events.length > 0; tries += 1) {
      const { status, body } = await this.engine.ask(`${this.path}/events`, { events: this.#events });
      if (status === 200) {
        this.#events = [];
        for (const command of body.commands ?? []) this.command(command);
        if (!RUNNING.includes(body.call_status) && !this.#isOver()) throw new Left();
        return;
      }
      if (![408, 429, 500, 503].includes(status)) throw new Left();
      await pause(PAUSES_MS[Math.min(tries, PAUSES_MS.length - 1)]);
    }
  }

  /** Whether only what comes behind the end is left. */
  #isOver() {
    return this.course.steps.every((step) => "event" in step && ["quality", "usage", "cost"].includes(step.event.type));
  }

  /** @param {string} name @param {Record<string, unknown>} given */
  async #tool(name, given) {
    await this.#report();
    const key = { "idempotency-key": `${this.path}-${this.course.seq}` };
    const { status, body } = await this.engine.ask(`${this.path}/tools/${name}`, { arguments: given }, key);
    if (typeof body?.next_seq === "number") this.course.seq = body.next_seq;
    this.#learned = status === 200
      ? `The system answered with status ${body.status}.`
      : "The system could not be reached.";
  }

  /** @param {string} query */
  async #search(query) {
    await this.#report();
    const { status, body } = await this.engine.ask(`${this.path}/knowledge`, { query, limit: 3 });
    if (typeof body?.next_seq === "number") this.course.seq = body.next_seq;
    const passage = status === 200 ? body.data?.[0]?.text : undefined;
    this.#learned = passage ? `Here is what it says: ${passage}` : "I found nothing about that.";
  }

  /** What follows once a command has come. @param {Command} command @param {Step[]} rest @returns {Step[]} */
  #obeyed(command, rest) {
    const { id, type } = command;
    const { isAnswered } = this.course;
    const done = { afterMs: 0, event: { type: "command", id, status: "done" } };
    if (type === "hangup") return [done, ...this.#cut("service", type)];
    if (type === "end") return [done, ...this.#cut("assistant", type)];
    if (isAnswered && type === "say" && command.text) {
      const event = { type: "transcript", sender: "bot", text: command.text, turn: 0, language: "en" };
      return [{ afterMs: 0, event }, done, ...rest];
    }
    if (isAnswered && type === "transfer" && command.to) {
      return [...transfer(command.to), done, ...this.#cut("assistant", "transferred")];
    }
    if (isAnswered && type === "dtmf" && command.digits) {
      return [{ afterMs: 0, event: { type: "dtmf", digits: command.digits, by: "assistant" } }, done, ...rest];
    }
    const reason = isAnswered ? "The simulated engine of this page cannot do this." : "The call is not answered yet.";
    return [{ afterMs: 0, event: { type: "command", id, status: "refused", reason } }, ...rest];
  }

  /** The end of a call that is cut short. @param {string} by @param {string} reason @returns {Step[]} */
  #cut(by, reason) {
    if (!this.course.isAnswered) return [{ afterMs: 0, event: { type: "failed", reason } }];
    const evaluation = {
      success: null,
      sentiment: "neutral",
      summary: "The call was cut short before its goal was reached or missed.",
    };
    const analysis = { afterMs: 0, event: { type: "analysis", evaluation, variables: {} } };
    return [analysis, ...ending(by, reason, { carrier_seconds: this.course.talkedMs / 1_000 })];
  }
}
