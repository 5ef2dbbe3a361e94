/** Quantised matrices: their values and their products, over bits, blocks and sizes, against float64. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertThrows, fail } from "@std/assert";
import { randomSource } from "../devices/cpu/engines.ts";
import { testOnDevices } from "../devices.ts";
import { effort } from "../effort.ts";

type Options = tf.QuantizeOptions;

const FORMS: readonly Options[] = [
  { bits: 4 },
  { bits: 8 },
  { bits: 4, symmetric: false },
  { bits: 8, symmetric: false, block: 64 },
  { bits: 4, block: 128 },
  { bits: 8, block: 8 },
  { bits: 4, block: 16, symmetric: false },
  { bits: 8, block: 1024 },
];

function matrix(rows: number, columns: number, seed: number, middle = 0): Float32Array {
  const random = randomSource(seed);
  return Float32Array.from({ length: rows * columns }, () => random() * 2 - 1 + middle);
}

/** Returns the product in float64, and how far from it sums in float32 may be. */
function product(
  x: ArrayLike<number>,
  w: ArrayLike<number>,
  [m, k, n]: readonly [number, number, number],
  block: number,
): { values: number[]; bounds: number[] } {
  const values: number[] = [], bounds: number[] = [];
  for (let i = 0; i < m; i++) {
    for (let j = 0; j < n; j++) {
      let sum = 0, bound = 0;
      for (let from = 0; from < k; from += block) {
        let most = 0, size = 0;
        for (let p = from; p < Math.min(k, from + block); p++) {
          sum += x[i * k + p] * w[p * n + j];
          most = Math.max(most, Math.abs(x[i * k + p]));
          size += Math.abs(w[p * n + j]);
        }
        bound += most * size * 2 ** -20;
      }
      values.push(sum);
      bounds.push(bound);
    }
  }
  return { values, bounds };
}

function assertWithin(
  got: ArrayLike<number>,
  { values, bounds }: ReturnType<typeof product>,
  what: string,
): void {
  assertEquals(got.length, values.length, what);
  values.forEach((v, i) => {
    if (!(Math.abs(got[i] - v) <= bounds[i] + 1e-30)) {
      fail(`${what}: element ${i} is ${got[i]}, wanted ${v} ± ${bounds[i]}`);
    }
  });
}

testOnDevices(
  "quantize() is off by half a scale, by one where blocks have zeros of their own",
  async () => {
    for (const form of FORMS) {
      for (
        const [rows, columns, axis] of [[70, 5, -2], [33, 40, -1], [1, 1, -2], [0, 3, -1]] as const
      ) {
        const values = matrix(rows, columns, rows, form.symmetric === false ? 0.4 : 0);
        const q = tf.quantize(tf.tensor(values, [rows, columns]), { ...form, axis });
        const [back, scales] = [await tf.dequantize(q).data(), await q.scales.data()];
        const inner = axis === -1 ? columns : rows, blocks = Math.ceil(inner / q.block);
        values.forEach((v, i) => {
          const [row, column] = [Math.floor(i / columns), i % columns];
          const [line, at] = axis === -1 ? [row, column] : [column, row];
          const scale = scales[line * blocks + Math.floor(at / q.block)] as number;
          const most = scale * (form.symmetric === false ? 1 : 0.5) * (1 + 1e-5);
          assert(
            Math.abs(v - Number(back[i])) <= most,
            `${q}: ${back[i]}, given ${v}, scale ${scale}`,
          );
        });
      }
    }
  },
);

testOnDevices(
  "rows beside much larger ones keep their digits, past the end of the last block too",
  async () => {
    for (const form of FORMS.slice(0, 5)) {
      const [m, k, n] = [3, 70, 9], x = matrix(m, k, 5);
      for (let p = k; p < m * k; p++) x[p] = (x[p]! + 2) * 1e15 ** Math.floor(p / k);
      const q = tf.quantize(tf.tensor(matrix(k, n, 6), [k, n]), form);
      const table = tf.quantize(tf.transpose(tf.dequantize(q)), { ...form, axis: -1 });
      const w = await tf.transpose(tf.dequantize(table)).data() as Float32Array;
      const got = await tf.matMul(tf.tensor(x, [m, k]), table, false, true).data() as Float32Array;
      assertWithin(got, product(x, w, [m, k, n], table.block), `${q}`);
    }
  },
);

testOnDevices("matMul() multiplies by quantised matrices", async (device) => {
  const sizes: [number, number, number][] = [
    [1, 64, 7],
    [1, 100, 33],
    [3, 256, 16],
    [2, 1, 1],
    [5, 33, 9],
    [13, 70, 20],
    [40, 300, 17],
    [1, 0, 3],
    [0, 32, 4],
    [1, 600, 70],
  ];
  // Sizes take turns on WebGPU, where each makes kernels.
  const turns = device === "cpu" ? sizes.length : effort(1, sizes.length);
  for (const [f, form] of FORMS.entries()) {
    for (let turn = 0; turn < turns; turn++) {
      const size = sizes[(f + turn) % sizes.length];
      const [m, k, n] = size;
      const q = tf.quantize(tf.tensor(matrix(k, n, n), [k, n]), form);
      const x = matrix(m, k, 7), w = await tf.dequantize(q).data() as Float32Array;
      const wanted = product(x, w, size, q.block), what = `${device} [${size}] ${q}`;
      const a = tf.tensor(x, [m, k]);
      assertWithin(await tf.matMul(a, q).data() as Float32Array, wanted, what);
      assertWithin(
        await tf.matMul(tf.transpose(a), q, true).data() as Float32Array,
        wanted,
        `${what}, transposed x`,
      );
      assertWithin(
        await tf.matMul(tf.reshape(a, [1, m, k]), q).data() as Float32Array,
        wanted,
        `${what}, a batch`,
      );
      const table = tf.quantize(tf.transpose(tf.dequantize(q)), { ...form, axis: -1 });
      const own = product(
        x,
        await tf.transpose(tf.dequantize(table)).data() as Float32Array,
        size,
        q.block,
      );
      assertWithin(
        await tf.matMul(a, table, false, true).data() as Float32Array,
        own,
        `${what}, transposed`,
      );
    }
  }
});

testOnDevices("quantised matrices are operands in any place, and of any dtype", async () => {
  const w = tf.quantize(tf.tensor(matrix(32, 8, 3), [32, 8]), { bits: 8 }),
    dense = tf.dequantize(w);
  const x = tf.tensor(matrix(8, 32, 4), [8, 32]);
  const near = async (got: tf.Tensor, wanted: tf.Tensor, bound: number): Promise<void> => {
    assertEquals([got.dtype, got.shape], [wanted.dtype, wanted.shape]);
    const far = await tf.max(tf.abs(tf.sub(tf.cast(got, "float32"), tf.cast(wanted, "float32"))))
      .data();
    assert(Number(far[0]) <= bound, `${far[0]}`);
  };
  await near(tf.matMul(w, x), tf.matMul(dense, x), 1e-5);
  await near(tf.matMul(x, w, true, true), tf.matMul(x, dense, true, true), 1e-5);
  await near(tf.matMul(tf.cast(x, "float16"), w), tf.matMul(x, dense), 2e-3);
  const half = tf.quantize(tf.cast(dense, "float16"), { bits: 8 });
  assertEquals(half.dtype, "float16");
  await near(tf.matMul(tf.cast(x, "float16"), half), tf.cast(tf.matMul(x, dense), "float16"), 0.05);
  await near(tf.relu(tf.add(tf.matMul(x, w), 1)), tf.relu(tf.add(tf.matMul(x, dense), 1)), 1e-3);
});

testOnDevices("gather() takes rows and columns of quantised matrices", async () => {
  for (const form of FORMS.slice(0, 4)) {
    for (const axis of [-1, -2] as const) {
      const q = tf.quantize(tf.tensor(matrix(20, 70, 5), [20, 70]), { ...form, axis }),
        dense = tf.dequantize(q);
      const at = tf.tensor2d([[0, 19], [7, 7]], [2, 2], "int32");
      for (const along of [0, 1]) {
        const got = tf.gather(q, at, along), wanted = tf.gather(dense, at, along);
        assertEquals(got.shape, wanted.shape);
        assertEquals(await got.data(), await wanted.data());
      }
      assertEquals(await q.row(3).data(), await tf.gather(dense, 3).data());
    }
  }
});

testOnDevices(
  "products with quantised matrices join what follows, and have gradients",
  async () => {
    const q = tf.quantize(tf.tensor(matrix(64, 24, 8), [64, 24]), { bits: 4 }),
      dense = tf.dequantize(q);
    const bias = tf.tensor(matrix(1, 24, 2), [24]);
    for (const m of [1, 2, 30]) {
      const x = tf.tensor(matrix(m, 64, 9), [m, 64]);
      const layer = tf.function((x: tf.Tensor) => tf.relu(tf.add(tf.matMul(x, q), bias)));
      const want = tf.relu(tf.add(tf.matMul(x, dense), bias));
      const far = await tf.max(tf.abs(tf.sub(await layer.async(x) as tf.Tensor, want))).data();
      assert(far[0] < 1e-4, `${far[0]}`);
      const gradient = (w: tf.Tensor) =>
        tf.grad((x: tf.Tensor) => tf.sum(tf.square(tf.matMul(x, w))))(x);
      const [own, other] = [gradient(q as unknown as tf.Tensor), gradient(dense)];
      const apart = await tf.max(tf.abs(tf.sub(own, other))).data();
      assert(apart[0] < 1e-3, `${apart[0]}`);
    }
  },
);

testOnDevices(
  "quantised matrices are inputs and results of functions, branches and loops",
  async () => {
    const q = tf.quantize(tf.tensor(matrix(32, 32, 1), [32, 32]), { bits: 4 }),
      x = tf.ones([1, 32]);
    const f = tf.function((x: tf.Tensor, w: tf.QuantizedTensor) => tf.matMul(x, w));
    const want = await tf.matMul(x, q).data();
    const near = async (t: tf.Tensor): Promise<void> => {
      const far = (await t.data() as Float32Array).map((v, i) => Math.abs(v - Number(want[i])));
      assert(Math.max(...far) < 1e-3);
    };
    await near(await f.async(x, q) as tf.Tensor);
    const g = tf.function((x: tf.Tensor) => tf.quantize(x, { bits: 8, axis: -1 }));
    const made = await g.async(x) as unknown as tf.QuantizedTensor;
    assertEquals(String(made), "QuantizedTensor(8-bit float32[1,32] in blocks of 32)");
    assertEquals(await tf.dequantize(made).data(), new Float32Array(32).fill(1));
  },
);

Deno.test("quantised matrices are saved in safetensors files", async () => {
  await tf.setBackend("cpu");
  const w = tf.quantize(tf.tensor(matrix(40, 6, 1), [40, 6]), { bits: 4, symmetric: false });
  const half = tf.quantize(tf.ones([3, 9], "float16"), { bits: 8, block: 8, axis: -1 });
  const bytes = await tf.io.writeSafetensors({ w, half, b: tf.ones([2]) }, { step: "7" });
  const file = tf.io.readSafetensors(bytes);
  assertEquals(file.metadata.step, "7");
  for (const [name, q] of Object.entries({ w, half })) {
    const back = tf.io.quantizedFrom(file, name);
    assertEquals(String(back), String(q));
    assertEquals(await tf.dequantize(back).data(), await tf.dequantize(q).data());
  }
  assertThrows(() => tf.io.quantizedFrom(file, "b"), tf.errors.NotFoundError, 'Cannot read "b"');
  const key = "quantized:w", form = JSON.parse(file.metadata[key]);
  for (
    const wrong of [{ bits: 5 }, { shape: [400, 6] }, { shape: [1e18, 6] }, { block: 2 ** 40 }, {
      dtype: "string",
    }]
  ) {
    const metadata = { [key]: JSON.stringify({ ...form, ...wrong }) };
    assertThrows(
      () => tf.io.quantizedFrom({ ...file, metadata }, "w"),
      tf.errors.DataLossError,
      'Cannot read the quantised matrix "w"',
    );
  }
});

Deno.test("quantised matrices are printed by their form", () => {
  const q = tf.quantize(tf.ones([32, 8]), { bits: 4 });
  assertEquals(Deno.inspect(q), "QuantizedTensor(4-bit float32[32,8] in blocks of 32)");
});

Deno.test("quantised matrices are disposed as tensors are", async () => {
  await tf.setBackend("cpu");
  const before = tf.memory().numTensors;
  const q = tf.tidy(() => tf.quantize(tf.ones([32, 8]), { bits: 4 }));
  assertEquals(tf.memory().numTensors, before + 3);
  q.dispose();
  assertEquals(tf.memory().numTensors, before);
});

Deno.test("what cannot be quantised, and what quantised matrices are not for, is refused", () => {
  const q = tf.quantize(tf.ones([32, 8]), { bits: 4 });
  const refusals: readonly (readonly [() => unknown, new (m: string) => Error, string])[] = [
    [
      () => tf.quantize([1, 2], { bits: 4 }),
      tf.ValueError,
      "x must be a matrix of known shape, received shape [2]",
    ],
    [() => tf.quantize([[1]], { bits: 3 as 4 }), tf.ValueError, "bits must be 4 or 8, received 3"],
    [
      () => tf.quantize([[1]], { bits: 4, block: 12 }),
      tf.ValueError,
      "block must be a power of two, 8 or more, received 12",
    ],
    [
      () => tf.quantize([[1]], { bits: 4, axis: 0 as -1 }),
      tf.ValueError,
      "axis must be -1 or -2, received 0",
    ],
    [
      () => tf.quantize([["a"]], { bits: 4 }),
      TypeError,
      "x must be of real numbers, received string",
    ],
    [
      () => tf.quantize([[1]], { bit: 4 } as unknown as Options),
      TypeError,
      'Unknown option "bit" of quantize',
    ],
    [
      () => tf.dequantize(tf.ones([1]) as unknown as tf.QuantizedTensor),
      TypeError,
      "must be a quantised tensor",
    ],
    [
      () => tf.add(q as unknown as tf.Tensor, 1),
      TypeError,
      "Cannot apply AddV2 to QuantizedTensor(4-bit float32[32,8] in blocks of 32)",
    ],
    [
      () => tf.matMul(tf.ones([1, 31]), q),
      tf.ValueError,
      "inner dimensions must be equal, received 31 and 32",
    ],
    [() => tf.gather(q, [[0]], 0, 1), Error, "with batchDims 1"],
  ];
  for (const [run, error, text] of refusals) assertThrows(run, error, text);
});
