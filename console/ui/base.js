// The rendering library as pages and parts use it. Everything that is not markup of our own goes in as a text node:
// `html` never reads a value as HTML.

import { h } from "../vendor/preact.js";
import htm from "../vendor/htm.js";

/** Markup as a tagged template. @type {(strings: TemplateStringsArray, ...values: any[]) => import("preact").VNode<any>} */
export const html = htm.bind(/** @type {any} */ (h));

export { createContext, Fragment, render } from "../vendor/preact.js";
export { useContext, useEffect, useId, useLayoutEffect, useMemo, useRef, useState } from "../vendor/hooks.js";
export { computed, effect, signal, useSignal } from "../vendor/signals.js";
