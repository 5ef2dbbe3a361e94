/** The turns of connections: bytes are read, requests begun and answers sent within a time, of idle connections first. */
import { assertEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import type { Socket } from "node:net";
import { nextTick } from "node:process";
import { PiecewiseInput } from "../../src/serve/piecewise_input.ts";
import { Turns } from "../../src/serve/turns.ts";
import { nextTask } from "../../src/engine/runtime/run/timers.ts";

/** Work that takes a millisecond each, by a clock of its own: what is done in one turn of the event loop is a group. */
class Work implements Disposable {
  readonly turns: Turns;
  readonly #groups = new Map<number, string>();
  #now = 0;
  #turn = 0;
  readonly #timers: Disposable;

  constructor() {
    this.turns = new Turns(() => this.#now);
    const { setTimeout } = globalThis;
    // Each timer that fires begins a turn, also where a slow machine fires several before other events.
    const counted = (fn: () => void, ms?: number): ReturnType<typeof setTimeout> =>
      setTimeout(() => {
        this.#turn++;
        fn();
      }, ms);
    this.#timers = stub(globalThis, "setTimeout", counted as unknown as typeof setTimeout);
  }

  [Symbol.dispose](): void {
    this.#timers[Symbol.dispose]();
  }

  get groups(): readonly string[] {
    return [...this.#groups.values()];
  }

  do(name: string): void {
    this.#now++;
    this.#groups.set(this.#turn, (this.#groups.get(this.#turn) ?? "") + name);
  }

  take(name: string, isFresh = false): void {
    this.turns.take(() => this.do(name), isFresh);
  }

  async done(count: number): Promise<readonly string[]> {
    while (this.groups.join("").length < count) await nextTask();
    return this.groups;
  }
}

/** Waits for some microtasks. */
async function hops(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await null;
}

Deno.test("a turn of connections takes two milliseconds, whoever asks", async () => {
  using work = new Work();
  for (const name of "abcdefg") work.take(name);
  // Those that have time are done at once.
  assertEquals(work.groups, ["ab"]);
  assertEquals(await work.done(7), ["ab", "cd", "ef", "g"]);
});

Deno.test("connections with nothing else come before those that go on, and those keep their order", async () => {
  using work = new Work();
  for (const name of "abcde") work.take(name);
  for (const name of "xyz") work.take(name, true);
  assertEquals(await work.done(8), ["ab", "xy", "zc", "de"]);
});

Deno.test("requests that bytes begin are in the time of the reading, and wait where that is over", async () => {
  using work = new Work();
  work.turns.take(() => {
    work.do("r");
    for (const name of "12345") work.take(name);
  }, false);
  assertEquals(await work.done(6), ["r1", "23", "45"]);
});

Deno.test("the time of a turn counts from its first work, also where more comes later in it", async () => {
  using work = new Work();
  work.take("a");
  await hops(20);
  for (const name of "bcd") work.take(name);
  assertEquals(await work.done(4), ["ab", "cd"]);
  // The next turn has time of its own.
  await nextTask();
  for (const name of "ef") work.take(name);
  assertEquals(work.groups.join(""), "abcdef");
});

Deno.test("work that promises its end is one after the other in a turn, with all that it does in microtasks", async () => {
  using work = new Work();
  const take = (name: string, isFresh = false): void =>
    work.turns.take(async () => {
      work.do(name);
      await hops(20);
      work.do(name.toUpperCase());
    }, isFresh);
  for (const name of "abc") take(name);
  take("x", true);
  assertEquals(await work.done(8), ["aA", "xX", "bB", "cC"]);
});

Deno.test("work that waits for the event loop lets the next one begin in its turn", async () => {
  using work = new Work();
  const held = Promise.withResolvers<void>();
  work.turns.take(async () => {
    work.do("a");
    await held.promise;
    work.do("A");
  }, true);
  for (const name of "bcd") work.take(name);
  assertEquals(await work.done(4), ["ab", "cd"]);
  held.resolve();
  assertEquals((await work.done(5)).at(-1), "A");
});

Deno.test("work that throws ends no turns, and its error is the process's", async () => {
  const errors: string[] = [];
  const hear = (event: ErrorEvent): void => {
    event.preventDefault();
    errors.push(event.error.message);
  };
  globalThis.addEventListener("error", hear);
  try {
    using work = new Work();
    work.take("a");
    work.turns.take(() => {
      throw new Error("x");
    }, false);
    work.turns.take(() => Promise.reject(new Error("y")), false);
    work.take("b");
    assertEquals((await work.done(2)).join(""), "ab");
    work.take("c");
    await work.done(3);
    assertEquals(errors, ["x", "y"]);
  } finally {
    globalThis.removeEventListener("error", hear);
  }
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

Deno.test("a connection of 64 requests is read on when one is answered", async () => {
  const { socket, pieces } = socketOf((_, k) => {
    for (let i = 0; k === 1 && i < 64; i++) input.began(0);
  });
  const input: PiecewiseInput = new PiecewiseInput(socket, new Turns(() => 0));
  socket.push(new Uint8Array(8192));
  socket.push(null);
  assertEquals(pieces, [4096]);
  input.ended();
  while (pieces.length < 4) await nextTask();
  assertEquals(pieces, [4096, 512, 3584, null]);
});

Deno.test("the end of a connection takes as long as what Node does after it: others wait for their turn", async () => {
  const order: string[] = [], turns = new Turns(() => 0);
  const end = (name: string): void => {
    const { socket } = socketOf(() => {
      order.push(name);
      nextTick(() => nextTick(() => order.push(name.toUpperCase())));
    });
    new PiecewiseInput(socket, turns);
    socket.push(null);
  };
  for (const name of "abc") end(name);
  // A request goes before the ends of others.
  turns.take(() => void order.push("-"), true);
  while (order.length < 7) await nextTask();
  assertEquals(order.join(""), "aA-bBcC");
});

Deno.test("what comes after a refusal is left out, but for its end", async () => {
  const { socket, pieces } = socketOf((_, k) => k === 2 && assertEquals(input.leave(), true));
  const input: PiecewiseInput = new PiecewiseInput(socket, new Turns(() => 0));
  for (const chunk of [new Uint8Array(20_000), new Uint8Array(5), null]) socket.push(chunk);
  while (pieces.at(-1) !== null) await nextTask();
  assertEquals(pieces, [4096, 4096, null]);
  assertEquals(input.leave(), false);
  // A piece may wait for its turn.
  using work = new Work();
  const other = socketOf(() => {});
  for (const name of "ab") work.take(name);
  const waiting = new PiecewiseInput(other.socket, work.turns);
  other.socket.push(new Uint8Array(5));
  waiting.leave();
  other.socket.push(null);
  work.take("c");
  await work.done(3);
  assertEquals(other.pieces, [null]);
});
