// What a form can tell before the service is asked: what is missing or out of bounds, and what rules of the document
// between members ask. Whatever needs more, the service says in its own words.

import { label } from "./format.js";
import { text } from "./text.js";

/** @typedef {import("./schema.js").Field} Field */
/** @typedef {import("./schema.js").Form} Form */

/** @param {any} value */
const empty = (value) =>
  value === undefined || value === null || value === "" || (Array.isArray(value) && !value.length);

/** Whether a condition of the document holds: the few words that its rules are made of. @param {any} rule @param {Record<string, any>} values @returns {boolean} */
function holds(rule, values) {
  if (rule.not && holds(rule.not, values)) return false;
  if ((rule.required ?? []).some((/** @type {string} */ name) => empty(values[name]))) return false;
  return Object.entries(rule.properties ?? {}).every(([name, one]) => {
    const { enum: allowed, not } = /** @type {any} */ (one);
    if (allowed && !allowed.includes(values[name] === "" ? null : values[name])) return false;
    return !(not?.enum && not.enum.includes(values[name]));
  });
}

/** What rules between members ask of each, as the form stands. @typedef {{ required?: boolean, allowed?: any[] }} Narrow */

/** @param {any[]} rules @param {Record<string, any>} values @returns {Record<string, Narrow>} */
export function narrowed(rules, values) {
  /** @type {Record<string, Narrow>} */
  const found = {};
  for (const { if: condition, then } of rules) {
    if (!condition || !then || !holds(condition, values)) continue;
    for (const name of then.required ?? []) found[name] = { ...found[name], required: true };
    for (const [name, one] of Object.entries(then.properties ?? {})) {
      const allowed = /** @type {any} */ (one).enum?.filter((/** @type {any} */ value) => value !== null);
      if (allowed) found[name] = { ...found[name], allowed };
    }
  }
  return found;
}

/** Errors by dotted name.
 * @param {Form} asked @param {Record<string, any>} values @param {string} [prefix] @returns {Record<string, string[]>} */
export function check({ fields, rules }, values, prefix = "") {
  const narrow = narrowed(rules, values);
  return Object.assign(
    {},
    ...fields.map((field) => {
      const value = values[field.name];
      const path = prefix + field.name;
      const wrong = sentence(field, value, Boolean(field.required || narrow[field.name]?.required));
      if (wrong) return { [path]: [wrong] };
      if (field.kind === "record") return check({ fields: field.fields ?? [], rules: [] }, value ?? {}, `${path}.`);
      if (field.kind === "list" && field.item?.kind === "record") {
        const inner = { fields: field.item.fields ?? [], rules: [] };
        return Object.assign(
          {},
          ...value.map((/** @type {any} */ one, /** @type {number} */ at) => check(inner, one, `${path}.${at}.`)),
        );
      }
      if (field.kind === "variants") {
        return Object.assign(
          {},
          ...value.map((/** @type {any} */ one, /** @type {number} */ at) => {
            const variant = field.variants?.find(({ type }) => type === one.type);
            return check({ fields: variant?.fields ?? [], rules: variant?.rules ?? [] }, one, `${path}.${at}.`);
          }),
        );
      }
      return {};
    }),
  );
}

/** @param {Field} field @param {any} value @param {boolean} required @returns {string | null} */
function sentence(field, value, required) {
  const name = label(field.name);
  if (empty(value)) return required && field.kind !== "boolean" ? text.form.required(name) : null;
  if (field.kind === "number") {
    const number = Number(value);
    if (!Number.isFinite(number) || (field.integer && !Number.isInteger(number)))
      return text.form.number(name, Boolean(field.integer));
    if (field.min !== undefined && number < field.min) return text.form.least(name, field.min);
    if (field.max !== undefined && number > field.max) return text.form.most(name, field.max);
  }
  if (typeof value === "string" && field.max !== undefined && [...value].length > field.max && field.kind !== "number")
    return text.form.long(name, field.max);
  if (Array.isArray(value) && field.max !== undefined && value.length > field.max)
    return text.form.many(name, field.max);
  return null;
}
