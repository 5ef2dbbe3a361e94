/**
 * The sending side of a connection of HTTP/2: frames of one turn of the event loop become one write, and waiting
 * bytes are bounded.
 */
import type { Socket } from "node:net";
import { type FrameHead, frameHead, joined } from "./http2_frames.ts";

/** Bytes of one write: larger ones take longer to copy than to send. */
export const CHUNK: number = 1 << 18;
/** Most unsent bytes: data waits for room, and answers to control frames are small. */
const MOST_UNSENT = 16 << 20;

/** Writes frames to a socket. */
export class FrameWriter {
  readonly #socket: Socket;
  #out: Uint8Array[] = [];
  #outBytes = 0;
  #flushing = false;
  #isFull = false;

  /** Creates a writer to a socket that is connected or will be; `drained` is called when there is room again. */
  constructor(socket: Socket, drained: () => void) {
    this.#socket = socket;
    socket.on("drain", () => {
      this.#isFull = false;
      drained();
    });
  }

  /** True while data should wait. */
  get isFull(): boolean {
    return this.#isFull;
  }

  /** Sends a frame, whose bytes must not change. */
  frame(head: FrameHead, parts: readonly Uint8Array[]): void {
    const length = parts.reduce((n, p) => n + p.length, 0);
    this.write([frameHead(head, length), ...parts]);
    if (this.#outBytes >= CHUNK) this.flush();
  }

  write(parts: readonly Uint8Array[]): void {
    for (const part of parts) {
      this.#out.push(part);
      this.#outBytes += part.length;
    }
    if (this.#flushing) return;
    this.#flushing = true;
    queueMicrotask(() => {
      this.#flushing = false;
      this.flush();
    });
  }

  /** Hands the socket the bytes of this turn. */
  flush(): void {
    const parts = this.#out;
    if (parts.length === 0) return;
    this.#out = [];
    this.#outBytes = 0;
    if (this.#socket.destroyed) return;
    for (const part of joined(parts)) if (!this.#socket.write(part)) this.#isFull = true;
    // A peer that sends requests and never reads is disconnected.
    if (this.#socket.writableLength > MOST_UNSENT) this.#socket.destroy();
  }
}
