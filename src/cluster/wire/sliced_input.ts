/** Reading the bytes of connections by turns: none holds the event loop, and small ones do not wait for the chunks of others. */
import type { Socket } from "node:net";
import { nextTask } from "../../engine/runtime/run/timers.ts";

/**
 * Most frames of one connection that are read at a time. A chunk of 64 KiB may hold seven thousand, and each may begin or end a call, which
 * takes some 50 microseconds.
 */
export const SLICE_FRAMES = 64;
/** Milliseconds of reading in one turn of the event loop. The calls that begin take several times as long. */
const TURN_MS = 2;

/** Reads bytes from a place in a chunk on; returns the place that it has come to. */
export type ReadSlice = (chunk: Uint8Array, from: number) => number;

/** Bytes that wait, and where their next slice begins. */
interface Waiting {
  readonly socket: Socket;
  readonly chunk: Uint8Array;
  readonly read: ReadSlice;
  from: number;
}

/** The turns of connections that share an event loop. */
export class InputTurns {
  /** Chunks of which nothing has been read, and rests of chunks that took more than a slice: new ones come first. */
  readonly #fresh: Waiting[] = [];
  readonly #rests: Waiting[] = [];
  /** Milliseconds of reading since the event loop had its last turn from here. */
  #spent = 0;
  #isRunning = false;

  /** Hands the chunks of a socket to `read`, which may leave bytes of one: it gets these in a later turn. */
  take(socket: Socket, read: ReadSlice): void {
    socket.on("data", (chunk: Uint8Array) => {
      const waiting = { socket, chunk, read, from: 0 };
      if (this.#spent < TURN_MS && this.#fresh.length === 0) {
        if (this.#slice(waiting)) return;
        this.#rests.push(waiting);
      } else this.#fresh.push(waiting);
      // What follows waits in the socket, and then at the other end.
      socket.pause();
      void this.#run();
    });
  }

  /** Reads a slice. Returns true where nothing of the chunk is left. */
  #slice(waiting: Waiting): boolean {
    const { chunk, read } = waiting, before = performance.now();
    waiting.from = read(chunk, waiting.from);
    this.#spent += performance.now() - before;
    return waiting.from >= chunk.length;
  }

  async #run(): Promise<void> {
    if (this.#isRunning) return;
    this.#isRunning = true;
    while (this.#fresh.length + this.#rests.length > 0) {
      await nextTask();
      this.#spent = 0;
      for (let next; this.#spent < TURN_MS && (next = this.#fresh.shift());) this.#go(next);
      // A rest has a slice in each turn, whatever is new.
      const rest = this.#rests.shift();
      if (rest !== undefined) this.#go(rest);
    }
    this.#isRunning = false;
  }

  #go(waiting: Waiting): void {
    if (this.#slice(waiting)) waiting.socket.resume();
    else this.#rests.push(waiting);
  }
}
