/**
 * `node build.js [FOLDER]`: collects the playground into a folder (by default `dist` beside this file) that any static
 * server can serve, over HTTPS or from this machine, at any path. Prints the size of the files.
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
const PAGE = ["index.html", "style.css", "icon.svg", "page.js", "answer.js", "samples.js", "service.js"];
const STORAGE = ["storage/indexeddb.js", "storage/bytes.js"];

/** Reads the files of the page, by name. @returns {Promise<Map<string, Uint8Array>>} */
async function collected() {
  const files = new Map();
  for (const name of PAGE) files.set(name, await readFile(join(HERE, name)));
  const host = (await readdir(join(PACKAGE, "host"))).filter((name) => name.endsWith(".js")).map((name) =>
    `host/${name}`
  );
  for (const name of ["index.js", "wasm/core.js", ...STORAGE, ...host]) {
    files.set(`switchboard/${name}`, await readFile(join(PACKAGE, name)));
  }
  files.set("core.wasm.gz", gzipSync(await readFile(join(PACKAGE, "wasm/core.wasm")), { level: 9 }));
  return files;
}

/** Builds the service worker, to which the page is `./`. @param {Map<string, Uint8Array>} files */
async function worker(files) {
  const source = await readFile(join(HERE, "sw.js"), "utf8");
  const hash = createHash("sha256").update(source);
  for (const [name, bytes] of files) hash.update(`\0${name}\0${bytes.length}\0`).update(bytes);
  const names = [...files.keys()].map((name) => name === "index.html" ? "./" : name);
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
