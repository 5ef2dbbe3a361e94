/** Several buffers viewed as one: models may be larger than one buffer can be. */

import { wrongArgument } from "../../../engine/core/arguments.ts";

/** Bytes, in a buffer of their own or as a view. */
export type BytesLike = ArrayBuffer | ArrayBufferView<ArrayBuffer>;

export class CompositeArrayBuffer {
  /** Number of bytes of all buffers. */
  readonly byteLength: number;
  readonly #shards: readonly Uint8Array<ArrayBuffer>[];
  /** Offset of each shard. */
  readonly #starts: readonly number[];

  /** Views these buffers, without a copy. */
  constructor(buffers?: BytesLike | readonly BytesLike[] | CompositeArrayBuffer | null) {
    const list = buffers === undefined || buffers === null
      ? []
      : buffers instanceof CompositeArrayBuffer
      ? buffers.#shards
      : [buffers as BytesLike | readonly BytesLike[]].flat();
    this.#shards = list.map(bytesOf).filter(({ length }) => length > 0);
    let at = 0;
    this.#starts = this.#shards.map(({ length }) => (at += length) - length);
    this.byteLength = at;
  }

  /** Joins bytes in one buffer. */
  static join(buffers?: BytesLike | readonly BytesLike[]): ArrayBuffer {
    return new CompositeArrayBuffer(buffers).slice();
  }

  /** Copies the bytes from `start` to `end`; both are clamped. */
  slice(start = 0, end: number = this.byteLength): ArrayBuffer {
    const from = within(start, this.byteLength);
    const to = Math.max(from, within(end, this.byteLength));
    const out = new Uint8Array(to - from);
    for (let i = this.#shardAt(from); i < this.#shards.length && this.#starts[i] < to; i++) {
      const begin = this.#starts[i];
      const part = this.#shards[i].subarray(Math.max(0, from - begin), to - begin);
      out.set(part, Math.max(0, begin - from));
    }
    return out.buffer;
  }

  #shardAt(byte: number): number {
    const after = search(this.#starts, (start) => start <= byte ? 1 : -1);
    return Math.max(0, (after < 0 ? -after - 1 : after) - 1);
  }
}

function bytesOf(value: BytesLike): Uint8Array<ArrayBuffer> {
  if (typeof value === "symbol" || typeof value === "bigint") {
    throw wrongArgument(value, "buffers[]", "concatenateArrayBuffers", "an ArrayBuffer");
  }
  return ArrayBuffer.isView(value)
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : new Uint8Array(value);
}

/** Clamps an index to the bytes; NaN counts as 0. */
function within(index: number, length: number): number {
  return Math.max(0, Math.min(Number(index) || 0, length));
}

/**
 * Searches a sorted list for the place where `compare` gives 0: positive means further on. Returns `-i - 1` where there
 * is none, with `i` the place to insert at.
 */
export function search<T>(sortedArray: readonly T[], compare: (t: T) => number): number {
  let low = 0, high = sortedArray.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const side = compare(sortedArray[middle]);
    if (side === 0) return middle;
    if (side > 0) low = middle + 1;
    else high = middle;
  }
  return -low - 1;
}
