/**
 * Serves a page of these tests, starts Chromium (`CHROMIUM`, or `chromium` on the path) on it, and receives its
 * reports.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join, normalize } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

/** @typedef {{ title: string, result: any }} Report */

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const PAGE = '<!doctype html><meta charset="utf-8"><script type="module" src="/test/browser.js"></script>';
const FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"];

/** Serves the page and the modules, and passes each report of the page to `take`. */
export class Site {
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
export function startChromium(folder, url) {
  const flags = [...FLAGS, `--user-data-dir=${folder}`, url];
  // A process group of its own, so that a kill hits the browser's processes and no others.
  return spawn(process.env.CHROMIUM ?? "chromium", flags, { stdio: "ignore", detached: true });
}

/** @param {import("node:child_process").ChildProcess} browser */
export async function kill(browser) {
  const closed = once(browser, "close");
  process.kill(-(/** @type {number} */ (browser.pid)), "SIGKILL");
  await closed;
}

/** @param {(site: Site, folder: string) => Promise<void>} act */
export async function withSite(act) {
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

/**
 * Returns what a page reports until it ends, and how it ended.
 *
 * @param {Site} site
 * @param {string} folder
 * @param {string} query
 * @returns {Promise<Report[]>}
 */
export async function reportsOf(site, folder, query) {
  /** @type {Report[]} */
  const reports = [];
  const ended = new Promise((resolve) => {
    site.take = (report) => {
      reports.push(report);
      if (report.title === "end") resolve(reports);
    };
  });
  const browser = startChromium(folder, `${site.url}?${query}`);
  return ended.finally(() => kill(browser));
}

/** Measures IndexedDB. */
export async function benchInBrowser() {
  /** @type {Record<string, number>} */
  let figures = {};
  await withSite(async (site, folder) => {
    const reports = await reportsOf(site, folder, "act=bench");
    figures = reports[0].result;
  });
  return figures;
}
