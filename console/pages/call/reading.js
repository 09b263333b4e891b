// The events of a call as they are read: all so far, then those that follow while it runs.

import { get } from "../../api.js";
import { follow } from "../../live.js";
import { useEffect, useRef, useState } from "../../ui/base.js";
import { over } from "./columns.js";

/** Events of a call that are read at most; those of a running call go on beyond. */
export const EVENTS_MAX = 20_000;
/** How long events gather before they are shown, milliseconds. */
const GATHER_MS = 60;

/** Events after which the call itself reads differently. */
const CHANGES = new Set([
  "ringing",
  "answered",
  "ended",
  "failed",
  "completed",
  "variables",
  "analysis",
  "cost",
  "recording",
  "hangup",
]);

/** @typedef {import("./model.js").Event} Event */

/** The events as a resource, whose `data` is undefined until all of them so far are known; the line that is being
 * spoken; how a running call is followed; and whether there are more events than are shown.
 * @param {any} call @param {() => void} reload of the call
 * @returns {{ events: import("../../ui/resource.js").Resource<Event[]>, partial: any, state: import("../../live.js").State | null, cut: boolean }} */
export function useEvents(call, reload) {
  const [events, setEvents] = useState(/** @type {Event[] | undefined} */ (undefined));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const [cut, setCut] = useState(false);
  const [partial, setPartial] = useState(/** @type {any} */ (null));
  const [state, setState] = useState(/** @type {import("../../live.js").State} */ ("connecting"));
  const [tries, setTries] = useState(0);
  /** What was read stays, so that another try goes on from there. */
  const all = useRef(/** @type {Event[]} */ ([]));
  const path = `/user/calls/${call.id}/events`;
  const runs = !over(call.status);

  useEffect(() => {
    const control = new AbortController();
    let timer = 0;
    const show = () => {
      timer ||= window.setTimeout(() => {
        timer = 0;
        setEvents([...all.current]);
      }, GATHER_MS);
    };
    const hear = (/** @type {any} */ event) => {
      if (control.signal.aborted) return;
      if (event.type === "partial") return setPartial(event);
      setPartial(null);
      all.current.push(event);
      show();
      if (CHANGES.has(event.type)) reload();
    };
    const read = async (/** @type {AbortSignal} */ signal) => {
      for (;;) {
        const { data } = await get(path, { after: all.current.at(-1)?.seq ?? 0 }, signal);
        if (signal.aborted) return 0;
        if (!data.length) break;
        if (all.current.length >= EVENTS_MAX) {
          setCut(!runs);
          break;
        }
        all.current.push(...data);
      }
      setError(null);
      setEvents([...all.current]);
      return all.current.at(-1)?.seq ?? 0;
    };
    const fail = (/** @type {Error} */ failure) => !control.signal.aborted && setError(failure);
    const stop = runs ? follow(path, { after: read, message: hear, state: setState, fail }) : () => {};
    if (!runs) read(control.signal).catch(fail);
    return () => {
      control.abort();
      clearTimeout(timer);
      stop();
    };
  }, [call.id, runs, tries]);

  const again = async () => {
    setError(null);
    setTries(tries + 1);
  };
  return {
    events: { data: events, error, loading: !events && !error, reload: again, set: setEvents },
    partial: runs ? partial : null,
    state: runs ? state : null,
    cut,
  };
}
