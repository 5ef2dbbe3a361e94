/**
 * HTTP/2 as gRPC uses it: streams of headers, bytes and trailers over one connection, with flow control. RFC 9113. Deno's own module, which
 * ended the process where connections were lost in the middle of calls, has no limits of frames and of all messages together, and copies
 * each frame once more.
 */
import type { Socket } from "node:net";
import { DataLossError, UnavailableError } from "../../engine/core/errors.ts";
import { HeaderReader, type Headers, writeHeaders } from "./hpack.ts";
import {
  ACK,
  CONCURRENT_STREAMS,
  CONTINUATION,
  type ControlFrame,
  DATA,
  ENABLE_PUSH,
  END_HEADERS,
  END_STREAM,
  FrameReader,
  GOAWAY,
  HEADERS,
  INITIAL_WINDOW,
  MAX_FRAME,
  MAX_FRAME_TAKEN,
  PING,
  PREFACE,
  PUSH,
  RESET,
  SETTINGS,
  settingsBody,
  WINDOW_UPDATE,
  words,
} from "./http2_frames.ts";
import { Http2Stream, type StreamEvents, type StreamOwner } from "./http2_stream.ts";
import { FrameRate } from "./http2_limits.ts";
import { type InputTurns, SLICE_FRAMES } from "./sliced_input.ts";
import { CHUNK, FrameWriter } from "./http2_writer.ts";

export interface ConnectionOptions {
  /** For servers: called for each stream that the other end opens; returns the stream's events. */
  readonly accept?: (stream: Http2Stream) => StreamEvents;
  /** Called when the connection takes no new calls; open calls may go on where `isLost` is false. */
  readonly gone: (why: Error, isLost: boolean) => void;
  /** Turns that it shares with the other connections of its owner. */
  readonly turns: InputTurns;
}

/** HTTP/2 error codes. */
const NO_ERROR = 0, PROTOCOL_ERROR = 1, REFUSED = 7;

/** Initial settings of both ends. */
const FIRST_WINDOW = 65_535, FIRST_MAX_FRAME = 16_384;
/** Bytes that may be sent before the reader acknowledges them: a batch of images should not wait for that. */
const WINDOW = 16 << 20;
/**
 * Most calls of one client at a time: RFC 9113 recommends at least 100, and a step of a cluster asks for many tensors at
 * once.
 */
const MOST_STREAMS = 1024;
/** Silence after which a connection is probed. */
const KEEP_ALIVE_MS = 30_000;
/** Largest window that a stream may have. */
const MOST_WINDOW = 2 ** 31 - 1;

/** True for a frame of a length that RFC 9113 gives its kind. */
function isSized({ kind, body: { length } }: ControlFrame): boolean {
  if (kind === RESET || kind === WINDOW_UPDATE) return length === 4;
  if (kind === PING) return length === 8;
  return kind === GOAWAY ? length >= 8 : kind !== SETTINGS || length % 6 === 0;
}

/** The error text of calls whose connection is gone without a reason. */
export const LOST = "the connection was lost";

export class Http2Connection implements StreamOwner {
  readonly #socket: Socket;
  readonly #options: ConnectionOptions;
  readonly #streams = new Map<number, Http2Stream>();
  readonly #frames: FrameReader;
  readonly #reader = new HeaderReader();
  readonly #rate = new FrameRate();
  #lastAccepted = 0;
  #nextId = 1;
  #window = FIRST_WINDOW;
  #firstWindow = FIRST_WINDOW;
  #maxFrame = FIRST_MAX_FRAME;
  #received = 0;
  readonly #writer: FrameWriter;
  #waiting: (() => void)[] = [];
  /** The reason why the connection takes no new calls or is closed. */
  #going: Error | null = null;
  #lost = false;
  #begun = false;

  /** Creates a connection over a socket that is connected or will be. */
  constructor(socket: Socket, options: ConnectionOptions) {
    this.#socket = socket;
    this.#options = options;
    const isServer = options.accept !== undefined;
    this.#frames = new FrameReader(isServer, {
      data: (id, bytes, size) => this.#data(id, bytes, size),
      dataEnd: (id) => this.#dataEnd(id),
      headers: (id, block, isEnd) => this.#headers(id, block, isEnd),
      empty: () => this.#rate.add(),
      control: (frame) => {
        this.#rate.add();
        this.#control(frame);
      },
    });
    this.#writer = new FrameWriter(socket, () => this.#wake());
    socket.setNoDelay(true);
    socket.setKeepAlive(true, KEEP_ALIVE_MS);
    options.turns.take(socket, (chunk, from) => this.#read(chunk, from));
    socket.on("error", (error: Error) => this.#lose(error.message));
    socket.on("close", () => this.#lose(LOST));
    if (!isServer) this.#writer.write([PREFACE]);
    const settings = settingsBody([
      [ENABLE_PUSH, 0],
      [CONCURRENT_STREAMS, MOST_STREAMS],
      [INITIAL_WINDOW, WINDOW],
      [MAX_FRAME, MAX_FRAME_TAKEN],
    ]);
    this.#frame(SETTINGS, 0, 0, [settings]);
    this.#grant(0, WINDOW - FIRST_WINDOW);
  }

  /** True once the other end has shown that it speaks HTTP/2. */
  get begun(): boolean {
    return this.#begun;
  }
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

  /** Announces that no new calls are taken; open calls continue. */
  goAway(code: number = NO_ERROR): void {
    this.#frame(GOAWAY, 0, 0, [words(this.#lastAccepted, code)]);
  }

  /** Closes the connection and its calls. */
  destroy(): void {
    this.#writer.flush();
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
      if (room <= 0 || this.#writer.isFull) {
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
    }
    if (!isEnd || stream.isOver) return;
    if (parts.every((p) => p.length === 0)) this.#frame(DATA, END_STREAM, stream.id, []);
    this.#sentEnd(stream);
  }

  /** @internal */
  reset(stream: Http2Stream, code: number): void {
    if (stream.events === null) return;
    this.#sendReset(stream.id, code);
    this.#forget(stream);
  }

  #sendReset(id: number, code: number): void {
    this.#frame(RESET, 0, id, [words(code)]);
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
      events?.lost(why);
    }
    this.#wake();
    this.#options.gone(this.#going, true);
  }

  #fail(why: string): void {
    if (this.#lost) return;
    this.goAway(PROTOCOL_ERROR);
    this.#writer.flush();
    this.#lose(why);
    this.#socket.destroy();
  }

  #frame(kind: number, flags: number, id: number, parts: readonly Uint8Array[]): void {
    this.#writer.frame({ kind, flags, id }, parts);
  }

  /** Enlarges the other end's window. */
  #grant(stream: number, bytes: number): void {
    this.#frame(WINDOW_UPDATE, 0, stream, [words(bytes)]);
  }

  #read(chunk: Uint8Array, from: number): number {
    try {
      const isOver = (): boolean => this.#lost;
      const at = this.#frames.read(chunk, { from, frames: SLICE_FRAMES, isOver });
      if (!this.#lost) return at;
    } catch (error) {
      this.#fail((error as Error).message);
    }
    // Bytes of a lost connection are dropped.
    return chunk.length;
  }

  #data(id: number, bytes: Uint8Array, size: number): void {
    const stream = this.#streams.get(id);
    this.#received += size;
    if (this.#received >= WINDOW / 2) {
      this.#grant(0, this.#received);
      this.#received = 0;
    }
    if (stream === undefined) return;
    stream.received += size;
    if (stream.received >= WINDOW / 2) {
      this.#grant(stream.id, stream.received);
      stream.received = 0;
    }
    stream.events?.data(bytes);
  }

  #dataEnd(id: number): void {
    const stream = this.#streams.get(id);
    if (stream !== undefined) this.#gotEnd(stream);
  }

  #control(frame: ControlFrame): void {
    const { kind, flags, id, body } = frame;
    if (!isSized(frame)) throw new DataLossError("A frame is of a wrong length");
    const view = new DataView(body.buffer);
    switch (kind) {
      case RESET:
        return this.#lostStream(id, `the call was ended by the other end (${view.getUint32(0)})`);
      case SETTINGS:
        this.#begun = true;
        if (flags & ACK) return;
        this.#settings(view);
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
    events?.lost(why);
  }

  /** Takes the settings of a frame. The last value of each counts: a frame may have ten thousand. */
  #settings(view: DataView): void {
    let window = this.#firstWindow;
    for (let at = 0; at + 6 <= view.byteLength; at += 6) {
      const id = view.getUint16(at), value = view.getUint32(at + 2);
      if (id === MAX_FRAME) this.#maxFrame = Math.max(FIRST_MAX_FRAME, value);
      if (id === INITIAL_WINDOW) window = value;
    }
    if (window > MOST_WINDOW) throw new DataLossError("A window is too large");
    if (window === this.#firstWindow) return;
    for (const stream of this.#streams.values()) stream.window += window - this.#firstWindow;
    this.#firstWindow = window;
    this.#wake();
  }

  #headers(id: number, block: Uint8Array, isEnd: boolean): void {
    // Blocks of closed streams are decoded too: later ones depend on them.
    const headers = this.#reader.read(block);
    let stream = this.#streams.get(id);
    const { accept } = this.#options;
    if (stream === undefined && accept !== undefined && id > this.#lastAccepted) {
      this.#lastAccepted = id;
      if (this.#streams.size >= MOST_STREAMS) {
        this.#rate.add();
        return this.#sendReset(id, REFUSED);
      }
      stream = this.#add(id, null);
      stream.events = accept(stream);
    }
    if (stream === undefined) return;
    stream.events?.headers(headers, isEnd);
    if (isEnd) this.#gotEnd(stream);
  }
}
