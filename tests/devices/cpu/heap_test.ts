/** Blocks of the CPU device's memory. */

import { assert, assertEquals, assertThrows } from "@std/assert";
import { ResourceExhaustedError } from "../../../src/engine/core/errors.ts";
import { Heap } from "../../../src/engine/devices/cpu/heap.ts";
import { probeFeatures } from "../../../src/engine/devices/cpu/wasm/features.ts";
import { randomSource } from "./engines.ts";

for (const shared of [false, true]) {
  Deno.test({
    name: `Heap keeps ${shared ? "shared " : ""}blocks apart and gives their memory back`,
    ignore: shared && !probeFeatures().shared,
    fn() {
      const heap = new Heap(shared);
      assertEquals(heap.shared, shared);
      const random = randomSource(3);
      const live: { pointer: number; bytes: number; mark: number }[] = [];
      for (let turn = 0; turn < 3000; turn++) {
        if (live.length > 60 || (live.length > 0 && random() < 0.45)) {
          const [{ pointer, bytes, mark }] = live.splice(Math.floor(random() * live.length), 1);
          const words = new Uint32Array(heap.memory.buffer, pointer, Math.ceil(bytes / 4));
          assertEquals(
            [words[0], words[words.length - 1]],
            [mark, mark],
            `block of ${bytes} bytes at ${pointer}`,
          );
          heap.free(pointer, bytes);
        } else {
          const bytes = Math.ceil(2 ** (random() * 20));
          const pointer = heap.alloc(bytes);
          assert(
            pointer > 0 && pointer % 64 === 0 && Heap.blockBytes(bytes) >= bytes &&
              Heap.blockBytes(bytes) % 64 === 0,
          );
          new Uint32Array(heap.memory.buffer, pointer, Heap.blockBytes(bytes) / 4).fill(turn);
          live.push({ pointer, bytes, mark: turn });
        }
      }
      for (const { pointer, bytes } of live) heap.free(pointer, bytes);
      assertEquals(heap.liveBytes, 0);
      const before = heap.memory.buffer.byteLength;
      const again = heap.alloc(1000);
      assertEquals(heap.memory.buffer.byteLength, before);
      assertEquals(heap.f32.byteLength, before);
      heap.free(again, 1000);
    },
  });
}

Deno.test("Heap grows by what its last free part lacks", () => {
  const heap = new Heap(false), mib = 1024 * 1024;
  const first = heap.alloc(64 * mib),
    second = heap.alloc(8 * mib),
    size = heap.memory.buffer.byteLength;
  heap.free(second, 8 * mib);
  // 8 MiB at least are free at the end; a quarter of what is there is less than what is asked for.
  heap.alloc(28 * mib);
  const grown = heap.memory.buffer.byteLength - size;
  assert(grown <= 24 * mib, `${grown / mib} MiB`);
  heap.free(first, 64 * mib);
});

Deno.test("Heap joins large blocks that are freed", () => {
  const heap = new Heap(false);
  const mib = 1024 * 1024;
  const parts = Array.from({ length: 8 }, () => heap.alloc(4 * mib));
  const size = heap.memory.buffer.byteLength;
  for (const i of [1, 3, 5, 7, 0, 6, 2, 4]) heap.free(parts[i], 4 * mib);
  const whole = heap.alloc(32 * mib);
  assertEquals(heap.memory.buffer.byteLength, size);
  heap.free(whole, 32 * mib);
});

Deno.test({
  name:
    "Heap has all addresses of a fixed memory from the beginning, and counts what was asked for",
  ignore: !probeFeatures().shared,
  fn() {
    const mib = 1024 * 1024, heap = new Heap(true, 64 * mib, true);
    assertEquals([heap.minimum, heap.maximum], [1024, 1024]);
    const { f32 } = heap;
    assertEquals(f32.byteLength, 64 * mib);
    assert(heap.poolBytes < 4 * mib);
    const blocks = [20, 30].map((n) => heap.alloc(n * mib));
    assert(heap.f32 === f32 && heap.poolBytes < 13 * mib);
    assertThrows(() => heap.alloc(30 * mib), ResourceExhaustedError);
    [20, 30].forEach((n, i) => heap.free(blocks[i], n * mib));
    assertEquals(heap.liveBytes, 0);
  },
});

Deno.test("Heap throws ResourceExhaustedError where memory ends, and works on", () => {
  const heap = new Heap(false, 8 * 1024 * 1024);
  const small = heap.alloc(1000);
  const error = assertThrows(() => heap.alloc(9 * 1024 * 1024), ResourceExhaustedError);
  assertEquals(error.message.includes("OOM when allocating 9437184 bytes"), true);
  assertEquals(heap.liveBytes, Heap.blockBytes(1000));
  const blocks = Array.from({ length: 5 }, () => heap.alloc(1024 * 1024));
  heap.free(small, 1000);
  for (const b of blocks) heap.free(b, 1024 * 1024);
  assertEquals(heap.liveBytes, 0);
  // Whatever was asked for, the count goes on.
  for (const bytes of [2 ** 40, Infinity]) {
    assertThrows(() => heap.alloc(bytes), ResourceExhaustedError, `allocating ${bytes} bytes`);
  }
  assertEquals(heap.liveBytes, 0);
});

Deno.test("Heap gives small blocks to the last, and all of several blocks or none", () => {
  const heap = new Heap(false, 4 * 1024 * 1024), sizes: number[] = [], blocks = new Set<number>();
  const error = assertThrows(() => {
    for (;; sizes.push(1000)) blocks.add(heap.alloc(1000));
  }, ResourceExhaustedError);
  assert(error.message.startsWith("OOM when allocating 1000 bytes"), error.message);
  assert(heap.poolBytes < 8192, `${heap.poolBytes} bytes are left`);
  assertEquals([blocks.size, heap.liveBytes], [sizes.length, 1024 * sizes.length]);
  for (const b of blocks) heap.free(b, 1000);
  assertThrows(() => heap.allocAll([1000, 64, 2 ** 22]), ResourceExhaustedError);
  assertThrows(() => heap.lend(64, () => heap.alloc(2 ** 22)), ResourceExhaustedError);
  assertEquals(heap.liveBytes, 0);
});
