/** ByteStream: bytes of a path, a URL, a blob or an array, read piece by piece, decompressed on the way. */
import { describe } from "../../engine/core/convert.ts";
import {
  DataLossError,
  NotFoundError,
  UnavailableError,
  ValueError,
} from "../../engine/core/errors.ts";
import { type Bytes, concatBytes } from "./bytes.ts";
import { fileChunks } from "./file_system.ts";
import { fetched, isFetched, placeOf } from "./files.ts";

/** A source of bytes: a path, a URL, a `Blob` or `File`, or bytes themselves. */
export type ByteSource = string | URL | Blob | Uint8Array;

/** TensorFlow's name of a file's compression; empty for none. */
export type Compression = "" | "GZIP" | "ZLIB";

const FORMATS = { GZIP: "gzip", ZLIB: "deflate" } as const;

/** Returns the format of a compression. Throws `ValueError` for an unknown one. */
export function compressionFormat(compression: Compression): "gzip" | "deflate" | null {
  if (compression === "") return null;
  const format = FORMATS[compression];
  if (format) return format;
  throw new ValueError(
    `Unknown compression ${describe(compression)}: wanted "GZIP", "ZLIB" or ""`,
  );
}

/** Returns the name of a source in errors. */
export function sourceName(source: ByteSource): string {
  if (typeof source === "string" || source instanceof URL) return String(source);
  if (source instanceof Uint8Array) return `${source.length} bytes`;
  return (source as Partial<File>).name ?? `a blob of ${source.size} bytes`;
}

async function* chunksOf(source: ByteSource, start: number): AsyncGenerator<Uint8Array> {
  if (source instanceof Uint8Array) {
    if (start < source.length) yield source.subarray(start);
  } else if (source instanceof Blob) yield* streamed(source.slice(start).stream(), 0);
  else {
    const place = placeOf(String(source));
    if (isFetched(place)) {
      const { body } = await fetched(place);
      if (body) yield* streamed(body, start);
    } else yield* fileChunks(source, start);
  }
}

/** Yields the pieces of a stream after its first bytes. */
async function* streamed(
  stream: ReadableStream<Uint8Array>,
  skip: number,
): AsyncGenerator<Uint8Array> {
  const reader = stream.getReader();
  let left = skip;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      const from = Math.min(left, value.length);
      left -= from;
      if (from < value.length) yield from === 0 ? value : value.subarray(from);
    }
  } finally {
    await reader.cancel().catch(() => {});
  }
}

async function* decompressed(
  source: ByteSource,
  format: "gzip" | "deflate",
  skip: number,
): AsyncGenerator<Uint8Array> {
  const chunks = chunksOf(source, 0);
  const packed = new ReadableStream<Bytes>({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value as Bytes);
    },
    cancel: async () => void await chunks.return(undefined),
  });
  try {
    yield* streamed(packed.pipeThrough(new DecompressionStream(format)), skip);
  } catch (error) {
    if (error instanceof NotFoundError || error instanceof UnavailableError) throw error;
    throw new DataLossError(
      `Cannot decompress ${sourceName(source)}: its ${format} data are broken or cut off`,
      { cause: error },
    );
  }
}

/** Reads bytes in order: a number of them, or up to a mark. */
export class ByteStream {
  /** Name in errors. */
  readonly name: string;
  readonly #chunks: AsyncGenerator<Uint8Array>;
  #rest: Uint8Array = new Uint8Array();
  #at: number;

  /** Reads a source from `start`, which counts decompressed bytes. The source is opened at the first read. */
  constructor(source: ByteSource, compression: Compression = "", start = 0) {
    const format = compressionFormat(compression);
    this.name = sourceName(source);
    this.#at = start;
    this.#chunks = format === null ? chunksOf(source, start) : decompressed(source, format, start);
  }

  /** Number of bytes read, those before `start` included. */
  get position(): number {
    return this.#at;
  }

  /** Resolves with the next `n` bytes, or fewer at the end: a view of memory that is not written to later. */
  async read(n: number): Promise<Uint8Array> {
    if (this.#rest.length < n) {
      const parts = [this.#rest];
      for (let have = this.#rest.length; have < n;) {
        const { done, value } = await this.#chunks.next();
        if (done) break;
        parts.push(value);
        have += value.length;
      }
      this.#rest = parts.length === 1 ? parts[0] : concatBytes(parts);
    }
    return this.#take(Math.min(n, this.#rest.length));
  }

  /** Resolves with the bytes up to and including a mark, or up to the end; null at the end. */
  async readTo(mark: number): Promise<Uint8Array | null> {
    const parts = [this.#rest];
    let end = this.#rest.indexOf(mark);
    for (let before = this.#rest.length; end < 0;) {
      const { done, value } = await this.#chunks.next();
      if (done) break;
      parts.push(value);
      const at = value.indexOf(mark);
      if (at >= 0) end = before + at;
      before += value.length;
    }
    if (parts.length > 1) this.#rest = concatBytes(parts);
    if (this.#rest.length === 0) return null;
    return this.#take(end < 0 ? this.#rest.length : end + 1);
  }

  async close(): Promise<void> {
    await this.#chunks.return(undefined);
  }

  #take(n: number): Uint8Array {
    const taken = this.#rest.subarray(0, n);
    this.#rest = this.#rest.subarray(n);
    this.#at += n;
    return taken;
  }
}
