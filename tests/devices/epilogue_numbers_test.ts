/** Numbers of a model in the epilogues of products: kernels read them, so that layers share one. */
import { assert, assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { kernelTrace } from "../../src/engine/core/device.ts";
import { Engine } from "../../src/engine/devices/cpu/engine.ts";

const a = Float32Array.from({ length: 32 * 24 }, (_, i) => Math.sin(i)),
  b = Float32Array.from({ length: 24 * 20 }, (_, i) => Math.cos(i * i));

/** Multiplies, scales and rounds as a quantised layer does, and returns the keys of its kernels too. */
async function layer(scale: number, zero: number): Promise<{ y: Float32Array; keys: string[] }> {
  const keys: string[] = [], { print } = kernelTrace;
  kernelTrace.print = ({ parts }) => keys.push(...parts.map(({ key }) => key));
  try {
    const f = tf.function((x: tf.Tensor, w: tf.Tensor) => {
      const level = tf.add(tf.round(tf.div(tf.matMul(x, w), tf.scalar(scale))), tf.scalar(zero));
      return tf.mul(tf.sub(tf.clipByValue(level, 0, 255), tf.scalar(zero)), tf.scalar(scale));
    });
    const y = await f(tf.tensor(a, [32, 24]), tf.tensor(b, [24, 20])).data() as Float32Array;
    return { y, keys };
  } finally {
    kernelTrace.print = print;
  }
}

/** Computes the layer op by op. */
async function defined(scale: number, zero: number): Promise<Float32Array> {
  const sums = tf.matMul(tf.tensor(a, [32, 24]), tf.tensor(b, [24, 20]));
  const level = tf.add(tf.round(tf.div(sums, tf.scalar(scale))), tf.scalar(zero));
  const y = tf.mul(tf.sub(tf.clipByValue(level, 0, 255), tf.scalar(zero)), tf.scalar(scale));
  return await y.data() as Float32Array;
}

Deno.test("layers that differ in scales and zero points have one kernel, and results of their own", async () => {
  await tf.setBackend("cpu");
  const one = await layer(0.0188, 113), other = await layer(0.0471, 142);
  assert(one.keys.some((key) => key.startsWith("gemm")), String(one.keys));
  assertEquals(one.keys, other.keys);
  assertEquals(one.y, await defined(0.0188, 113));
  assertEquals(other.y, await defined(0.0471, 142));
  assertEquals((await layer(-3.7e-5, 13)).y, await defined(-3.7e-5, 13));
});

Deno.test("an engine keeps each number once, and not more than it has room for", () => {
  const engine = new Engine();
  const at = engine.number(0.1)!;
  assertEquals(engine.heap.f32[at >>> 2], Math.fround(0.1));
  assertEquals(engine.number(0.1), at);
  const places = new Set<number | null>([at]);
  for (let i = 1; i < 1024; i++) places.add(engine.number(i + 0.3));
  assertEquals(places.size, 1024);
  assertEquals(places.has(null), false);
  assertEquals(engine.number(-0.7), null);
  assertEquals(engine.number(0.1), at);
});
