/**
 * Reading sockets in pieces: a chunk of 64 KiB may hold two thousand requests, and an engine's HTTP begins them all before any other
 * connection has a turn.
 */
import type { Socket } from "node:net";
import { nextTick } from "node:process";
import type { ClientTurns } from "./turns.ts";

/** Bytes that are read at a time: some hundred short requests. */
const PIECE_BYTES = 4096;
/** Those of a body, which begin no requests. */
const BODY_BYTES = 1 << 14;
/** Those after a piece that began many requests. */
const FLOOD_BYTES = 512;
/** Requests of a piece that are many. */
const MANY = 8;
/** Requests of one connection that are not answered yet, beyond which no more of its bytes are read. */
const MOST_AHEAD = 64;

/** A socket with the handle of the system that fills it. */
type Filled = Socket & { readonly _handle?: object };

/** The bytes of one socket between the system and its readers. */
export class PiecewiseInput {
  readonly #socket: Filled;
  readonly #turns: ClientTurns;
  readonly #push: Socket["push"];
  readonly #read: Socket["_read"];
  /** Chunks that are not read yet; null is the end. */
  readonly #waiting: (Uint8Array | null)[] = [];
  /** Bytes of the last request's body that come yet, too many by those that came with its head. */
  #body = 0;
  /** True where the stream has asked for bytes that it has not got. */
  #isWanted = false;
  #isFresh = true;
  /** True while a turn is waited for, or taken. */
  #isTaking = false;
  #open = 0;
  /** Requests that the last piece has begun. */
  #begun = 0;
  /** True where no more of it is read. */
  #isLeft = false;

  /** Stands between `socket` and its readers from now on. */
  constructor(socket: Filled, turns: ClientTurns) {
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

  /** Counts a request, and says whether it is the only one of its connection. Its body has so many bytes, as far as it says. */
  began(bodyBytes: number): boolean {
    this.#body = bodyBytes > 0 ? bodyBytes : 0;
    this.#begun++;
    return ++this.#open === 1;
  }

  /** Counts a request that is answered. */
  ended(): void {
    this.#open--;
    this.#feed();
  }

  /** Leaves out what comes from now on, up to the end. Returns false where it did already. */
  leave(): boolean {
    if (this.#isLeft) return false;
    this.#waiting.length = 0;
    return this.#isLeft = true;
  }

  /** Takes what the system has read. Returns false where no more is wanted. */
  #take(chunk: Uint8Array | null): boolean {
    if (this.#isLeft && chunk !== null) return true;
    if (this.#waiting.length === 0) this.#isFresh = true;
    this.#waiting.push(chunk);
    this.#isWanted = true;
    this.#feed();
    return this.#isWanted && this.#waiting.length === 0;
  }

  /** Cuts off the next piece. */
  #next(): Uint8Array | null {
    const chunk = this.#waiting[0];
    const least = this.#begun > MANY ? FLOOD_BYTES : PIECE_BYTES;
    const most = Math.max(least, Math.min(BODY_BYTES, this.#body));
    this.#begun = 0;
    if (chunk === null || chunk.length <= most) return this.#waiting.shift()!;
    this.#waiting[0] = chunk.subarray(most);
    return chunk.subarray(0, most);
  }

  /** Hands the stream its next pieces, one in each turn, for as long as it wants some. */
  #feed(): void {
    if (this.#isTaking || !this.#isWanted || this.#waiting.length === 0) return;
    if (this.#open >= MOST_AHEAD) return;
    this.#isTaking = true;
    this.#turns.take(() => {
      // The rest may have been left out meanwhile.
      this.#isTaking = false;
      if (this.#socket.destroyed || this.#waiting.length === 0) return;
      this.#isTaking = true;
      const piece = this.#next();
      this.#isFresh = false;
      // A request that begins in it sets this anew.
      this.#body = Math.max(0, this.#body - (piece?.length ?? 0));
      this.#isWanted = this.#push(piece);
      this.#isTaking = false;
      if (piece !== null) return this.#feed();
      this.#socket.read(0);
      // Node ends a connection, and the requests on it, after what is done now.
      return new Promise((resolve) => nextTick(resolve));
    }, this.#isFresh && this.#waiting[0] !== null);
  }
}
