/** Characters of UTF-8 as RE2 reads them: halves of pairs of UTF-16 are characters too. */

/** Returns the number of bytes that have the form of a character at a place: 0 at the end, and where there is none. */
export function formOf(bytes: Uint8Array, at: number): number {
  const a = bytes[at];
  if (a < 0x80) return 1;
  if (at >= bytes.length || a < 0xc2 || a > 0xf4) return 0;
  const count = a < 0xe0 ? 2 : a < 0xf0 ? 3 : 4;
  if (at + count > bytes.length) return 0;
  for (let i = 1; i < count; i++) if ((bytes[at + i] & 0xc0) !== 0x80) return 0;
  return count;
}

/** Returns the number of bytes of the character at a place: 0 where there is none. */
export function charactersBytes(bytes: Uint8Array, at: number): number {
  const count = formOf(bytes, at), a = bytes[at], second = bytes[at + 1];
  // Fewer bytes say what is too small, and nothing lies above U+10FFFF.
  if (a === 0xe0 && second < 0xa0 || a === 0xf0 && second < 0x90) return 0;
  return a === 0xf4 && second > 0x8f ? 0 : count;
}

/** Returns the code point at a place where there is a character. */
export function codeAt(bytes: Uint8Array, at: number): number {
  const a = bytes[at], count = charactersBytes(bytes, at);
  if (count === 1) return a;
  let code = a & 0xff >> count + 1;
  for (let i = 1; i < count; i++) code = code << 6 | bytes[at + i] & 63;
  return code;
}
