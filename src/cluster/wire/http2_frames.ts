/** Frames of HTTP/2, RFC 9113: their kinds and heads, and the reader that splits a connection's bytes into them. */
import { DataLossError } from "../../engine/core/errors.ts";
import { concatBytes } from "../../library/io/bytes.ts";

/** The first bytes of a client's connection. */
export const PREFACE: Uint8Array = new TextEncoder().encode("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
/** Kinds of frames. */
export const DATA = 0, HEADERS = 1, RESET = 3, SETTINGS = 4, PUSH = 5, PING = 6, GOAWAY = 7;
/** More kinds of frames. */
export const WINDOW_UPDATE = 8, CONTINUATION = 9;
/** Flags of frames. */
export const END_STREAM = 1, ACK = 1, END_HEADERS = 4, PADDED = 8, PRIORITY = 32;
/** Identifiers of settings. */
export const ENABLE_PUSH = 2, CONCURRENT_STREAMS = 3, INITIAL_WINDOW = 4, MAX_FRAME = 5;

/** The largest frame of bytes that is taken: larger frames mean less work. */
export const MAX_FRAME_TAKEN: number = 1 << 20;
const FRAME_HEAD = 9;
/**
 * Most bytes of a frame without data or with padding, and of a block of headers with the heads of its frames: they are kept
 * until they are whole.
 */
const MAX_CONTROL = 1 << 16;
/** Size below which neighbouring parts are copied into one write. */
const SMALL = 1 << 16;

/** A frame's head without its length. */
export interface FrameHead {
  readonly kind: number;
  readonly flags: number;
  /** Its stream; 0 for the connection. */
  readonly id: number;
}

/** A frame that is neither data nor headers. */
export interface ControlFrame extends FrameHead {
  /** The bytes after its head. */
  readonly body: Uint8Array;
}

/** Callbacks of a frame reader. */
export interface FrameSink {
  /** Bytes of a stream, as they come, and how many of its window they take. */
  data(id: number, bytes: Uint8Array, size: number): void;
  /** No more bytes of a stream come. */
  dataEnd(id: number): void;
  /** A whole block of headers. */
  headers(id: number, block: Uint8Array, isEnd: boolean): void;
  /** A frame of bytes that has none. */
  empty(): void;
  /** Any other frame. */
  control(frame: ControlFrame): void;
}

export function frameHead({ kind, flags, id }: FrameHead, length: number): Uint8Array {
  const head = new Uint8Array(FRAME_HEAD);
  head[0] = length >> 16;
  head[1] = length >> 8;
  head[2] = length;
  head[3] = kind;
  head[4] = flags;
  new DataView(head.buffer).setUint32(5, id);
  return head;
}

/** Encodes 32-bit numbers as the body of a frame. */
export function words(...values: readonly number[]): Uint8Array {
  const body = new DataView(new ArrayBuffer(4 * values.length));
  values.forEach((value, i) => body.setUint32(4 * i, value));
  return new Uint8Array(body.buffer);
}

export function settingsBody(settings: readonly (readonly [number, number])[]): Uint8Array {
  const body = new DataView(new ArrayBuffer(6 * settings.length));
  settings.forEach(([id, value], i) => {
    body.setUint16(6 * i, id);
    body.setUint32(6 * i + 2, value);
  });
  return new Uint8Array(body.buffer);
}

/** Splits the bytes of a connection into frames: DATA is passed on as it comes, other frames when they are whole. */
export class FrameReader {
  readonly #sink: FrameSink;
  readonly #head = new Uint8Array(FRAME_HEAD);
  #prefaceAt: number;
  #headAt = 0;
  /** Number of frames that have been read. */
  #ended = 0;
  /** State of the current frame: the bytes still to come, and the kept bytes of one that must be whole. */
  #left = 0;
  #body: Uint8Array | null = null;
  /** A block of headers that continues in the next frame. */
  #block:
    | { readonly id: number; readonly isEnd: boolean; readonly parts: Uint8Array[]; size: number }
    | null = null;

  /** Creates a reader; `wantsPreface`: the other end is a client. */
  constructor(wantsPreface: boolean, sink: FrameSink) {
    this.#prefaceAt = wantsPreface ? 0 : PREFACE.length;
    this.#sink = sink;
  }

  /**
   * Reads a chunk from a place on, until `frames` frames have ended or `isOver`; returns the place that it has come to. Throws
   * `DataLossError` for bytes that are no HTTP/2.
   */
  read(
    chunk: Uint8Array,
    { from, frames, isOver }: {
      readonly from: number;
      readonly frames: number;
      readonly isOver: () => boolean;
    },
  ): number {
    const last = this.#ended + frames;
    let at = from;
    while (at < chunk.length && this.#ended < last && !isOver()) {
      if (this.#prefaceAt < PREFACE.length) {
        if (chunk[at++] !== PREFACE[this.#prefaceAt++]) throw new DataLossError("it is no HTTP/2");
        continue;
      }
      if (this.#headAt < FRAME_HEAD) {
        this.#head[this.#headAt++] = chunk[at++];
        if (this.#headAt === FRAME_HEAD) this.#begin();
        continue;
      }
      const part = chunk.subarray(at, at + this.#left);
      at += part.length;
      this.#left -= part.length;
      if (this.#body === null) this.#sink.data(this.#id, part, part.length);
      else this.#body.set(part, this.#body.length - this.#left - part.length);
      if (this.#left === 0) this.#end();
    }
    return at;
  }

  /** True for a frame without bytes that does not end a stream either. */
  get #isEmpty(): boolean {
    const [a, b, c, , flags] = this.#head;
    return (a | b | c) === 0 && (flags & END_STREAM) === 0;
  }
  get #kind(): number {
    return this.#head[3];
  }
  get #flags(): number {
    return this.#head[4];
  }
  get #id(): number {
    return new DataView(this.#head.buffer).getUint32(5) & 0x7fffffff;
  }

  #begin(): void {
    const [a, b, c] = this.#head, length = a << 16 | b << 8 | c;
    const isPlain = this.#kind === DATA && (this.#flags & PADDED) === 0;
    if (length > (isPlain ? MAX_FRAME_TAKEN : MAX_CONTROL)) {
      throw new DataLossError(`A frame of ${length} bytes is too long`);
    }
    if (this.#block !== null && this.#kind !== CONTINUATION) {
      throw new DataLossError("Headers are cut off");
    }
    this.#left = length;
    this.#body = isPlain ? null : new Uint8Array(length);
    if (length === 0) this.#end();
  }

  #end(): void {
    const body = this.#body, kind = this.#kind, flags = this.#flags, id = this.#id;
    this.#headAt = 0;
    this.#ended++;
    this.#body = null;
    if (kind === DATA) {
      if (this.#isEmpty) this.#sink.empty();
      if (body !== null) {
        this.#sink.data(id, body.subarray(1, Math.max(1, body.length - body[0])), body.length);
      }
      if (flags & END_STREAM) this.#sink.dataEnd(id);
    } else if (kind === HEADERS) {
      const from = (flags & PADDED ? 1 : 0) + (flags & PRIORITY ? 5 : 0);
      const part = body!.subarray(from, body!.length - (flags & PADDED ? body![0] : 0));
      this.#block = { id, isEnd: (flags & END_STREAM) !== 0, parts: [part], size: 0 };
      if (flags & END_HEADERS) this.#endBlock();
    } else if (kind === CONTINUATION) this.#goOn(id, flags, body!);
    else this.#sink.control({ kind, flags, id, body: body! });
  }

  #goOn(id: number, flags: number, part: Uint8Array): void {
    const block = this.#block;
    if (block?.id !== id) throw new DataLossError("Headers are out of order");
    block.parts.push(part);
    // The heads count too: else frames without bytes would never reach the limit.
    block.size += FRAME_HEAD + part.length;
    if (block.size > MAX_CONTROL) {
      throw new DataLossError("Headers are too long");
    }
    if (flags & END_HEADERS) this.#endBlock();
  }

  #endBlock(): void {
    const { id, isEnd, parts } = this.#block!;
    this.#block = null;
    this.#sink.headers(id, parts.length === 1 ? parts[0] : concatBytes(parts), isEnd);
  }
}

/** Yields the same bytes with small neighbouring parts joined. */
export function* joined(parts: readonly Uint8Array[]): Generator<Uint8Array> {
  for (let i = 0; i < parts.length;) {
    let end = i, length = 0;
    while (end < parts.length && parts[end].length < SMALL) length += parts[end++].length;
    if (end === i) {
      yield parts[i++];
      continue;
    }
    const out = new Uint8Array(length);
    for (let at = 0; i < end; at += parts[i++].length) out.set(parts[i], at);
    yield out;
  }
}
