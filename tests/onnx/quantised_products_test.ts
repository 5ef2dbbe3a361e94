/** Products of quantised numbers at large shapes, beside sums in float64. */
import { assert, assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { loadOnnx } from "@weft/weft/onnx";
import { largestColumn } from "../../src/onnx/ops/quantised/magnitudes.ts";
import { testOnDevices } from "../devices.ts";
import { floats, model, node, tensor, value } from "./make_model.ts";

type Level = "int8" | "uint8";

function levels(dtype: Level, size: number, seed: number): Int8Array | Uint8Array {
  const made = dtype === "int8" ? new Int8Array(size) : new Uint8Array(size);
  for (let i = 0; i < size; i++) made[i] = (i * 7919 + seed * 104729) ^ (i >> 5);
  return made;
}

const zeroOf = (dtype: Level, ...zeros: number[]): Int8Array | Uint8Array =>
  dtype === "int8" ? Int8Array.from(zeros) : Uint8Array.from(zeros);

/** Sums of products of levels less their zero points; `b` has a zero point for each column. */
function sumsOf(
  [batch, m, k, n]: readonly number[],
  [a, b]: readonly (Int8Array | Uint8Array)[],
  [az, bz]: readonly [number, readonly number[]],
): Float64Array {
  const sums = new Float64Array(batch * m * n);
  for (let row = 0; row < batch * m; row++) {
    for (let p = 0; p < k; p++) {
      const by = a[row * k + p] - az;
      for (let j = 0; j < n; j++) sums[row * n + j] += by * (b[p * n + j] - bz[j % bz.length]);
    }
  }
  return sums;
}

/** Batch, rows, depth and columns; dtypes of A, B and the result; zero points; whether B has scales of columns, and is an input. */
const PRODUCTS = [
  { shape: [1, 131, 1036, 136], a: "uint8", b: "int8", y: "uint8", az: 128, bz: [0], open: false },
  { shape: [1, 64, 768, 512], a: "uint8", b: "uint8", y: "uint8", az: 117, bz: [125], open: false },
  { shape: [1, 1, 1024, 515], a: "int8", b: "int8", y: "int8", az: 5, bz: [-3], open: false },
  {
    shape: [3, 37, 261, 65],
    a: "uint8",
    b: "int8",
    y: "uint8",
    az: 0,
    bz: [0, 7, -9],
    open: false,
  },
  { shape: [1, 128, 512, 96], a: "uint8", b: "uint8", y: "uint8", az: 3, bz: [255], open: true },
  { shape: [2, 33, 300, 40], a: "int8", b: "int8", y: "int8", az: -128, bz: [127], open: true },
] as const;

for (const { shape, a, b, y, az, bz, open } of PRODUCTS) {
  const [batch, m, k, n] = shape, what = `${a}[${batch},${m},${k}] and ${b}[${k},${n}]`;
  const given = [levels(a, batch * m * k, 1), levels(b, k * n, 2)] as const;
  // As many zero points as columns, or one.
  const zeros = bz.length === 1 ? [...bz] : Array.from({ length: n }, (_, j) => bz[j % bz.length]);
  const inputs = [value("a", a, [batch, m, k]), ...(open ? [value("b", b, [k, n])] : [])];
  const feeds = () => ({
    a: tf.tensor(given[0], [batch, m, k], a),
    ...(open && { b: tf.tensor(given[1], [k, n], b) }),
  });

  testOnDevices(`MatMulInteger of ${what} is exact`, async () => {
    const product = await loadOnnx(model({
      nodes: [node("MatMulInteger", ["a", "b", "az", "bz"], ["y"])],
      inputs,
      outputs: [value("y", "int32", [batch, m, n])],
      initialisers: [
        ...(open ? [] : [tensor("b", [k, n], given[1])]),
        tensor("az", [], zeroOf(a, az)),
        tensor("bz", zeros.length === 1 ? [] : [n], zeroOf(b, ...zeros)),
      ],
    }));
    const wanted = sumsOf(shape, given, [az, zeros]);
    const got = await ((await product.run(feeds())).y as tf.Tensor).data();
    for (let i = 0; i < wanted.length; i++) assertEquals(Number(got[i]), wanted[i], `at ${i}`);
    product.dispose();
  });

  testOnDevices(`QLinearMatMul of ${what} rounds the sums to levels`, async () => {
    const sums = sumsOf(shape, given, [az, zeros]), as = 0.02;
    const scales = Float32Array.from(zeros, (_, j) => 0.01 * (1 + j % 4));
    const real = sums.map((sum, i) => sum * Math.fround(as) * scales[i % scales.length]);
    // The largest is 100 levels from the zero point.
    const ys = Math.fround(real.reduce((most, r) => Math.max(most, Math.abs(r)), 0) / 100);
    const yz = y === "int8" ? -7 : 121, [least, most] = y === "int8" ? [-128, 127] : [0, 255];
    const product = await loadOnnx(model({
      nodes: [node("QLinearMatMul", ["a", "as", "az", "b", "bs", "bz", "ys", "yz"], ["y"])],
      inputs,
      outputs: [value("y", y, [batch, m, n])],
      initialisers: [
        ...(open ? [] : [tensor("b", [k, n], given[1])]),
        tensor("as", [], floats(as)),
        tensor("az", [], zeroOf(a, az)),
        tensor("bs", zeros.length === 1 ? [] : [n], scales),
        tensor("bz", zeros.length === 1 ? [] : [n], zeroOf(b, ...zeros)),
        tensor("ys", [], floats(ys)),
        tensor("yz", [], zeroOf(y, yz)),
      ],
    }));
    const result = (await product.run(feeds())).y as tf.Tensor, got = await result.data();
    assertEquals([result.dtype, result.shape], [y, [batch, m, n]]);
    let differ = 0, inner = 0;
    for (let i = 0; i < sums.length; i++) {
      const level = real[i] / ys;
      const wanted = Math.min(most, Math.max(least, Math.round(level) + yz));
      const off = Math.abs(Number(got[i]) - wanted);
      // What lies at the middle between two levels may become either.
      assert(
        off === 0 || off === 1 && Math.abs(level - Math.floor(level) - 0.5) < 1e-3,
        `${got[i]} at ${i}, wanted ${wanted}`,
      );
      if (off > 0) differ++;
      if (wanted > least && wanted < most) inner++;
    }
    assert(differ <= sums.length / 500, `${differ} of ${sums.length} differ`);
    // Most levels say something about the sums.
    assert(inner > sums.length / 2, `${inner} of ${sums.length} are within the range`);
    product.dispose();
  });
}

const CONVOLUTIONS = [
  { c: 64, n: 72, size: 3, group: 1, pads: 1, h: 23, b: "int8", bz: 0, open: false },
  { c: 48, n: 40, size: 5, group: 4, pads: 2, h: 17, b: "uint8", bz: 128, open: false },
  { c: 96, n: 96, size: 3, group: 96, pads: 1, h: 14, b: "int8", bz: 3, open: false },
  { c: 320, n: 33, size: 1, group: 1, pads: 0, h: 12, b: "uint8", bz: 131, open: true },
  { c: 40, n: 24, size: 3, group: 2, pads: 0, h: 15, b: "int8", bz: -5, open: true },
] as const;

for (const { c, n, size, group, pads, h, b, bz, open } of CONVOLUTIONS) {
  testOnDevices(
    `ConvInteger of ${c} channels in ${group} groups with ${b}[${n},${
      c / group
    },${size},${size}] is exact`,
    async () => {
      const own = c / group, out = h + 2 * pads - size + 1, zero = 113;
      const xs = levels("uint8", 2 * c * h * h, 3), w = levels(b, n * own * size ** 2, 4);
      const m = await loadOnnx(model({
        nodes: [node("ConvInteger", ["x", "w", "xz", "wz"], ["y"], {
          pads: new Array(4).fill(BigInt(pads)),
          group: BigInt(group),
        })],
        inputs: [
          value("x", "uint8", [2, c, h, h]),
          ...(open ? [value("w", b, [n, own, size, size])] : []),
        ],
        outputs: [value("y", "int32", [2, n, out, out])],
        initialisers: [
          ...(open ? [] : [tensor("w", [n, own, size, size], w)]),
          tensor("xz", [], zeroOf("uint8", zero)),
          tensor("wz", [], zeroOf(b, bz)),
        ],
      }));
      const feeds = {
        x: tf.tensor(xs, [2, c, h, h], "uint8"),
        ...(open && { w: tf.tensor(w, [n, own, size, size], b) }),
      };
      const y = await ((await m.run(feeds)).y as tf.Tensor).data();
      assertEquals(y.length, 2 * n * out * out);
      for (let at = 0; at < y.length; at += 11) {
        const q = at % out, p = Math.floor(at / out) % out, o = Math.floor(at / out ** 2) % n;
        const image = Math.floor(at / (n * out ** 2)), first = Math.floor(o / (n / group)) * own;
        let sum = 0;
        for (let i = 0; i < own * size ** 2; i++) {
          const [ch, row, column] = [
            Math.floor(i / size ** 2),
            p - pads + Math.floor(i / size) % size,
            q - pads + i % size,
          ];
          if (row < 0 || row >= h || column < 0 || column >= h) continue;
          const level = xs[((image * c + first + ch) * h + row) * h + column] - zero;
          sum += level * (w[o * own * size ** 2 + i] - bz);
        }
        assertEquals(Number(y[at]), sum, `at ${at}`);
      }
      m.dispose();
    },
  );
}

Deno.test("the largest sum of a column's magnitudes is exact for any zero point and extent", () => {
  for (const [rows, columns] of [[1, 4], [511, 8], [512, 8], [1100, 12], [7, 5], [600, 7]]) {
    for (const dtype of ["int8", "uint8"] as const) {
      for (const zeros of [[0], [128], [-128], [3], Array.from({ length: columns }, (_, j) => j)]) {
        // A part of a matrix may begin at any byte; its first column has the largest magnitudes that there are.
        const whole = levels(dtype, 3 + rows * columns, 5), least = dtype === "int8" ? -128 : 0;
        for (let at = 0; at < whole.length; at += columns) whole[at] = least;
        for (const from of [0, 3]) {
          const part = whole.subarray(from, from + rows * columns);
          const sums = new Array<number>(columns).fill(0);
          part.forEach((x, i) => sums[i % columns] += Math.abs(x - zeros[i % zeros.length]));
          assertEquals(largestColumn(part, columns, zeros), Math.max(...sums));
        }
      }
    }
  }
});
