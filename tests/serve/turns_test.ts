/** The turns of connections: bytes are read and requests begun within a time, of idle connections first. */
import { assertEquals } from "@std/assert";
import type { Socket } from "node:net";
import { PiecewiseInput, Turns } from "../../src/serve/piecewise_input.ts";
import { nextTask } from "../../src/engine/runtime/run/timers.ts";

/** Work that takes a millisecond each, by a clock of its own: what is done at once is a group. */
class Work {
  readonly groups: string[][] = [];
  readonly turns: Turns;
  #now = 0;
  #isOpen = false;

  constructor() {
    this.turns = new Turns(() => this.#now);
  }

  do(name: string): void {
    this.#now++;
    if (!this.#isOpen) {
      this.groups.push([]);
      queueMicrotask(() => this.#isOpen = false);
    }
    this.#isOpen = true;
    this.groups.at(-1)!.push(name);
  }

  take(name: string, isFresh = false): void {
    this.turns.take(() => this.do(name), isFresh);
  }

  async done(count: number): Promise<readonly string[]> {
    while (this.groups.flat().length < count) await nextTask();
    return this.groups.map((group) => group.join(""));
  }
}

Deno.test("a turn of connections takes two milliseconds, whoever asks", async () => {
  const work = new Work();
  for (const name of "abcdefg") work.take(name);
  assertEquals(await work.done(7), ["ab", "cd", "ef", "g"]);
});

Deno.test("connections with nothing else come before those that go on, and those keep their order", async () => {
  const work = new Work();
  for (const name of "abcde") work.take(name);
  for (const name of "xyz") work.take(name, true);
  assertEquals(await work.done(8), ["ab", "xy", "zc", "de"]);
});

Deno.test("requests that bytes begin are in the time of the reading, and wait where that is over", async () => {
  const work = new Work();
  work.turns.take(() => {
    work.do("r");
    for (const name of "12345") work.take(name);
  }, false);
  assertEquals(await work.done(6), ["r1", "23", "45"]);
});

Deno.test("work that throws ends no turns", async () => {
  const work = new Work();
  for (const name of "ab") work.take(name);
  work.take("c");
  work.turns.take(() => work.do("d"), false);
  await work.done(4);
  let thrown: unknown;
  try {
    new Turns(() => 0).take(() => {
      throw new Error("x");
    }, false);
  } catch (error) {
    thrown = error;
  }
  assertEquals((thrown as Error).message, "x");
  work.take("e");
  assertEquals((await work.done(5)).join(""), "abcde");
});

/** A socket that says how many bytes its reader got at a time. */
function socketOf(heard: (piece: Uint8Array | null, k: number) => void) {
  const pieces: (number | null)[] = [];
  const socket = {
    destroyed: false,
    _handle: {},
    push(piece: Uint8Array | null) {
      pieces.push(piece === null ? null : piece.length);
      heard(piece, pieces.length);
      return true;
    },
    _read() {},
    read: () => null,
  };
  return { socket: socket as unknown as Socket, pieces };
}

Deno.test("bytes are read 4 KiB at a time, and in bodies 16 KiB", () => {
  for (
    const [bodyBytes, wanted] of [
      [0, Array(24).fill(4096)],
      [NaN, Array(24).fill(4096)],
      // Its head is in the first piece.
      [40_000, [4096, 16_384, 16_384, 7232, ...Array(13).fill(4096), 960]],
      [1e15, [4096, ...Array(5).fill(16_384), 12_288]],
    ] as const
  ) {
    const { socket, pieces } = socketOf((_, k) => k === 1 && input.began(bodyBytes));
    const input: PiecewiseInput = new PiecewiseInput(socket, new Turns(() => 0));
    socket.push(new Uint8Array(24 * 4096));
    assertEquals(pieces, wanted, `${bodyBytes}`);
  }
});

Deno.test("bytes are read 512 at a time after a piece of many requests, until one has few", () => {
  const begins = [9, 8, 100, 9, 0];
  const { socket, pieces } = socketOf((_, k) => {
    for (let i = 0; i < (begins[k - 1] ?? 0); i++) input.began(0);
    for (let i = 0; i < (begins[k - 1] ?? 0); i++) input.ended();
  });
  const input: PiecewiseInput = new PiecewiseInput(socket, new Turns(() => 0));
  socket.push(new Uint8Array(14_000));
  assertEquals(pieces, [4096, 512, 4096, 512, 512, 4096, 176]);
});

Deno.test("a connection of 64 requests is read on when one is answered", () => {
  const { socket, pieces } = socketOf((_, k) => {
    for (let i = 0; k === 1 && i < 64; i++) input.began(0);
  });
  const input: PiecewiseInput = new PiecewiseInput(socket, new Turns(() => 0));
  socket.push(new Uint8Array(8192));
  socket.push(null);
  assertEquals(pieces, [4096]);
  input.ended();
  assertEquals(pieces, [4096, 512, 3584, null]);
});

Deno.test("what comes after a refusal is left out, but for its end", async () => {
  const { socket, pieces } = socketOf((_, k) => k === 2 && assertEquals(input.leave(), true));
  const input: PiecewiseInput = new PiecewiseInput(socket, new Turns(() => 0));
  for (const chunk of [new Uint8Array(20_000), new Uint8Array(5), null]) socket.push(chunk);
  assertEquals(pieces, [4096, 4096, null]);
  assertEquals(input.leave(), false);
  // A piece may wait for its turn.
  const work = new Work(), other = socketOf(() => {});
  for (const name of "ab") work.take(name);
  const waiting = new PiecewiseInput(other.socket, work.turns);
  other.socket.push(new Uint8Array(5));
  waiting.leave();
  other.socket.push(null);
  work.take("c");
  await work.done(3);
  assertEquals(other.pieces, [null]);
});
