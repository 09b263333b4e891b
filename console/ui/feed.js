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
    const after = async (/** @type {AbortSignal} */ signal) => {
      const { data, last_seq: last } = await get("/user/events", { limit: 1 }, signal);
      // Events of before the oldest one that is kept are not there to be asked for.
      const oldest = data[0]?.seq ?? last + 1;
      return Math.max(oldest - 1, last - back);
    };
    return follow("/user/events", { after, message: told, state: setState });
  }, []);
  return state;
}
