/**
 * Keys of the slices of partitioned tensors in a bundle. Follows TensorFlow `saved_tensor_slice_util.cc` and
 * `ordered_code.cc`.
 */

/** One dimension of a slice; length -1 for all of it. */
export interface Extent {
  readonly start: number;
  readonly length: number;
}

export function sliceKey(name: string, extents: readonly Extent[]): Uint8Array {
  const out: number[] = [];
  pushNumber(out, 0);
  pushText(out, name);
  pushNumber(out, extents.length);
  for (const { start, length } of extents) {
    pushSigned(out, start);
    pushSigned(out, length);
  }
  return Uint8Array.from(out);
}

/** Appends an unsigned number: the count of its bytes, then these, the highest first. */
function pushNumber(out: number[], value: number): void {
  const digits: number[] = [];
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256);
  out.push(digits.length, ...digits);
}

/** Appends a text so that none is a prefix of another: 0 and 255 are escaped, 0 1 ends it. */
function pushText(out: number[], text: string): void {
  for (const b of new TextEncoder().encode(text)) {
    out.push(b);
    if (b === 0) out.push(255);
    else if (b === 255) out.push(0);
  }
  out.push(0, 1);
}

/** Appends a signed number in the fewest bytes; the first bits tell their number. */
function pushSigned(out: number[], value: number): void {
  const size = BigInt(value < 0 ? -value - 1 : value);
  const bits = size === 0n ? 0 : size.toString(2).length;
  const length = Math.floor(bits / 7) + 1;
  const digits = Array.from(
    { length },
    (_, k) => Number(BigInt.asIntN(80, BigInt(value)) >> BigInt(8 * (length - 1 - k)) & 255n),
  );
  // One more leading 1 for each byte; nine of them continue in the second byte.
  digits[0] ^= length >= 8 ? 255 : 256 - (1 << (8 - length));
  if (length > 8) digits[1] ^= 256 - (1 << (16 - length));
  out.push(...digits);
}
