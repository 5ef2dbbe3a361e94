/**
 * Numbers of 64 bits as halves of 32, for hashes: a product of `bigint`s takes memory, and some twenty times as long. Registers are pairs
 * of elements, the lower half first.
 */

/** The upper half of the product of two halves without a sign. */
function upperProduct(a: number, b: number): number {
  const a0 = a & 0xffff, a1 = a >>> 16, b0 = b & 0xffff, b1 = b >>> 16;
  const u = (Math.imul(a1, b0) + (Math.imul(a0, b0) >>> 16)) >>> 0;
  const w = (Math.imul(a0, b1) + (u & 0xffff)) >>> 0;
  return (Math.imul(a1, b1) + (u >>> 16) + (w >>> 16)) | 0;
}

/** The upper half of a product; its lower one is `Math.imul` of the lower halves. */
export function productHigh(ah: number, al: number, bh: number, bl: number): number {
  return (upperProduct(al, bl) + Math.imul(ah, bl) + Math.imul(al, bh)) | 0;
}

/** The carry of a sum of lower halves: 1 where `sum` is less than `a`, one of them. */
export function carry(sum: number, a: number): number {
  return sum >>> 0 < a >>> 0 ? 1 : 0;
}

/** Reads four bytes, the lowest first. */
export function half(bytes: Uint8Array, at: number): number {
  return bytes[at] | bytes[at + 1] << 8 | bytes[at + 2] << 16 | bytes[at + 3] << 24;
}

/** Registers: element 2i is the lower half of register i, element 2i + 1 the upper one. */
export type Registers = Int32Array;

/** Makes registers that begin with some numbers. */
export function registersOf(count: number, ...numbers: readonly bigint[]): Registers {
  const r = new Int32Array(2 * count);
  numbers.forEach((n, i) => {
    r[2 * i] = Number(BigInt.asIntN(32, n));
    r[2 * i + 1] = Number(BigInt.asIntN(32, n >> 32n));
  });
  return r;
}

/** Returns a register's number. */
export function numberOf(r: Registers, i: number): bigint {
  return BigInt(r[2 * i + 1] >>> 0) << 32n | BigInt(r[2 * i] >>> 0);
}

/** `to = a + b` */
export function add(r: Registers, to: number, a: number, b: number): void {
  const low = r[2 * a], sum = (low + r[2 * b]) | 0;
  r[2 * to + 1] = (r[2 * a + 1] + r[2 * b + 1] + carry(sum, low)) | 0;
  r[2 * to] = sum;
}

/** `to = a * b` */
export function times(r: Registers, to: number, a: number, b: number): void {
  const al = r[2 * a], bl = r[2 * b];
  r[2 * to + 1] = productHigh(r[2 * a + 1], al, r[2 * b + 1], bl);
  r[2 * to] = Math.imul(al, bl);
}

/** `to = a ^ b` */
export function xor(r: Registers, to: number, a: number, b: number): void {
  r[2 * to] = r[2 * a] ^ r[2 * b];
  r[2 * to + 1] = r[2 * a + 1] ^ r[2 * b + 1];
}

/** `to = a` */
export function copy(r: Registers, to: number, a: number): void {
  r[2 * to] = r[2 * a];
  r[2 * to + 1] = r[2 * a + 1];
}

/** Turns `a` to the right by 1 to 63 bits. */
export function turn(r: Registers, to: number, a: number, by: number): void {
  let low = r[2 * a], high = r[2 * a + 1];
  if (by >= 32) [low, high, by] = [high, low, by - 32];
  if (by === 0) {
    r[2 * to] = low;
    r[2 * to + 1] = high;
    return;
  }
  r[2 * to] = low >>> by | high << 32 - by;
  r[2 * to + 1] = high >>> by | low << 32 - by;
}

/** `to = a ^ (a >> 47)` */
export function mix(r: Registers, to: number, a: number): void {
  const high = r[2 * a + 1];
  r[2 * to] = r[2 * a] ^ high >>> 15;
  r[2 * to + 1] = high;
}

/** Reads eight bytes, the lowest first. */
export function load(r: Registers, to: number, bytes: Uint8Array, at: number): void {
  r[2 * to] = half(bytes, at);
  r[2 * to + 1] = half(bytes, at + 4);
}

/** Puts a whole number below 2^31 into a register. */
export function put(r: Registers, to: number, value: number): void {
  r[2 * to] = value;
  r[2 * to + 1] = 0;
}

/** The greatest divisor for which sixteen bits more than a remainder are exact in float64. */
const MOST = 2 ** 36;

function remainder(value: number, by: number, inverse: number): number {
  const rest = value - Math.floor(value * inverse) * by;
  return rest < 0 ? rest + by : rest >= by ? rest - by : rest;
}

/** Returns the function that takes halves of numbers without a sign to their remainder by `divisor`. */
export function remainderBy(divisor: number): (low: number, high: number) => number {
  if (divisor === 1) return () => 0;
  if (divisor > MOST) {
    const by = BigInt(divisor);
    return (low, high) => Number((BigInt(high >>> 0) << 32n | BigInt(low >>> 0)) % by);
  }
  const inverse = 1 / divisor;
  return (low, high) => {
    let rest = remainder(high >>> 0, divisor, inverse);
    rest = remainder(rest * 0x10000 + (low >>> 16), divisor, inverse);
    return remainder(rest * 0x10000 + (low & 0xffff), divisor, inverse);
  };
}
