/**
 * {@link Used}: the keys that were used since that was last written down.
 *
 * @import { Credential } from "./types.d.ts"
 */

/** How often it is written down, microseconds. */
const EVERY_MICROS = 60_000_000;
/** Keys noted in between. */
const KEYS_MAX = 100_000;

export class Used {
  /** @type {Map<string, Credential>} */
  #noted = new Map();

  /** When it is to be written down, microseconds. @type {number | null} */
  at = null;

  /**
   * @param {Credential} credential
   * @param {number} now microseconds
   */
  note(credential, now) {
    // Of the sessions of logins nothing is written down.
    if (credential.session || this.#noted.size >= KEYS_MAX) return;
    this.#noted.set(`${credential.account} ${credential.count}`, credential);
    this.at ??= now + EVERY_MICROS;
  }

  /** What was noted, which is forgotten here. */
  take() {
    const noted = [...this.#noted.values()];
    this.#noted.clear();
    this.at = null;
    return noted;
  }
}
