/** DEFLATE (RFC 1951) and its zlib wrapping (RFC 1950), synchronous: the runtime's own streams must be awaited. */
import { DataLossError } from "../../engine/core/errors.ts";
import { type Bytes, viewOf } from "./bytes.ts";

/** Codes of up to 15 bits by length and order, as RFC 1951, 3.2.2 defines them. */
interface Codes {
  /** Number of codes of each length. */
  readonly counts: Uint16Array;
  /** Symbols in the order of their codes. */
  readonly symbols: Uint16Array;
  /**
   * Entry for the next `TABLE_BITS` bits: the symbol times 16 plus the length of its code; 0 where the code is longer.
   */
  readonly table: Uint16Array;
}

const TABLE_BITS = 10, TABLE_MASK = (1 << TABLE_BITS) - 1;

function codesOf(lengths: ArrayLike<number>): Codes {
  const counts = new Uint16Array(16), starts = new Uint16Array(16), first = new Uint16Array(16);
  for (let i = 0; i < lengths.length; i++) counts[lengths[i]]++;
  counts[0] = 0;
  for (let n = 1; n < 16; n++) {
    starts[n] = starts[n - 1] + counts[n - 1];
    first[n] = (first[n - 1] + counts[n - 1]) << 1;
  }
  const symbols = new Uint16Array(lengths.length), table = new Uint16Array(1 << TABLE_BITS);
  for (let s = 0; s < lengths.length; s++) {
    const n = lengths[s];
    if (n === 0) continue;
    symbols[starts[n]++] = s;
    const code = first[n]++;
    if (n > TABLE_BITS) continue;
    let turned = 0;
    for (let k = 0; k < n; k++) turned |= (code >> k & 1) << n - 1 - k;
    for (let k = turned; k < table.length; k += 1 << n) table[k] = s << 4 | n;
  }
  return { counts, symbols, table };
}

const ORDER = [16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15];
const FIXED: readonly [Codes, Codes] = [
  codesOf(
    Uint8Array.from({ length: 288 }, (_, i) => (i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8)),
  ),
  codesOf(new Uint8Array(30).fill(5)),
];
/** Least lengths and distances of their symbols, and the number of extra bits of each. */
const [LENGTHS, LENGTH_BITS] = ranges(29, 4, 3);
const [DISTANCES, DISTANCE_BITS] = ranges(30, 2, 1);
LENGTHS[28] = 258;
LENGTH_BITS[28] = 0;

function ranges(n: number, each: number, from: number): [Uint16Array, Uint8Array] {
  const bases = new Uint16Array(n), bits = new Uint8Array(n);
  for (let i = 0, base = from; i < n; i++) {
    bits[i] = i < 2 * each ? 0 : Math.floor(i / each) - 1;
    bases[i] = base;
    base += 1 << bits[i];
  }
  return [bases, bits];
}

/** Reads DEFLATE. */
export class Inflater {
  readonly #from: Uint8Array;
  #at: number;
  #bits = 0;
  #have = 0;
  out: Bytes;
  size = 0;
  readonly #most: number;

  /** Makes up to `most` bytes, and has room for the expected ones from the start. */
  constructor(from: Uint8Array, at: number, expected: number, most: number = expected) {
    this.#from = from;
    this.#at = at;
    this.out = new Uint8Array(expected);
    this.#most = most;
  }

  /** Number of the first byte that was not read. */
  get end(): number {
    return this.#at - (this.#have >> 3);
  }

  run(): void {
    for (let last = 0; last === 0;) {
      last = this.#take(1);
      const kind = this.#take(2);
      if (kind === 0) this.#stored();
      else if (kind === 1) this.#block(...FIXED);
      else if (kind === 2) this.#block(...this.#readCodes());
      else throw broken("it has a block of no known kind");
    }
  }

  #take(n: number): number {
    while (this.#have < n) {
      if (this.#at >= this.#from.length) throw broken("it is cut off");
      this.#bits |= this.#from[this.#at++] << this.#have;
      this.#have += 8;
    }
    const value = this.#bits & (1 << n) - 1;
    this.#bits >>>= n;
    this.#have -= n;
    return value;
  }

  #symbol(codes: Codes): number {
    while (this.#have < 15 && this.#at < this.#from.length) {
      this.#bits |= this.#from[this.#at++] << this.#have;
      this.#have += 8;
    }
    const entry = codes.table[this.#bits & TABLE_MASK] || longCode(codes, this.#bits);
    this.#drop(entry & 15);
    return entry >> 4;
  }

  #drop(n: number): void {
    if (n > this.#have) throw broken("it is cut off");
    this.#bits >>>= n;
    this.#have -= n;
  }

  #room(n: number, size = this.size): void {
    if (size + n > this.#most) throw broken(`it holds more than ${this.#most} bytes`);
    if (size + n <= this.out.length) return;
    const larger = new Uint8Array(Math.min(this.#most, Math.max(size + n, 2 * this.out.length)));
    larger.set(this.out);
    this.out = larger;
  }

  #stored(): void {
    // Bytes that were read ahead are given back.
    this.#at -= this.#have >> 3;
    this.#bits = this.#have = 0;
    const { length } = this.#from;
    if (this.#at + 4 > length) throw broken("it is cut off");
    const view = viewOf(this.#from), n = view.getUint16(this.#at, true);
    if (n !== (~view.getUint16(this.#at + 2, true) & 0xffff)) {
      throw broken("a block has two lengths");
    }
    this.#at += 4;
    if (this.#at + n > length) throw broken("it is cut off");
    this.#room(n);
    this.out.set(this.#from.subarray(this.#at, this.#at + n), this.size);
    this.#at += n;
    this.size += n;
  }

  #readCodes(): [Codes, Codes] {
    const literals = this.#take(5) + 257, distances = this.#take(5) + 1, n = this.#take(4) + 4;
    const lengths = new Uint8Array(19);
    for (let i = 0; i < n; i++) lengths[ORDER[i]] = this.#take(3);
    const codes = codesOf(lengths), all = new Uint8Array(literals + distances);
    for (let i = 0; i < all.length;) {
      const symbol = this.#symbol(codes);
      if (symbol < 16) {
        all[i++] = symbol;
        continue;
      }
      if (symbol === 16 && i === 0) throw broken("it repeats a length before any");
      const value = symbol === 16 ? all[i - 1] : 0;
      const times = symbol === 16
        ? 3 + this.#take(2)
        : symbol === 17
        ? 3 + this.#take(3)
        : 11 + this.#take(7);
      if (i + times > all.length) throw broken("it has too many lengths");
      all.fill(value, i, i += times);
    }
    return [codesOf(all.subarray(0, literals)), codesOf(all.subarray(literals))];
  }

  /** Most of the time is spent here, so the state is held in local variables. */
  #block(literals: Codes, distances: Codes): void {
    const from = this.#from;
    let { out } = this;
    let at = this.#at, bits = this.#bits, have = this.#have, size = this.size;
    for (;;) {
      // A length is a code of up to 15 bits and up to 5 more.
      for (; have < 24 && at < from.length; have += 8) bits |= from[at++] << have;
      let entry = literals.table[bits & TABLE_MASK] || longCode(literals, bits);
      let n = entry & 15;
      const symbol = entry >> 4;
      if (n > have) throw broken("it is cut off");
      bits >>= n;
      have -= n;
      if (symbol < 256) {
        if (size === out.length) {
          this.#room(1, size);
          out = this.out;
        }
        out[size++] = symbol;
        continue;
      }
      if (symbol === 256) break;
      if (symbol > 285) throw broken("it has a length of no meaning");
      n = LENGTH_BITS[symbol - 257];
      if (n > have) throw broken("it is cut off");
      const length = LENGTHS[symbol - 257] + (bits & (1 << n) - 1);
      bits >>= n;
      have -= n;
      for (; have < 24 && at < from.length; have += 8) bits |= from[at++] << have;
      entry = distances.table[bits & TABLE_MASK] || longCode(distances, bits);
      n = entry & 15;
      if (n > have) throw broken("it is cut off");
      bits >>= n;
      have -= n;
      if (entry >> 4 > 29) throw broken("it has a distance of no meaning");
      n = DISTANCE_BITS[entry >> 4];
      for (; have < n && at < from.length; have += 8) bits |= from[at++] << have;
      if (n > have) throw broken("it is cut off");
      const distance = DISTANCES[entry >> 4] + (bits & (1 << n) - 1);
      bits >>= n;
      have -= n;
      if (distance > size) throw broken("it refers to what is before its begin");
      if (size + length > out.length) {
        this.#room(length, size);
        out = this.out;
      }
      for (const end = size + length; size < end; size++) out[size] = out[size - distance];
    }
    this.#at = at;
    this.#bits = bits;
    this.#have = have;
    this.size = size;
  }
}

/** Returns the table entry that a longer code would have. */
function longCode({ counts, symbols }: Codes, bits: number): number {
  let code = 0, first = 0, index = 0;
  for (let n = 1; n < 16; n++) {
    code |= bits >> n - 1 & 1;
    const count = counts[n];
    if (code - first < count) return symbols[index + code - first] << 4 | n;
    index += count;
    first = first + count << 1;
    code <<= 1;
  }
  throw broken("it has a code of no symbol");
}

/** The error of data that cannot be read. */
export function broken(why: string): DataLossError {
  return new DataLossError(`Cannot decompress: ${why}`);
}

/** The used part of `node:zlib`. */
interface Zlib {
  inflateSync(from: Uint8Array, options: { maxOutputLength: number }): Uint8Array;
}

/**
 * Least size at which the platform's own synchronous code is used: a call of it takes 5 µs and a thousand bytes 3 µs,
 * ours 5.5 µs (V8 14).
 */
const LEAST_FOR_PLATFORM = 2000;

/** Inflates by the platform; null where it has no such code, or finds a fault, which ours can name. */
function inflateByPlatform(from: Uint8Array, size: number): Uint8Array | null {
  const { process } = globalThis as {
    process?: { getBuiltinModule?(name: string): Zlib | undefined };
  };
  try {
    const zlib = process?.getBuiltinModule?.("node:zlib");
    const out = zlib?.inflateSync(from, { maxOutputLength: size });
    return out?.length === size ? out : null;
  } catch {
    return null;
  }
}

/** Inflates zlib data to `size` bytes. Throws `DataLossError` for data that are broken, or hold more or fewer. */
export function inflateZlib(from: Uint8Array, size: number): Uint8Array {
  const begin = zlibBegin(from);
  const made = from.length < LEAST_FOR_PLATFORM ? null : inflateByPlatform(from, size);
  if (made !== null) return made;
  const inflater = new Inflater(from, begin, size);
  inflater.run();
  if (inflater.size !== size) throw broken(`it holds ${inflater.size} bytes, wanted ${size}`);
  return inflater.out;
}

/** Returns the place behind the header of zlib data, RFC 1950. */
export function zlibBegin(from: Uint8Array): number {
  if (from.length < 6 || (from[0] & 15) !== 8 || (from[0] << 8 | from[1]) % 31 !== 0) {
    throw broken("it does not begin as zlib data do");
  }
  if (from[1] & 32) throw broken("it wants a dictionary");
  return 2;
}

/** Bits of the hashes of repeats, the farthest distance and the longest length of a repeat. */
const HASH_BITS = 15, REACH = 32768, LONGEST = 258;

/** Deflates bytes to zlib data: repeats that a hash table finds, in the fixed codes. */
export function deflateZlib(from: Uint8Array): Bytes {
  let out = new Uint8Array(1024 + from.length), size = 2, bits = 0, have = 0;
  out[0] = 0x78;
  out[1] = 0x9c;
  const put = (value: number, n: number): void => {
    bits |= value << have;
    for (have += n; have >= 8; have -= 8, bits >>>= 8) {
      if (size === out.length) {
        const larger = new Uint8Array(2 * size);
        larger.set(out);
        out = larger;
      }
      out[size++] = bits;
    }
  };
  put(1, 1);
  put(1, 2);
  const last = new Int32Array(1 << HASH_BITS).fill(-1);
  for (let i = 0; i < from.length;) {
    let length = 0, at = -1;
    if (i + 3 < from.length) {
      const key = Math.imul(from[i] | from[i + 1] << 8 | from[i + 2] << 16, 0x9e3779b1) >>>
        32 - HASH_BITS;
      at = last[key];
      last[key] = i;
      if (at >= 0 && i - at <= REACH) {
        const most = Math.min(LONGEST, from.length - i);
        while (length < most && from[at + length] === from[i + length]) length++;
      }
    }
    if (length < 4) {
      putLiteral(put, from[i++]);
      continue;
    }
    const s = lastNotAbove(LENGTHS, length), distance = i - at;
    putLiteral(put, 257 + s);
    put(length - LENGTHS[s], LENGTH_BITS[s]);
    const d = lastNotAbove(DISTANCES, distance);
    put(turned(d, 5), 5);
    put(distance - DISTANCES[d], DISTANCE_BITS[d]);
    i += length;
  }
  putLiteral(put, 256);
  if (have > 0) put(0, 8 - have);
  const bytes = new Uint8Array(size + 4);
  bytes.set(out.subarray(0, size));
  viewOf(bytes).setUint32(size, adler32(from));
  return bytes;
}

function putLiteral(put: (value: number, n: number) => void, s: number): void {
  if (s < 144) put(turned(48 + s, 8), 8);
  else if (s < 256) put(turned(256 + s, 9), 9);
  else if (s < 280) put(turned(s - 256, 7), 7);
  else put(turned(s - 88, 8), 8);
}

function turned(code: number, n: number): number {
  let out = 0;
  for (let k = 0; k < n; k++) out |= (code >> k & 1) << n - 1 - k;
  return out;
}

function lastNotAbove(bases: Uint16Array, value: number): number {
  let i = bases.length - 1;
  while (bases[i] > value) i--;
  return i;
}

/** The checksum of zlib data. */
export function adler32(bytes: Uint8Array): number {
  let a = 1, b = 0;
  for (let i = 0; i < bytes.length;) {
    // The sums of so many bytes stay below 2³².
    for (const end = Math.min(i + 3800, bytes.length); i < end; i++) b += a += bytes[i];
    a %= 65521;
    b %= 65521;
  }
  return (b << 16 | a) >>> 0;
}
