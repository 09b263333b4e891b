// Days of filters. People mean days of the zone that the page shows times in; the service takes days of UTC. The days of
// UTC that are asked for hold all of those that were chosen, and a sentence says what they hold besides.

import { formatOf, minute, zone } from "./format.js";

const DAY = /^\d{4}-\d\d-\d\d$/;
const DAY_MS = 86_400_000;

/** How far a zone is ahead of UTC at an instant, milliseconds. @param {number} at @param {string} where */
function ahead(at, where) {
  const told = formatOf(where, { timeZoneName: "longOffset" }).formatToParts(at);
  const name = told.find(({ type }) => type === "timeZoneName")?.value ?? "";
  const [, sign, hours, minutes] = /([+-])(\d\d):(\d\d)/.exec(name) ?? ["", "+", "0", "0"];
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

/** When a day begins in a zone. @param {number} midnight of that day in UTC @param {string} where */
function begin(midnight, where) {
  // The second time with what holds then, where clocks are changed in between.
  const near = midnight - ahead(midnight, where);
  return midnight - ahead(near, where);
}

/** @param {number} at */
const day = (at) => new Date(at).toISOString().slice(0, 10);

/** The instants of the days that were chosen, `until` without; null where none was. @param {Record<string, any>} asked @param {string} where */
function chosen({ date_from: from, date_to: until }, where) {
  const midnight = (/** @type {any} */ told) => (DAY.test(told ?? "") ? Date.parse(`${told}T00:00Z`) : NaN);
  const [first, last] = [midnight(from), midnight(until)];
  return {
    from: Number.isNaN(first) ? null : begin(first, where),
    until: Number.isNaN(last) ? null : begin(last + DAY_MS, where),
  };
}

/** The filters of a list as the service takes them. @template {Record<string, any>} T
 * @param {T} asked @param {string} [where] @returns {T} */
export function inUtc(asked, where = zone()) {
  const { from, until } = chosen(asked, where);
  return {
    ...asked,
    ...(from !== null && { date_from: day(from) }),
    ...(until !== null && { date_to: day(until - 1) }),
  };
}

/** Where a list begins and ends that holds more than the days that were chosen; null where it does not.
 * @param {Record<string, any>} asked @param {string} [where] @returns {{ from: string | null, until: string | null } | null} */
export function besides(asked, where = zone()) {
  const { from, until } = chosen(asked, where);
  const [low, high] = [
    from === null ? null : from - (from % DAY_MS),
    until === null ? null : until + ((DAY_MS - (until % DAY_MS)) % DAY_MS),
  ];
  if (low === from && high === until) return null;
  const told = (/** @type {number | null} */ at) => (at === null ? null : minute(new Date(at).toISOString(), where));
  return { from: told(low), until: told(high) };
}
