/** The keys of a table, numbered from 0 on in the order in which they came: strings by their bytes, numbers by value. */
import { type DType, type HostData, isBigInt, makeData } from "../../core/dtype.ts";

/** Keys and their numbers. */
export interface KeyIndex {
  /** Number of keys. */
  readonly size: number;
  /** Returns the number of each of these keys, -1 for unknown ones. */
  find(data: HostData, count: number): Int32Array;
  /** Adds key `i` of some, unless it is there, and returns its number. */
  add(data: HostData, i: number): number;
  /** Copies the keys, in order. */
  keys(): HostData;
}

/** Places of keys by their hashes: open addressing, in a list at least twice as long as there are keys. */
class Slots {
  /** One more than the number of the key at each place; 0 where there is none. */
  slots: Int32Array = new Int32Array(16);
  /** The hash of each key. */
  hashes: Int32Array = new Int32Array(8);
  size = 0;
  /** Drawn, so that no list of keys is slow for all tables. */
  readonly seed: number = Math.random() * 0x100000000 | 0;

  /** Puts a new key at a place. */
  put(slot: number, hash: number): number {
    const place = this.size++;
    this.slots[slot] = this.size;
    this.hashes[place] = hash;
    if (this.size === this.hashes.length) this.#grow();
    return place;
  }

  #grow(): void {
    const hashes = new Int32Array(2 * this.size), slots = new Int32Array(4 * this.size);
    hashes.set(this.hashes);
    const mask = slots.length - 1;
    for (let i = 0; i < this.size; i++) {
      let at = hashes[i] & mask;
      while (slots[at] !== 0) at = at + 1 & mask;
      slots[at] = i + 1;
    }
    this.hashes = hashes;
    this.slots = slots;
  }
}

/** Spreads a hash over its lower bits. */
function spread(h: number): number {
  h = Math.imul(h ^ h >>> 16, 0x85ebca6b);
  h = Math.imul(h ^ h >>> 13, 0xc2b2ae35 | 0);
  return h ^ h >>> 16;
}

class TextIndex implements KeyIndex {
  readonly #slots = new Slots();
  readonly #keys: Uint8Array[] = [];

  get size(): number {
    return this.#slots.size;
  }

  #hashOf(bytes: Uint8Array): number {
    let h = this.#slots.seed;
    for (let i = 0; i < bytes.length; i++) h = Math.imul(h ^ bytes[i], 0x01000193);
    return spread(h);
  }

  /** Returns the place of a key, or where it would stand. */
  #slotOf(bytes: Uint8Array, hash: number): number {
    const { slots, hashes } = this.#slots, mask = slots.length - 1, n = bytes.length;
    let at = hash & mask;
    for (; slots[at] !== 0; at = at + 1 & mask) {
      const place = slots[at] - 1;
      if (hashes[place] !== hash) continue;
      const key = this.#keys[place];
      if (key.length !== n) continue;
      let i = 0;
      while (i < n && key[i] === bytes[i]) i++;
      if (i === n) break;
    }
    return at;
  }

  find(data: HostData, count: number): Int32Array {
    const found = new Int32Array(count), { slots } = this.#slots, texts = data as Uint8Array[];
    for (let i = 0; i < count; i++) {
      found[i] = slots[this.#slotOf(texts[i], this.#hashOf(texts[i]))] - 1;
    }
    return found;
  }

  add(data: HostData, i: number): number {
    const bytes = data[i] as Uint8Array, hash = this.#hashOf(bytes);
    const slot = this.#slotOf(bytes, hash), place = this.#slots.slots[slot] - 1;
    if (place >= 0) return place;
    this.#keys.push(bytes);
    return this.#slots.put(slot, hash);
  }

  keys(): HostData {
    return [...this.#keys];
  }
}

/** Integers of 64 bits, as halves: as `bigint`s each takes memory. */
class WholeIndex implements KeyIndex {
  readonly #slots = new Slots();
  readonly #dtype: DType;
  #keys = new Int32Array(16);

  constructor(dtype: DType) {
    this.#dtype = dtype;
  }

  get size(): number {
    return this.#slots.size;
  }

  #hashOf(low: number, high: number): number {
    return spread(Math.imul(high ^ this.#slots.seed, 0x9e3779b1 | 0) ^ spread(low));
  }

  #slotOf(low: number, high: number, hash: number): number {
    const { slots } = this.#slots, mask = slots.length - 1, keys = this.#keys;
    let at = hash & mask;
    for (; slots[at] !== 0; at = at + 1 & mask) {
      const place = 2 * (slots[at] - 1);
      if (keys[place] === low && keys[place + 1] === high) break;
    }
    return at;
  }

  find(data: HostData, count: number): Int32Array {
    const found = new Int32Array(count), halves = halvesOf(data), { slots } = this.#slots;
    for (let i = 0; i < count; i++) {
      const low = halves[2 * i], high = halves[2 * i + 1];
      found[i] = slots[this.#slotOf(low, high, this.#hashOf(low, high))] - 1;
    }
    return found;
  }

  add(data: HostData, i: number): number {
    const [low, high] = halvesOf(data).subarray(2 * i, 2 * i + 2), hash = this.#hashOf(low, high);
    const slot = this.#slotOf(low, high, hash), place = this.#slots.slots[slot] - 1;
    if (place >= 0) return place;
    const end = 2 * this.size;
    if (end === this.#keys.length) {
      const keys = new Int32Array(2 * end);
      keys.set(this.#keys);
      this.#keys = keys;
    }
    this.#keys[end] = low;
    this.#keys[end + 1] = high;
    return this.#slots.put(slot, hash);
  }

  keys(): HostData {
    const data = makeData(this.#dtype, this.size);
    halvesOf(data).set(this.#keys.subarray(0, 2 * this.size));
    return data;
  }
}

/** Views integers of 64 bits as their halves, the lower one first. */
function halvesOf(data: HostData): Int32Array {
  const { buffer, byteOffset, length } = data as BigInt64Array;
  return new Int32Array(buffer, byteOffset, 2 * length);
}

class NumberIndex implements KeyIndex {
  readonly #places = new Map<unknown, number>();
  readonly #dtype: DType;

  constructor(dtype: DType) {
    this.#dtype = dtype;
  }

  get size(): number {
    return this.#places.size;
  }

  find(data: HostData, count: number): Int32Array {
    const found = new Int32Array(count), places = this.#places;
    for (let i = 0; i < count; i++) found[i] = places.get(data[i]) ?? -1;
    return found;
  }

  add(data: HostData, i: number): number {
    const key = data[i], { size } = this.#places, place = this.#places.get(key);
    if (place !== undefined) return place;
    this.#places.set(key, size);
    return size;
  }

  keys(): HostData {
    const data = makeData(this.#dtype, this.size) as { [i: number]: unknown };
    let i = 0;
    for (const key of this.#places.keys()) data[i++] = key;
    return data as HostData;
  }
}

/** Makes an index without keys. */
export function keyIndexOf(dtype: DType): KeyIndex {
  if (dtype === "string") return new TextIndex();
  return isBigInt(dtype) ? new WholeIndex(dtype) : new NumberIndex(dtype);
}
