// Figures, times and amounts as people read them. Times are shown in one zone, which every page tells.

import { account } from "./session.js";

/** The zone that times are shown in: the account's, else the browser's. */
export const zone = () => account.value?.me.timezone || Intl.DateTimeFormat().resolvedOptions().timeZone || "Etc/UTC";

/** Reads a time of the API: ISO, or `YYYY-MM-DD hh:mm:ss` in UTC. @param {string | null | undefined} told */
export function instant(told) {
  if (!told) return null;
  const at = new Date(/[TZ]/.test(told) ? told : `${told.replace(" ", "T")}Z`);
  return Number.isNaN(at.getTime()) ? null : at;
}

/** @type {Map<string, Intl.DateTimeFormat>} */
const formats = new Map();

/** A format of a zone, or of UTC where the browser does not know it. @param {string} timeZone @param {Intl.DateTimeFormatOptions} options */
export function formatOf(timeZone, options) {
  const key = timeZone + JSON.stringify(options);
  let found = formats.get(key);
  if (!found) {
    try {
      found = new Intl.DateTimeFormat("en-GB", { timeZone, ...options });
    } catch {
      found = new Intl.DateTimeFormat("en-GB", { timeZone: "UTC", ...options });
    }
    formats.set(key, found);
  }
  return found;
}

/** The year is left out where it is this one. @param {Date} at @returns {Intl.DateTimeFormatOptions} */
const day = (at) => ({
  day: "numeric",
  month: "short",
  year: at.getUTCFullYear() === new Date().getUTCFullYear() ? undefined : "numeric",
});
const CLOCK = /** @type {const} */ ({ hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23" });

/** `28 Nov, 03:49:52`. @param {string | null | undefined} told @param {string} [where] */
export function time(told, where = zone()) {
  const at = instant(told);
  return at ? formatOf(where, { ...day(at), ...CLOCK }).format(at) : "–";
}

/** `28 Nov, 03:49`. @param {string | null | undefined} told @param {string} [where] */
export function minute(told, where = zone()) {
  const at = instant(told);
  return at ? formatOf(where, { ...day(at), hour: "2-digit", minute: "2-digit", hourCycle: "h23" }).format(at) : "–";
}

/** `03:49:52.481`. @param {string | null | undefined} told */
export function clock(told) {
  const at = instant(told);
  return at ? formatOf(zone(), { ...CLOCK, fractionalSecondDigits: 3 }).format(at) : "–";
}

/** `2 min ago`, `in 3 h`. @param {string | null | undefined} told @param {number} [now] */
export function ago(told, now = Date.now()) {
  const at = instant(told);
  if (!at) return "–";
  const seconds = Math.round((at.getTime() - now) / 1000);
  const [size, unit] = /** @type {[number, Intl.RelativeTimeFormatUnit]} */ (
    Math.abs(seconds) < 60
      ? [1, "second"]
      : Math.abs(seconds) < 3600
        ? [60, "minute"]
        : Math.abs(seconds) < 86_400
          ? [3600, "hour"]
          : [86_400, "day"]
  );
  return new Intl.RelativeTimeFormat("en", { numeric: "auto", style: "short" }).format(
    Math.round(seconds / size),
    unit,
  );
}

/** Seconds as `1:05` or `1:02:05`. @param {number | null | undefined} seconds */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const whole = Math.max(0, Math.round(seconds));
  const [h, m, s] = [Math.floor(whole / 3600), Math.floor((whole % 3600) / 60), whole % 60];
  return `${h ? `${h}:${String(m).padStart(2, "0")}` : m}:${String(s).padStart(2, "0")}`;
}

/** Milliseconds from the start of a call as `1:05.250`. @param {number} ms */
export function offset(ms) {
  const whole = Math.max(0, Math.round(ms));
  return `${duration(Math.floor(whole / 1000))}.${String(whole % 1000).padStart(3, "0")}`;
}

/** Milliseconds as people say them. @param {number | null | undefined} ms */
export const span = (ms) =>
  ms === null || ms === undefined ? "–" : ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(2)} s`;

/** Dollars, with as many places as the amount needs; with `exact` always four, so that a column lines up.
 * @param {number | null | undefined} dollars @param {boolean} [exact] */
export function money(dollars, exact = false) {
  if (dollars === null || dollars === undefined) return "–";
  const places = exact || (dollars !== 0 && Math.abs(dollars) < 1) ? 4 : 2;
  return new Intl.NumberFormat("en-US", {
    style: "currency",
    currency: "USD",
    minimumFractionDigits: exact ? 4 : 2,
    maximumFractionDigits: places,
  }).format(dollars);
}

/** @param {number | null | undefined} number */
export const count = (number) =>
  number === null || number === undefined
    ? "–"
    : new Intl.NumberFormat("en-US", { maximumFractionDigits: 2 }).format(number);

/** @param {number} part @param {number} whole */
export const percent = (part, whole) => (whole ? `${Math.round((part / whole) * 100)}%` : "–");

/** Bytes as `1.2 MB`. @param {number | null | undefined} bytes */
export function size(bytes) {
  if (bytes === null || bytes === undefined) return "–";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let at = 0;
  let rest = bytes;
  while (rest >= 1000 && at < units.length - 1) [rest, at] = [rest / 1000, at + 1];
  return `${at ? rest.toFixed(rest < 10 ? 1 : 0) : rest} ${units[at]}`;
}

/** A member's name as a label: `llm_model_id` is `LLM model`. @param {string} name */
export function label(name) {
  const words = name
    .replace(/_id$/, "")
    .replace(/_ids$/, "s")
    .split(/[_.]/)
    .filter(Boolean)
    .map((word) => ACRONYMS[word] ?? word);
  const sentence = words.join(" ");
  return sentence.charAt(0).toUpperCase() + sentence.slice(1);
}

/** What the document says of a member, in the words of a form: it has no null and no ids, and calls other members by their
 * labels. @param {string} description */
export function hint(description) {
  const words = description
    .replace(/^Ids? (or UUID )?of (the account's |the )?/, "")
    .replace(/(^|[^`])\bnull\b(?!`)/g, "$1empty")
    .replace(/\bnot given\b/g, "empty")
    .replace(/`([a-z]+_[a-z_]+)`/g, (_, name) => `“${label(name)}”`);
  return words.charAt(0).toUpperCase() + words.slice(1);
}

/** @type {Record<string, string>} */
const ACRONYMS = {
  llm: "LLM",
  url: "URL",
  sip: "SIP",
  tts: "TTS",
  stt: "STT",
  id: "ID",
  sms: "SMS",
  ips: "IPs",
  uuid: "UUID",
  ai: "AI",
  api: "API",
  at: "at",
  calcom: "Cal.com",
};
