// What the service's own document says of bodies and rows, as forms and tables need it. Nothing here, and in the forms
// that are made of it, names a member of a resource: a new column shows up by itself.

import { request } from "./api.js";
import { hint } from "./format.js";

/** @typedef {"text" | "long" | "secret" | "number" | "boolean" | "choice" | "choices" | "list" | "record" | "variants" | "variables" | "json" | "file"} Kind */
/** A member of a body.
 * @typedef {object} Field
 * @property {string} name
 * @property {Kind} kind
 * @property {boolean} required
 * @property {boolean} nullable
 * @property {string} hint its description in the document, as a form says it
 * @property {any} [standard] its default
 * @property {string[]} [choices]
 * @property {boolean} [integer]
 * @property {boolean} [flag] a choice of true and false, which may be left open
 * @property {number} [min]
 * @property {number} [max] largest value; of texts the longest, in characters; of lists the most items
 * @property {string} [accept] endings of a file's name
 * @property {Field} [item] of a list
 * @property {Field[]} [fields] of a record
 * @property {{ type: string, hint: string, fields: Field[], rules: any[] }[]} [variants] of a record that comes in several types */
/** A body: its members and the rules between them. @typedef {{ fields: Field[], rules: any[] }} Form */

/** @type {any} */
let doc = null;
/** @type {Promise<any> | null} */
let loading = null;

/** Loads the document, once. */
export function loadDocument() {
  loading ??= request("GET", "/openapi.json").then(
    (found) => (doc = found),
    (error) => {
      loading = null;
      throw error;
    },
  );
  return loading;
}

/** Whether the service has an operation. @param {string} method @param {string} path */
export const has = (method, path) => Boolean(doc?.paths?.[path]?.[method.toLowerCase()]);

/** Whether an operation answers in a media type besides JSON. @param {string} path @param {string} type */
export const answers = (path, type) => Boolean(doc?.paths?.[path]?.get?.responses?.["200"]?.content?.[type]);

/** The form of a body. @param {string} name of its schema @returns {Form} */
export function form(name) {
  const schema = doc.components.schemas[name];
  return { fields: fieldsOf(schema), rules: schema.allOf ?? [] };
}

/** Parameters of a query as fields, by name. @param {string} path @returns {Record<string, Field>} */
export function parameters(path) {
  const list = (doc.paths[path].get.parameters ?? []).filter((/** @type {any} */ one) => one.in === "query");
  return Object.fromEntries(
    list.map((/** @type {any} */ one) => [
      one.name,
      fieldOf(one.name, { description: one.description, ...one.schema }, false),
    ]),
  );
}

/** @param {any} schema @returns {any} */
function resolved(schema) {
  const found = schema.$ref ? doc.components.schemas[schema.$ref.split("/").at(-1)] : schema;
  const other = found.anyOf?.find((/** @type {any} */ one) => one.$ref || one.properties);
  return other ? { ...resolved(other), description: schema.description ?? found.description, nullable: true } : found;
}

/** @param {any} schema @returns {Field[]} */
function fieldsOf(schema) {
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties ?? {})
    .filter(
      ([, one]) =>
        !("const" in /** @type {any} */ (one)) &&
        Object.keys(/** @type {any} */ (one)).some((key) => key !== "description"),
    )
    .map(([name, one]) => fieldOf(name, one, required.has(name)));
}

const SECRET = /(^|_)(password|secret|token|api_key)$/;
/** Texts longer than this get an area. */
const LINE_CHARS = 255;

/** @param {string} name @param {any} told @param {boolean} required @returns {Field} */
function fieldOf(name, told, required) {
  const schema = resolved(told);
  const types = [schema.type ?? []].flat();
  const description = told.description ?? schema.description ?? "";
  /** @type {Field} */
  const field = {
    name,
    kind: "json",
    required,
    nullable: types.includes("null") || Boolean(schema.nullable),
    hint: hint(description),
    standard: told.default,
  };
  if (schema.enum) {
    const choices = schema.enum.filter((/** @type {any} */ one) => one !== null && one !== "").map(String);
    return { ...field, kind: "choice", choices };
  }
  if (types.includes("boolean") && !types.includes("string")) {
    // Not given may mean something else than no.
    return required || told.default !== undefined
      ? { ...field, kind: "boolean" }
      : { ...field, kind: "choice", choices: ["true", "false"], flag: true };
  }
  if (types.includes("integer") || types.includes("number")) {
    return {
      ...field,
      kind: types.includes("string") && !types.includes("integer") ? "text" : "number",
      integer: types.includes("integer"),
      min: schema.minimum,
      max: schema.maximum,
    };
  }
  if (types.includes("string")) {
    const kind = SECRET.test(name)
      ? "secret"
      : (schema.maxLength ?? 0) > LINE_CHARS && !schema.format
        ? "long"
        : "text";
    return { ...field, kind, max: schema.maxLength };
  }
  if (types.includes("array")) return listOf(field, schema);
  if (schema.properties) return { ...field, kind: "record", fields: fieldsOf(schema) };
  if (types.includes("object")) return { ...field, kind: "variables" };
  return field;
}

/** @param {Field} field @param {any} schema @returns {Field} */
function listOf(field, schema) {
  const items = schema.items ?? {};
  if (items.oneOf) {
    const variants = items.oneOf.map((/** @type {any} */ one) => {
      const variant = resolved(one);
      return {
        type: variant.properties.type.const,
        hint: hint(variant.description ?? ""),
        fields: fieldsOf(variant),
        rules: variant.allOf ?? [],
      };
    });
    return { ...field, kind: "variants", variants, max: schema.maxItems };
  }
  const item = fieldOf(field.name, items, true);
  if (item.kind === "choice") return { ...field, kind: "choices", choices: item.choices };
  return { ...field, kind: "list", item, max: schema.maxItems };
}

/** What a form starts with. @param {Field[]} fields @param {any} stored @returns {Record<string, any>} */
export function initial(fields, stored) {
  return Object.fromEntries(fields.map((field) => [field.name, shown(field, stored?.[field.name])]));
}

/** @param {Field} field @param {any} value @returns {any} */
function shown(field, value) {
  const given = value ?? field.standard;
  switch (field.kind) {
    case "boolean":
      return given === undefined || given === null ? false : Boolean(given);
    case "number":
      return given === undefined || given === null ? "" : String(Number(given));
    case "list":
      return (given ?? []).map((/** @type {any} */ one) =>
        field.item?.kind === "record" ? initial(field.item.fields ?? [], one) : one,
      );
    case "choices":
      return given ?? [];
    case "variants":
      return (given ?? []).map((/** @type {any} */ one) => {
        const variant = field.variants?.find(({ type }) => type === one.type);
        return { type: one.type, ...initial(variant?.fields ?? [], one) };
      });
    case "record":
      return initial(field.fields ?? [], given ?? {});
    case "variables":
      return given ?? {};
    case "json":
      return given === undefined || given === null ? "" : JSON.stringify(given, null, 2);
    default:
      return given === undefined || given === null ? "" : String(given);
  }
}

/** The body that a form sends: members that are empty and need not be given are left out. @param {Field[]} fields @param {Record<string, any>} values @returns {Record<string, any>} */
export function body(fields, values) {
  return Object.fromEntries(
    fields.map((field) => [field.name, sent(field, values[field.name])]).filter(([, value]) => value !== undefined),
  );
}

/** @param {Field} field @param {any} value @returns {any} */
function sent(field, value) {
  switch (field.kind) {
    case "number":
      return value === "" || value === undefined ? undefined : Number.isFinite(Number(value)) ? Number(value) : value;
    case "list":
      return (value ?? []).map((/** @type {any} */ one) =>
        field.item?.kind === "record" ? body(field.item.fields ?? [], one) : one,
      );
    case "variants":
      return (value ?? []).map((/** @type {any} */ one) => {
        const variant = field.variants?.find(({ type }) => type === one.type);
        return { type: one.type, ...body(variant?.fields ?? [], one) };
      });
    case "record":
      return body(field.fields ?? [], value ?? {});
    case "choice":
      return value === "" || value === undefined ? undefined : field.flag ? value === "true" : value;
    case "json":
      try {
        return value ? JSON.parse(value) : undefined;
      } catch {
        return value;
      }
    default:
      return value === "" || value === undefined ? undefined : value;
  }
}

/** Members whose value changed; null for those that were emptied.
 * @param {Field[]} fields @param {Record<string, any>} before @param {Record<string, any>} after */
export function changes(fields, before, after) {
  const [old, now] = [body(fields, before), body(fields, after)];
  const names = fields.map(({ name }) => name).filter((name) => !same(old[name], now[name]));
  return Object.fromEntries(names.map((name) => [name, now[name] ?? null]));
}

/** Whether two values are the same JSON; members of an object have no order. @param {unknown} one @param {unknown} other */
export const same = (one, other) => ordered(one) === ordered(other);

/** @param {unknown} value */
const ordered = (value) =>
  JSON.stringify(value, (_, held) =>
    held && typeof held === "object" && !Array.isArray(held)
      ? Object.fromEntries(Object.entries(held).sort(([one], [other]) => (one < other ? -1 : 1)))
      : held,
  );
