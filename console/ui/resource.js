// What a page reads and does: a resource keeps its last answer while it is read again, an action tells of its errors.

import { get } from "../api.js";
import { useEffect, useMemo, useRef, useState } from "./base.js";
import { complain, toast } from "./toast.js";

/** @template T @typedef {{ data: T | undefined, error: Error | null, loading: boolean, reload: () => Promise<void>, set: (data: T) => void }} Resource */

/** Reads a path, and again when path or query change. @template [T=any]
 * @param {string | null} path null: nothing is read yet @param {import("../api.js").Query} [query]
 * @param {typeof get} [read] @returns {Resource<T>} */
export function useGet(path, query, read = get) {
  const key = path === null ? null : path + JSON.stringify(query ?? {});
  const [state, setState] = useState(
    /** @type {{ data: any, error: Error | null, key: string | null }} */ ({ data: undefined, error: null, key: null }),
  );
  const stop = useRef(/** @type {AbortController | null} */ (null));
  const load = async () => {
    if (path === null) return;
    stop.current?.abort();
    const control = (stop.current = new AbortController());
    try {
      const data = await read(path, query, control.signal);
      if (!control.signal.aborted) setState({ data, error: null, key });
    } catch (error) {
      if (!control.signal.aborted)
        setState((now) => ({ data: now.key === key ? now.data : undefined, error: /** @type {Error} */ (error), key }));
    }
  };
  useEffect(() => {
    load();
    return () => stop.current?.abort();
  }, [key]);
  return {
    data: state.data,
    error: state.error,
    loading: state.key !== key,
    reload: load,
    set: (data) => setState({ data, error: null, key }),
  };
}

/** Calls a function every so often while the page is seen, and when it is seen again; never while a call is under way.
 * @param {() => unknown} call @param {number | null} everyMs null: never */
export function useEvery(call, everyMs) {
  const latest = useRef(call);
  latest.current = call;
  useEffect(() => {
    if (everyMs === null) return undefined;
    let busy = false;
    const turn = async () => {
      if (busy || document.visibilityState !== "visible") return;
      busy = true;
      try {
        await latest.current();
      } finally {
        busy = false;
      }
    };
    const timer = setInterval(turn, everyMs);
    document.addEventListener("visibilitychange", turn);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", turn);
    };
  }, [everyMs]);
}

/** A function that may be asked for as often as one likes: one call is under way at a time, and whatever is asked for
 * meanwhile is one more call, which begins no sooner than a pause after the one before did.
 * @param {() => unknown} call @param {number} pauseMs @returns {() => void} */
export function unhurried(call, pauseMs) {
  let busy = false;
  let again = false;
  const run = async () => {
    busy = true;
    while (again) {
      again = false;
      await Promise.all([call(), new Promise((resolve) => setTimeout(resolve, pauseMs))]);
    }
    busy = false;
  };
  return () => {
    again = true;
    if (!busy) run();
  };
}

/** The same of a part of a page, as long as it is shown. @param {() => unknown} call @param {number} pauseMs */
export function useUnhurried(call, pauseMs) {
  const latest = useRef(call);
  latest.current = call;
  useEffect(() => () => void (latest.current = () => {}), []);
  return useMemo(() => unhurried(() => latest.current(), pauseMs), []);
}

/** An action of a button: busy while it runs, and told when it failed.
 * @param {(...args: any[]) => Promise<string | void>} act what it resolves to is told
 * @param {(error: Error) => void} [fail] tells of an error where that is better than a message that goes @returns {[(...args: any[]) => Promise<void>, boolean]} */
export function useAction(act, fail = complain) {
  const [busy, setBusy] = useState(false);
  return [
    async (...args) => {
      if (busy) return;
      setBusy(true);
      try {
        const told = await act(...args);
        if (told) toast(told);
      } catch (error) {
        fail(/** @type {Error} */ (error));
      } finally {
        setBusy(false);
      }
    },
    busy,
  ];
}
