/**
 * HTTP/2 as gRPC uses it: streams of headers, bytes and trailers over one connection, with flow control. RFC 9113. Deno's own module ends the
 * process where connections are lost in the middle of calls, and copies each frame once more.
 */
import type { Socket } from "node:net";
import { DataLossError, UnavailableError } from "../core/errors.ts";
import { concatBytes } from "../io/bytes.ts";
import { HeaderReader, type Headers, writeHeaders } from "./hpack.ts";

/** What a stream tells. */
export interface StreamEvents {
  /** Headers, or trailers where `isEnd`. */
  headers(headers: ReadonlyMap<string, string>, isEnd: boolean): void;
  /** Bytes, which are overwritten by nobody. */
  data(bytes: Uint8Array): void;
  /** The other end sends no more. */
  end(): void;
  /** The stream is lost: nothing comes any more, and nothing can be sent. */
  lost(why: Error): void;
}

/** How a connection is run. */
export interface ConnectionOptions {
  /** The server's end: called for each stream that the other end opens; gives who hears of it. */
  readonly accept?: (stream: Http2Stream) => StreamEvents;
  /** The connection is of no use from now on; calls on their way may go on where `isLost` is false. */
  readonly gone: (why: Error, isLost: boolean) => void;
}

const PREFACE = new TextEncoder().encode("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
const FRAME_HEAD = 9;
/** Kinds of frames. */
const DATA = 0, HEADERS = 1, RESET = 3, SETTINGS = 4, PING = 6, GOAWAY = 7, WINDOW_UPDATE = 8;
const PUSH = 5, CONTINUATION = 9;
/** Flags of frames. */
const END_STREAM = 1, ACK = 1, END_HEADERS = 4, PADDED = 8, PRIORITY = 32;
/** Settings. */
const ENABLE_PUSH = 2, INITIAL_WINDOW = 4, MAX_FRAME = 5;
/** Reasons. */
const NO_ERROR = 0, PROTOCOL_ERROR = 1, CANCEL = 8;

/** What both ends begin with. */
const FIRST_WINDOW = 65_535, FIRST_MAX_FRAME = 16_384;
/** Bytes that may be on their way before the reader says that it has read: a batch of images should not wait for that. */
const WINDOW = 16 << 20;
/** The largest frame of bytes that is taken: the fewer, the less work. */
const MAX_FRAME_TAKEN = 1 << 20;
/** Bytes of frames that are no data, and of headers: they are kept until they are whole. */
const MAX_CONTROL = 1 << 16;
/** Bytes of one write: more take longer to be copied than to be sent. */
const CHUNK = 1 << 18;
/** Frames whose bytes are copied into one write with others, rather than written by themselves. */
const SMALL = 1 << 16;
/** Bytes that may wait to be sent: data is sent only while there is room, what answers frames is small. */
const MOST_UNSENT = 16 << 20;
/** Silence after which a connection is probed. */
const KEEP_ALIVE_MS = 30_000;
/** Largest window that a stream may have. */
const MOST_WINDOW = 2 ** 31 - 1;

/** One stream: a call. */
export class Http2Stream {
  readonly id: number;
  readonly #connection: Http2Connection;
  events: StreamEvents | null = null;
  /** Bytes that may be sent, and those received since the other end was last told. */
  window: number;
  received = 0;
  /** Each end has sent all, or the stream is lost. */
  sentEnd = false;
  gotEnd = false;

  /** @internal */
  constructor(connection: Http2Connection, id: number, window: number) {
    this.#connection = connection;
    this.id = id;
    this.window = window;
  }

  /** Sends headers, or trailers where `isEnd`. */
  sendHeaders(headers: Headers, isEnd = false): void {
    this.#connection.sendHeaders(this, headers, isEnd);
  }

  /** Sends bytes as the other end takes them. They must not change. Resolves early where the stream is lost. */
  send(parts: readonly Uint8Array[], isEnd = false): Promise<void> {
    return this.#connection.sendData(this, parts, isEnd);
  }

  /** Ends the call at both ends. */
  reset(code: number = CANCEL): void {
    this.#connection.reset(this, code);
  }

  /** True where nothing more can be sent. */
  get isOver(): boolean {
    return this.sentEnd || this.events === null;
  }
}

/** A connection. */
export class Http2Connection {
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #streams = new Map<number, Http2Stream>();
  readonly #reader = new HeaderReader();
  readonly #head = new Uint8Array(FRAME_HEAD);
  readonly #preface: Uint8Array | null;
  #prefaceAt = 0;
  #headAt = 0;
  /** The frame that is being read: bytes that are still to come, and those of a control frame that came. */
  #left = 0;
  #body: Uint8Array | null = null;
  /** A header block that goes on in the next frame. */
  #block: { readonly stream: number; readonly flags: number; parts: Uint8Array[] } | null = null;
  #lastAccepted = 0;
  #nextId = 1;
  #window = FIRST_WINDOW;
  #firstWindow = FIRST_WINDOW;
  #maxFrame = FIRST_MAX_FRAME;
  #received = 0;
  #out: Uint8Array[] = [];
  #outBytes = 0;
  #flushing = false;
  #isFull = false;
  #waiting: (() => void)[] = [];
  /** Why no new calls are taken, and why nothing can be sent. */
  #going: Error | null = null;
  #lost = false;

  /** Over a socket that is connected or will be. */
  constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    this.#preface = options.accept === undefined ? null : PREFACE;
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    socket.on("data", (chunk: Uint8Array) => this.#read(chunk));
    socket.on("drain", () => {
      this.#isFull = false;
      this.#wake();
    });
    socket.on("error", (error: Error) => this.#lose(error.message));
    socket.on("close", () => this.#lose("the connection was lost"));
    if (this.#preface === null) this.#write([PREFACE]);
    const settings = new DataView(new ArrayBuffer(18));
    [[ENABLE_PUSH, 0], [INITIAL_WINDOW, WINDOW], [MAX_FRAME, MAX_FRAME_TAKEN]].forEach(
      ([id, value], i) => {
        settings.setUint16(6 * i, id);
        settings.setUint32(6 * i + 2, value);
      },
    );
    this.#frame(SETTINGS, 0, 0, [new Uint8Array(settings.buffer)]);
    this.#grant(0, WINDOW - FIRST_WINDOW);
  }

  /** Number of calls on their way. */
  get open(): number {
    return this.#streams.size;
  }

  /** Opens a stream. Throws where the connection is gone. */
  request(headers: Headers, events: StreamEvents): Http2Stream {
    if (this.#going !== null) throw this.#going;
    const stream = this.#add(this.#nextId, events);
    this.#nextId += 2;
    this.sendHeaders(stream, headers, false);
    return stream;
  }

  /** Says that no new calls are taken; those on their way go on. */
  goAway(code: number = NO_ERROR): void {
    const body = new DataView(new ArrayBuffer(8));
    body.setUint32(0, this.#lastAccepted);
    body.setUint32(4, code);
    this.#frame(GOAWAY, 0, 0, [new Uint8Array(body.buffer)]);
  }

  /** Ends it, and the calls on their way. */
  destroy(): void {
    this.#flush();
    this.#lose("the connection was closed");
    this.#socket.destroy();
  }

  /** @internal */
  sendHeaders(stream: Http2Stream, headers: Headers, isEnd: boolean): void {
    if (stream.isOver) return;
    const block = writeHeaders(headers);
    const flags = isEnd ? END_STREAM : 0;
    for (let at = 0, kind = HEADERS;; kind = CONTINUATION) {
      const part = block.subarray(at, at += this.#maxFrame), isLast = at >= block.length;
      const own = kind === HEADERS ? flags : 0;
      this.#frame(kind, own | (isLast ? END_HEADERS : 0), stream.id, [part]);
      if (isLast) break;
    }
    if (isEnd) this.#sentEnd(stream);
  }

  /** @internal */
  async sendData(
    stream: Http2Stream,
    parts: readonly Uint8Array[],
    isEnd: boolean,
  ): Promise<void> {
    let left = parts.reduce((n, p) => n + p.length, 0), i = 0, at = 0;
    while (left > 0 && !stream.isOver) {
      const room = Math.min(this.#maxFrame, CHUNK, this.#window, stream.window);
      if (room <= 0 || this.#isFull) {
        await new Promise<void>((resolve) => this.#waiting.push(resolve));
        continue;
      }
      const bytes: Uint8Array[] = [];
      let n = 0;
      while (n < room && i < parts.length) {
        const part = parts[i].subarray(at, at + room - n);
        if (part.length > 0) bytes.push(part);
        n += part.length;
        at += part.length;
        if (at === parts[i].length) {
          i++;
          at = 0;
        }
      }
      this.#window -= n;
      stream.window -= n;
      left -= n;
      this.#frame(DATA, isEnd && left === 0 ? END_STREAM : 0, stream.id, bytes);
      if (this.#outBytes >= CHUNK) this.#flush();
    }
    if (!isEnd || stream.isOver) return;
    if (parts.every((p) => p.length === 0)) this.#frame(DATA, END_STREAM, stream.id, []);
    this.#sentEnd(stream);
  }

  /** @internal */
  reset(stream: Http2Stream, code: number): void {
    if (stream.events === null) return;
    const body = new DataView(new ArrayBuffer(4));
    body.setUint32(0, code);
    this.#frame(RESET, 0, stream.id, [new Uint8Array(body.buffer)]);
    this.#forget(stream);
  }

  #add(id: number, events: StreamEvents | null): Http2Stream {
    const stream = new Http2Stream(this, id, this.#firstWindow);
    stream.events = events;
    this.#streams.set(id, stream);
    return stream;
  }

  #forget(stream: Http2Stream): void {
    stream.events = null;
    this.#streams.delete(stream.id);
    this.#wake();
  }

  #sentEnd(stream: Http2Stream): void {
    stream.sentEnd = true;
    if (stream.gotEnd) this.#forget(stream);
  }

  #gotEnd(stream: Http2Stream): void {
    const { events } = stream;
    stream.gotEnd = true;
    if (stream.sentEnd) this.#forget(stream);
    events?.end();
  }

  #wake(): void {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #lose(why: string): void {
    if (this.#lost) return;
    this.#lost = true;
    this.#going ??= new UnavailableError(why);
    const streams = [...this.#streams.values()];
    this.#streams.clear();
    for (const stream of streams) {
      const { events } = stream;
      stream.events = null;
      events?.lost(new UnavailableError(why));
    }
    this.#wake();
    this.#options.gone(this.#going, true);
  }

  #fail(why: string): void {
    if (this.#lost) return;
    this.goAway(PROTOCOL_ERROR);
    this.#flush();
    this.#lose(why);
    this.#socket.destroy();
  }

  // Writing: frames of one turn of the event loop are one write.

  #frame(kind: number, flags: number, stream: number, parts: readonly Uint8Array[]): void {
    const head = new Uint8Array(FRAME_HEAD), length = parts.reduce((n, p) => n + p.length, 0);
    head[0] = length >> 16;
    head[1] = length >> 8;
    head[2] = length;
    head[3] = kind;
    head[4] = flags;
    new DataView(head.buffer).setUint32(5, stream);
    this.#write([head, ...parts]);
  }

  #write(parts: readonly Uint8Array[]): void {
    for (const part of parts) {
      this.#out.push(part);
      this.#outBytes += part.length;
    }
    if (this.#flushing) return;
    this.#flushing = true;
    queueMicrotask(() => {
      this.#flushing = false;
      this.#flush();
    });
  }

  #flush(): void {
    const parts = this.#out;
    if (parts.length === 0) return;
    this.#out = [];
    this.#outBytes = 0;
    if (this.#socket.destroyed) return;
    for (const part of joined(parts)) if (!this.#socket.write(part)) this.#isFull = true;
    // Who asks without end and never reads is left.
    if (this.#socket.writableLength > MOST_UNSENT) this.#socket.destroy();
  }

  /** Lets the other end send more. */
  #grant(stream: number, bytes: number): void {
    const body = new DataView(new ArrayBuffer(4));
    body.setUint32(0, bytes);
    this.#frame(WINDOW_UPDATE, 0, stream, [new Uint8Array(body.buffer)]);
  }

  // Reading: bytes of DATA frames go on as they come, other frames when they are whole.

  #read(chunk: Uint8Array): void {
    let at = 0;
    try {
      while (at < chunk.length && !this.#lost) {
        if (this.#preface !== null && this.#prefaceAt < PREFACE.length) {
          if (chunk[at++] !== PREFACE[this.#prefaceAt++]) {
            throw new DataLossError("it is no HTTP/2");
          }
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
        if (this.#body === null) this.#data(part);
        else this.#body.set(part, this.#body.length - this.#left - part.length);
        if (this.#left === 0) this.#end();
      }
    } catch (error) {
      this.#fail((error as Error).message);
    }
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
    if (length > (this.#kind === DATA ? MAX_FRAME_TAKEN : MAX_CONTROL)) {
      throw new DataLossError(`A frame of ${length} bytes is too long`);
    }
    if (this.#block !== null && this.#kind !== CONTINUATION) {
      throw new DataLossError("Headers are cut off");
    }
    this.#left = length;
    this.#body = isPlain ? null : new Uint8Array(length);
    if (length === 0) this.#end();
  }

  #data(bytes: Uint8Array): void {
    const stream = this.#streams.get(this.#id);
    this.#received += bytes.length;
    if (this.#received >= WINDOW / 2) {
      this.#grant(0, this.#received);
      this.#received = 0;
    }
    if (stream === undefined) return;
    stream.received += bytes.length;
    if (stream.received >= WINDOW / 2) {
      this.#grant(stream.id, stream.received);
      stream.received = 0;
    }
    stream.events?.data(bytes);
  }

  #end(): void {
    const body = this.#body, kind = this.#kind, flags = this.#flags, id = this.#id;
    this.#headAt = 0;
    this.#body = null;
    if (kind === DATA) {
      if (body !== null) this.#data(body.subarray(1, Math.max(1, body.length - body[0])));
      const stream = this.#streams.get(id);
      if (flags & END_STREAM && stream !== undefined) this.#gotEnd(stream);
      return;
    }
    this.#control(kind, flags, id, body!);
  }

  #control(kind: number, flags: number, id: number, body: Uint8Array): void {
    const view = new DataView(body.buffer);
    switch (kind) {
      case HEADERS: {
        const from = (flags & PADDED ? 1 : 0) + (flags & PRIORITY ? 5 : 0);
        const part = body.subarray(from, body.length - (flags & PADDED ? body[0] : 0));
        this.#block = { stream: id, flags, parts: [part] };
        if (flags & END_HEADERS) this.#headers();
        return;
      }
      case CONTINUATION: {
        const block = this.#block;
        if (block?.stream !== id) throw new DataLossError("Headers are out of order");
        block.parts.push(body);
        if (block.parts.reduce((n, p) => n + p.length, 0) > MAX_CONTROL) {
          throw new DataLossError("Headers are too long");
        }
        if (flags & END_HEADERS) this.#headers();
        return;
      }
      case RESET:
        return this.#lostStream(id, `the call was ended by the other end (${view.getUint32(0)})`);
      case SETTINGS:
        if (flags & ACK) return;
        for (let at = 0; at + 6 <= body.length; at += 6) {
          this.#setting(view.getUint16(at), view.getUint32(at + 2));
        }
        return this.#frame(SETTINGS, ACK, 0, []);
      case PING:
        if ((flags & ACK) === 0) this.#frame(PING, ACK, 0, [body]);
        return;
      case GOAWAY: {
        const last = view.getUint32(0) & 0x7fffffff;
        this.#going ??= new UnavailableError("the other end takes no more calls");
        for (const other of [...this.#streams.keys()]) {
          if (other > last) this.#lostStream(other, "the other end took no more calls");
        }
        this.#options.gone(this.#going, false);
        return;
      }
      case WINDOW_UPDATE: {
        const bytes = view.getUint32(0) & 0x7fffffff, stream = this.#streams.get(id);
        if (id === 0) this.#window += bytes;
        else if (stream !== undefined) stream.window += bytes;
        if (Math.max(this.#window, stream?.window ?? 0) > MOST_WINDOW) {
          throw new DataLossError("A window is too large");
        }
        return this.#wake();
      }
      case PUSH:
        throw new DataLossError("Nothing may be pushed");
    }
  }

  #lostStream(id: number, why: string): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    const { events } = stream;
    this.#forget(stream);
    events?.lost(new UnavailableError(why));
  }

  #setting(id: number, value: number): void {
    if (id === MAX_FRAME) this.#maxFrame = Math.max(FIRST_MAX_FRAME, value);
    if (id !== INITIAL_WINDOW) return;
    for (const stream of this.#streams.values()) stream.window += value - this.#firstWindow;
    this.#firstWindow = value;
    this.#wake();
  }

  #headers(): void {
    const { stream: id, flags, parts } = this.#block!, isEnd = (flags & END_STREAM) !== 0;
    this.#block = null;
    // Blocks of streams that are gone are read too: later ones build on them.
    const headers = this.#reader.read(parts.length === 1 ? parts[0] : concatBytes(parts));
    let stream = this.#streams.get(id);
    const { accept } = this.#options;
    if (stream === undefined && accept !== undefined && id > this.#lastAccepted) {
      this.#lastAccepted = id;
      stream = this.#add(id, null);
      stream.events = accept(stream);
    }
    if (stream === undefined) return;
    stream.events?.headers(headers, isEnd);
    if (isEnd) this.#gotEnd(stream);
  }
}

/** The same bytes, small parts in one piece with their neighbours. */
function* joined(parts: readonly Uint8Array[]): Generator<Uint8Array> {
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
