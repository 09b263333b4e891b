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
    const after = async (/** @type {AbortSignal} */ signal) =>
      Math.max(0, (await get("/user/events", { limit: 1 }, signal)).last_seq - back);
    return follow("/user/events", { after, message: told, state: setState });
  }, []);
  return state;
}
