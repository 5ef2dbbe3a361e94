/** Bytes that are read one after another: those of a file, whose large parts can be left for later, or of a stream. */
import { DataLossError } from "../../engine/core/errors.ts";
import { concatBytes } from "../../library/io/bytes.ts";
import type { SizedFile } from "../../library/io/random_access.ts";

/** Bytes that are read when they are wanted, once. */
export interface LaterBytes {
  readonly length: number;
  /** Reads them; `room` gives memory for so many, where they need not have their own. */
  read(room?: (length: number) => Uint8Array): Promise<Uint8Array>;
  /** Frees memory of what was read, which nothing uses any more. */
  readonly free?: (bytes: Uint8Array) => void;
}

/** The source of a flow. */
interface Spring {
  /** Returns the next bytes; null at the end. */
  pull(): Promise<Uint8Array | null>;
  /** Goes on after `end`, and returns the bytes before it for later; absent where the source cannot skip. */
  readonly skip?: (start: number, end: number) => LaterBytes;
}

/** Bytes of a file that are read at once. */
const WINDOW = 1 << 18;

/** Reads bytes in order. */
export class ByteFlow {
  readonly #spring: Spring;
  #held: Uint8Array = new Uint8Array();
  #position = 0;

  /** Number of bytes of the whole source; 0 where it is unknown. */
  readonly #size: number;

  private constructor(spring: Spring, size: number) {
    this.#spring = spring;
    this.#size = size;
  }

  /** Reads a file of known size; parts for later are read from it then. */
  static ofFile(file: SizedFile): ByteFlow {
    const { size, readInto } = file;
    let at = 0;
    return new ByteFlow({
      async pull() {
        const length = Math.min(WINDOW, size - at);
        if (length === 0) return null;
        at += length;
        return await file.read(at - length, length);
      },
      skip(start, end) {
        if (end > size) throw ended(end, size);
        at = end;
        const length = end - start;
        const read = async (room?: (length: number) => Uint8Array): Promise<Uint8Array> => {
          if (room === undefined || !readInto) return await file.read(start, length);
          const into = room(length);
          await readInto(start, into);
          return into;
        };
        return { length, read };
      },
    }, size);
  }

  /** Reads a stream, of so many bytes if that is known; parts for later are held until they are read. */
  static ofStream(pull: Spring["pull"], size: number | null = null): ByteFlow {
    return new ByteFlow({ pull }, size ?? 0);
  }

  /** Number of bytes before the next one. */
  get position(): number {
    return this.#position;
  }

  /** Returns the next bytes without taking them: at least so many, fewer at the end. */
  async peek(least: number): Promise<Uint8Array> {
    while (this.#held.length < least) {
      const more = await this.#spring.pull();
      if (more === null) break;
      this.#held = this.#held.length === 0 ? more : concatBytes([this.#held, more]);
    }
    return this.#held;
  }

  /** Takes bytes. Rejects with `DataLossError` where the source ends before. */
  async take(length: number): Promise<Uint8Array> {
    if (length <= this.#held.length) return this.#drop(length);
    // Memory that the source may not have bytes for is not allocated: a damaged file may name any length.
    if (this.#position + length > this.#size) return await this.#gather(length);
    const out = new Uint8Array(length);
    for (let at = 0; at < length;) {
      const part = await this.#next(length - at);
      out.set(part, at);
      at += part.length;
    }
    return out;
  }

  async #gather(length: number): Promise<Uint8Array> {
    const parts: Uint8Array[] = [];
    for (let left = length; left > 0;) {
      const part = await this.#next(left);
      left -= part.length;
      parts.push(part);
    }
    return concatBytes(parts);
  }

  /** Takes one byte at least. */
  async #next(most: number): Promise<Uint8Array> {
    const held = this.#held.length > 0 ? this.#held : await this.peek(1);
    if (held.length === 0) throw ended(this.#position + most, this.#position);
    return this.#drop(Math.min(most, held.length));
  }

  #drop(count: number): Uint8Array {
    const part = this.#held.subarray(0, count);
    this.#held = this.#held.subarray(count);
    this.#position += count;
    return part;
  }

  /** Takes bytes that are read later. Rejects as {@linkcode take} does. */
  async later(length: number): Promise<LaterBytes> {
    const { skip } = this.#spring, end = this.#position + length;
    if (skip === undefined) {
      const taken = await this.take(length);
      // A view would hold what came with it.
      let bytes: Uint8Array | null = taken.buffer.byteLength === length ? taken : taken.slice();
      return {
        length,
        read: () => {
          const given = bytes!;
          bytes = null;
          return Promise.resolve(given);
        },
        // Its collection would come late: half of a large file would wait for it.
        free: ({ buffer }) => void (buffer as { transfer?: (bytes: number) => void }).transfer?.(0),
      };
    }
    const start = this.#position;
    if (length <= this.#held.length) this.#held = this.#held.subarray(length);
    else this.#held = new Uint8Array();
    this.#position = end;
    if (this.#held.length === 0) return skip(start, end);
    const at = end + this.#held.length, bytes = skip(start, end);
    // What is held is not read again.
    skip(at, at);
    return bytes;
  }
}

function ended(wanted: number, size: number): DataLossError {
  return new DataLossError(`Cannot read ${wanted} bytes: there are ${size}`);
}
