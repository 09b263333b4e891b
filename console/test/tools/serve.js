// Serves the console's folder as the binary does, with the same headers, and passes everything else on to a service.
// For work on the console: `node test/tools/serve.js PORT SERVICE_URL`.

import { createReadStream, existsSync, readFileSync, statSync } from "node:fs";
import { createServer, request } from "node:http";
import { extname, join, normalize } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const FOLDER = fileURLToPath(new URL("../..", import.meta.url));

/** @type {Record<string, string>} */
const TYPES = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".mjs": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".json": "application/json",
};

const OF_WIDGET = {
  "content-type": TYPES[".js"],
  "access-control-allow-origin": "*",
  "cross-origin-resource-policy": "cross-origin",
  "cache-control": "no-store",
};

/** The widget in one file, as `host-native/build.rs` joins it. */
export function widget() {
  const order = /const WIDGET: .*? = \[(.*?)\];/s.exec(
    readFileSync(join(FOLDER, "../host-native/build.rs"), "utf8"),
  )?.[1];
  const modules = (order ?? "").match(/[\w-]+\.js/g) ?? [];
  const joined = modules.map((name) =>
    readFileSync(join(FOLDER, "widget", name), "utf8")
      .replace(/^import [^;]*;\n/gm, "")
      .replace(/^ *\/\*\*((?!\*\/)[^])*\*\/\n/gm, "")
      .replace(/^ *(\/\/.*)?\n/gm, "")
      .replace(/^export /gm, ""),
  );
  return `(() => {\n"use strict";\n${joined.join("")}})();\n`;
}

/** What the console's pages are allowed. */
export const CSP =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; media-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";

/** Serves until `close` of what it resolves to. @param {number} port 0 picks one @param {string} service
 * @param {{ folder?: boolean, from?: (path: string) => string | null }} [how] without the folder, the service's own console; `from`
 *   tells the address that a request to a path is passed on for @returns {Promise<import("node:http").Server>} */
export function serve(port, service, { folder = true, from = () => null } = {}) {
  const server = createServer((asked, answer) => {
    const address = from(asked.url ?? "/");
    if (address) asked.headers["x-forwarded-for"] = address;
    if (!folder) return pass(asked, answer, service);
    const path = decodeURIComponent(new URL(asked.url ?? "/", "http://x").pathname);
    const page = path === "/" || (path.startsWith("/console/") && !extname(path));
    if (path === "/widget.js") return answer.writeHead(200, OF_WIDGET).end(widget());
    if (page && asked.method === "GET" && (asked.headers.accept ?? "").includes("text/html"))
      return policy(service).then((allowed) => send(answer, "index.html", allowed));
    if (path.startsWith("/console/") && TYPES[extname(path)]) return send(answer, path.slice("/console/".length));
    return pass(asked, answer, service);
  });
  return new Promise((resolve) => server.listen(port, "127.0.0.1", () => resolve(server)));
}

/** What a service allows its own console: besides the least, where its engines take browsers. @param {string} service */
async function policy(service) {
  const page = await fetch(new URL("/console/", service), { headers: { accept: "text/html" } }).catch(() => null);
  return page?.headers.get("content-security-policy") ?? CSP;
}

/** @param {import("node:http").ServerResponse} answer @param {string} name @param {string} [allowed] */
function send(answer, name, allowed = CSP) {
  const file = normalize(join(FOLDER, name));
  if (!file.startsWith(FOLDER) || !existsSync(file) || !statSync(file).isFile()) return answer.writeHead(404).end();
  answer.writeHead(200, {
    "content-type": TYPES[extname(file)],
    "content-security-policy": allowed,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
  });
  return createReadStream(file).pipe(answer);
}

/** @param {import("node:http").IncomingMessage} asked @param {import("node:http").ServerResponse} answer @param {string} service */
function pass(asked, answer, service) {
  const onward = request(
    new URL(asked.url ?? "/", service),
    { method: asked.method, headers: asked.headers },
    (told) => {
      answer.writeHead(told.statusCode ?? 502, told.headers);
      told.pipe(answer);
    },
  );
  onward.on("error", () => (answer.headersSent ? answer.destroy() : answer.writeHead(502).end()));
  answer.on("close", () => onward.destroy());
  asked.pipe(onward);
}

if (process.argv[1] && import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [port = "8090", service = "http://127.0.0.1:8080"] = process.argv.slice(2);
  const server = await serve(Number(port), service);
  console.log(`http://127.0.0.1:${/** @type {import("node:net").AddressInfo} */ (server.address()).port}/`);
}
