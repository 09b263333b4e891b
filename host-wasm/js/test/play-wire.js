/** JSON with byte arrays, exchanged between a runner of scripts and its worker. */

/** @param {unknown} value */
export function packed(value) {
  return JSON.stringify(value, (_, one) => (one instanceof Uint8Array ? { bytes: Array.from(one) } : one));
}

/** @param {string} text @returns {any} */
export function unpacked(text) {
  return JSON.parse(text, (_, one) => (isBytes(one) ? Uint8Array.from(one.bytes) : one));
}

/** @param {any} one */
function isBytes(one) {
  return Array.isArray(one?.bytes) && Object.keys(one).length === 1;
}
