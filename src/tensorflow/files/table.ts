/**
 * Sorted tables of keys and values, in LevelDB's format: the index of a checkpoint. Follows LevelDB's
 * `table_format.md`; blocks are not compressed, as TensorFlow writes them.
 */
import { DataLossError, UnimplementedError } from "../../engine/core/errors.ts";
import { ByteWriter } from "./byte_writer.ts";
import { crc32c, maskCrc } from "../../library/io/crc.ts";

/** The last bytes of a table: the low and the high half of LevelDB's number. */
const MAGIC = [0x8b80fb57, 0xdb477524] as const;
const FOOTER = 48;
/** Bytes after each block: its compression and its checksum. */
const TRAILER = 5;
/** TensorFlow's `table_options.h`. */
const BLOCK_SIZE = 262144, RESTART_INTERVAL = 16;

export interface TableEntry {
  readonly key: Uint8Array;
  readonly value: Uint8Array;
}

interface Handle {
  readonly offset: number;
  readonly size: number;
}

/** Reads all entries in order. Throws `DataLossError` naming the file where it is damaged. */
export function readTable(bytes: Uint8Array, file: string): TableEntry[] {
  const reader = new Reader(bytes, file);
  return reader.entries();
}

class Reader {
  readonly #bytes: Uint8Array;
  readonly #file: string;

  constructor(bytes: Uint8Array, file: string) {
    this.#bytes = bytes;
    this.#file = file;
  }

  entries(): TableEntry[] {
    const out: TableEntry[] = [];
    let last: Uint8Array | null = null;
    let end = 0;
    for (const { value } of this.#block(this.#index())) {
      const handle = this.#handle(value);
      // Blocks stand one after the other: a small file could else name one block many times.
      if (handle.offset < end) throw this.#damaged("its blocks overlap");
      end = handle.offset + handle.size + TRAILER;
      for (const entry of this.#block(handle)) {
        if (last !== null && compareBytes(last, entry.key) >= 0) {
          throw this.#damaged("its keys are not in order");
        }
        last = entry.key;
        out.push(entry);
      }
    }
    return out;
  }

  #index(): Handle {
    const n = this.#bytes.length;
    if (n < FOOTER) throw this.#damaged(`it has ${n} bytes, a footer alone takes ${FOOTER}`);
    const view = new DataView(this.#bytes.buffer, this.#bytes.byteOffset + n - 8, 8);
    if (MAGIC.some((half, k) => view.getUint32(4 * k, true) !== half)) {
      throw this.#damaged("it does not end as a table does");
    }
    const footer = new Cursor(
      this.#bytes.subarray(n - FOOTER, n - 8),
      () => this.#damaged("its footer cannot be read"),
    );
    footer.varint(), footer.varint();
    return { offset: footer.varint(), size: footer.varint() };
  }

  #handle(value: Uint8Array): Handle {
    const cursor = new Cursor(value, () => this.#damaged("the place of a block cannot be read"));
    return { offset: cursor.varint(), size: cursor.varint() };
  }

  #block({ offset, size }: Handle): TableEntry[] {
    const end = offset + size;
    if (end + TRAILER > this.#bytes.length) throw this.#damaged("a block ends beyond it");
    const stored = new DataView(this.#bytes.buffer, this.#bytes.byteOffset + end + 1, 4)
      .getUint32(0, true);
    if (maskCrc(crc32c(this.#bytes.subarray(offset, end + 1))) !== stored) {
      throw this.#damaged("the checksum of a block is wrong");
    }
    if (this.#bytes[end] !== 0) {
      throw new UnimplementedError(
        `Cannot read ${this.#file}: its blocks are compressed (kind ${
          this.#bytes[end]
        }), only plain ones are read`,
      );
    }
    return this.#entries(this.#bytes.subarray(offset, end));
  }

  #entries(block: Uint8Array): TableEntry[] {
    const short = (): DataLossError => this.#damaged("a block is too short");
    if (block.length < 4) throw short();
    const restarts = new DataView(block.buffer, block.byteOffset + block.length - 4, 4)
      .getUint32(0, true);
    const end = block.length - 4 - 4 * restarts;
    if (end < 0) throw short();
    const cursor = new Cursor(block.subarray(0, end), short);
    const out: TableEntry[] = [];
    let key = new Uint8Array();
    while (!cursor.isAtEnd) {
      const shared = cursor.varint(), own = cursor.varint(), length = cursor.varint();
      if (shared > key.length) throw this.#damaged("a key shares more than there is");
      const suffix = cursor.take(own);
      const next = new Uint8Array(shared + own);
      next.set(key.subarray(0, shared));
      next.set(suffix, shared);
      key = next;
      out.push({ key, value: cursor.take(length) });
    }
    return out;
  }

  #damaged(problem: string): DataLossError {
    return new DataLossError(`Cannot read ${this.#file}: ${problem}`);
  }
}

/** A sequential reader of numbers and bytes. */
export class Cursor {
  readonly #bytes: Uint8Array;
  readonly #short: () => Error;
  #at = 0;

  /** Reads bytes; `short` makes the error for an early end. */
  constructor(bytes: Uint8Array, short: () => Error) {
    this.#bytes = bytes;
    this.#short = short;
  }

  /** True after the last byte. */
  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  /** Number of bytes left. */
  get left(): number {
    return this.#bytes.length - this.#at;
  }

  /** Reads an unsigned number of up to 53 bits in groups of seven bits. */
  varint(): number {
    let value = 0, scale = 1;
    for (let k = 0; k < 8; k++) {
      const byte = this.#bytes[this.#at++];
      if (byte === undefined) throw this.#short();
      value += (byte & 127) * scale;
      if (byte < 128) return value;
      scale *= 128;
    }
    throw this.#short();
  }

  /** Reads the next bytes, not copied. */
  take(n: number): Uint8Array {
    if (n > this.left) throw this.#short();
    this.#at += n;
    return this.#bytes.subarray(this.#at - n, this.#at);
  }
}

/** Encodes a table. Entries must be sorted by their keys' bytes. */
export function writeTable(entries: readonly TableEntry[]): Uint8Array<ArrayBuffer> {
  const file = new ByteWriter();
  const index: TableEntry[] = [];
  let block = new BlockWriter(RESTART_INTERVAL);
  const flush = (): void => {
    if (block.isEmpty) return;
    index.push({ key: block.lastKey, value: handleBytes(putBlock(file, block)) });
    block = new BlockWriter(RESTART_INTERVAL);
  };
  for (const entry of entries) {
    block.add(entry);
    if (block.size >= BLOCK_SIZE) flush();
  }
  flush();
  const meta = putBlock(file, new BlockWriter(RESTART_INTERVAL));
  const indexBlock = new BlockWriter(1);
  for (const entry of index) indexBlock.add(entry);
  const at = putBlock(file, indexBlock);
  const footer = new ByteWriter();
  footer.put(handleBytes(meta));
  footer.put(handleBytes(at));
  footer.put(new Uint8Array(FOOTER - 8 - footer.length));
  file.put(footer.bytes);
  for (const half of MAGIC) file.fixed32(half);
  return file.bytes;
}

function handleBytes({ offset, size }: Handle): Uint8Array {
  const out = new ByteWriter();
  out.varint(offset);
  out.varint(size);
  return out.bytes;
}

function putBlock(file: ByteWriter, block: BlockWriter): Handle {
  const offset = file.length;
  const bytes = block.finish();
  file.put(bytes);
  file.byte(0);
  file.fixed32(maskCrc(crc32c(Uint8Array.of(0), crc32c(bytes))));
  return { offset, size: bytes.length };
}

/** Writes a block: each key holds only its difference from the one before it, except at restarts. */
class BlockWriter {
  readonly #out = new ByteWriter();
  readonly #restarts: number[] = [0];
  readonly #interval: number;
  #count = 0;
  #last = new Uint8Array();

  constructor(interval: number) {
    this.#interval = interval;
  }

  get isEmpty(): boolean {
    return this.#count === 0;
  }
  get size(): number {
    return this.#out.length;
  }
  get lastKey(): Uint8Array {
    return this.#last;
  }

  add({ key, value }: TableEntry): void {
    const isRestart = this.#count % this.#interval === 0;
    if (isRestart && this.#count > 0) this.#restarts.push(this.#out.length);
    const shared = isRestart ? 0 : sharedLength(this.#last, key);
    this.#out.varint(shared);
    this.#out.varint(key.length - shared);
    this.#out.varint(value.length);
    this.#out.put(key.subarray(shared));
    this.#out.put(value);
    this.#last = Uint8Array.from(key);
    this.#count++;
  }

  finish(): Uint8Array {
    for (const at of this.#restarts) this.#out.fixed32(at);
    this.#out.fixed32(this.#restarts.length);
    return this.#out.bytes;
  }
}

function sharedLength(a: Uint8Array, b: Uint8Array): number {
  let n = 0;
  while (n < a.length && n < b.length && a[n] === b[n]) n++;
  return n;
}

/** Compares by bytes: negative, zero or positive. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const n = sharedLength(a, b);
  return n < a.length && n < b.length ? a[n] - b[n] : a.length - b.length;
}
