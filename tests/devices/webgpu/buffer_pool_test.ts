/** The pool of GPU buffers, on a device that only counts. */
import { assertEquals, assertThrows } from "@std/assert";
import { FakeTime } from "@std/testing/time";
import { ResourceExhaustedError } from "../../../src/engine/core/errors.ts";
import { DeviceCounters } from "../../../src/engine/core/device.ts";
import { BufferPool, type PooledBuffer } from "../../../src/engine/devices/webgpu/buffer_pool.ts";

/** A pool that holds 1,024 bytes, and the ids of the buffers that were destroyed. */
function countingPool(
  errors: readonly (GPUError | null)[] = [],
  limits: { readonly limit?: number; readonly idleBytes?: number } = { limit: 1024 },
): {
  pool: BufferPool;
  destroyed: number[];
  failures: string[];
} {
  const left = [...errors], destroyed: number[] = [], failures: string[] = [];
  const device = {
    limits: { maxBufferSize: 1 << 20 },
    createBuffer: ({ size }: { size: number }) => ({ size, destroy: () => {} }),
    pushErrorScope: () => {},
    popErrorScope: () => Promise.resolve(left.shift() ?? null),
  } as unknown as GPUDevice;
  const onDestroy = (id: number): void => void destroyed.push(id);
  return {
    pool: new BufferPool(device, new DeviceCounters(), {
      onDestroy,
      onFail: ({ message }) => failures.push(message),
      ...limits,
    }),
    destroyed,
    failures,
  };
}

Deno.test("BufferPool hands a buffer out again", () => {
  const { pool } = countingPool();
  const first = pool.take(pool.classOf(512));
  pool.give(first, 0);
  assertEquals([pool.take(pool.classOf(512)) === first, pool.buffers, pool.poolBytes], [
    true,
    1,
    0,
  ]);
});

/** Submits until the pool has forgotten what was in use at once. */
function submitMany(pool: BufferPool): void {
  for (let i = 0; i < 512; i++) pool.submitted();
}

Deno.test("BufferPool holds what was in use at once, and after a while no more than its limit", () => {
  const { pool, destroyed } = countingPool();
  const buffers = [1024, 1024, 1024].map((bytes) => pool.take(pool.classOf(bytes)));
  buffers.forEach((b, i) => {
    b.batch = 2 - i;
    pool.give(b, 3);
  });
  assertEquals([destroyed, pool.poolBytes], [[], 3072]);
  submitMany(pool);
  assertEquals([destroyed.length, pool.buffers, pool.poolBytes], [2, 1, 1024]);
});

Deno.test("BufferPool makes room for a buffer by the longest unused, but not before the commands that use it", () => {
  const { pool, destroyed } = countingPool();
  const take = (bytes: number, batch: number): PooledBuffer => {
    const buffer = pool.take(pool.classOf(bytes));
    buffer.batch = batch;
    return buffer;
  };
  const a = take(512, 1);
  pool.give(a, 2);
  const b = take(256, 2);
  pool.give(b, 2);
  // One at a time, so that no more than 1,024 bytes are in use at once.
  for (let i = 0; i < 3; i++) pool.give(take(1024, 7), 7);
  assertEquals([destroyed, pool.poolBytes], [[a.id, b.id], 1024]);
  const c = take(768, 7);
  pool.give(c, 7);
  assertEquals([destroyed, pool.poolBytes], [[a.id, b.id], 768]);
  pool.submitted();
  assertEquals([destroyed.length, pool.buffers, pool.poolBytes], [3, 1, 768]);
});

Deno.test("BufferPool gives steps the same buffers, in whatever order these became free", () => {
  const { pool } = countingPool();
  const step = (order: readonly number[]): number[] => {
    const own = pool.takeAll([256, 512, 256, 256, 512].map((n) => pool.classOf(n)), 0);
    for (const k of order) pool.give(own[k], 0);
    return own.map(({ id }) => id);
  };
  const first = step([0, 1, 2, 3, 4]);
  for (const order of [[4, 3, 2, 1, 0], [2, 0, 4, 1, 3], [3, 1, 0, 2, 4]]) {
    assertEquals(step(order), first);
  }
  assertEquals([pool.buffers, pool.poolBytes], [5, 1792]);
});

Deno.test("BufferPool hands no buffer to two who ask", () => {
  const { pool } = countingPool();
  const classes = [pool.classOf(256)];
  const live = new Set<unknown>();
  const use = (b: PooledBuffer): PooledBuffer => {
    assertEquals(live.has(b), false);
    live.add(b);
    return b;
  };
  const kept: PooledBuffer[] = [], seen: PooledBuffer[] = [];
  for (let i = 0; i < 400; i++) {
    // Sequences claim what they had, where it is free, past the lists.
    const had = seen[(i * 11) % Math.max(1, seen.length)];
    if (i % 3 === 0 && had?.isFree) kept.push(use(pool.claim(had)));
    else kept.push(use(i % 3 === 1 ? pool.take(classes[0]) : pool.takeAll(classes, i)[0]));
    seen.push(kept.at(-1)!);
    if (i % 5 === 4) kept.push(use(pool.takeIdle(256, i)));
    while (kept.length > 2 + i % 3) {
      const [b] = kept.splice((i * 7) % kept.length, 1);
      live.delete(b);
      pool.give(b, i);
    }
  }
  assertEquals(pool.poolBytes, (pool.buffers - kept.length) * 256);
});

Deno.test("BufferPool hands small buffers to uploads in turns, never one of the batch", () => {
  const { pool } = countingPool();
  const used = new Set<PooledBuffer>();
  for (let batch = 0; batch < 4; batch++) {
    const order: PooledBuffer[] = [];
    for (let k = 0; k < 3; k++) {
      const b = pool.takeIdle(4, batch);
      assertEquals(order.includes(b), false);
      b.batch = batch;
      order.push(b);
      used.add(b);
      pool.give(b, batch);
    }
    assertEquals(order, [...used]);
  }
});

Deno.test("BufferPool never hands out a buffer that there was no memory for, and gives up what it holds", async () => {
  const { pool, destroyed, failures } = countingPool([null, null, { message: "full" } as GPUError]);
  const [free, used, failed] = [256, 512, 768].map((bytes) => pool.take(pool.classOf(bytes)));
  pool.give(free, 0);
  await Promise.resolve();
  assertEquals([failures, destroyed, pool.failed, pool.poolBytes], [["full"], [free.id], 1, 0]);
  pool.refuse([used, undefined]);
  assertThrows(() => pool.refuse([used, failed]), ResourceExhaustedError, "no GPU memory");
  pool.give(failed, 0);
  assertEquals([destroyed, pool.failed, pool.buffers], [[free.id, failed.id], 0, 1]);
});

Deno.test("BufferPool lets memory go when nothing is submitted for ten seconds, the longest unused first", () => {
  using time = new FakeTime();
  const { pool, destroyed } = countingPool([], { idleBytes: 1024 });
  const buffers = [1024, 1024, 1024].map((bytes) => pool.take(pool.classOf(bytes)));
  buffers.forEach((b, i) => {
    b.batch = i;
    pool.give(b, 2);
  });
  time.tick(9_000);
  pool.submitted();
  time.tick(1_000);
  assertEquals([destroyed, pool.poolBytes], [[], 3072], "a submission within them");
  time.tick(10_000);
  assertEquals([destroyed, pool.poolBytes], [buffers.slice(0, 2).map((b) => b.id), 1024]);
  assertEquals(pool.take(pool.classOf(1024)), buffers[2]);
});

Deno.test("BufferPool keeps what commands that were not submitted use, however long that takes", () => {
  using time = new FakeTime();
  const { pool, destroyed } = countingPool([], { idleBytes: 0 });
  const earlier = pool.take(pool.classOf(512));
  pool.give(earlier, 4);
  pool.submitted();
  const buffer = pool.take(pool.classOf(512));
  buffer.batch = 5;
  pool.give(buffer, 5);
  time.tick(60_000);
  assertEquals([destroyed, pool.poolBytes], [[], 0]);
  pool.submitted();
  assertEquals(destroyed, [buffer.id]);
});

Deno.test("BufferPool that needs little keeps it", () => {
  using time = new FakeTime();
  const { pool, destroyed } = countingPool([], {});
  pool.give(pool.take(pool.classOf(1 << 20)), 0);
  time.tick(60_000);
  assertEquals([destroyed, pool.poolBytes], [[], 1 << 20]);
});
