/**
 * Several buffers seen as one: models may be larger than one buffer can be.
 */

/** Bytes, in a buffer of their own or as a view. */
export type BytesLike = ArrayBuffer | ArrayBufferView<ArrayBuffer>;

/** Several buffers seen as one. */
export class CompositeArrayBuffer {
  /** Bytes of all. */
  readonly byteLength: number;
  readonly #shards: readonly Uint8Array<ArrayBuffer>[];
  /** Where each shard begins. */
  readonly #starts: readonly number[];

  /** Over these buffers; none is copied. */
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

  /** All bytes in one buffer. */
  static join(buffers?: BytesLike | readonly BytesLike[]): ArrayBuffer {
    return new CompositeArrayBuffer(buffers).slice();
  }

  /** A copy of the bytes from `start` up to `end`; both are kept within what there is. */
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
  return ArrayBuffer.isView(value)
    ? new Uint8Array(value.buffer, value.byteOffset, value.byteLength)
    : new Uint8Array(value);
}

/** An index within the bytes; NaN counts as 0. */
function within(index: number, length: number): number {
  return Math.max(0, Math.min(Number(index) || 0, length));
}

/**
 * Where in a sorted list `compare` gives 0: positive means further on. `-i - 1` where it is nowhere, with `i` the place where it
 * would be.
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
