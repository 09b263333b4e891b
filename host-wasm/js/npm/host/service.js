/**
 * Constructors of a service: complete, or bare.
 *
 * @import { Caller, HostOptions, Secrets, Service, ServiceOptions } from "../index.d.ts"
 * @import { Change } from "../storage/storage.d.ts"
 */

import { Alarm } from "./alarm.js";
import { Clock, timer } from "./clock.js";
import { Core, loadModule } from "./core.js";
import { Host } from "./host.js";
import { Outside } from "./outside.js";
import { asked } from "./request.js";
import { SERVER_ERROR, answered, responseOf } from "./reply.js";

/**
 * @param {ServiceOptions} options
 * @returns {Promise<Service>}
 */
export async function createService(options) {
  const alarm = new Alarm(options, () => host.tick());
  const host = await createHost({ ...options, schedule: options.schedule ?? ((atMs) => alarm.set(atMs)) });
  if (options.firstStart !== false) await tellSecrets(host, options.onFirstStart ?? printed);
  host.start();
  /** @param {Request} request @param {Caller} [caller] */
  const service = async (request, caller) => {
    const answer = await host.answer(asked(request, caller?.peer)).catch((error) => {
      (options.report ?? console.error)(error);
      return answered(SERVER_ERROR, request.method);
    });
    return responseOf(answer);
  };
  return Object.assign(service, {
    tick: () => host.tick(),
    committed: (/** @type {Iterable<Change>} */ changes) => host.committed(changes),
    close: () => {
      alarm.stop();
      return host.close();
    },
  });
}

/**
 * Creates the service without its first start and without a schedule of its own: for scripts that execute one input at
 * a time, and for platforms that do the rest themselves.
 *
 * @param {HostOptions} options
 * @returns {Promise<Host>}
 */
export async function createHost(options) {
  const { storage, config = {}, resolve, extract, report = console.error } = options;
  const core = new Core(await loadModule(options.wasm), config);
  const clock = new Clock({
    now: options.now ?? Date.now,
    monotonic: options.monotonic ?? (options.now ? () => 0 : () => performance.now()),
    random: options.random ?? ((bytes) => crypto.getRandomValues(bytes)),
    timer: options.timer ?? timer,
  });
  const outside = new Outside({ core, clock, fetch: options.fetch ?? globalThis.fetch, resolve, extract });
  const schedule = options.schedule ?? (() => {});
  const waitUntil = options.waitUntil ?? (() => {});
  return new Host({ core, storage, clock, outside, schedule, report, waitUntil, pollMs: options.pollMs ?? Infinity });
}

/**
 * @param {Host} host
 * @param {(secrets: Secrets) => unknown} tell
 */
async function tellSecrets(host, tell) {
  const reply = await host.firstStart();
  if (reply?.body === undefined) return;
  const { email, password, api_key, admin_token } = JSON.parse(new TextDecoder().decode(reply.body));
  await tell({ email, password, apiKey: api_key, adminToken: admin_token });
}

/** @param {Secrets} secrets */
function printed({ email, password, apiKey, adminToken }) {
  const lines = [`e-mail         ${email}`, `password       ${password}`, `API key        ${apiKey}`];
  console.log(["A new store was made. These are shown once:", ...lines, `operator token ${adminToken}`].join("\n  "));
}
