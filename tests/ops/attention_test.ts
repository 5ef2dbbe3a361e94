/** Attention: against a loop, over shapes, masks and kernels. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertThrows, fail } from "@std/assert";
import { HAS_WEBGPU, testOnDevices } from "../devices.ts";
import type { Profile } from "../../src/engine/core/dispatch.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import { Engine } from "../../src/engine/devices/cpu/engine.ts";
import { Heap } from "../../src/engine/devices/cpu/heap.ts";
import { prepareAttention } from "../../src/engine/devices/cpu/rows/attention.ts";
import { cpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import { difference } from "../../src/library/testing/compare.ts";
import { problemOf, runCpuKernel, runEagerly } from "../../src/library/testing/run_op.ts";
import { gpuVariants } from "../../src/engine/devices/webgpu/kernel_table.ts";
import "./gpu_kernels.ts";
import { effort, isOfTheDay, THOROUGH } from "../effort.ts";
import { compareVariants, testOnGpu } from "./force_variant.ts";
import { Draw } from "./random_problems.ts";
import { MOVED_RANDOM_PROBLEMS } from "./random_problems_moved.ts";
import { noise } from "./values.ts";

/** `[batch, time, heads, depth]` attention in float64. */
function reference(
  q: tf.NdArray,
  k: tf.NdArray,
  v: tf.NdArray,
  causal: boolean,
  scale: number = 1 / Math.sqrt(q.shape[3]),
): number[] {
  const [batch, n, heads, depth] = q.shape, m = k.shape[1];
  const [Q, K, V] = [q, k, v].map((a) => a.data as Float32Array);
  const out: number[] = new Array(Q.length).fill(0);
  for (let b = 0; b < batch; b++) {
    for (let t = 0; t < n; t++) {
      for (let h = 0; h < heads; h++) {
        const at = ((b * n + t) * heads + h) * depth;
        const scores: number[] = [];
        for (let s = 0; s < m; s++) {
          const from = ((b * m + s) * heads + h) * depth;
          let dot = 0;
          for (let d = 0; d < depth; d++) dot += Q[at + d] * K[from + d];
          scores.push(causal && s > t + m - n ? -Infinity : dot * scale);
        }
        const top = Math.max(...scores);
        const weights = scores.map((s) => Math.exp(s - top));
        const total = weights.reduce((a, w) => a + w, 0);
        weights.forEach((w, s) => {
          const from = ((b * m + s) * heads + h) * depth;
          for (let d = 0; d < depth; d++) out[at + d] += w / total * V[from + d];
        });
      }
    }
  }
  return out;
}

const SHAPES: readonly [number, number, number, number, number][] = [
  [1, 1, 1, 1, 4],
  [2, 5, 5, 3, 8],
  [1, 3, 9, 2, 12],
  [1, 17, 33, 1, 64],
  [2, 4, 4, 2, 5],
  [1, 35, 37, 2, 20],
];

testOnDevices("scaledDotProductAttention() attends as a loop does", () => {
  for (const [i, [b, n, m, h, d]] of SHAPES.entries()) {
    for (const causal of [false, true].filter((c) => isOfTheDay(i + Number(c), 2))) {
      const q = noise("float32", [b, n, h, d], 1),
        k = noise("float32", [b, m, h, d], 2),
        v = noise("float32", [b, m, h, d], 3);
      using y = tf.scaledDotProductAttention(q, k, v, { causal });
      const want = reference(q, k, v, causal);
      (y.dataSync() as Float32Array).forEach((x, i) => {
        if (!(Math.abs(x - want[i]) < 1e-5)) {
          fail(`${[b, n, m, h, d, causal]} at ${i}: ${x} and ${want[i]}`);
        }
      });
    }
  }
});

Deno.test({
  name: "every attention kernel agrees with the CPU [webgpu]",
  ignore: !HAS_WEBGPU,
  sanitizeOps: false,
  sanitizeResources: false,
  async fn() {
    const ran = new Set<string>();
    const shapes = SHAPES.filter((s) => s[4] % 4 === 0);
    const cases = shapes.flatMap((shape, i) =>
      (THOROUGH ? [false, true] : [i % 2 > 0]).map((causal) => ({ shape, causal }))
    );
    for (const { shape: [b, n, m, h, d], causal } of cases) {
      const inputs = [
        noise("float32", [b, n, h, d], 1),
        noise("float32", [b, m, h, d], 2),
        noise("float32", [b, m, h, d], 3),
      ];
      const near = { absolute: 1e-5 };
      for (
        const name of await compareVariants("_Attention", inputs, { causal, scale: 0.3 }, near)
      ) ran.add(name);
    }
    assertEquals([...ran].sort(), ["blocks", "few queries", "shared tiles", "tiles"]);
  },
});

for (const op of ["_FusedAttention", "_FusedAttentionGrad"]) {
  Deno.test(`${op} in plain loops equals that in vector code`, async () => {
    for (let seed = 0; seed < 16; seed++) {
      const { inputs, attrs = {} } = MOVED_RANDOM_PROBLEMS[op](new Draw(seed));
      const def = lookupOp(op)!, problem = problemOf(def, inputs, attrs);
      const vectors = await runEagerly(def, inputs, attrs, cpuDevice());
      runCpuKernel(def, inputs, problem).forEach((loops, i) => {
        const wrong = difference(loops, vectors[i], "float32", {
          ulps: 64,
          ulpsOfLargest: 64,
          absolute: 1e-5,
        });
        assertEquals(wrong, null, `seed ${seed}, result ${i}`);
      });
    }
  });
}

testOnGpu("every kernel of attention's gradient agrees with the CPU", async () => {
  const ran = new Set<string>();
  for (let seed = 0; seed < effort(6, 24); seed++) {
    const { inputs, attrs } = MOVED_RANDOM_PROBLEMS._FusedAttentionGrad(new Draw(seed));
    const near = { ulps: 64, ulpsOfLargest: 64, absolute: 1e-5 };
    const names = await compareVariants("_FusedAttentionGrad", inputs, { ...attrs }, near);
    for (const name of names) ran.add(name);
  }
  assertEquals([...ran].sort(), ["rows", "shared rows"]);
});

const ADAPTER: Profile = {
  barriers: false,
  subgroup: 8,
  subgroupDirective: false,
  lanes: 8,
  f16: true,
  words64: true,
  maxBinding: 2 ** 27,
  maxBuffers: 8,
  maxInvocations: 256,
  maxWorkgroupBytes: 16384,
  maxGrid: 65535,
};

Deno.test("gradients of keys and values are dispatches of their own where few buffers may be bound", () => {
  const op = lookupOp("_FusedAttentionGrad")!, [variant] = gpuVariants(op);
  for (let seed = 0; seed < 40; seed++) {
    const { inputs, attrs = {} } = MOVED_RANDOM_PROBLEMS._FusedAttentionGrad(new Draw(seed));
    const problem = problemOf(op, inputs, attrs);
    if (problem.outputs.length < 3) continue;
    for (const maxBuffers of [8, 10]) {
      const profile = { ...ADAPTER, maxBuffers };
      assert(variant.fits!(problem, profile), String(maxBuffers));
      const { dispatches } = variant.plan(problem, profile);
      for (const { program } of dispatches) {
        assert(program.bindings.length <= maxBuffers, `${program.bindings.length} bindings`);
      }
      assert(dispatches.length === 4 || maxBuffers > 8, `${dispatches.length} dispatches`);
    }
  }
});

Deno.test("attention of few numbers writes nothing behind its result", () => {
  const engine = new Engine(), { heap } = engine;
  for (const depth of [1, 3, 4, 8, 12, 16, 20]) {
    for (const time of [1, 2, 5]) {
      const x = noise("float32", [3, time, 1, depth], depth);
      const problem = problemOf(lookupOp("_Attention")!, [x, x, x], { causal: true, scale: 1 });
      const run = prepareAttention(engine, problem)!, bytes = Heap.blockBytes(4 * x.size);
      // Blocks of one size lie side by side.
      const blocks = Array.from({ length: 8 }, () => heap.alloc(bytes)).sort((a, b) => a - b);
      const at = blocks.findIndex((b, i) => b + bytes === blocks[i + 1] && i > 0);
      const [from, out, guard] = [blocks[0], blocks[at], blocks[at + 1]];
      heap.f32.set(x.data as Float32Array, from >>> 2);
      heap.u8.fill(7, guard, guard + bytes);
      run([out], [from, from, from]);
      const name = `depth ${depth}, time ${time}`;
      assert(heap.u8.subarray(guard, guard + bytes).every((v) => v === 7), name);
      const found = heap.f32.slice(out >>> 2, (out >>> 2) + x.size);
      const want = reference(x, x, x, true, 1);
      found.forEach((v, i) => assert(Math.abs(v - want[i]) < 1e-5, name));
      for (const block of blocks) heap.free(block, bytes);
    }
  }
});

testOnDevices("scaledDotProductAttention() is differentiated", () => {
  const x = noise("float32", [1, 3, 1, 4], 5);
  const f = (t: tf.Tensor): tf.Tensor =>
    tf.sum(tf.square(tf.scaledDotProductAttention(t, t, t, { causal: true })));
  const dx = tf.grad(f)(tf.tensor(x)).dataSync() as Float32Array;
  for (let i = 0; i < x.size; i++) {
    const moved = (e: number): number =>
      f(tf.tensor(x.map((v, j) => Number(v) + (i === j ? e : 0)))).item();
    const slope = (moved(1e-2) - moved(-1e-2)) / 2e-2;
    assert(Math.abs(dx[i] - slope) < 5e-3, `${dx[i]} and ${slope} at ${i}`);
  }
});

Deno.test("scaledDotProductAttention() refuses shapes that do not fit", () => {
  const x = tf.ones([1, 3, 2, 4]);
  assertThrows(
    () => tf.scaledDotProductAttention(tf.ones([3, 4]), x, x),
    tf.ValueError,
    "query must have shape [batch, time, heads, depth]",
  );
  assertThrows(
    () => tf.scaledDotProductAttention(x, tf.ones([1, 3, 2, 8]), x),
    tf.ValueError,
    "Cannot attend from",
  );
  assertThrows(
    () => tf.scaledDotProductAttention(tf.ones([1, 4, 2, 4]), x, x, { causal: true }),
    tf.ValueError,
    "sees no key",
  );
});
