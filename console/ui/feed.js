// The account's feed of events, as long as a part of a page is shown.

import { get } from "../api.js";
import { follow } from "../live.js";
import { useEffect, useState } from "./base.js";

/**
 * Follows the feed from now on, or from a few events before.
 * @param {(event: any) => void} told @param {number} back @returns {import("../live.js").State}
 */
export function useFeed(told, back = 0) {
  const [state, setState] = useState(/** @type {import("../live.js").State} */ ("connecting"));
  useEffect(() => {
    let stop = () => {};
    let over = false;
    get("/user/events", { limit: 1 }).then(
      ({ last_seq: last }) => {
        if (!over) stop = follow("/user/events", { after: Math.max(0, last - back), message: told, state: setState });
      },
      () => setState("waiting"),
    );
    return () => {
      over = true;
      stop();
    };
  }, []);
  return state;
}
