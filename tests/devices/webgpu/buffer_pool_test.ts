/** The pool of GPU buffers, on a device that only counts. */
import { assertEquals } from "@std/assert";
import { newCounters } from "../../../src/core/device.ts";
import { BufferPool } from "../../../src/devices/webgpu/buffer_pool.ts";

/** A pool that holds 1,024 bytes, and the ids of the buffers that were destroyed. */
function countingPool(): { pool: BufferPool; destroyed: number[] } {
  const destroyed: number[] = [];
  const device = {
    limits: { maxBufferSize: 1 << 20 },
    createBuffer: () => ({ destroy: () => {} }),
  } as unknown as GPUDevice;
  const onDestroy = (id: number): void => void destroyed.push(id);
  return {
    pool: new BufferPool(device, newCounters(), { onDestroy, limit: 1024 }),
    destroyed,
  };
}

Deno.test("BufferPool hands a buffer out again", () => {
  const { pool } = countingPool();
  const first = pool.take(512);
  pool.give(first, 0);
  assertEquals([pool.take(512) === first, pool.buffers, pool.poolBytes], [true, 1, 0]);
});

Deno.test("BufferPool destroys what is beyond its limit, but not before the commands that use it", () => {
  const { pool, destroyed } = countingPool();
  const [a, b, c] = [1024, 1024, 1024].map((bytes) => pool.take(bytes));
  c.batch = 7;
  for (const buffer of [a, b, c]) pool.give(buffer, 7);
  assertEquals(destroyed, [b.id]);
  pool.submitted();
  assertEquals([destroyed, pool.buffers, pool.poolBytes], [[b.id, c.id], 1, 1024]);
});
