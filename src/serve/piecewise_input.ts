/**
 * Reading sockets in pieces: a chunk of 64 KiB may hold two thousand requests, and an engine's HTTP begins them all before any other
 * connection has a turn.
 */
import type { Socket } from "node:net";
import { nextTask } from "../engine/runtime/run/timers.ts";

/** Bytes that are read at a time: some hundred short requests. */
const PIECE_BYTES = 4096;
/** Milliseconds of reading, of all connections together, in one turn of the event loop. */
const TURN_MS = 2;
/** Requests of one connection that are not answered yet, beyond which no more of its bytes are read. */
const MOST_AHEAD = 64;

/** The turns of connections that share an event loop. */
export class ReadingTurns {
  /** Connections of whose chunk nothing has been read come before those with a rest of one. */
  readonly #fresh: (() => void)[] = [];
  readonly #rests: (() => void)[] = [];
  #spent = 0;
  #isRunning = false;

  /** Runs `read` now or in a later turn. */
  take(read: () => void, isFresh: boolean): void {
    if (this.#spent < TURN_MS && !this.#isRunning) return this.#run(read);
    (isFresh ? this.#fresh : this.#rests).push(read);
    void this.#go();
  }

  #run(read: () => void): void {
    const before = performance.now();
    read();
    this.#spent += performance.now() - before;
  }

  async #go(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    while (this.#fresh.length + this.#rests.length > 0) {
      await nextTask();
      this.#spent = 0;
      while (this.#spent < TURN_MS) {
        const read = this.#fresh.shift() ?? this.#rests.shift();
        if (read === undefined) break;
        this.#run(read);
      }
    }
    this.#isRunning = false;
  }
}

/** A socket with the handle of the system that fills it. */
type Filled = Socket & { readonly _handle?: object };

/** The bytes of one socket between the system and its readers. */
export class PiecewiseInput {
  readonly #socket: Filled;
  readonly #turns: ReadingTurns;
  readonly #push: Socket["push"];
  readonly #read: Socket["_read"];
  /** Pieces that are not read yet; null is the end. */
  readonly #waiting: (Uint8Array | null)[] = [];
  /** True where the stream has asked for bytes that it has not got. */
  #isWanted = false;
  #isFresh = true;
  /** True while a turn is waited for, or taken. */
  #isTaking = false;
  #open = 0;

  /** Stands between `socket` and its readers from now on. */
  constructor(socket: Filled, turns: ReadingTurns) {
    this.#socket = socket;
    this.#turns = turns;
    this.#push = socket.push.bind(socket);
    this.#read = socket._read.bind(socket);
    // HTTP would read a handle of this kind itself, past the stream.
    Object.defineProperty(socket._handle ?? {}, "isStreamBase", { value: false });
    socket.push = (chunk) => this.#take(chunk);
    socket._read = (size) => {
      this.#isWanted = true;
      if (this.#waiting.length === 0) this.#read(size);
      else this.#feed();
    };
  }

  /** Counts a request. */
  began(): void {
    this.#open++;
  }

  /** Counts a request that is answered. */
  ended(): void {
    this.#open--;
    this.#feed();
  }

  /** Takes what the system has read. Returns false where no more is wanted. */
  #take(chunk: Uint8Array | null): boolean {
    if (this.#waiting.length === 0) this.#isFresh = true;
    if (chunk === null) this.#waiting.push(null);
    else {
      for (let at = 0; at < chunk.length; at += PIECE_BYTES) {
        this.#waiting.push(chunk.subarray(at, at + PIECE_BYTES));
      }
    }
    this.#isWanted = true;
    this.#feed();
    return this.#isWanted && this.#waiting.length === 0;
  }

  /** Hands the stream its next pieces, one in each turn, for as long as it wants some. */
  #feed(): void {
    if (this.#isTaking || !this.#isWanted || this.#waiting.length === 0) return;
    if (this.#open >= MOST_AHEAD) return;
    this.#isTaking = true;
    this.#turns.take(() => {
      if (this.#socket.destroyed) return;
      const piece = this.#waiting.shift()!;
      this.#isFresh = false;
      this.#isWanted = this.#push(piece);
      this.#isTaking = false;
      if (piece === null) this.#socket.read(0);
      else this.#feed();
    }, this.#isFresh);
  }
}
