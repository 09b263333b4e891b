// What a form holds while its row is saved and read again: nothing that was typed is replaced.

import { same } from "../schema.js";
import { useEffect, useRef, useState } from "./base.js";

/** @typedef {Record<string, any>} Values */
/** A save: what was sent, and the row as it was then. @typedef {{ values: Values, stored: any, isDone: boolean }} Save */

/** @param {Values} first what it holds at first @param {Values} start what its row makes it @param {any} stored the row, another object
 *   with each read */
export function useValues(first, start, stored) {
  const [values, setValues] = useState(first);
  /** The save that is under way, or whose row was not read yet. */
  const sent = useRef(/** @type {Save | null} */ (null));
  const before = useRef(start);
  const [saves, setSaves] = useState(0);
  useEffect(() => {
    const save = sent.current;
    const isRead = save?.isDone && save.stored !== stored;
    const known = isRead ? [save.values] : [before.current, ...(save ? [save.values] : [])];
    before.current = start;
    if (isRead) sent.current = null;
    setValues((now) => followed(now, start, known));
  }, [start, stored, saves]);
  return {
    values,
    setValues,
    /** What is being saved. */
    sent: () => sent.current?.values,
    send: () => (sent.current = { values, stored, isDone: false }),
    /** Nothing is saved any more. */
    rest: () => (sent.current = null),
    saved() {
      if (sent.current && stored !== undefined) sent.current.isDone = true;
      else sent.current = null;
      setSaves((count) => count + 1);
    },
  };
}

/** What a form holds once its row was read again: of the row, but where something else stands than what is known to have
 * stood there. @param {Values} now @param {Values} row @param {Values[]} known */
function followed(now, row, known) {
  const names = Object.keys(row).filter(
    (name) => known.every((one) => same(one[name], now[name])) && !same(now[name], row[name]),
  );
  return names.length ? { ...now, ...Object.fromEntries(names.map((name) => [name, row[name]])) } : now;
}
