/** float16: float32 arithmetic, rounded once an op; the same on both devices, eagerly and in graphs. */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { cpuDevice, gpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import { testOnDevices } from "../devices.ts";

type Args = readonly tf.Tensor[];
/** Values between -2 and 2 that float16 holds, another row for another seed. */
function values(shape: readonly number[], seed: number): tf.Tensor {
  const size = shape.reduce((a, b) => a * b, 1);
  const data = Array.from({ length: size }, (_, i) => ((i * 37 + seed * 101) % 257 - 128) / 64);
  return tf.tensor(data, [...shape], "float16");
}

/** Distance in float16 numbers between two values, zero for NaN and NaN. */
function apart(a: number, b: number): number {
  const order = (x: number): number => {
    const [bits] = new Int16Array(Float16Array.of(x).buffer);
    return bits < 0 ? -32768 - bits : bits;
  };
  return Number.isNaN(a) && Number.isNaN(b) ? 0 : Math.abs(order(a) - order(b));
}

/** Name, what is computed, the shapes of its arguments, and how many float16 numbers the result may be off. */
const CASES: readonly (readonly [string, (...x: Args) => tf.Tensor, number[][], number?])[] = [
  ["add", (a, b) => tf.add(a, b), [[7, 3], [3]], 0],
  ["mul", (a, b) => tf.mul(a, b), [[129], [129]], 0],
  ["div", (a) => tf.div(a, 3), [[101]]],
  ["exp", (a) => tf.exp(a), [[33, 5]]],
  ["tanh", (a) => tf.tanh(a), [[67]]],
  ["sigmoid", (a) => tf.sigmoid(a), [[64]]],
  ["sqrt", (a) => tf.sqrt(tf.abs(a)), [[99]]],
  ["relu", (a) => tf.relu(a), [[5, 8]], 0],
  ["where", (a, b) => tf.where(tf.greater(a, b), a, b), [[31], [31]], 0],
  ["matMul", (a, b) => tf.matMul(a, b), [[5, 7], [7, 9]]],
  ["matMul of fours", (a, b) => tf.matMul(a, b), [[64, 32], [32, 64]]],
  ["matMul of long rows", (a, b) => tf.matMul(a, b), [[3, 2049], [2049, 5]]],
  ["matMul, a transposed", (a, b) => tf.matMul(a, b, true), [[33, 17], [33, 20]]],
  ["matMul, b transposed", (a, b) => tf.matMul(a, b, false, true), [[12, 36], [20, 36]]],
  ["matMul, both transposed", (a, b) => tf.matMul(a, b, true, true), [[6, 5], [7, 6]]],
  ["matMul of batches", (a, b) => tf.matMul(a, b), [[2, 3, 5, 8], [3, 8, 4]]],
  ["matMul of vectors", (a, b) => tf.matMul(a, b), [[1, 77], [77, 1]]],
  ["conv2d", (x, f) => tf.conv2d(x, f, 1, "same"), [[2, 5, 6, 3], [3, 3, 3, 5]]],
  ["conv2d of fours", (x, f) => tf.conv2d(x, f, 2, "valid"), [[1, 9, 9, 4], [3, 3, 4, 8]]],
  ["depthwiseConv2d", (x, f) => tf.depthwiseConv2d(x, f, 1, "same"), [[1, 6, 5, 4], [3, 3, 4, 1]]],
  ["sum", (a) => tf.sum(a), [[4097]]],
  ["sum of columns", (a) => tf.sum(a, 0), [[301, 7]]],
  ["mean of rows", (a) => tf.mean(a, 1), [[9, 513]]],
  ["max", (a) => tf.max(a, 1), [[9, 65]], 0],
  ["cumsum", (a) => tf.cumsum(a, 0), [[65, 3]]],
  ["softmax", (a) => tf.softmax(a), [[6, 35]]],
  ["logSoftmax", (a) => tf.logSoftmax(a), [[6, 36]]],
  ["transpose", (a) => tf.transpose(a), [[17, 33]], 0],
  ["concat", (a, b) => tf.concat([a, b], 1), [[5, 3], [5, 7]], 0],
  ["slice", (a) => tf.slice(a, [1, 1], [3, 5]), [[7, 9]], 0],
  ["pad", (a) => tf.pad(a, [[1, 0], [2, 1]]), [[3, 3]], 0],
  ["tile", (a) => tf.tile(a, [3, 2]), [[3, 5]], 0],
  ["gather", (a) => tf.gather(a, [4, 0, 4, 2]), [[5, 7]], 0],
  ["unsortedSegmentSum", (a) => {
    const ids = Array.from({ length: 99 }, (_, i) => i * 7 % 41);
    return tf.unsortedSegmentSum(a, tf.tensor(ids, [99], "int32"), 41);
  }, [[99, 3]]],
  ["maxPool", (a) => tf.maxPool(a, 2, 2, "valid"), [[1, 5, 7, 3]], 0],
  ["avgPool", (a) => tf.avgPool(a, 3, 1, "same"), [[1, 5, 7, 3]]],
];

for (const [name, of, shapes, most = 1] of CASES) {
  testOnDevices(`float16 ${name} is that of float32, rounded`, async () => {
    const given = shapes.map((shape, i) => values(shape, i));
    const y = of(...given);
    const wide = of(...given.map((x) => tf.cast(x, "float32")));
    assertEquals([y.dtype, y.shape], ["float16", wide.shape]);
    const got = await y.data<"float16">() as Float16Array,
      want = Float16Array.from(await wide.data() as Float32Array);
    const off = Array.from(got, (v, i) => apart(v, want[i]));
    assert(Math.max(...off) <= most, `${Math.max(...off)} apart, at most ${most} wanted`);
  });
}

const SPECIAL = [
  ...[0, -0, 1, NaN, Infinity, -Infinity, 65504, 65519.996, 65520, -65520, 1e30],
  // The least normal and subnormal numbers, half of the least, and halves between two.
  ...[2 ** -14, 2 ** -14 - 2 ** -24, 2 ** -24, -(2 ** -25), 2 ** -25 * 1.001, 1e-40],
  ...[1 + 2 ** -11, 1 + 3 * 2 ** -11, 1 + 2 ** -11 + 2 ** -20, 2049, 2051],
];

testOnDevices(
  "casts to float16 round to the nearest, and keep NaN, infinities, zeros and subnormals",
  async () => {
    for (const size of [SPECIAL.length, 4 * SPECIAL.length]) {
      const data = Float32Array.from({ length: size }, (_, i) => SPECIAL[i % SPECIAL.length]);
      const want = Float16Array.from(data);
      assertEquals(await tf.cast(tf.tensor(data), "float16").data<"float16">(), want);
      const back = tf.cast(tf.cast(tf.tensor(data), "float16"), "float32");
      assertEquals(await back.data(), Float32Array.from(want));
      // What moves elements moves their bits.
      const moved = tf.reverse(tf.cast(tf.tensor(data), "float16"), 0);
      assertEquals(await moved.data<"float16">(), want.slice().reverse());
    }
  },
);

testOnDevices("float16 overflows to infinity and sums in float32", async () => {
  const x = tf.fill([600], 200, "float16");
  assertEquals(await tf.mul(x, x).data<"float16">(), new Float16Array(600).fill(40000));
  assertEquals(await tf.mul(x, 400).data<"float16">(), new Float16Array(600).fill(Infinity));
  assertEquals(await tf.sum(x).data<"float16">(), Float16Array.of(Infinity));
  assertEquals(await tf.mean(x).data<"float16">(), Float16Array.of(200));
});

/** Returns the losses of a network of two layers, with products in `dtype`, at some steps. */
async function lossesOf(dtype: "float16" | "float32"): Promise<number[]> {
  const start = (shape: number[], seed: number): tf.Tensor =>
    tf.div(tf.cast(values(shape, seed), "float32"), 4);
  const w1 = tf.variable(start([8, 33], 1)), b1 = tf.variable(tf.zeros([33]));
  const w2 = tf.variable(start([33, 4], 2)), b2 = tf.variable(tf.zeros([4]));
  const x = start([50, 8], 3), labels = tf.oneHot(tf.argMax(tf.matMul(x, start([8, 4], 4)), 1), 4);
  const loss = (): tf.Tensor => {
    const own = (t: tf.TensorLike): tf.Tensor => tf.cast(t, dtype);
    const h = tf.relu(tf.add(tf.matMul(own(x), own(w1)), own(b1)));
    const logits = tf.cast(tf.add(tf.matMul(h, own(w2)), own(b2)), "float32");
    return tf.mean(tf.losses.softmaxCrossEntropy(labels, logits));
  };
  const optimizer = tf.train.sgd(0.5);
  const step = tf.function(() => optimizer.minimize(loss, true)!);
  const losses: number[] = [];
  for (let i = 0; i < 20; i++) losses.push((await (step() as tf.Tensor).data())[0] as number);
  return losses;
}

testOnDevices("a network with float16 products trains as one of float32 does", async () => {
  const half = await lossesOf("float16"), full = await lossesOf("float32");
  assert(full[19] < 0.9 * full[0], `from ${full[0]} to ${full[19]}`);
  half.forEach((loss, i) =>
    assert(Math.abs(loss - full[i]) < 2e-3 * full[i], `${loss}, ${full[i]}`)
  );
});

testOnDevices("float16 graphs give the bits that eager ops give", async (device) => {
  const layer = (x: tf.Tensor, w: tf.Tensor, b: tf.Tensor): tf.Tensor => {
    const y = tf.mul(tf.tanh(tf.add(tf.matMul(x, w), b)), 1.7);
    return tf.cast(tf.sub(tf.mul(y, y), tf.div(y, 3)), "float32");
  };
  const given = [values([9, 21], 1), values([21, 12], 2), values([12], 3)] as const;
  const compiled = tf.function(layer);
  const want = await layer(...given).data();
  assertEquals(await (compiled(...given) as tf.Tensor).data(), want);
  if (device !== "webgpu") return;
  const { counters, profile } = gpuDevice()!;
  const before = { ...counters };
  const y = compiled(...given) as tf.Tensor;
  // Without f16, each argument is unpacked first.
  assertEquals(counters.dispatches - before.dispatches, profile.f16 ? 1 : 4);
  await y.data();
});

testOnDevices("a chain of float16 ops stays on its device", async (device) => {
  const x = values([16, 16], 1), bias = values([16], 2);
  const { counters } = device === "webgpu" ? gpuDevice()! : cpuDevice();
  const chain = (): tf.Tensor => {
    const y = tf.fused.matMul({ a: x, b: x, bias, activation: "relu" });
    const z = tf.softmax(tf.matMul(y, tf.transpose(x), false, true));
    return tf.cast(tf.sum(tf.concat([z, tf.gather(y, tf.argMax(z, 1))], 1), 0), "float32");
  };
  await chain().data();
  const before = { ...counters };
  const y = chain();
  assertEquals(counters.readbacks - before.readbacks, 0);
  assertEquals(counters.bytesToDevice - before.bytesToDevice, 0);
  await y.data();
});

testOnDevices("script ops see float16 as Float16Array", async () => {
  const x = tf.mul(values([3], 1), 2);
  const y = tf.numpyFunction(
    (a) => {
      assert(a.data instanceof Float16Array);
      return new tf.NdArray("float16", [3], (a.data as Float16Array).map((v) => 2 * v));
    },
    [x],
    "float16",
  ) as tf.Tensor;
  assertEquals(
    await tf.add(y, 1).data<"float16">(),
    (await x.data<"float16">() as Float16Array).map((v) => 2 * v + 1),
  );
});

testOnDevices(
  "products of few rows hand on what is no finite number in the other operand",
  async () => {
    for (const bad of [Infinity, -Infinity, NaN]) {
      for (const transB of [false, true]) {
        for (const m of [1, 2, 4]) {
          const [k, n, row, column] = [24, 40, 7, 33];
          const b = await values([k, n], 2).array() as number[][];
          b[row]![column] = bad;
          using right = tf.tensor(b, [k, n], "float16"), turned = tf.transpose(right);
          using a = tf.abs(tf.add(values([m, k], 1), tf.tensor(3, [], "float16")));
          using y = tf.matMul(a, transB ? turned : right, false, transB);
          (await y.array() as number[][]).forEach((line) =>
            line.forEach((v, j) => {
              if (j === column) assert(Object.is(v, bad), `${v}, wanted ${bad}`);
              else assert(Number.isFinite(v), `column ${j}: ${v}`);
            })
          );
        }
      }
    }
  },
);
