// What the panel is made of: elements, and nothing that is parsed as markup.

import { TEXT } from "./text.js";

/** Longest message, characters; as the service has it. */
const MESSAGE_MAX = 2_000;

/** Shapes of the icons, as paths of a 24 by 24 box. */
const ICONS = {
  chat: "M21 12a8 8 0 0 1-8 8H4l2-3a8 8 0 1 1 15-5z",
  close: "M6 6l12 12M18 6L6 18",
  talk: "M12 4a2 2 0 0 1 2 2v5a2 2 0 0 1-4 0V6a2 2 0 0 1 2-2zM6 11a6 6 0 0 0 12 0M12 17v3",
  send: "M4 12l16-8-5 16-3-6z",
};

/** An element with properties and children. @template {keyof HTMLElementTagNameMap} T @param {T} tag
 * @param {Record<string, unknown>} [properties] @param {(Node | string)[]} children @returns {HTMLElementTagNameMap[T]} */
export function made(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** @param {keyof typeof ICONS} name */
function icon(name) {
  const [image, path] = ["svg", "path"].map((tag) => document.createElementNS("http://www.w3.org/2000/svg", tag));
  image.setAttribute("viewBox", "0 0 24 24");
  image.setAttribute("aria-hidden", "true");
  path.setAttribute("d", ICONS[name]);
  image.append(path);
  return image;
}

/** A button that shows an icon alone. @param {keyof typeof ICONS} name @param {string} label @param {object} [more] */
const iconButton = (name, label, more) =>
  made("button", { type: "button", ariaLabel: label, title: label, ...more }, icon(name));

/** The elements of a panel with this title. @param {string} title */
export function parts(title) {
  const launcher = iconButton("chat", TEXT.chat(title), {
    className: "launcher",
    ariaExpanded: "false",
    ariaHasPopup: "dialog",
  });
  const closer = iconButton("close", TEXT.close);
  const talker = iconButton("talk", TEXT.talk, { hidden: true, ariaPressed: "false" });
  const list = made("ol", { tabIndex: 0, ariaLabel: TEXT.messages });
  const notice = made("div", { className: "notice", hidden: true });
  const field = made("textarea", {
    id: "field",
    rows: 1,
    maxLength: MESSAGE_MAX,
    placeholder: TEXT.field,
    dir: "auto",
  });
  const sender = iconButton("send", TEXT.send, { type: "submit" });
  const label = made("label", { className: "unseen", htmlFor: "field" }, TEXT.field);
  const form = made("form", {}, label, field, sender);
  // What a screen reader says: whole answers and faults, not each part of an answer as it is written.
  const spoken = made("div", { className: "unseen", ariaLive: "polite" });
  const header = made("header", {}, made("h2", { id: "title", dir: "auto" }, title), talker, closer);
  const dialog = made("dialog", { tabIndex: -1 }, header, list, notice, form, spoken);
  dialog.setAttribute("aria-labelledby", "title");
  return { launcher, closer, talker, list, notice, field, sender, form, spoken, dialog };
}

/** A message that is shown: its element, and the one that holds its words. @param {"assistant" | "user"} role
 * @param {string} title */
export function item(role, title) {
  const words = made("span", { className: "words", dir: "auto" });
  const who = made("span", { className: "unseen" }, `${role === "user" ? TEXT.you : TEXT.they(title)} `);
  return { words, row: made("li", { className: role }, who, words) };
}

/** Three dots for who is writing. */
export const dots = () => [
  made("span", { className: "dots", ariaHidden: "true" }, made("i"), made("i"), made("i")),
  made("span", { className: "unseen" }, TEXT.writing),
];
