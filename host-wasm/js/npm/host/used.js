/**
 * {@link Used}: the keys used since the last report to the core.
 *
 * @import { Credential } from "./types.d.ts"
 */

/** Interval of the reports, microseconds. */
const EVERY_MICROS = 60_000_000;
/** Keys noted in one interval; further ones are dropped. */
const KEYS_MAX = 100_000;

export class Used {
  /** @type {Map<string, Credential>} */
  #noted = new Map();

  /** Time of the next report, microseconds. @type {number | null} */
  at = null;

  /**
   * @param {Credential} credential
   * @param {number} now microseconds
   */
  note(credential, now) {
    // The use of login sessions is not recorded.
    if (credential.session || this.#noted.size >= KEYS_MAX) return;
    this.#noted.set(`${credential.account} ${credential.count}`, credential);
    this.at ??= now + EVERY_MICROS;
  }

  /** Takes the noted keys, clearing the list. */
  take() {
    const noted = [...this.#noted.values()];
    this.#noted.clear();
    this.at = null;
    return noted;
  }
}
