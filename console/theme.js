// Light or dark: as the system says, unless the person chose.

import { signal } from "./ui/base.js";

const KEY = "switchboard.theme";

/** @typedef {"auto" | "light" | "dark"} Theme */

/** @type {import("@preact/signals").Signal<Theme>} */
export const theme = signal(/** @type {Theme} */ (localStorage.getItem(KEY) ?? "auto"));

/** @param {Theme} chosen */
export function choose(chosen) {
  theme.value = chosen;
  if (chosen === "auto") localStorage.removeItem(KEY);
  else localStorage.setItem(KEY, chosen);
  apply();
}

export function apply() {
  if (theme.value === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme.value;
}
