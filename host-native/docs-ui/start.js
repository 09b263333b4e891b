// The list of all operations, shown as soon as the document is there; Swagger UI shows the one that was chosen, and is
// loaded with the first. It is given that operation alone: of a whole document it makes seconds of work.
"use strict";

const search = document.getElementById("search");
const list = document.getElementById("operations");
const METHODS = ["get", "post", "put", "patch", "delete"];
let bundle;
let shown;
let ui;

function element(name, text) {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function entry(path, method, operation) {
  const link = element("a", operation.summary);
  link.href = `#${operation.operationId}`;
  link.append(element("code", `${method.toUpperCase()} ${path}`));
  const words = [path, method, operation.operationId, operation.summary, operation.description ?? ""];
  return { link, path, method, operation, words: words.join(" ").toLowerCase() };
}

function draw(entries) {
  const groups = new Map();
  for (const one of entries) {
    const [tag] = one.operation.tags;
    if (!groups.has(tag)) {
      const section = document.createElement("section");
      section.append(element("h2", tag));
      groups.set(tag, section);
    }
    groups.get(tag).append(one.link);
  }
  list.append(...groups.values());
}

function filter(entries) {
  const wanted = search.value.toLowerCase().split(/\s+/);
  for (const one of entries) one.link.hidden = !wanted.every((word) => one.words.includes(word));
  for (const section of list.children) section.hidden = !section.querySelector("a:not([hidden])");
}

function loaded() {
  bundle ??= new Promise((resolve, reject) => {
    const style = document.createElement("link");
    Object.assign(style, { rel: "stylesheet", href: "/docs/swagger-ui.css" });
    const script = document.createElement("script");
    Object.assign(script, { src: "/docs/swagger-ui-bundle.js", onload: resolve, onerror: reject });
    document.head.append(style, script);
  });
  return bundle;
}

/** The document of one operation, with the components that it needs: its kind of token is the one that can be entered. */
function alone(whole, { path, method, operation }) {
  const schemes = (operation.security ?? []).flatMap(Object.keys).map((name) => [name, whole.components.securitySchemes[name]]);
  const components = { securitySchemes: Object.fromEntries(schemes) };
  const gather = (value) => {
    if (value === null || typeof value !== "object") return;
    if (typeof value.$ref === "string") {
      const [, , section, name] = value.$ref.split("/");
      components[section] ??= {};
      if (!(name in components[section])) {
        components[section][name] = whole.components[section][name];
        gather(components[section][name]);
      }
    }
    Object.values(value).forEach(gather);
  };
  gather(operation);
  return { ...whole, components, paths: { [path]: { [method]: operation } } };
}

async function open(whole, entries) {
  const one = entries.find(({ operation }) => location.hash === `#${operation.operationId}`);
  for (const { link } of entries) link.toggleAttribute("aria-current", link.hash === location.hash);
  if (!one || shown === one) return;
  shown = one;
  one.link.scrollIntoView({ block: "nearest" });
  await loaded();
  if (shown !== one) return;
  const spec = alone(whole, one);
  if (ui) {
    // The same Swagger UI goes on, because it alone knows the token that was entered.
    ui.specActions.updateSpec(JSON.stringify(spec));
    return;
  }
  ui = SwaggerUIBundle({
    spec,
    dom_id: "#ui",
    docExpansion: "full",
    defaultModelsExpandDepth: -1,
    validatorUrl: null,
    persistAuthorization: false,
  });
}

async function start() {
  const answer = await fetch("/openapi.json");
  const whole = await answer.json();
  const entries = Object.entries(whole.paths).flatMap(([path, item]) =>
    METHODS.filter((method) => method in item).map((method) => entry(path, method, item[method])));
  draw(entries);
  search.addEventListener("input", () => filter(entries));
  addEventListener("hashchange", () => open(whole, entries));
  filter(entries);
  await open(whole, entries);
}

start();
