/**
 * `node build.js [FOLDER]`: collects the console over the service in the browser, and the playground, into a folder (by
 * default `dist` beside this file) that any static server can serve, over HTTPS or from this machine, at any path. Prints
 * the size of the files.
 *
 * The core must have been built (`cargo xtask js`). It is compressed here, as not every static server does that.
 */

import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";

const HERE = fileURLToPath(new URL(".", import.meta.url));
const PACKAGE = fileURLToPath(new URL("../../npm", import.meta.url));
const CONSOLE = fileURLToPath(new URL("../../../../console", import.meta.url));
/** What of this folder is served. */
const PAGE = /^((start|demo|service)\.js|start\.css|(engine|playground)\/.*)$/;
/** What of the package is not. */
const NOT_OF_PACKAGE = /\.d\.ts$|\.wasm$|\.json$|^storage\/(?!(indexeddb|bytes)\.js$)/;
/** What of the console is not: the widget is for other pages. */
const NOT_OF_CONSOLE =
  /^(test|widget|node_modules)\/|(^|\/)\.|\.md$|\.d\.ts$|\/versions\.json$|^(package|package-lock|tsconfig)\.json$|^index\.html$/;
const POLICY =
  "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self'; media-src 'self' blob:; worker-src 'self'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types offline";
/** The console's folder, for who asks the static server for it. */
const LEADS =
  '<!doctype html><meta charset="utf-8"><title>Switchboard</title><meta http-equiv="refresh" content="0; url=../">\n';
/** What stands above the console. */
const LINE = `<aside class="offline" aria-label="About this page">
<p>The whole service runs in this page and keeps its data in this browser. Calls are simulated, and nothing leaves the page.</p>
<a href="playground/">The playground of requests</a>
<button type="button" id="anew">Start anew</button>
</aside>`;

/** Adds the files of a folder that are wanted. @param {Map<string, Uint8Array>} files @param {string} folder
 * @param {string} to @param {(name: string) => boolean} isWanted */
async function add(files, folder, to, isWanted) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  for (const entry of entries.filter((one) => one.isFile())) {
    const path = join(entry.parentPath, entry.name);
    const name = path.slice(folder.length + (folder.endsWith("/") ? 0 : 1)).replaceAll("\\", "/");
    if (isWanted(name)) files.set(to + name, await readFile(path));
  }
}

/** The console's page, with the service started in it. */
async function page() {
  let text = await readFile(join(CONSOLE, "index.html"), "utf8");
  /** @param {string | RegExp} what @param {string} by */
  const replace = (what, by) => {
    const changed = text.replace(what, by);
    if (changed === text) throw new Error(`console/index.html has no ${what}`);
    text = changed;
  };
  replace(/"\/console\//g, '"console/');
  replace(
    '<meta charset="utf-8">',
    `<meta charset="utf-8">\n<meta http-equiv="Content-Security-Policy" content="${POLICY}">`,
  );
  replace(
    '<script type="module" src="console/app.js"></script>',
    '<link rel="stylesheet" href="start.css">\n<script type="module" src="start.js"></script>',
  );
  replace("<body>", `<body>\n${LINE}`);
  replace(/<noscript>.*<\/noscript>/, "<noscript>The console needs JavaScript.</noscript>");
  return new TextEncoder().encode(text);
}

/** Reads the files, by name. @returns {Promise<Map<string, Uint8Array>>} */
async function collected() {
  const files = new Map([["index.html", await page()], ["console/index.html", new TextEncoder().encode(LEADS)]]);
  await add(files, HERE, "", (name) => PAGE.test(name));
  await add(files, PACKAGE, "switchboard/", (name) => name.endsWith(".js") && !NOT_OF_PACKAGE.test(name));
  await add(files, CONSOLE, "console/", (name) => !NOT_OF_CONSOLE.test(name));
  files.set("core.wasm.gz", gzipSync(await readFile(join(PACKAGE, "wasm/core.wasm")), { level: 9 }));
  return files;
}

/** Builds the service worker, to which a page is its folder. @param {Map<string, Uint8Array>} files */
async function worker(files) {
  const source = await readFile(join(HERE, "sw.js"), "utf8");
  const hash = createHash("sha256").update(source);
  for (const [name, bytes] of files) hash.update(`\0${name}\0${bytes.length}\0`).update(bytes);
  const names = [...files.keys()].map((name) => name.replace(/(^|\/)index\.html$/, "$1") || "./");
  const own = { version: hash.digest("hex").slice(0, 16), files: names };
  return new TextEncoder().encode(`const OWN = ${JSON.stringify(own)};\n${source}`);
}

/** @param {string} folder @param {Map<string, Uint8Array>} files */
async function write(folder, files) {
  let total = 0;
  for (const [name, bytes] of files) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), bytes);
    console.log(`${bytes.length.toLocaleString("en").padStart(9)}  ${name}`);
    total += bytes.length;
  }
  console.log(`${total.toLocaleString("en").padStart(9)}  bytes in ${files.size} files`);
}

const files = await collected();
files.set("sw.js", await worker(files));
await write(process.argv[2] ?? join(HERE, "dist"), files);
