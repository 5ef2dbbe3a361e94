/**
 * The sending side of a connection of HTTP/2: frames of one turn of the event loop are one write, and no more wait than the socket takes.
 */
import type { Socket } from "node:net";
import { type FrameHead, frameHead, joined } from "./http2_frames.ts";

/** Bytes of one write: more take longer to be copied than to be sent. */
export const CHUNK: number = 1 << 18;
/** Bytes that may wait to be sent: data is sent only while there is room, what answers frames is small. */
const MOST_UNSENT = 16 << 20;

/** Writes frames to a socket. */
export class FrameWriter {
  readonly #socket: Socket;
  #out: Uint8Array[] = [];
  #outBytes = 0;
  #flushing = false;
  #isFull = false;

  /** To a socket that is connected or will be; `drained` is told when there is room again. */
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

  /** Sends bytes. */
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

  /** Gives the socket what waits for the end of the turn. */
  flush(): void {
    const parts = this.#out;
    if (parts.length === 0) return;
    this.#out = [];
    this.#outBytes = 0;
    if (this.#socket.destroyed) return;
    for (const part of joined(parts)) if (!this.#socket.write(part)) this.#isFull = true;
    // Who asks without end and never reads is left.
    if (this.#socket.writableLength > MOST_UNSENT) this.#socket.destroy();
  }
}
