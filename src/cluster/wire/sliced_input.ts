/** Reading a connection's bytes in slices, so that one connection does not hold the event loop. */
import type { Socket } from "node:net";
import { nextTask } from "../../engine/runtime/run/timers.ts";

/**
 * Most frames of one connection that are read at a time. A chunk of 64 KiB may hold seven thousand, and each may begin or end a call,
 * which takes some 50 microseconds: a slice ends within 50 ms.
 */
export const SLICE_FRAMES = 512;

/** Reads bytes from a place in a chunk on; returns the place that it has come to. */
export type ReadSlice = (chunk: Uint8Array, from: number) => number;

/** Hands the chunks of a socket to `read`, which may leave bytes of one: after a turn of the event loop it gets these. */
export function readInSlices(socket: Socket, read: ReadSlice): void {
  socket.on("data", (chunk: Uint8Array) => {
    const at = read(chunk, 0);
    if (at < chunk.length) void readRest(chunk, at);
  });

  async function readRest(chunk: Uint8Array, from: number): Promise<void> {
    // What follows waits in the socket, and then at the other end.
    socket.pause();
    for (let at = from; at < chunk.length; at = read(chunk, at)) await nextTask();
    socket.resume();
  }
}
