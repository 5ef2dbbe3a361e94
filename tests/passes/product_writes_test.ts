/** Products that write columns of their result to a row of a variable: where plans make them, and that both results are as of two ops. */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { withFusion } from "../../src/engine/core/fusion.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import { argument } from "../../src/engine/core/scalar/expr.ts";
import { gpuVariants } from "../../src/engine/devices/webgpu/kernel_table.ts";
import type { WebGpuDevice } from "../../src/engine/devices/webgpu/webgpu_device.ts";
import { gpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import { forcedPlans, problemOf } from "../../src/library/testing/run_op.ts";
import { testOnDevices } from "../devices.ts";
import { testOnGpu } from "../ops/force_variant.ts";
import { noise } from "../ops/values.ts";

type Program = (cache: tf.Variable, x: tf.Tensor, place: tf.Tensor) => tf.Tensor;

const [ROOM, K, N] = [6, 16, 24];
const scale = noise("float32", [K], 5), offset = noise("float32", [K], 6);
const w = noise("float32", [K, N], 1), b = noise("float32", [N], 2);
const write = (cache: tf.Variable, y: tf.Tensor, place: tf.Tensor, from = 8): void => {
  const row = tf.reshape(tf.slice(y, [0, from], [1, 8]), [1, 2, 4]);
  cache.scatterUpdate(new tf.IndexedSlices(row, place));
};
const read = (cache: tf.Variable): tf.Tensor => tf.mul(cache as unknown as tf.Tensor, 2);
const both = (y: tf.Tensor, z: tf.Tensor): tf.Tensor =>
  tf.concat([tf.reshape(y, [-1]), tf.reshape(z, [-1])], 0);

/** Programs; plans join the write with the product in some of them. */
const PROGRAMS: Readonly<Record<string, Program>> = {
  "a product": (cache, x, place) => {
    const y = tf.matMul(x, w);
    write(cache, y, place);
    return both(y, read(cache));
  },
  "a bias and an activation": (cache, x, place) => {
    const y = tf.tanh(tf.add(tf.matMul(x, w), b));
    write(cache, y, place);
    return both(y, read(cache));
  },
  "a norm before and a residual behind": (cache, x, place) => {
    const rows = tf.layerNorm(x, noise("float32", [K], 3), noise("float32", [K], 4));
    const y = tf.add(tf.add(tf.matMul(rows, w), b), tf.concat([x, tf.slice(x, [0, 0], [1, 8])], 1));
    write(cache, y, place);
    return both(y, read(cache));
  },
  "the last columns": (cache, x, place) => {
    const y = tf.add(tf.matMul(x, w), b);
    write(cache, y, place, 16);
    return both(y, read(cache));
  },
  "columns between the units of four": (cache, x, place) => {
    const y = tf.add(tf.matMul(x, w), b);
    write(cache, y, place, 3);
    return both(y, read(cache));
  },
  "an odd number of columns": (cache, x, place) => {
    const y = tf.matMul(x, tf.slice(w, [0, 0], [K, 13]));
    write(cache, y, place, 5);
    return both(y, read(cache));
  },
  "columns that are read elsewhere": (cache, x, place) => {
    const y = tf.matMul(x, w), part = tf.slice(y, [0, 8], [1, 8]);
    cache.scatterUpdate(new tf.IndexedSlices(tf.reshape(part, [1, 2, 4]), place));
    return both(tf.exp(part), read(cache));
  },
  "a read before": (cache, x, place) => {
    const before = read(cache), y = tf.matMul(x, w);
    write(cache, y, place);
    return both(before, both(y, read(cache)));
  },
  "two writes of a product": (cache, x, place) => {
    const y = tf.matMul(x, w);
    write(cache, y, place);
    write(cache, y, tf.sub(5, place), 0);
    return both(y, read(cache));
  },
  "a write at a place that the product says": (cache, x, place) => {
    const y = tf.matMul(x, w);
    const at = tf.cast(tf.greater(tf.reshape(tf.slice(y, [0, 0], [1, 1]), [1]), 0), "int32");
    write(cache, y, tf.add(at, place));
    return both(y, read(cache));
  },
  "columns that are changed first": (cache, x, place) => {
    const y = tf.matMul(x, w);
    write(cache, tf.neg(y), place);
    return both(y, read(cache));
  },
  "writes in the other order": (cache, x, place) => {
    const y = tf.matMul(x, w), z = tf.matMul(tf.slice(y, [0, 0], [1, K]), w);
    write(cache, z, place);
    write(cache, y, place, 0);
    return both(z, read(cache));
  },
  "a turn of a loop": (cache, x, place) => {
    const one = tf.scalar(1, "int32");
    const [, , y] = tf.whileLoop(
      (i: tf.Tensor) => tf.less(i, 3),
      (i: tf.Tensor, place: tf.Tensor, x: tf.Tensor) => {
        const y = tf.add(tf.matMul(tf.layerNorm(x, scale, offset), w), b);
        write(cache, y, place);
        const seen = tf.slice(tf.reshape(read(cache), [1, -1]), [0, 0], [1, K]);
        return [
          tf.add(i, one),
          tf.mod(tf.add(place, one), tf.scalar(ROOM, "int32")),
          tf.tanh(tf.add(tf.slice(y, [0, 0], [1, K]), seen)),
        ];
      },
      [tf.scalar(0, "int32"), place, x],
    ) as tf.Tensor[];
    return both(y, read(cache));
  },
  "a branch": (cache, x, place) =>
    tf.cond(tf.less(tf.reshape(place, []), 4), () => {
      const y = tf.matMul(x, w);
      write(cache, y, place);
      return both(y, read(cache));
    }, () => both(tf.zeros([1, N]), read(cache))) as tf.Tensor,
  "a script between, which reads what was written": (cache, x, place) => {
    const y = tf.matMul(x, w);
    write(cache, y, place);
    const seen = tf.pyFunction((y: tf.Tensor) => tf.add(y, tf.sum(read(cache))), [y], "float32");
    const z = tf.matMul(tf.reshape(tf.slice(tf.reshape(seen, [1, N]), [0, 0], [1, K]), [1, K]), w);
    write(cache, z, tf.sub(5, place), 0);
    return both(z, read(cache));
  },
  "a gradient": (cache, x, place) => {
    using tape = new tf.GradientTape();
    tape.watch(x);
    const y = tf.matMul(tf.layerNorm(x, scale, offset), w);
    write(cache, y, place);
    return both(tape.gradient(tf.sum(tf.mul(y, y)), x)!, read(cache));
  },
  "a product with the variable itself": (cache, x, place) => {
    const m = tf.slice(tf.reshape(read(cache), [K, 3]), [0, 0], [K, 3]);
    const y = tf.matMul(x, tf.concat(Array<tf.Tensor>(8).fill(m), 1));
    write(cache, y, place);
    return both(y, read(cache));
  },
  "two rows": (cache, x, place) => {
    const y = tf.matMul(tf.concat([x, tf.neg(x)], 0), w);
    const rows = tf.reshape(tf.slice(y, [0, 8], [2, 8]), [2, 2, 4]);
    cache.scatterUpdate(new tf.IndexedSlices(rows, tf.concat([place, tf.sub(5, place)], 0)));
    return both(y, read(cache));
  },
};

const cacheOf = (dtype: tf.DType = "float32"): tf.Variable =>
  tf.variable(tf.cast(noise("float32", [ROOM, 2, 4], 9), dtype));

for (const [what, program] of Object.entries(PROGRAMS)) {
  testOnDevices(`${what}, written to a variable, is as of ops one by one`, async () => {
    const cache = cacheOf(), other = cacheOf();
    const run = (x: tf.Tensor, place: tf.Tensor): tf.Tensor => program(cache, x, place);
    const open = [tf.TensorSpec(null, "float32"), tf.TensorSpec([null], "int32")];
    for (const f of [tf.function(run), tf.function(run, { inputSignature: open })]) {
      for (const at of [1, 4, 0]) {
        const x = tf.tensor(noise("float32", [1, K], 10 + at));
        const place = tf.tensor([at], [1], "int32");
        const found = f(x, place), wanted = program(other, x, place);
        const wrong = await tf.max(tf.abs(tf.sub(found, wanted))).item();
        assert(wrong < 1e-5, `${what} at ${at}: ${wrong}`);
      }
    }
  });
}

testOnGpu(
  "a product, its bias and its write are one dispatch; memory that others hold is left alone",
  async () => {
    await tf.setBackend("webgpu");
    for (const dtype of ["float32", "float16"] as const) {
      const cache = cacheOf(dtype), weights = tf.cast(w, dtype), bias = tf.cast(b, dtype);
      const f = tf.function((x: tf.Tensor, place: tf.Tensor) => {
        const y = tf.add(tf.matMul(x, weights), bias);
        write(cache, y, place);
        return y;
      });
      const x = tf.cast(noise("float32", [1, K], 5), dtype), place = tf.tensor([2], [1], "int32");
      f(x, place);
      const { dispatches, buffersCreated } = await tf.profile(() => f(x, place));
      if (dtype === "float32") assertEquals([dispatches, buffersCreated], [1, 0]);
      const value = cache as unknown as tf.Tensor;
      const before = value.clone(), kept = await before.array(), y = f(tf.neg(x), place);
      assertEquals(await before.array(), kept);
      const row = await tf.slice(value, [2, 0, 0], [1, 2, 4]).data();
      assertEquals([...row as Float32Array], [
        ...await tf.slice(y, [0, 8], [1, 8]).data() as Float32Array,
      ]);
      // Beyond the rows nothing is written.
      before.dispose();
      const now = await value.array();
      for (const at of [-1, ROOM, 2 ** 30]) f(x, tf.tensor([at], [1], "int32"));
      assertEquals(await value.array(), now);
    }
    await tf.setBackend("cpu");
  },
);

testOnGpu("every kernel of products writes the columns that it shall, and no others", async () => {
  await tf.setBackend("webgpu");
  const gpu = gpuDevice() as WebGpuDevice, names = new Set<string>();
  for (
    const [op, turned, n, from] of [
      ["MatMul", false, 96, 32],
      ["MatMul", true, 96, 64],
      ["MatMul", false, 30, 5],
      ["_NormMatMul", false, 96, 32],
      ["_NormMatMul", true, 40, 8],
    ] as const
  ) {
    const x = noise("float32", [1, 64], 1), m = noise("float32", turned ? [n, 64] : [64, n], 2);
    const norm = [noise("float32", [64], 3), noise("float32", [64], 4)];
    const own = op === "MatMul" ? [x, m] : [x, ...norm, m], rows = 5, width = 16;
    const index = new tf.NdArray("int32", [1], Int32Array.of(3));
    const cache = noise("float32", [rows, width], 5), count = own.length;
    const epilogue = {
      ...{ expr: argument(0), operands: [] },
      write: { from, width, rows, index: { input: count }, into: { input: count + 1 } },
    };
    const attrs = withFusion(
      { transpose_b: turned, ...op === "_NormMatMul" && { epsilon: 0.01 } },
      { own: count, prologue: null, epilogue, dtype: "float32" },
    );
    const def = lookupOp(op)!,
      inputs = [...own, index, cache],
      problem = problemOf(def, inputs, attrs);
    for (const { variant, plan } of forcedPlans(gpuVariants(def), problem, gpu.profile)) {
      names.add(plan.dispatches[0].program.name);
      const buffers = inputs.map((a) => gpu.upload(a)),
        kernel = gpu.prepareKernel(variant, plan, problem.outputs);
      assertEquals(kernel.changes, [count + 1]);
      const [y] = kernel.run(buffers), spec = problem.inputs[count + 1];
      const [product, changed] = await gpu.read([
        { buffer: y, spec: problem.outputs[0] },
        { buffer: buffers[count + 1], spec },
      ]);
      const wanted = [...cache.data as Float32Array];
      wanted.splice(3 * width, width, ...(product.data as Float32Array).slice(from, from + width));
      assertEquals([...changed.data as Float32Array], wanted, `${variant} of ${n}`);
      for (const buffer of [...buffers, y]) gpu.free(buffer);
    }
  }
  assert(names.size >= 4, [...names].join());
  await tf.setBackend("cpu");
});

testOnDevices(
  "a product of a variable that it is written to reads what was there before",
  async () => {
    const weights = tf.tensor(noise("float32", [N, N], 7));
    const step = (v: tf.Variable): tf.Tensor => {
      const y = tf.matMul(v as unknown as tf.Tensor, weights);
      v.scatterUpdate(
        new tf.IndexedSlices(tf.slice(y, [0, 0], [1, N]), tf.tensor([0], [1], "int32")),
      );
      return tf.tanh(y);
    };
    const [v, other] = [1, 2].map(() => tf.variable(tf.zeros([1, N])));
    // A list leaves no other holder of the memory.
    const start = await tf.tensor(noise("float32", [1, N], 8)).array() as number[][];
    for (const each of [v, other]) each.assign(start);
    const f = tf.function(() => step(v));
    for (let i = 0; i < 4; i++) {
      const apart = [tf.sub(f(), step(other)), tf.sub(v, other)].map((d) => tf.max(tf.abs(d)));
      for (const d of apart) assert(await d.item() < 1e-4, `call ${i}`);
    }
  },
);
