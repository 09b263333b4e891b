// Copies the libraries that the console runs with from npm into vendor/, and writes what they are: name, version,
// licence, and the sha256 of the published file and of the copy. Browsers resolve no bare names, so a copy differs
// from its original in the names that it imports, and uPlot's in an export at its end.

import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";

const here = new URL("../../", import.meta.url);

/** Published file → copy, and what is changed on the way. */
const FILES = [
  { of: "preact", from: "dist/preact.mjs", to: "preact.js" },
  { of: "preact", from: "hooks/dist/hooks.mjs", to: "hooks.js" },
  { of: "htm", from: "dist/htm.mjs", to: "htm.js" },
  { of: "@preact/signals-core", from: "dist/signals-core.mjs", to: "signals-core.js" },
  { of: "@preact/signals", from: "dist/signals.mjs", to: "signals.js" },
  { of: "uplot", from: "dist/uPlot.iife.min.js", to: "uplot.js", append: "export default uPlot;\n" },
  { of: "uplot", from: "dist/uPlot.min.css", to: "uplot.css" },
];

/** Names that copies import each other by. @type {Record<string, string>} */
const NAMES = {
  preact: "./preact.js",
  "preact/hooks": "./hooks.js",
  "@preact/signals-core": "./signals-core.js",
};

/** @param {string} text */
const digest = (text) => createHash("sha256").update(text).digest("hex");

/** @param {string} text */
function resolved(text) {
  return text
    .replace(/\bfrom\s*"([^"./][^"]*)"/g, (whole, name) => (NAMES[name] ? `from"${NAMES[name]}"` : whole))
    .replace(/^\/\/# sourceMappingURL=.*$/gm, "");
}

/** The licence of a package as it ships it. @param {string} name */
function licenceText(name) {
  return readFileSync(new URL(`node_modules/${name}/LICENSE`, here), "utf8").trim();
}

mkdirSync(new URL("vendor/", here), { recursive: true });
const packages = [...new Set(FILES.map(({ of }) => of))];
const licences = packages.map((name) => `${name}\n${"=".repeat(name.length)}\n\n${licenceText(name)}\n`);
writeFileSync(new URL("vendor/LICENCES.txt", here), licences.join("\n"));
const list = FILES.map(({ of, from, to, append }) => {
  const folder = new URL(`node_modules/${of}/`, here);
  const { version, license } = JSON.parse(readFileSync(new URL("package.json", folder), "utf8"));
  const original = readFileSync(new URL(from, folder), "utf8");
  const copy = resolved(original) + (append ?? "");
  writeFileSync(new URL(`vendor/${to}`, here), copy);
  return {
    file: to,
    package: of,
    version,
    licence: license,
    published: from,
    published_sha256: digest(original),
    sha256: digest(copy),
  };
});
writeFileSync(new URL("vendor/versions.json", here), `${JSON.stringify(list, null, 2)}\n`);
