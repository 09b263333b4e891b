// Where the focus goes when a page changes: it never leaves whoever types.

import { useLayoutEffect, useRef } from "./base.js";

/** Gives who asks that the control of an id has focus as soon as it is rendered. It has it before a key can be pressed:
 * a frame later, what is typed meanwhile would go astray. @returns {(id: string) => void} */
export function useFocus() {
  const asked = useRef("");
  useLayoutEffect(() => {
    if (asked.current) document.getElementById(asked.current)?.focus();
    asked.current = "";
  });
  return (id) => {
    asked.current = id;
  };
}

/** Remembers what has focus while something is waited for. What it gives tells whether that has it still, or nothing has:
 * who went on to something else stays there. @returns {() => boolean} */
export function place() {
  const from = document.activeElement;
  return () => [from, document.body].includes(document.activeElement);
}
