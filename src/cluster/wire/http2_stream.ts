/** A stream of HTTP/2, which carries one call: its sending side, and the callbacks of its receiving side. */
import type { Headers } from "./hpack.ts";

/** HTTP/2 error code of a cancelled stream. */
const CANCEL = 8;

/** Callbacks of a stream. */
export interface StreamEvents {
  /** Headers, or trailers where `isEnd`. */
  headers(headers: ReadonlyMap<string, string>, isEnd: boolean): void;
  /** Bytes, which are not overwritten later. */
  data(bytes: Uint8Array): void;
  /** The other end sends no more. */
  end(): void;
  /** The stream is lost: nothing more comes, and nothing can be sent. */
  lost(why: string): void;
}

/** The part of a connection that a stream uses. */
export interface StreamOwner {
  sendHeaders(stream: Http2Stream, headers: Headers, isEnd: boolean): void;
  sendData(stream: Http2Stream, parts: readonly Uint8Array[], isEnd: boolean): Promise<void>;
  /** Ends the stream at both ends. */
  reset(stream: Http2Stream, code: number): void;
}

export class Http2Stream {
  readonly id: number;
  readonly #connection: StreamOwner;
  events: StreamEvents | null = null;
  /** The send window, and the bytes received since the last window update. */
  window: number;
  received = 0;
  /** True where an end has sent all, or the stream is lost. */
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

  /** Sends bytes as the window allows. They must not change. Resolves early where the stream is lost. */
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
