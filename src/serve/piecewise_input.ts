/**
 * Reading sockets in pieces: a chunk of 64 KiB may hold two thousand requests, and an engine's HTTP begins them all before any other
 * connection has a turn.
 */
import type { Socket } from "node:net";
import { nextSlice } from "../engine/runtime/run/timers.ts";

/** Bytes that are read at a time: some hundred short requests. */
const PIECE_BYTES = 4096;
/** Milliseconds of reading, of all connections together, before others have a turn. */
const TURN_MS = 2;
/** Requests of one connection that are not answered yet, beyond which no more of its bytes are read. */
const MOST_AHEAD = 64;

/** What connections that share an event loop have spent of their turn. */
export interface Spent {
  ms: number;
}

/** A socket with the handle of the system that fills it. */
type Filled = Socket & { readonly _handle?: object };

/** The bytes of one socket between the system and who reads them. */
export class PiecewiseInput {
  readonly #socket: Filled;
  readonly #spent: Spent;
  readonly #push: Socket["push"];
  readonly #read: Socket["_read"];
  /** Pieces that nobody has read; null is the end. */
  readonly #waiting: (Uint8Array | null)[] = [];
  /** True where the stream has asked for bytes that it has not got. */
  #isWanted = false;
  #isFeeding = false;
  #open = 0;

  /** Stands between `socket` and its readers from now on. */
  constructor(socket: Filled, spent: Spent) {
    this.#socket = socket;
    this.#spent = spent;
    this.#push = socket.push.bind(socket);
    this.#read = socket._read.bind(socket);
    // HTTP would read a handle of this kind itself, past the stream.
    Object.defineProperty(socket._handle ?? {}, "isStreamBase", { value: false });
    socket.push = (chunk) => this.#take(chunk);
    socket._read = (size) => {
      this.#isWanted = true;
      void this.#feed(size);
    };
  }

  /** Counts a request. */
  began(): void {
    this.#open++;
  }

  /** Counts a request that is answered. */
  ended(): void {
    this.#open--;
    if (this.#waiting.length > 0) void this.#feed();
  }

  /** Takes what the system has read. Returns false where no more is wanted. */
  #take(chunk: Uint8Array | null): boolean {
    if (chunk === null) this.#waiting.push(null);
    else {
      for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
        this.#waiting.push(chunk.subarray(at, at + PIECE_BYTES));
      }
    }
    this.#isWanted = true;
    void this.#feed();
    return this.#isWanted && this.#waiting.length === 0;
  }

  /** Hands the stream its next pieces for as long as it wants some. */
  async #feed(size = 0): Promise<void> {
    if (this.#isFeeding) return;
    this.#isFeeding = true;
    while (this.#isWanted && this.#waiting.length > 0 && this.#open < MOST_AHEAD) {
      if (this.#spent.ms >= TURN_MS) {
        await nextSlice();
        this.#spent.ms = 0;
        if (this.#socket.destroyed) return;
      }
      const piece = this.#waiting.shift()!, before = performance.now();
      this.#isWanted = this.#push(piece);
      this.#spent.ms += performance.now() - before;
      if (piece === null) this.#socket.read(0);
    }
    this.#isFeeding = false;
    if (this.#isWanted && this.#waiting.length === 0) this.#read(size);
  }
}
