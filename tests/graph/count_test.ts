/** Number of dispatches of a piece of a network on the GPU, called and inside `tf.function`. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { lookupOp } from "../../src/engine/core/op.ts";
import { gpuVariants } from "../../src/engine/devices/webgpu/kernel_table.ts";
import type { WebGpuDevice } from "../../src/engine/devices/webgpu/webgpu_device.ts";
import { gpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import { problemOf, profilesOf } from "../../src/library/testing/run_op.ts";
import { testOnGpu } from "../ops/force_variant.ts";
import { noise } from "../ops/values.ts";

type Unary = (x: tf.Tensor) => tf.Tensor;

/** GELU written out with tanh, as models do. */
function gelu(x: tf.Tensor): tf.Tensor {
  const cube = tf.mul(tf.mul(x, x), x);
  const inner = tf.mul(Math.sqrt(2 / Math.PI), tf.add(x, tf.mul(0.044715, cube)));
  return tf.mul(tf.mul(0.5, x), tf.add(1, tf.tanh(inner)));
}

async function dispatchesOf(f: Unary, x: tf.Tensor): Promise<number> {
  f(x).dispose();
  const { dispatches } = await tf.profile(() => f(x).dispose());
  return dispatches;
}

const scale = tf.fill([48], 1.5);
const offset = tf.fill([48], 0.5);
const factors = tf.fill([16, 48], 0.25);

const CASES: readonly { name: string; shape: readonly number[]; f: Unary; eager: boolean }[] = [
  { name: "softmax", shape: [64, 48], f: (x) => tf.softmax(x), eager: true },
  {
    name: "layerNorm",
    shape: [64, 48],
    f: (x) => tf.layerNorm(x, scale, offset),
    eager: true,
  },
  {
    name: "causal attention 1×256×8×64",
    shape: [1, 256, 8, 64],
    f: (x) => tf.scaledDotProductAttention(x, x, x, { causal: true }),
    eager: true,
  },
  ...[[48], [1], [], [1, 48]].map((size) => {
    const bias = tf.fill(size, 0.5), b = factors;
    return {
      name: `fused.matMul with a bias of [${size}]`,
      shape: [64, 16],
      f: (a: tf.Tensor) => tf.fused.matMul({ a, b, bias, activation: "relu" }),
      eager: true,
    };
  }),
  { name: "GELU written out", shape: [64, 48], f: gelu, eager: false },
];

for (const { name, shape, f, eager } of CASES) {
  testOnGpu(`${name} is one dispatch`, async () => {
    await tf.setBackend("webgpu");
    using x = tf.randomNormal(shape);
    const compiled = tf.function(f);
    assertEquals(await dispatchesOf(compiled, x), 1);
    if (eager) assertEquals(await dispatchesOf(f, x), 1);
    await tf.setBackend("cpu");
  });
}

testOnGpu("attention is one dispatch on every kind of adapter", async () => {
  await tf.setBackend("webgpu");
  const attention = lookupOp("_Attention")!;
  const x = noise("float32", [1, 256, 8, 64]);
  const problem = problemOf(attention, [x, x, x], { causal: true, scale: 0.125 });
  for (const [name, profile] of profilesOf((gpuDevice() as WebGpuDevice).profile)) {
    const chosen = gpuVariants(attention).find(({ fits }) => fits!(problem, profile));
    assertEquals(chosen?.plan(problem, profile).dispatches.length, 1, name);
  }
  await tf.setBackend("cpu");
});

testOnGpu("views of arguments stay on the GPU", async () => {
  await tf.setBackend("webgpu");
  using x = tf.randomNormal([12, 6]);
  const f = tf.function((x: tf.Tensor) => {
    const view = tf.expandDims(tf.reshape(x, [6, 12]), 1);
    return tf.reshape(tf.softmax(view), [72]);
  });
  f(x).dispose();
  const counts = await tf.profile(() => f(x).dispose());
  assertEquals([counts.dispatches, counts.readbacks], [1, 0]);
  await tf.setBackend("cpu");
});
