/** Filters and matrices of levels of 8 bits that kernels of the CPU keep as levels: results to the bit, and memory. */
import { assert, assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { loadOnnx } from "@weft/weft/onnx";
import type { CpuDevice } from "../../src/engine/devices/cpu/cpu_device.ts";
import { THRESHOLDS } from "../../src/engine/devices/cpu/thresholds.ts";
import { cpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import { floats, model, node, tensor, value } from "./make_model.ts";

const { engine } = cpuDevice() as CpuDevice;

/** Makes levels, a scale for each column and zero points: none, one or one for each column. */
function quantised(dtype: "int8" | "uint8", size: number, columns: number, zeros: number) {
  const Levels = dtype === "int8" ? Int8Array : Uint8Array, levels = new Levels(size);
  for (let i = 0; i < size; i++) levels[i] = (i * 7919) ^ (i >> 5);
  const scale = floats(...Array.from({ length: columns }, (_, j) => 0.01 * (j % 7 + 1)));
  const count = zeros === 2 ? columns : zeros, dims = zeros === 2 ? [columns] : [];
  const zero = Levels.from(Array.from({ length: count }, (_, j) => 3 + 5 * j));
  const initialisers = [tensor("s", [columns], scale)];
  if (zeros > 0) initialisers.push(tensor("z", dims, zero));
  return { levels, scale, zero, initialisers, names: ["q", "s", ...zeros > 0 ? ["z"] : []] };
}

/** Returns the numbers that levels mean; `columnOf` gives the column of an element. */
function meant(
  { levels, scale, zero }: ReturnType<typeof quantised>,
  columnOf: (i: number) => number,
): Float32Array {
  return Float32Array.from(levels, (level, i) => {
    const j = columnOf(i), z = zero.length === 0 ? 0 : zero[zero.length === 1 ? 0 : j]!;
    return (level - z) * scale[j]!;
  });
}

const sines = (...shape: number[]): tf.Tensor =>
  tf.tidy(() => tf.sin(tf.reshape(tf.range(0, shape.reduce((a, b) => a * b, 1)), shape)));

const CASES = [["uint8", 0], ["uint8", 1], ["uint8", 2], ["int8", 0], ["int8", 1], [
  "int8",
  2,
]] as const;

Deno.test("filters of levels give to the bit what their numbers give", async () => {
  await tf.setBackend("cpu");
  for (const [dtype, zeros] of CASES) {
    // Columns that fill panels or do not, segments of whole rows of the filter, and a filter of one place.
    for (const [c, n, size] of [[64, 230, 3], [32, 459, 3], [512, 260, 1]] as const) {
      const shape = [n, c, size, size], q = quantised(dtype, n * c * size ** 2, n, zeros);
      const m = await loadOnnx(model({
        nodes: [
          node("DequantizeLinear", q.names, ["w"], { axis: 0n }),
          node("Conv", ["x", "w"], ["y"], { pads: [1n, 0n, 1n, 0n] }),
        ],
        inputs: [value("x", "float32", ["b", c, 7, 9])],
        outputs: [value("y", "float32", ["b", n, 10 - size, 10 - size])],
        initialisers: [tensor("q", shape, q.levels), ...q.initialisers],
      }));
      const w = tf.tensor(meant(q, (i) => Math.floor(i / (c * size ** 2))), shape);
      const filter = tf.transpose(w, [2, 3, 1, 0]) as tf.Tensor4D;
      for (const batch of [1, 3]) {
        const x = sines(batch, c, 7, 9), images = tf.transpose(x, [0, 2, 3, 1]) as tf.Tensor4D;
        const padded = tf.pad(images, [[0, 0], [1, 1], [0, 0], [0, 0]]) as tf.Tensor4D;
        const wanted = tf.transpose(tf.conv2d(padded, filter, 1, "valid"), [0, 3, 1, 2]);
        await assertSame((await m.run({ x })).y as tf.Tensor, wanted);
      }
      m.dispose();
    }
  }
});

Deno.test("matrices of levels give to the bit what their numbers give", async () => {
  await tf.setBackend("cpu");
  for (const [dtype, zeros] of CASES) {
    for (const [k, n] of [[300, 440], [520, 253]] as const) {
      const q = quantised(dtype, k * n, n, zeros);
      const m = await loadOnnx(model({
        nodes: [
          node("DequantizeLinear", q.names, ["w"], { axis: 1n }),
          node("MatMul", ["x", "w"], ["y"]),
        ],
        inputs: [value("x", "float32", ["b", k])],
        outputs: [value("y", "float32", ["b", n])],
        initialisers: [tensor("q", [k, n], q.levels), ...q.initialisers],
      }));
      const w = tf.tensor(meant(q, (i) => i % n), [k, n]) as tf.Tensor2D;
      for (const rows of [14, 70]) {
        const x = sines(rows, k) as tf.Tensor2D;
        await assertSame((await m.run({ x })).y as tf.Tensor, tf.matMul(x, w));
      }
      m.dispose();
    }
  }
});

async function assertSame(got: tf.Tensor, wanted: tf.Tensor): Promise<void> {
  assertEquals(got.shape, wanted.shape);
  const [a, b] = await Promise.all([got, wanted].map((t) => t.data()));
  assertEquals(a!.findIndex((v, i) => v !== b![i]), -1);
}

Deno.test("levels lie in memory as bytes, once; a small filter is numbers", async () => {
  await tf.setBackend("cpu");
  const load = async (k: number, n: number) => {
    const q = quantised("uint8", k * n, n, 1);
    const m = await loadOnnx(model({
      nodes: [
        node("DequantizeLinear", q.names, ["w"], { axis: 1n }),
        node("MatMul", ["x", "w"], ["y"]),
      ],
      inputs: [value("x", "float32", ["b", k])],
      outputs: [value("y", "float32", ["b", n])],
      initialisers: [tensor("q", [k, n], q.levels), ...q.initialisers],
    }));
    return async (rows: number) => {
      const { liveBytes } = engine!.heap, { packings } = engine!, x = sines(rows, k);
      tf.dispose([x, (await m.run({ x })).y as tf.Tensor]);
      return [engine!.heap.liveBytes - liveBytes, engine!.packings - packings] as const;
    };
  };
  const k = 1024, n = 1024, large = await load(k, n);
  assert(4 * k * n > THRESHOLDS.levelsBytes);
  const [bytes, packings] = await large(40);
  // Scratch memory is counted too.
  assert(bytes >= k * n && bytes < 2.5 * k * n, `${bytes} bytes`);
  assertEquals(packings, 1);
  assertEquals(await large(40), [0, 0]);
  const small = await load(128, 256), [own] = await small(40);
  assert(own >= 4 * 128 * 256, `${own} bytes`);
});

Deno.test("a matrix of levels that a plan also reads as numbers is multiplied as these", async () => {
  await tf.setBackend("cpu");
  const k = 400, n = 400, q = quantised("int8", k * n, n, 1);
  const m = await loadOnnx(model({
    nodes: [
      node("DequantizeLinear", q.names, ["w"], { axis: 1n }),
      node("Sin", ["w"], ["u"]),
      node("MatMul", ["x", "w"], ["v"]),
      node("Add", ["u", "v"], ["y"]),
    ],
    inputs: [value("x", "float32", [k, k])],
    outputs: [value("y", "float32", [k, n])],
    initialisers: [tensor("q", [k, n], q.levels), ...q.initialisers],
  }));
  const w = tf.tensor(meant(q, (i) => i % n), [k, n]) as tf.Tensor2D, x = sines(k, k);
  const wanted = tf.add(tf.sin(w), tf.matMul(x as tf.Tensor2D, w));
  const [got, by] = [(await m.run({ x })).y as tf.Tensor, wanted].map((t) => t.dataSync());
  got!.forEach((v, i) => assert(Math.abs(Number(v) - Number(by![i])) < 1e-3));
  m.dispose();
});

Deno.test("whole numbers times levels are joined with masks, integers and rows", async () => {
  await tf.setBackend("cpu");
  const [k, n, rows] = [320, 440, 70], q = quantised("int8", k * n, n, 0);
  const m = await loadOnnx(model({
    nodes: [
      node("DequantizeLinear", q.names, ["w"], { axis: 1n }),
      node("MatMul", ["x", "w"], ["y"]),
    ],
    inputs: [value("x", "float32", ["b", k])],
    outputs: [value("y", "float32", ["b", n])],
    initialisers: [tensor("q", [k, n], q.levels), ...q.initialisers],
  }));
  const w = tf.tensor(meant(q, (i) => i % n), [k, n]) as tf.Tensor2D;
  const x = tf.floor(tf.mul(sines(rows, k), 100)) as tf.Tensor2D;
  const mask = tf.greater(sines(rows, n), 0), column = tf.greater(sines(rows, 1), 0);
  const whole = tf.cast(tf.mul(sines(rows, n), 9), "int32"), row = sines(n);
  const joins: readonly ((y: tf.Tensor) => tf.Tensor)[] = [
    (y) => tf.where(mask, y, 0),
    (y) => tf.mul(y, tf.cast(whole, "float32")),
    (y) => tf.relu(tf.add(tf.where(column, y, tf.neg(y)), row)),
    (y) => tf.cast(tf.logicalAnd(mask, tf.greater(y, 0)), "int32"),
    (y) => tf.cast(tf.add(y, tf.cast(whole, "float32")), "float16"),
  ];
  for (const join of joins) {
    const f = tf.function((x: tf.Tensor) => join((m.call({ x }) as Record<string, tf.Tensor>).y!));
    const found = await (f(x) as tf.Tensor).data(), wanted = await join(tf.matMul(x, w)).data();
    const most = Math.max(...wanted.map(Math.abs));
    const far = Math.max(...Array.from(found, (v, i) => Math.abs(Number(v) - wanted[i]!)));
    assert(
      far <= (join === joins.at(-1) ? 1e-3 : 1e-5) * most,
      `${joins.indexOf(join)}: ${far} of ${most}`,
    );
  }
  m.dispose();
});
