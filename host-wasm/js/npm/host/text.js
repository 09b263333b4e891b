/**
 * Text as its bytes in UTF-8, each a character: how the Fetch Standard writes header values.
 *
 * @param {string} text
 */
export function byteString(text) {
  return /^[\x00-\x7f]*$/.test(text) ? text : String.fromCharCode(...new TextEncoder().encode(text));
}
