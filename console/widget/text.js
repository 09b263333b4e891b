// Every text of the widget.

export const TEXT = {
  /** @param {string} title */
  chat: (title) => `Chat: ${title}`,
  close: "Close the chat",
  messages: "Messages",
  field: "Your message",
  send: "Send",
  you: "You:",
  /** @param {string} title */
  they: (title) => `${title}:`,
  writing: "is writing …",
  again: "Try again",
  anew: "Begin a new conversation",
  beginning: "One moment …",
  offline: "You are offline. Your message goes out as soon as you are back.",
  lost: "The connection broke off. Trying again …",
  unreachable: "The chat cannot be reached. Check your connection and try again.",
  closed: "This chat is not available at the moment.",
  foreign: "This page is not allowed to show this chat.",
  ended: "The earlier conversation is over; this is a new one.",
  full: "This conversation is full. Please begin a new one.",
  failed: "There is no answer right now. Please try again.",
  talk: "Talk",
  hangUp: "End the call",
  connecting: "Connecting …",
  talking: "You are talking. The microphone is on.",
  over: "The call has ended.",
  silent: "There is no microphone, or this page may not use it. Allow it in your browser, and try again.",
  unheard: "The call could not be connected. Please try again.",
  passed: "Your message was passed on to a person.",
  /** @param {number} seconds */
  tooMany(seconds) {
    if (seconds <= 90) return `That was a lot at once. Please try again in ${seconds} seconds.`;
    if (seconds <= 5_400) return `That was a lot at once. Please try again in ${Math.ceil(seconds / 60)} minutes.`;
    return "That was all for today. Please try again tomorrow.";
  },
};
