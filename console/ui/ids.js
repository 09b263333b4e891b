// Ids of controls: forms that are open at once have their own, so that each label leads to its own control.

import { createContext, useContext } from "./base.js";

/** What the ids of a form's controls begin with. */
export const Ids = createContext("field");

/** Gives the id of the control of a path, as errors have it too. @returns {(path: string) => string} */
export function useIds() {
  const ids = useContext(Ids);
  return (path) => `${ids}-${path.replaceAll(".", "-")}`;
}
