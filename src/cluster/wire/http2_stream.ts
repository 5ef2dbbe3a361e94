/**
 * A stream of HTTP/2, which is one call: what is sent on it, and who hears of what comes.
 */
import type { Headers } from "./hpack.ts";

/** Reason of a stream that is left. */
const CANCEL = 8;

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

/** The connection of a stream. */
export interface StreamOwner {
  /** Sends headers. */
  sendHeaders(stream: Http2Stream, headers: Headers, isEnd: boolean): void;
  /** Sends bytes. */
  sendData(stream: Http2Stream, parts: readonly Uint8Array[], isEnd: boolean): Promise<void>;
  /** Ends the stream at both ends. */
  reset(stream: Http2Stream, code: number): void;
}

/** One stream: a call. */
export class Http2Stream {
  readonly id: number;
  readonly #connection: StreamOwner;
  events: StreamEvents | null = null;
  /** Bytes that may be sent, and those received since the other end was last told. */
  window: number;
  received = 0;
  /** Each end has sent all, or the stream is lost. */
  sentEnd = false;
  gotEnd = false;

  /** @internal */
  constructor(connection: StreamOwner, id: number, window: number) {
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
