/** Weights that levels of a file mean: any order of axes, any axis of scales, and no copy of them that is kept. */
import { assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { loadOnnx } from "@weft/weft/onnx";
import { NdArray, passingData, writerOf } from "../../src/engine/core/nd_array.ts";
import {
  type FileLevels,
  isDequantisable,
  weightsLater,
} from "../../src/onnx/ops/quantised/weights.ts";
import { testOnDevices } from "../devices.ts";
import { floats, model, node, tensor, value } from "./make_model.ts";

const ARRAYS = [
  ["int8", (values: number[]) => Int8Array.from(values)],
  ["uint8", (values: number[]) => Uint8Array.from(values)],
  ["int16", (values: number[]) => Int16Array.from(values)],
  ["uint16", (values: number[]) => Uint16Array.from(values)],
  ["int32", (values: number[]) => Int32Array.from(values)],
] as const;

/** Returns numbers from 0 on, changed by `of`. */
function listed(length: number, of: (i: number) => number): number[] {
  return Array.from({ length }, (_, i) => of(i));
}

/** Returns the levels as a definition computes them. */
function defined({ levels, scale, zero, axis }: FileLevels, order: readonly number[]): number[] {
  const { shape } = levels, out = order.map((a) => a < 0 ? 1 : shape[a]!);
  const all = out.reduce((a, b) => a * b, 1);
  return Array.from({ length: all }, (_, flat) => {
    const place = shape.map(() => 0);
    for (let k = order.length - 1, left = flat; k >= 0; k--) {
      if (order[k]! >= 0) place[order[k]!] = left % out[k]!;
      left = Math.floor(left / out[k]!);
    }
    const of = (s: NdArray): number => Number(s.at(s.size === 1 ? 0 : place[axis]!));
    const level = Number(levels.get(...place)) - (zero === null ? 0 : of(zero));
    return Math.fround(Math.fround(level | 0) * (scale === null ? 1 : of(scale)));
  });
}

Deno.test("weights are written in any order, with scales and zero points of any axis", () => {
  const shapes = [[], [5], [40, 3], [3, 1, 4], [18, 5, 2, 3], [2, 0, 3], [2, 17, 3, 2, 2]];
  for (const [dtype, dataOf] of ARRAYS) {
    for (const shape of shapes) {
      const size = shape.reduce((a, b) => a * b, 1), axes = shape.map((_, i) => i);
      const data = dataOf(listed(size, (i) => (i * 7919) ^ (i << 20)));
      const levels = new NdArray(dtype, shape, data);
      const orders = [axes, [...axes].reverse(), [-1, ...axes.slice(1), ...axes.slice(0, 1)]];
      for (const axis of [0, ...axes.slice(1)]) {
        const channels = shape[axis] ?? 1;
        for (
          const [scales, zeros] of [[1, 1], [channels, channels], [channels, 1], [1, 0], [0, 1]]
        ) {
          const given: FileLevels = {
            levels,
            axis,
            scale: scales === 0 ? null : new NdArray(
              "float32",
              [scales!],
              floats(...listed(scales!, (i) => 0.3 + i)),
            ),
            zero: zeros === 0 ? null : new NdArray(
              dtype,
              [zeros!],
              dataOf(listed(zeros!, (i) => 3 + i)),
            ),
          };
          assertEquals(isDequantisable(given), true);
          for (const order of orders) {
            const made = weightsLater(given, order);
            assertEquals(made.shape, order.map((a) => a < 0 ? 1 : shape[a]!));
            assertEquals([...passingData(made) as Float32Array], defined(given, order));
          }
        }
      }
    }
  }
});

Deno.test("differences of int32 wrap around, and scales that do not fit are refused", () => {
  const levels = new NdArray("int32", [1, 2], Int32Array.of(2 ** 31 - 1, -(2 ** 31)));
  const zero = new NdArray("int32", [], Int32Array.of(-1));
  const given = { levels, zero, scale: null, axis: 0 };
  assertEquals(
    [...weightsLater(given, [0, 1]).data as Float32Array],
    [-(2 ** 31), -(2 ** 31) + 1]
      .map(Math.fround),
  );
  const three = new NdArray("float32", [3], floats(1, 2, 3));
  assertEquals(isDequantisable({ ...given, scale: three }), false);
  const words = new NdArray("int64", [1], BigInt64Array.of(1n));
  assertEquals(isDequantisable({ ...given, zero: words }), false);
  assertEquals(isDequantisable({ ...given, levels: three }), false);
});

Deno.test("the elements of an array are computed where they are read, and then kept", () => {
  const levels = new NdArray("int8", [2, 2], Int8Array.of(1, 2, 3, 4));
  const w = weightsLater({ levels, scale: null, zero: null, axis: 0 }, [1, 0]);
  assertEquals(w.size, 4);
  assertEquals([...passingData(w) as Float32Array], [1, 3, 2, 4]);
  assertEquals(typeof writerOf(w), "function");
  assertEquals(w.toArray(), [[1, 3], [2, 4]]);
  assertEquals(writerOf(w), undefined);
  assertEquals(w.data === w.data, true);
});

testOnDevices("weights of levels have no array beside those of kernels", async () => {
  const shape = [16, 8, 3, 3], levels = Uint8Array.from({ length: 1152 }, (_, i) => i * 37);
  const m = await loadOnnx(model({
    nodes: [
      node("DequantizeLinear", ["q", "s", "z"], ["w"], { axis: 0n }),
      node("Conv", ["x", "w"], ["y"]),
    ],
    inputs: [value("x", "float32", [1, 8, 9, 9])],
    outputs: [value("y", "float32", [1, 16, 7, 7])],
    initialisers: [
      tensor("q", shape, levels),
      tensor("s", [16], floats(...Array.from({ length: 16 }, (_, i) => 0.01 * (i + 1)))),
      // One zero point beside a scale for each channel.
      tensor("z", [], Uint8Array.of(3)),
    ],
  }));
  const x = tf.sin(tf.reshape(tf.range(0, 648), [1, 8, 9, 9]));
  const { y } = await m.run({ x }) as Record<string, tf.Tensor>;
  const got = await y.data();
  const constants = m.graph.operations.filter((o) => o.type === "Const")
    .map((o) => o.attrs.value as NdArray);
  const [filter] = constants.filter((a) => a.size === 1152);
  assertEquals(typeof writerOf(filter!), "function");
  const weights = Float32Array.from(
    levels,
    (v, i) => (v - 3) * Math.fround(0.01 * (Math.floor(i / 72) + 1)),
  );
  const w = tf.transpose(tf.tensor(weights, shape), [2, 3, 1, 0]) as tf.Tensor4D;
  const images = tf.transpose(x, [0, 2, 3, 1]) as tf.Tensor4D;
  const plain = tf.transpose(tf.conv2d(images, w, 1, "valid"), [0, 3, 1, 2]);
  const wanted = await plain.data();
  got.forEach((v, i) => assertEquals(Math.abs(Number(v) - Number(wanted[i])) < 1e-3, true));
  m.dispose();
});

testOnDevices("a file's filter of levels gives what a fed one gives", async () => {
  const levels = Uint8Array.from({ length: 4 * 2 * 3 * 3 }, (_, i) => i * 29);
  const x = tf.tensor(
    Uint8Array.from({ length: 2 * 4 * 25 }, (_, i) => i * 13),
    [2, 4, 5, 5],
    "uint8",
  );
  const zeros = Uint8Array.of(3, 128, 77, 200);
  for (const [groups, each] of [[1, true], [1, false], [2, true], [2, false]] as const) {
    const shape = [4, 4 / groups, 3, 3], own = each ? zeros : zeros.slice(0, 1);
    const q = Uint8Array.from({ length: 4 * 9 * shape[1]! }, (_, i) => levels[i % 72]!);
    const attrs = { group: BigInt(groups), pads: [1n, 1n, 1n, 1n] };
    const nodes = [node("ConvInteger", ["x", "w", "xz", "wz"], ["y"], attrs)];
    const outputs = [value("y", "int32", [2, 4, 5, 5])];
    const inputs = [value("x", "uint8", [2, 4, 5, 5]), value("xz", "uint8", [])];
    const fed = await loadOnnx(model({
      nodes,
      outputs,
      inputs: [...inputs, value("w", "uint8", shape), value("wz", "uint8", each ? [4] : [])],
    }));
    const held = await loadOnnx(model({
      nodes,
      outputs,
      inputs,
      initialisers: [tensor("w", shape, q), tensor("wz", each ? [4] : [], own)],
    }));
    const xz = tf.scalar(9, "uint8"), w = tf.tensor(q, shape, "uint8");
    const wz = each ? tf.tensor(own, [4], "uint8") : tf.scalar(own[0]!, "uint8");
    const wanted = (await fed.run({ x, xz, w, wz })).y as tf.Tensor;
    assertEquals(await ((await held.run({ x, xz })).y as tf.Tensor).array(), await wanted.array());
    fed.dispose();
    held.dispose();
  }
});
