/** TFRecord files: records of bytes, each with its length and checksums, as TensorFlow writes them. */
import { showAs } from "../../engine/core/arrays/shown.ts";
import { encodeString } from "../../engine/core/text.ts";
import { DataLossError } from "../../engine/core/errors.ts";
import { optionCheck } from "../../engine/core/arguments.ts";
import { type ByteSource, ByteStream, type Compression, compressionFormat } from "./byte_stream.ts";
import { type Bytes, concatBytes, viewOf } from "./bytes.ts";
import { crc32c, maskCrc } from "./crc.ts";
import type { FileWriter } from "./file_writer.ts";
import { fileWriter } from "./file_system.ts";

/** Bytes of a record's head: its length in 8 bytes, and the length's checksum. */
const HEAD = 12;

/** Options of records. */
export interface TFRecordOptions {
  /** Compression of the file. Default none. */
  readonly compression?: Compression;
}

const checkOptions = optionCheck<TFRecordOptions>("TFRecordWriter", { compression: true });

export class RecordReader {
  readonly #stream: ByteStream;
  #number = 0;

  /** Reads a source from a `position` between records. */
  constructor(source: ByteSource, compression: Compression = "", position = 0) {
    this.#stream = new ByteStream(source, compression, position);
  }

  get position(): number {
    return this.#stream.position;
  }

  /**
   * Resolves with the next record, not copied; null at the end. Rejects with `DataLossError` for one that is cut off or
   * has other checksums.
   */
  async next(): Promise<Uint8Array | null> {
    const start = this.#stream.position;
    const fail = (why: string): never => {
      throw new DataLossError(
        `${why} in ${this.#stream.name} at byte ${start}, record ${this.#number}`,
      );
    };
    const head = await this.#stream.read(HEAD);
    if (head.length === 0) return null;
    if (head.length < HEAD) fail("Truncated record: its length is cut off");
    const view = viewOf(head);
    if (maskCrc(crc32c(head.subarray(0, 8))) !== view.getUint32(8, true)) {
      const isGzip = start === 0 && head[0] === 0x1f && head[1] === 0x8b;
      fail(
        isGzip
          ? 'Cannot read records without `compression: "GZIP"`, as gzip has written the file: the checksum of a length is wrong'
          : "Corrupted record: the checksum of its length is wrong",
      );
    }
    const length = Number(view.getBigUint64(0, true));
    const body = await this.#stream.read(length + 4);
    if (body.length < length + 4) {
      fail(`Truncated record: ${Math.min(body.length, length)} of its ${length} bytes are there`);
    }
    const data = body.subarray(0, length);
    if (maskCrc(crc32c(data)) !== viewOf(body).getUint32(length, true)) {
      fail("Corrupted record: the checksum of its data is wrong");
    }
    this.#number++;
    return data;
  }

  close(): Promise<void> {
    return this.#stream.close();
  }
}

/** Frames a record with its length and checksums. */
export function frameRecord(data: Uint8Array): Bytes {
  const head = new Uint8Array(HEAD), foot = new Uint8Array(4);
  const view = viewOf(head);
  view.setBigUint64(0, BigInt(data.length), true);
  view.setUint32(8, maskCrc(crc32c(head.subarray(0, 8))), true);
  viewOf(foot).setUint32(0, maskCrc(crc32c(data)), true);
  return concatBytes([head, data, foot]);
}

/** Bytes that are collected before a write. */
const WRITTEN_AT_ONCE = 1 << 16;

/** Writes records in the order of the calls, many at a time. */
export class RecordWriter {
  readonly #open: () => Promise<FileWriter>;
  readonly #name: string | URL;
  #sink: Promise<FileWriter> | null = null;
  #parts: Uint8Array[] = [];
  #size = 0;
  #isClosed = false;
  /** Ends when all earlier writes have. */
  #written: Promise<void> = Promise.resolve();

  /** Writes to the file that `open` opens at the first write. */
  constructor(name: string | URL, open: () => Promise<FileWriter>) {
    this.#name = name;
    this.#open = open;
  }

  async write(record: Uint8Array | string): Promise<void> {
    if (this.#isClosed) throw new DataLossError(`Cannot write to ${this.#name}: it was closed`);
    const framed = frameRecord(encodeString(record));
    this.#parts.push(framed);
    this.#size += framed.length;
    if (this.#size >= WRITTEN_AT_ONCE) await this.flush();
  }

  /** Writes the collected bytes. */
  async flush(): Promise<void> {
    this.#sink ??= this.#open();
    const bytes = concatBytes(this.#parts);
    this.#parts = [];
    this.#size = 0;
    const sink = this.#sink;
    const written = this.#written.then(async () => await (await sink).write(bytes));
    this.#written = written.catch(() => {});
    await written;
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    await this.flush().catch(async (error) => {
      await this.drop();
      throw error;
    });
    this.#isClosed = true;
    await (await this.#sink!).close();
  }

  /** Gives the file up. */
  async drop(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#written;
    await (await this.#sink?.catch(() => null))?.drop();
  }
}

/** Opens a file of records that replaces one of its path when it is closed. Throws `ValueError` for an unknown compression. */
export function recordFile(path: string | URL, compression: Compression = ""): RecordWriter {
  const format = compressionFormat(compression);
  return new RecordWriter(path, async () => {
    const file = await (await fileWriter()).openReplacement(path);
    return format === null ? file : compressed(file, format);
  });
}

function compressed(file: FileWriter, format: "gzip" | "deflate"): FileWriter {
  const stream = new CompressionStream(format);
  const writer = stream.writable.getWriter();
  const written = (async () => {
    for await (const part of stream.readable) await file.write(part);
  })();
  // Told by the next write or by close().
  written.catch(() => {});
  return {
    write: (bytes) => Promise.race([writer.write(bytes as Bytes), written]),
    async close() {
      try {
        await writer.close();
        await written;
      } catch (error) {
        await file.drop();
        throw error;
      }
      await file.close();
    },
    async drop() {
      await writer.abort().catch(() => {});
      await written.catch(() => {});
      await file.drop();
    },
  };
}

/**
 * Writes records to a file, which TensorFlow's `TFRecordDataset` and `tf.data.tfrecord` read. `close()` ends the file; so does the end of
 * an `await using` block. An earlier file stays until then. Rejects with `NotFoundError` where the folder does not exist. Follows TensorFlow `tf.io.TFRecordWriter`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const path = await Deno.makeTempFile();
 * await using writer = new tf.io.TFRecordWriter(path);
 * await writer.write("one");
 * await writer.write(Uint8Array.of(1, 2));
 * await writer.close();
 * console.log((await tf.data.tfrecord(path).toArray()).length); // 2
 * await Deno.remove(path);
 * ```
 */
export class TFRecordWriter implements AsyncDisposable {
  readonly #file: RecordWriter;
  readonly #path: string;

  /** Writes to a path, replacing an earlier file. Throws `ValueError` for an unknown compression. */
  constructor(path: string | URL, options: TFRecordOptions = {}) {
    checkOptions(options);
    this.#path = String(path);
    this.#file = recordFile(path, options.compression);
  }

  /** Adds a record: bytes, or a string in UTF-8. Records are written in the order of the calls. */
  write(record: Uint8Array | string): Promise<void> {
    return this.#file.write(record);
  }

  /** Writes the collected bytes to the disk, where the file gets its name by `close()`. */
  flush(): Promise<void> {
    return this.#file.flush();
  }

  /** Closes the file, which takes its place. Rejects where a write has failed: an earlier file then stays. */
  close(): Promise<void> {
    return this.#file.close();
  }

  /** Closes the file at the end of an `await using` block. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  /** Formats it for `console.log`. */
  toString(): string {
    return `<tf.io.TFRecordWriter of ${JSON.stringify(this.#path)}>`;
  }
}
showAs(TFRecordWriter);
