/**
 * The suite in a real browser: serves the page, starts Chromium (`CHROMIUM`, or `chromium` on the path) on it and
 * takes its reports.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, normalize } from "node:path";
import process from "node:process";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { Random } from "./random.js";
import { seed } from "./run.js";

/** @typedef {{ title: string, result: any }} Report */

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PAGE = '<!doctype html><meta charset="utf-8"><script type="module" src="/test/browser.js"></script>';
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"];

/** Serves the page and the modules, and gives each report of the page to `take`. */
class Site {
  /** @type {(report: Report) => void} */
  take = () => undefined;
  #server = createServer((request, response) => void this.#answer(request, response));

  async listen() {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    const { port } = /** @type {import("node:net").AddressInfo} */ (this.#server.address());
    this.url = `http://127.0.0.1:${port}/`;
  }

  close() {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /**
   * @param {import("node:http").IncomingMessage} request
   * @param {import("node:http").ServerResponse} response
   */
  async #answer(request, response) {
    const { pathname } = new URL(request.url ?? "/", this.url);
    if (pathname === "/report") {
      let body = "";
      for await (const chunk of request) body += chunk;
      response.end();
      return this.take(JSON.parse(body));
    }
    if (pathname === "/") return response.setHeader("content-type", "text/html").end(PAGE);
    const file = await readFile(join(ROOT, normalize(pathname))).catch(() => undefined);
    response.writeHead(file ? 200 : 404, { "content-type": "text/javascript" }).end(file);
  }
}

/** @param {string} folder of the browser's own files @param {string} url */
function startChromium(folder, url) {
  const flags = [...FLAGS, `--user-data-dir=${folder}`, url];
  // A group of its own, so that a kill reaches the browser's processes and no others.
  return spawn(process.env.CHROMIUM ?? "chromium", flags, { stdio: "ignore", detached: true });
}

/** @param {import("node:child_process").ChildProcess} browser */
async function kill(browser) {
  const closed = once(browser, "close");
  process.kill(-(/** @type {number} */ (browser.pid)), "SIGKILL");
  await closed;
}

/** @param {(site: Site, folder: string) => Promise<void>} act */
async function withSite(act) {
  const site = new Site();
  await site.listen();
  const folder = await mkdtemp(join(tmpdir(), "switchboard-"));
  try {
    await act(site, folder);
  } finally {
    site.close();
    await rm(folder, { recursive: true, maxRetries: 5 });
  }
}

test("indexeddb", { timeout: 300_000 }, async (t) => {
  await withSite(async (site, folder) => {
    /** @type {Report[]} */
    const reports = [];
    const ended = new Promise((resolve) => {
      site.take = (report) => (report.title === "end" ? resolve(report) : reports.push(report));
    });
    const browser = startChromium(folder, `${site.url}?act=suite&seed=${seed}`);
    const end = await ended.finally(() => kill(browser));
    for (const { title, result } of [...reports, end]) {
      await t.test(`indexeddb: ${title}`, () => {
        if (result !== "passed") throw new Error(`SWITCHBOARD_SEED=${seed} ${result}`);
      });
    }
  });
});

test("indexeddb: every acknowledged commit survives kill -9, whole", { timeout: 120_000 }, async () => {
  const random = new Random(seed);
  await withSite(async (site, folder) => {
    let last = 0;
    for (let round = 0; round < 6; round++) {
      last = await writeUntilKilled(site, folder, last, random.below(700));
    }
    if (last < 6) throw new Error(`only ${last} commits were made: nothing was tried`);
  });
});

/**
 * Lets a page write and kills its browser; the last number that was acknowledged.
 *
 * @param {Site} site
 * @param {string} folder
 * @param {number} before the last acknowledged number of an earlier browser
 * @param {number} lifeMs
 * @returns {Promise<number>}
 */
function writeUntilKilled(site, folder, before, lifeMs) {
  const browser = startChromium(folder, `${site.url}?act=write`);
  let last = before;
  let wrote = false;
  return new Promise((resolve, reject) => {
    site.take = ({ title, result }) => {
      const found = title === "found" && result >= before && result <= before + 1;
      if (title === "wrote") {
        last = result;
        if (!wrote) setTimeout(() => kill(browser).then(() => resolve(last)), lifeMs);
        wrote = true;
      } else if (!found) {
        void kill(browser).then(() => reject(new Error(`after ${before}: ${title} ${result}`)));
      }
    };
  });
}
