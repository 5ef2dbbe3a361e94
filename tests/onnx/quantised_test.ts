/** Quantised models of ONNX as graphs: open extents, and sums that float32 does not hold. */
import { assertAlmostEquals, assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { loadOnnx } from "@weft/weft/onnx";
import { testOnDevices } from "../devices.ts";
import { floats, model, node, tensor, value } from "./make_model.ts";

testOnDevices("ConvInteger sums whole numbers beyond float32's", async () => {
  const m = await loadOnnx(model({
    nodes: [node("ConvInteger", ["x", "w"], ["y"])],
    inputs: [value("x", "uint8", [1, 300, 1, 1]), value("w", "uint8", [1, 300, 1, 1])],
    outputs: [value("y", "int32", [1, 1, 1, 1])],
  }));
  const x = tf.fill([1, 300, 1, 1], 255, "uint8");
  const w = tf.concat(
    [tf.fill([1, 299, 1, 1], 255, "uint8"), tf.fill([1, 1, 1, 1], 254, "uint8")],
    1,
  );
  const { y } = await m.run({ x, w }) as Record<string, tf.Tensor>;
  assertEquals(await y.array(), [[[[299 * 255 * 255 + 255 * 254]]]]);
  m.dispose();
});

testOnDevices("MatMulNBits multiplies batches of any size, and has a gradient", async () => {
  const m = await loadOnnx(model({
    nodes: [
      node("MatMulNBits", ["x", "w", "scales"], ["y"], {
        K: 4n,
        N: 2n,
        bits: 4n,
        block_size: 16n,
      }, "com.microsoft"),
    ],
    inputs: [value("x", "float32", ["n", "t", 4]), value("w", "uint8", [2, 1, 8])],
    outputs: [value("y", "float32", ["n", "t", 2])],
    initialisers: [tensor("scales", [2, 1], floats(0.5, 2))],
    domains: ["com.microsoft"],
  }));
  // Levels, low bits first: 9 10 11 12 and 0 15 8 7, less 8.
  const w = tf.tensor(
    [0xa9, 0xcb, 0, 0, 0, 0, 0, 0, 0xf0, 0x78, 0, 0, 0, 0, 0, 0],
    [2, 1, 8],
    "uint8",
  );
  const f = tf.function((x: tf.Tensor, w: tf.Tensor) => m.call({ x, w }).y as tf.Tensor, {
    inputSignature: [
      new tf.TensorSpec([null, null, 4], "float32"),
      new tf.TensorSpec([2, 1, 8], "uint8"),
    ],
  });
  const x = tf.tensor([1, 2, 3, 4, 1, 0, 0, 1], [1, 2, 4]);
  assertEquals(await f(x, w).array(), [[[15, 4], [2.5, -18]]]);
  const gradient = tf.grad((v: tf.Tensor) => tf.sum(f(v, w)))(x);
  assertEquals(await gradient.array(), [[[-15.5, 15, 1.5, 0], [-15.5, 15, 1.5, 0]]]);
  m.dispose();
});

testOnDevices("QuantizeLinear and DequantizeLinear spread blocks over an open axis", async () => {
  const m = await loadOnnx(model({
    nodes: [
      node("QuantizeLinear", ["x", "scales", "zeros"], ["q"], { axis: 1n, block_size: 2n }),
      node("DequantizeLinear", ["q", "scales", "zeros"], ["y"], { axis: 1n, block_size: 2n }),
    ],
    inputs: [
      value("x", "float32", ["n", 3]),
      value("scales", "float32", ["n", 2]),
      value("zeros", "uint8", ["n", 2]),
    ],
    outputs: [value("q", "uint8", ["n", 3]), value("y", "float32", ["n", 3])],
  }));
  const x = tf.tensor2d([[1, 2.5, 300], [-1, 0.3, -40]]);
  const scales = tf.tensor2d([[1, 1], [0.5, 2]]),
    zeros = tf.tensor2d([[0, 3], [2, 10]], [2, 2], "uint8");
  const { q, y } = await m.run({ x, scales, zeros }) as Record<string, tf.Tensor>;
  assertEquals(await q.array(), [[1, 2, 255], [0, 3, 0]]);
  assertEquals(await y.array(), [[1, 2, 252], [-1, 0.5, -20]]);
  m.dispose();
});

testOnDevices("MatMulInteger by a file's levels is exact for few rows and many", async () => {
  // Few are multiplied as levels, sums over many are beyond float32's.
  for (const k of [60, 1500]) await checkLevels(k, 5, [3, -7, 0, 20, -128]);
});

async function checkLevels(k: number, n: number, zeros: readonly number[]): Promise<void> {
  const levels = Int8Array.from({ length: k * n }, (_, i) => (i * 37) % 255 - 127);
  for (const [type, isEach] of [["int8", true], ["uint8", true], ["int8", false]] as const) {
    const w = type === "int8" ? levels : levels.map((v) => v + 128);
    const own = isEach ? zeros : [zeros[0]], lift = type === "int8" ? 0 : 128;
    const m = await loadOnnx(model({
      nodes: [
        node("Cast", ["w32"], ["w"], { to: type === "int8" ? 3n : 2n }),
        node("Cast", ["zero32"], ["zero"], { to: type === "int8" ? 3n : 2n }),
        node("MatMulInteger", ["x", "w", "xzero", "zero"], ["y"]),
      ],
      inputs: [value("x", "uint8", ["m", k]), value("xzero", "uint8", [])],
      outputs: [value("y", "int32", ["m", n])],
      initialisers: [
        tensor(
          "w32",
          [k, n],
          Int32Array.from(new Uint8Array(w.buffer), (v) => type === "int8" ? v << 24 >> 24 : v),
        ),
        tensor("zero32", [own.length], Int32Array.from(own, (v) => v + lift)),
      ],
    }));
    for (const rows of [1, 12, 13]) {
      const x = Array.from({ length: rows * k }, (_, i) => (i * 101) % 256), by = 9;
      const { y } = await m.run({
        x: tf.tensor(x, [rows, k], "uint8"),
        xzero: tf.scalar(by, "uint8"),
      }) as Record<string, tf.Tensor>;
      const wanted = Array.from({ length: rows * n }, (_, at) => {
        const i = Math.floor(at / n), j = at % n;
        let sum = 0;
        for (let t = 0; t < k; t++) {
          sum += (x[i * k + t] - by) * (levels[t * n + j] - own[isEach ? j : 0]);
        }
        return sum;
      });
      assertEquals([...await y.data()], wanted);
    }
    m.dispose();
  }
}

testOnDevices(
  "few rows times a dequantised matrix of the file read its levels, many its floats",
  async () => {
    const [k, n] = [300, 5],
      levels = Int8Array.from({ length: k * n }, (_, i) => i * 37 % 255 - 127);
    const scales = floats(0.01, 0.5, 0.002, 1, 0.03), zeros = [3, -7, 0, 20, -128];
    for (const kind of ["one scale", "columns", "rows"] as const) {
      for (const op of ["MatMul", "Gemm"]) {
        const ownScales = kind === "one scale"
          ? scales.slice(0, 1)
          : kind === "columns"
          ? scales
          : Float32Array.from({ length: k }, (_, i) => scales[i % 5]!);
        const ownZeros = Array.from(ownScales, (_, i) => zeros[i % 5]!);
        const m = await loadOnnx(model({
          nodes: [
            node("Cast", ["w32"], ["w"], { to: 3n }),
            node("Cast", ["zero32"], ["zero"], { to: 3n }),
            node("DequantizeLinear", ["w", "scale", "zero"], ["float"], {
              axis: kind === "rows" ? 0n : 1n,
            }),
            node(op, ["x", "float", ...op === "Gemm" ? ["bias"] : []], ["y"]),
          ],
          inputs: [value("x", "float32", ["m", k])],
          outputs: [value("y", "float32", ["m", n])],
          initialisers: [
            tensor("w32", [k, n], Int32Array.from(levels)),
            tensor("scale", kind === "one scale" ? [] : [ownScales.length], ownScales),
            tensor(
              "zero32",
              kind === "one scale" ? [] : [ownZeros.length],
              Int32Array.from(ownZeros),
            ),
            tensor("bias", [n], floats(1, 2, 3, 4, 5)),
          ],
        }));
        for (const rows of [1, 12, 13]) {
          const x = Float32Array.from({ length: rows * k }, (_, i) => Math.sin(i * i));
          const feed = tf.tensor(x, [rows, k]);
          const got = await ((await m.run({ x: feed })).y as tf.Tensor).data();
          for (let at = 0; at < rows * n; at++) {
            const i = Math.floor(at / n), j = at % n;
            let sum = op === "Gemm" ? j + 1 : 0;
            for (let t = 0; t < k; t++) {
              const of = kind === "one scale" ? 0 : kind === "columns" ? j : t;
              sum += x[i * k + t]! * (levels[t * n + j]! - ownZeros[of]!) * ownScales[of]!;
            }
            assertAlmostEquals(got[at]!, sum, 2e-3, `${kind}, ${rows} rows, element ${at}`);
          }
          const graph = tf.function((x: tf.Tensor) => m.call({ x }).y as tf.Tensor)
            .getConcreteFunction(feed).graph;
          const isByLevels = graph.operations.some(({ type }) => type === "_QuantizedMatMul");
          assertEquals(isByLevels, kind !== "rows" && rows < 13, `${op}, ${kind}, ${rows} rows`);
          const sizes = graph.operations.flatMap(({ outputs }) => outputs)
            .filter((t) => t.dtype === "float32" && t.op.type === "Const")
            .map((t) => t.size);
          assertEquals(
            sizes.includes(k * n),
            !isByLevels,
            "its floats are made for many rows alone",
          );
        }
        const dx = tf.grad((x) => tf.sum(m.call({ x }).y as tf.Tensor));
        const one = tf.ones([1, k]), both = [one, tf.ones([13, k])].map((x) => dx(x));
        const [few, many] = await Promise.all(both.map((t) => t.data()));
        few!.forEach((v, i) => assertAlmostEquals(v, many![i]!, 1e-3));
        m.dispose();
      }
    }
  },
);

for (const axes of [1, 2, 3]) {
  for (const [groups, isOne] of [[1, false], [1, true], [2, false], [4, false]] as const) {
    const what = `${axes} axes in ${groups} groups with ${isOne ? "one scale" : "scales"}`;
    testOnDevices(
      `a filter of levels over ${what} is computed in the order of kernels`,
      async () => {
        const shape = [8, 4 / groups, 3, 2, 3].slice(0, 2 + axes);
        const size = shape.reduce((a, b) => a * b, 1), inner = size / 8;
        const levels = Uint8Array.from({ length: size }, (_, i) => (i * 37 + 11) % 251);
        const scales = Array.from({ length: isOne ? 1 : 8 }, (_, i) => 0.01 * (i + 1));
        const zeros = scales.map((_, i) => 120 + i), of = (i: number): number => isOne ? 0 : i;
        const weights = Float32Array.from(levels, (v, i) => {
          const channel = of(Math.floor(i / inner));
          return Math.fround(v - zeros[channel]) * Math.fround(scales[channel]);
        });
        const dims = [2, 4, 6, 5, 4].slice(0, 2 + axes), out = ["n", 8, "a", "b", "c"];
        const side = isOne ? [] : [8];
        const io = {
          inputs: [value("x", "float32", dims)],
          outputs: [value("y", "float32", out.slice(0, 2 + axes))],
        };
        const conv = node("Conv", ["x", "w"], ["y"], { group: BigInt(groups) });
        const m = await loadOnnx(model({
          ...io,
          nodes: [node("DequantizeLinear", ["q", "s", "z"], ["w"], { axis: 0n }), conv],
          initialisers: [
            tensor("q", shape, levels),
            tensor("s", side, floats(...scales)),
            tensor("z", side, Uint8Array.from(zeros)),
          ],
        }));
        const plain = await loadOnnx(
          model({ ...io, nodes: [conv], initialisers: [tensor("w", shape, weights)] }),
        );
        const x = tf.sin(tf.reshape(tf.range(0, dims.reduce((a, b) => a * b, 1)), dims));
        for (let i = 0; i < 2; i++) {
          const { y } = await m.run({ x }) as Record<string, tf.Tensor>;
          const wanted = (await plain.run({ x })).y as tf.Tensor;
          assertEquals(y.shape, wanted.shape);
          const got = await y.data(), right = await wanted.data();
          got.forEach((v, i) => assertAlmostEquals(Number(v), Number(right[i]), 1e-4));
        }
        // One for the image, one for the result.
        const turns = m.graph.operations.filter((o) => o.type === "Transpose").length;
        assertEquals(turns, 2);
        m.dispose();
        plain.dispose();
      },
    );
  }
}
