/** Sums of magnitudes of levels of 8 bits by columns, four columns at a time where the zero point is the middle of their range. */

/** Rows whose magnitudes, at most 128 each, two sums of 16 bits in a word hold. */
const MOST_ROWS = 511;
/** Levels that are copied at once: they stay in a near cache. */
const CACHED_BYTES = 2 ** 15;
const LOW_BITS = 0x01010101, EVEN_BYTES = 0x00ff00ff;

/** Returns the largest sum of a column's magnitudes relative to its zero point: one for all columns, or one for each. */
export function largestColumn(
  levels: Int8Array | Uint8Array,
  columns: number,
  zeros: readonly number[],
): number {
  const sums = new Float64Array(columns), isUnsigned = levels instanceof Uint8Array;
  const isMiddle = zeros.every((zero) => zero === (isUnsigned ? 128 : 0));
  if (isMiddle && columns % 4 === 0) {
    addWords(levels, columns, isUnsigned ? 0x80808080 | 0 : 0, sums);
  } else addLevels(levels, columns, zeros, sums);
  let most = 0;
  for (let j = 0; j < columns; j++) most = Math.max(most, sums[j]);
  return most;
}

function addLevels(
  levels: Int8Array | Uint8Array,
  columns: number,
  zeros: readonly number[],
  to: Float64Array,
): void {
  const each = Int32Array.from(to, (_, j) => zeros[zeros.length === 1 ? 0 : j]);
  // Whole numbers, as long as they hold the sums.
  const sums = levels.length < columns * 2 ** 22 ? new Int32Array(columns) : to;
  for (let at = 0; at < levels.length; at += columns) {
    for (let j = 0; j < columns; j++) sums[j] += Math.abs(levels[at + j] - each[j]);
  }
  if (sums !== to) to.set(sums);
}

/** `flip` makes signed levels of unsigned ones. */
function addWords(
  levels: Int8Array | Uint8Array,
  columns: number,
  flip: number,
  sums: Float64Array,
): void {
  const { buffer, byteOffset, length } = levels, width = columns / 4;
  const bytes = new Uint8Array(buffer as ArrayBuffer, byteOffset, length);
  const some = columns * Math.min(MOST_ROWS, Math.ceil(CACHED_BYTES / columns));
  // Levels of a file may begin at any byte.
  const copy = new Uint8Array(Math.min(some, length)), words = new Int32Array(copy.buffer);
  const even = new Int32Array(width), odd = new Int32Array(width);
  let rows = 0;
  const flush = (): void => {
    for (let j = 0; j < width; j++) {
      sums[4 * j] += even[j] & 0xffff;
      sums[4 * j + 1] += odd[j] & 0xffff;
      sums[4 * j + 2] += even[j] >>> 16;
      sums[4 * j + 3] += odd[j] >>> 16;
    }
    even.fill(0);
    odd.fill(0);
    rows = 0;
  };
  for (let from = 0; from < length; from += some) {
    const part = bytes.subarray(from, from + some), own = part.length / columns;
    if (rows + own > MOST_ROWS) flush();
    rows += own;
    copy.set(part);
    addRows(words.subarray(0, part.length / 4), flip, even, odd);
  }
  flush();
}

/** Adds rows of words to the sums of their even and of their odd bytes. */
function addRows(words: Int32Array, flip: number, even: Int32Array, odd: Int32Array): void {
  const width = even.length;
  for (let at = 0; at < words.length; at += width) {
    for (let j = 0; j < width; j++) {
      const word = words[at + j] ^ flip, negative = word >>> 7 & LOW_BITS;
      // Each byte of a negative level is complemented, and one more: no byte carries into the next.
      const size = (word ^ Math.imul(negative, 255)) + negative | 0;
      even[j] = even[j] + (size & EVEN_BYTES) | 0;
      odd[j] = odd[j] + (size >>> 8 & EVEN_BYTES) | 0;
    }
  }
}
