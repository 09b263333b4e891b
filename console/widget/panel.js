// The button and the panel, in a shadow root: nothing of the page's styles gets in, and none of these gets out.

/** @import { Conversation, Looks, Message } from "./conversation.js" */

import { Refused } from "./conversation.js";
import { dots, item, made, parts } from "./parts.js";
import { FILLED, sheets } from "./style.js";
import { TEXT } from "./text.js";
import { Voice } from "./voice.js";

/** How near to its end a list is still followed, pixels. */
const NEAR_PX = 80;

export class Panel {
  /** @param {Conversation} conversation @param {Looks} looks */
  constructor(conversation, looks) {
    this.conversation = conversation;
    this.title = looks.title;
    this.filled = matchMedia(FILLED);
    /** Messages that are shown. */
    this.count = 0;
    this.isBegun = false;
    this.isBusy = false;
    /** @type {Voice | null} */
    this.voice = null;
    this.parts = parts(looks.title);
    this.parts.talker.hidden = !looks.voice || !navigator.mediaDevices;
    this.host = document.createElement("div");
    const root = this.host.attachShadow({ mode: "open" });
    root.adoptedStyleSheets = sheets(looks);
    root.append(made("div", { className: looks.position }, this.parts.launcher, this.parts.dialog));
    document.body.append(this.host);
    this.#listen();
    // A tab that had it open has it open on its next page, where that covers nothing.
    if (conversation.kept.open && !this.filled.matches) this.#open(false);
  }

  #listen() {
    this.parts.launcher.addEventListener("click", () => (this.parts.dialog.open ? this.#close() : this.#open(true)));
    this.parts.closer.addEventListener("click", () => this.#close());
    this.parts.talker.addEventListener("click", () => (this.voice ? this.#hangUp(TEXT.over) : this.#talk()));
    addEventListener("pagehide", () => this.voice?.end());
    this.parts.dialog.addEventListener("cancel", (event) => {
      event.preventDefault();
      this.#close();
    });
    // Keys that are typed here are none of the page's.
    for (const name of ["keydown", "keypress", "keyup"])
      this.parts.dialog.addEventListener(name, (event) => event.stopPropagation());
    this.parts.dialog.addEventListener("keydown", (event) => {
      if (event.key === "Escape" && !event.isComposing) this.#close();
    });
    this.parts.field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" || event.shiftKey || event.isComposing) return;
      event.preventDefault();
      this.parts.form.requestSubmit();
    });
    this.parts.form.addEventListener("submit", (event) => {
      event.preventDefault();
      const message = this.parts.field.value.trim();
      if (!message || !this.isBegun || this.isBusy) return;
      this.parts.field.value = "";
      this.#add("user", message);
      void this.#ask(message);
    });
    this.filled.addEventListener("change", () => this.parts.dialog.open && this.#show());
  }

  /** @param {boolean} isAsked whether somebody wants it now, and not the tab that had it open */
  #open(isAsked) {
    this.#show();
    this.parts.launcher.ariaExpanded = "true";
    this.conversation.keep({ open: true });
    // On a screen that is touched, the field would bring up the keyboard over the greeting.
    if (isAsked) (matchMedia("(pointer: coarse)").matches ? this.parts.dialog : this.parts.field).focus();
    if (!this.isBegun) void this.#begin();
    this.#follow(true);
  }

  /** Shows the panel: as a modal dialog where it covers the page, beside the page elsewhere. */
  #show() {
    const focused = this.host.shadowRoot?.activeElement;
    this.parts.dialog.close();
    if (this.filled.matches) this.parts.dialog.showModal();
    else this.parts.dialog.setAttribute("open", "");
    if (focused instanceof HTMLElement) focused.focus();
  }

  #close() {
    this.parts.dialog.close();
    this.parts.launcher.ariaExpanded = "false";
    this.conversation.keep({ open: false });
    this.parts.launcher.focus();
  }

  /** Begins a call by voice. */
  async #talk() {
    const voice = new Voice(this.conversation, () => this.#hangUp(TEXT.over));
    this.voice = voice;
    this.#talks(TEXT.connecting);
    try {
      await voice.begin();
      if (this.voice === voice) this.#talks(TEXT.talking);
    } catch (error) {
      voice.end();
      // Whoever has hung up meanwhile knows it.
      if (this.voice !== voice) return;
      this.#hangUp(null);
      this.#fail(error, () => this.#talk());
    }
  }

  /** @param {string | null} text what is said of it */
  #hangUp(text) {
    this.voice?.end();
    this.voice = null;
    this.#talks(null);
    if (text !== null) this.#note(text);
  }

  /** Shows whether a call goes on. @param {string | null} text */
  #talks(text) {
    const { talker } = this.parts;
    talker.ariaPressed = String(text !== null);
    talker.ariaLabel = text === null ? TEXT.talk : TEXT.hangUp;
    talker.title = talker.ariaLabel;
    this.#say(text);
  }

  /** Takes up the conversation of this tab, or begins one. */
  async #begin() {
    if (this.isBusy) return;
    this.#busy(true);
    this.#say(TEXT.beginning);
    let sent;
    try {
      const [history, isAnew] = await this.conversation.history();
      sent = this.conversation.kept.sent;
      this.parts.list.replaceChildren();
      this.count = 0;
      this.isBegun = true;
      this.#say(null);
      for (const { role, content } of history) this.#add(role, content);
      if (isAnew) this.#note(TEXT.ended);
      this.parts.spoken.textContent = history.length === 1 ? `${TEXT.they(this.title)} ${history[0].content}` : "";
    } catch (error) {
      this.#fail(error, () => this.#begin());
    } finally {
      this.#busy(false);
    }
    // A message whose answer the last page did not live to see.
    if (!sent || this.count >= sent.before + 2) return this.conversation.keep({ sent: undefined });
    if (this.count === sent.before) this.#add("user", sent.message);
    await this.#ask(sent.message);
  }

  /** Has a message answered that is shown as the last one. @param {string} message */
  async #ask(message) {
    const { row, words } = item("assistant", this.title);
    words.append(...dots());
    this.parts.list.append(row);
    this.#say(null);
    this.#busy(true);
    this.#follow(true);
    const heard = (/** @type {string} */ text) => {
      words.textContent = text;
      this.#follow(false);
    };
    try {
      const answer = await this.conversation.say(message, this.count - 1, { heard, waits: (why) => this.#say(why) });
      row.remove();
      if (answer === null) this.#note(TEXT.passed);
      else this.#add("assistant", answer);
      this.parts.spoken.textContent = answer === null ? TEXT.passed : `${TEXT.they(this.title)} ${answer}`;
    } catch (error) {
      row.remove();
      await this.#refused(error, message);
    } finally {
      this.#busy(false);
    }
  }

  /** @param {unknown} error @param {string} message that has no answer */
  async #refused(error, message) {
    const status = error instanceof Refused ? error.status : 0;
    // The conversation went while the page was open: it goes on in a new one.
    if (status === 404 && (await this.#anew())) return this.#resend(message);
    if (status === 422) return this.#fail(error, () => this.#anew(), TEXT.anew);
    return this.#fail(error, () => this.#ask(message));
  }

  /** Shows a message again in a conversation that has just begun. @param {string} message */
  #resend(message) {
    this.#add("user", message);
    return this.#ask(message);
  }

  /** Begins a new conversation; `false` if there is none, which is said. */
  async #anew() {
    this.conversation.keep({ id: undefined, sent: undefined });
    this.isBegun = false;
    this.#busy(false);
    await this.#begin();
    if (this.isBegun) this.#note(TEXT.ended);
    return this.isBegun;
  }

  /** @param {Message["role"]} role @param {string} content */
  #add(role, content) {
    const { row, words } = item(role, this.title);
    words.textContent = content;
    // An assistant without a greeting has said nothing.
    row.hidden = content === "";
    this.parts.list.append(row);
    this.count += 1;
    this.#follow(role === "user");
  }

  /** @param {string} text */
  #note(text) {
    this.parts.list.append(made("li", { className: "note" }, text));
    this.#follow(true);
  }

  /** Says what goes on; null: nothing to say. @param {string | null} text */
  #say(text) {
    this.parts.notice.hidden = text === null;
    this.parts.notice.className = "notice calm";
    this.parts.notice.replaceChildren(text ?? "");
    if (text !== null) this.parts.spoken.textContent = text;
  }

  /** @param {unknown} error @param {() => unknown} act @param {string} [label] */
  #fail(error, act, label = TEXT.again) {
    const text = error instanceof Refused ? error.message : TEXT.failed;
    const button = made("button", { type: "button" }, label);
    button.addEventListener("click", () => {
      this.parts.field.focus();
      void act();
    });
    this.#say(text);
    this.parts.notice.className = "notice";
    this.parts.notice.append(button);
  }

  /** @param {boolean} isBusy */
  #busy(isBusy) {
    this.isBusy = isBusy;
    this.parts.sender.ariaDisabled = String(isBusy);
    this.parts.list.ariaBusy = String(isBusy);
  }

  /** Scrolls to the newest, unless somebody reads further up. @param {boolean} always */
  #follow(always) {
    const { scrollHeight, scrollTop, clientHeight } = this.parts.list;
    if (always || scrollHeight - scrollTop - clientHeight < NEAR_PX) this.parts.list.scrollTop = scrollHeight;
  }
}
