/** Products and convolutions of whole numbers of 8 bits with levels, which the CPU multiplies as bytes: their sums are exact. */
import { assert, assertEquals, fail } from "@std/assert";
import * as tf from "@weft/weft";
import { loadOnnx } from "@weft/weft/onnx";
import type { LevelMatrix } from "../../src/engine/core/arrays/level_matrix.ts";
import type { CpuDevice } from "../../src/engine/devices/cpu/cpu_device.ts";
import { Engine } from "../../src/engine/devices/cpu/engine.ts";
import { prepareProduct } from "../../src/engine/devices/cpu/gemm/gemm.ts";
import { multipliesBytes } from "../../src/engine/devices/cpu/gemm/gemm_quads.ts";
import { probeFeatures } from "../../src/engine/devices/cpu/wasm/features.ts";
import { cpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import { floats, model, node, tensor, value } from "./make_model.ts";

const { engine } = cpuDevice() as CpuDevice;

function levelsOf(dtype: "int8" | "uint8", size: number): Int8Array | Uint8Array {
  const levels = dtype === "int8" ? new Int8Array(size) : new Uint8Array(size);
  for (let i = 0; i < size; i++) levels[i] = (i * 7919) ^ (i >> 5);
  return levels;
}

/** Makes a product of one engine, of rows of A with a matrix of levels `[k, n]`. */
function productOf(own: Engine, [m, k, n]: readonly number[], matrix: LevelMatrix) {
  const shape = { m: m!, n: n!, k: k!, transA: false, transB: false };
  const { levels } = prepareProduct(own, shape).form!, { heap } = own;
  const packed = heap.alloc(levels!.bytes),
    a = heap.alloc(4 * m! * k!),
    c = heap.alloc(4 * m! * n!);
  levels!.pack(packed, matrix);
  return (x: ArrayLike<number>): Float32Array => {
    heap.f32.set(x, a >>> 2);
    levels!.run([c], [a, packed]);
    return heap.f32.slice(c >>> 2, (c >>> 2) + m! * n!);
  };
}

Deno.test("products with levels are exact for whole numbers, with and without products of bytes", () => {
  const plain = new Engine({ ...probeFeatures(), relaxed: false, shared: false });
  assertEquals(multipliesBytes(plain), false);
  const own = new Engine({ ...probeFeatures(), shared: false });
  // Whole panels of rows and columns, and others.
  for (const [m, k, n] of [[5, 132, 1024], [128, 260, 37], [131, 1036, 136]] as const) {
    for (
      const [dtype, zero] of [["int8", 0], ["uint8", 128], ["uint8", 120], ["int8", 3]] as const
    ) {
      const levels = levelsOf(dtype, k * n),
        matrix: LevelMatrix = {
          levels,
          rows: () => Int32Array.from({ length: k }, (_, i) => i * n),
          columns: n,
          stride: 1,
          scales: Float32Array.of(1),
          zeros: Int32Array.of(zero),
        };
      const products = [plain, own].map((e) => productOf(e, [m, k, n], matrix));
      for (const least of [0, -120, -255, 40]) {
        const x = Int32Array.from(
          { length: m * k },
          (_, i) => least + (i * 31 & (least > 0 ? 127 : 255)),
        );
        const wanted = new Float64Array(m * n);
        for (let i = 0; i < m; i += i < 2 ? 1 : 41) {
          for (let p = 0; p < k; p++) {
            const by = x[i * k + p]!;
            for (let j = 0; j < n; j++) wanted[i * n + j]! += by * (levels[p * n + j]! - zero);
          }
        }
        for (const product of products) {
          const got = product(x);
          for (let i = 0; i < m; i += i < 2 ? 1 : 41) {
            for (let j = 0; j < n; j++) assertEquals(got[i * n + j], wanted[i * n + j]);
          }
        }
      }
      // What is no whole number of a byte is multiplied as float32.
      for (const other of [0.5, 300, -256, NaN, Infinity, -Infinity]) {
        const x = Float32Array.from({ length: m * k }, (_, i) => i === m * k - 2 ? other : i & 255);
        const [a, b] = products.map((product) => product(x));
        for (let i = 0; i < a!.length; i++) {
          const [p, q] = [a![i]!, b![i]!];
          if (!(Object.is(p, q) || Math.abs(p - q) <= 1e-5 * Math.abs(p) + 0.05)) {
            fail(`${p} and ${q} for ${other}`);
          }
        }
        assertEquals(Number.isFinite(a!.at(-1)!), Number.isFinite(other));
        assertEquals(Number.isFinite(b!.at(-1)!), Number.isFinite(other));
      }
    }
  }
});

/** Runs, and tells if bytes were multiplied. */
async function watched<T>(run: () => Promise<T>): Promise<[T, boolean]> {
  const keys: string[] = engine!.asked = [];
  try {
    const result = await run();
    return [result, keys.includes("quads of A")];
  } finally {
    engine!.asked = null;
  }
}

Deno.test("convolutions of levels are exact: pads, strides, dilations, several images, other channels", async () => {
  await tf.setBackend("cpu");
  const cases = [
    { c: 32, n: 24, size: 3, pads: 1, stride: 1, dilation: 1, batch: 1, zero: 0, fast: true },
    { c: 36, n: 40, size: 3, pads: 1, stride: 2, dilation: 1, batch: 9, zero: 0, fast: true },
    { c: 32, n: 40, size: 2, pads: 0, stride: 1, dilation: 2, batch: 2, zero: 0, fast: true },
    { c: 128, n: 96, size: 1, pads: 0, stride: 1, dilation: 1, batch: 1, zero: 0, fast: true },
    { c: 128, n: 96, size: 1, pads: 0, stride: 2, dilation: 1, batch: 3, zero: 0, fast: true },
    { c: 30, n: 40, size: 3, pads: 1, stride: 1, dilation: 1, batch: 1, zero: 0, fast: false },
    { c: 32, n: 40, size: 3, pads: 1, stride: 1, dilation: 1, batch: 1, zero: 7, fast: false },
  ];
  for (const { c, n, size, pads, stride, dilation, batch, zero, fast } of cases) {
    const h = 19, shape = [n, c, size, size], w = levelsOf("int8", n * c * size ** 2);
    const out = Math.floor((h + 2 * pads - dilation * (size - 1) - 1) / stride) + 1;
    const m = await loadOnnx(model({
      nodes: [
        node("ConvInteger", ["x", "w", "xz", "wz"], ["y"], {
          pads: new Array(4).fill(BigInt(pads)),
          strides: [BigInt(stride), BigInt(stride)],
          dilations: [BigInt(dilation), BigInt(dilation)],
        }),
      ],
      inputs: [value("x", "uint8", [batch, c, h, h])],
      outputs: [value("y", "int32", [batch, n, out, out])],
      initialisers: [
        tensor("w", shape, w),
        tensor("xz", [], Uint8Array.of(100)),
        tensor("wz", [], Int8Array.of(zero)),
      ],
    }));
    const xs = Uint8Array.from({ length: batch * c * h * h }, (_, i) => i * 31 ^ (i >> 7));
    const x = tf.tensor(xs, [batch, c, h, h], "uint8");
    const [y, isFast] = await watched(async () =>
      await ((await m.run({ x })).y as tf.Tensor).data()
    );
    assertEquals(isFast, fast && multipliesBytes(engine!), `${[c, n, size]}`);
    for (let at = 0; at < y.length; at += 13) {
      const q = at % out, p = Math.floor(at / out) % out, o = Math.floor(at / out ** 2) % n;
      const image = Math.floor(at / (n * out ** 2));
      let sum = 0;
      for (let ch = 0; ch < c; ch++) {
        for (let i = 0; i < size; i++) {
          const row = p * stride - pads + i * dilation;
          if (row < 0 || row >= h) continue;
          for (let j = 0; j < size; j++) {
            const column = q * stride - pads + j * dilation;
            if (column < 0 || column >= h) continue;
            const level = xs[((image * c + ch) * h + row) * h + column]! - 100;
            sum += level * (w[((o * c + ch) * size + i) * size + j]! - zero);
          }
        }
      }
      assertEquals(Number(y[at]), sum, `at ${at} of ${[c, n, size]}`);
    }
    m.dispose();
  }
});

Deno.test("a convolution between dequantised levels multiplies these, and gives the levels of its floats", async () => {
  await tf.setBackend("cpu");
  const c = 16, n = 32, h = 21, w = levelsOf("int8", n * c * 9), of = (x: number) => floats(x);
  const scale = floats(...Array.from({ length: n }, (_, i) => 0.001 * (1 + i % 5)));
  const make = (levels: readonly string[]) =>
    loadOnnx(model({
      nodes: [
        node("QuantizeLinear", ["x", "xs", "xz"], ["q"]),
        node("DequantizeLinear", ["q", "xs", "xz"], ["d"]),
        node("DequantizeLinear", ["w", "ws"], ["v"], { axis: 0n }),
        node("Conv", ["d", "v", "b"], ["s"], { pads: [1n, 1n, 1n, 1n] }),
        node("Relu", ["s"], ["r"]),
        node("QuantizeLinear", ["r", "ys", "yz"], ["z"]),
        node("DequantizeLinear", ["z", "ys", "yz"], ["y"]),
        node("Add", ["d", "d"], ["e"]),
      ],
      inputs: [value("x", "float32", [2, c, h, h])],
      outputs: levels.map((name) => value(name, "float32", [2, name === "e" ? c : n, h, h])),
      initialisers: [
        tensor("xs", [], of(0.03)),
        tensor("xz", [], Uint8Array.of(110)),
        tensor("w", [n, c, 3, 3], w),
        tensor("ws", [n], scale),
        tensor("b", [n], floats(...Array.from({ length: n }, (_, i) => i - 7.5))),
        tensor("ys", [], of(0.4)),
        tensor("yz", [], Uint8Array.of(3)),
      ],
    }));
  const x = tf.mul(tf.sin(tf.reshape(tf.range(0, 2 * c * h * h), [2, c, h, h])), 5) as tf.Tensor4D;
  const m = await make(["y", "e"]);
  const [{ y, e }, isFast] = await watched(() =>
    m.run({ x }) as Promise<Record<string, tf.Tensor>>
  );
  assertEquals(isFast, multipliesBytes(engine!));
  const q = tf.sub(tf.clipByValue(tf.add(tf.round(tf.div(x, 0.03)), 110), 0, 255), 110);
  const images = tf.transpose(q, [0, 2, 3, 1]) as tf.Tensor4D;
  const filter = tf.transpose(tf.tensor(Float32Array.from(w), [n, c, 3, 3]), [2, 3, 1, 0]);
  const sums = tf.conv2d(images, filter as tf.Tensor4D, 1, "same");
  const b = tf.tensor(Array.from({ length: n }, (_, i) => i - 7.5));
  const s = tf.add(tf.mul(tf.mul(sums, tf.tensor(scale)), Math.fround(0.03)), b);
  const z = tf.clipByValue(tf.round(tf.div(tf.relu(s), 0.4)), 0, 252);
  const wanted = await tf.transpose(tf.mul(z, Math.fround(0.4)), [0, 3, 1, 2]).data();
  const got = await y!.data(), step = Math.fround(0.4);
  // A sum at the middle between two levels may become either.
  let differ = 0;
  for (let i = 0; i < got.length; i++) {
    const off = Math.abs(Number(got[i]) - Number(wanted[i]));
    assert(off < 1.001 * step, `${got[i]} and ${wanted[i]}`);
    if (off > 1e-3) differ++;
  }
  assert(differ < got.length / 1000, `${differ} of ${got.length} differ`);
  const twice = await tf.mul(q, 2 * Math.fround(0.03)).data(), sum = await e!.data();
  for (let i = 0; i < sum.length; i++) assert(Math.abs(Number(sum[i]) - Number(twice[i])) < 1e-5);
  m.dispose();
});
