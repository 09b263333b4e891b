// How the widget looks. Everything is in constructed style sheets: a page whose content security policy forbids inline
// styles shows it all the same.

/** Colour of the widget where its settings name none, or one that no browser knows. */
const OWN_COLOR = "#0a6370";

/** Whether the panel fills the window. */
export const FILLED = "(max-width: 480px), (max-height: 420px)";

const RULES = `
:host {
  all: initial !important;
  position: fixed !important;
  z-index: 2147483000 !important;
  inset-block-end: 0 !important;
  font: 16px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", "Noto Sans", sans-serif !important;
  --surface: light-dark(#ffffff, #1a1d20);
  --sunken: light-dark(#f1f1ee, #2a2f34);
  --line: light-dark(#83868c, #7a818a);
  --text: light-dark(#1c1e21, #e6e8ea);
  --muted: light-dark(#5c6067, #a2a9b1);
  --bad: light-dark(#b3261e, #f2958d);
}
* { box-sizing: border-box; }
[hidden] { display: none !important; }
button, textarea { font: inherit; color: inherit; margin: 0; }
button { cursor: pointer; border: 0; background: none; }
:focus-visible { outline: 3px solid var(--text); outline-offset: 2px; }
svg { width: 24px; height: 24px; fill: none; stroke: currentcolor; stroke-width: 2; stroke-linecap: round; stroke-linejoin: round; display: block; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.launcher {
  position: fixed; inset-block-end: 20px; width: 56px; height: 56px; padding: 14px;
  border-radius: 50%; border: 2px solid var(--on-accent); background: var(--accent); color: var(--on-accent);
  box-shadow: 0 2px 12px rgb(0 0 0 / 35%);
}
.launcher svg { width: 100%; height: 100%; }
.launcher:focus-visible { outline-color: var(--accent); }
.right .launcher, .right dialog { right: 20px; left: auto; }
.left .launcher, .left dialog { left: 20px; right: auto; }
dialog {
  position: fixed; inset-block: auto 88px; margin: 0; padding: 0; overflow: hidden;
  width: min(384px, calc(100vw - 40px)); height: min(600px, calc(100dvh - 108px)); max-width: none; max-height: none;
  border: 1px solid var(--line); border-radius: 14px; background: var(--surface); color: var(--text);
  box-shadow: 0 8px 40px rgb(0 0 0 / 30%);
}
dialog[open] { display: flex; flex-direction: column; }
dialog::backdrop { background: none; }
dialog:focus { outline: none; }
header { display: flex; align-items: center; gap: 8px; padding: 8px 8px 8px 16px; background: var(--accent); color: var(--on-accent); }
h2 { flex: 1; margin: 0; font-size: 1em; font-weight: 600; overflow-wrap: anywhere; max-height: 4.4em; overflow: hidden; }
header button { width: 44px; height: 44px; padding: 10px; border-radius: 8px; }
header button[aria-pressed="true"] { background: var(--on-accent); color: var(--accent); }
header button:focus-visible { outline-color: var(--on-accent); outline-offset: -4px; }
ol { flex: 1; min-height: 0; overflow-y: auto; overscroll-behavior: contain; margin: 0; padding: 16px; list-style: none; display: flex; flex-direction: column; gap: 10px; }
ol:focus-visible { outline-offset: -3px; }
li { max-width: 85%; padding: 8px 12px; border-radius: 12px; background: var(--sunken); }
li.user { align-self: flex-end; background: var(--accent); color: var(--on-accent); border-end-end-radius: 3px; }
li.assistant { align-self: flex-start; border-end-start-radius: 3px; }
li.note { align-self: center; background: none; color: var(--muted); font-size: 0.875em; text-align: center; padding: 0; }
.words { white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: isolate; }
.dots { display: inline-flex; gap: 4px; padding: 6px 0; }
.dots i { width: 7px; height: 7px; border-radius: 50%; background: currentcolor; animation: beat 1.2s infinite; }
.dots i:nth-child(2) { animation-delay: 0.2s; }
.dots i:nth-child(3) { animation-delay: 0.4s; }
@keyframes beat { 30% { opacity: 0.25; } }
.notice { margin: 0; padding: 8px 16px; border-block-start: 1px solid var(--line); color: var(--bad); font-size: 0.9375em; overflow-wrap: anywhere; }
.notice.calm { color: var(--muted); }
.notice button { display: block; min-height: 32px; margin-block-start: 4px; padding: 2px 12px; border: 1px solid currentcolor; border-radius: 8px; }
form { display: flex; align-items: flex-end; gap: 8px; padding: 10px; border-block-start: 1px solid var(--line); }
textarea {
  flex: 1; min-width: 0; min-height: 44px; max-height: 140px; resize: none; field-sizing: content;
  padding: 9px 12px; border: 1px solid var(--line); border-radius: 10px; background: var(--surface); color: var(--text);
}
textarea::placeholder { color: var(--muted); opacity: 1; }
form button { width: 44px; height: 44px; padding: 10px; border-radius: 10px; background: var(--accent); color: var(--on-accent); }
form button[aria-disabled=true] { opacity: 0.5; cursor: default; }
@media ${FILLED} {
  dialog, .right dialog, .left dialog { inset: 0; width: 100vw; height: 100dvh; border: 0; border-radius: 0; }
}
@media (forced-colors: active) {
  li, form button, header { border: 1px solid; }
}
@media print {
  :host { display: none !important; }
}
@media (prefers-reduced-motion: reduce) {
  .dots i { animation: none; }
}
`;

/** The sheets of a widget. @param {{ color: string | null, theme: "auto" | "light" | "dark" }} looks @returns {CSSStyleSheet[]} */
export function sheets({ color, theme }) {
  const [red, green, blue] = channels(color ?? OWN_COLOR);
  const scheme = theme === "auto" ? "light dark" : theme;
  return [
    RULES,
    `:host { color-scheme: ${scheme} !important; --accent: rgb(${red} ${green} ${blue}); --on-accent: ${contrast(red, green, blue)}; }`,
  ].map((rules) => {
    const sheet = new CSSStyleSheet();
    sheet.replaceSync(rules);
    return sheet;
  });
}

/** Red, green and blue of a colour, 0 to 255 each. No text of a setting gets into a sheet: a drawing surface reads it,
 * and keeps its own colour if it is none. @param {string} color @returns {number[]} */
function channels(color) {
  const pen = document.createElement("canvas").getContext("2d");
  const read = () => String(pen?.fillStyle ?? OWN_COLOR);
  if (pen) {
    pen.fillStyle = OWN_COLOR;
    pen.fillStyle = color;
    // What is not of sRGB, such as oklch, is mapped into it.
    if (!/^(#|rgb)/.test(read())) pen.fillStyle = `color-mix(in srgb, ${color}, ${color})`;
  }
  const hex = /^#(..)(..)(..)/.exec(read());
  if (hex) return hex.slice(1).map((part) => parseInt(part, 16));
  const numbers = (read().match(/[\d.]+(e-?\d+)?/g) ?? []).map(Number);
  const scale = read().startsWith("rgb") ? 1 : 255;
  return numbers.length < 3 ? channels(OWN_COLOR) : numbers.slice(0, 3).map((part) => Math.round(part * scale));
}

/** Black or white, whichever is easier to read on a colour: one of them has at least 4.5 to 1 (WCAG 2.2, 1.4.3).
 * @param {number[]} rgb 0 to 255 */
function contrast(...rgb) {
  const [red, green, blue] = rgb.map((part) => {
    const share = part / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.179 ? "#000000" : "#ffffff";
}
