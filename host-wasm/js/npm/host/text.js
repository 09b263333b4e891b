/**
 * Returns text as its UTF-8 bytes, one character each: the Fetch Standard writes header values this way.
 *
 * @param {string} text
 */
export function byteString(text) {
  return /^[\x00-\x7f]*$/.test(text) ? text : String.fromCharCode(...new TextEncoder().encode(text));
}
