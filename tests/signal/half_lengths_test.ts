/** Transforms of real rows on the GPU: of half as many complex numbers where the length is even, beside float64 in every way. */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { lookupOp } from "../../src/engine/core/op.ts";
import { gpuVariants } from "../../src/engine/devices/webgpu/kernel_table.ts";
import type { WebGpuDevice } from "../../src/engine/devices/webgpu/webgpu_device.ts";
import { gpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import { problemOf } from "../../src/library/testing/run_op.ts";
import { testOnDevices, testOnGpu } from "../devices.ts";
import { noise } from "../ops/values.ts";

/** Powers of two, small factors, twice primes, and odd lengths, which stay whole. */
const LENGTHS = [
  ...[1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 16, 26, 30, 32, 60, 64, 74, 100, 128, 134],
  ...[250, 256, 360, 509, 512, 1000, 1018, 1024, 2048, 4096],
];

type Way = "rfft" | "irfft";

function realRows(rows: readonly number[], width: number, seed: number): tf.Tensor {
  return tf.tensor(noise("float32", [...rows, width], seed));
}

/** The transform and the gradient of its parts by fixed weights. */
function withGradient(way: Way, length: number) {
  return (x: tf.Tensor, y: tf.Tensor, weights: tf.Tensor): tf.Tensor[] => {
    const make = (x: tf.Tensor, y: tf.Tensor): tf.Tensor => {
      const made = way === "rfft" ? tf.rfft(x, length) : tf.irfft(tf.complex(x, y), length);
      return way === "rfft" ? tf.stack([tf.real(made), tf.imag(made)], -1) : made;
    };
    const loss = (x: tf.Tensor, y: tf.Tensor): tf.Tensor => tf.sum(tf.mul(make(x, y), weights));
    const slopes = way === "rfft"
      ? [tf.grad((x: tf.Tensor) => loss(x, y))(x)]
      : tf.grads((x: tf.Tensor, y: tf.Tensor) => loss(x, y))([x, y]);
    return [make(x, y), ...slopes] as tf.Tensor[];
  };
}

/** Root of the mean of squared distances, relative to the wanted numbers. */
function distance(found: ArrayLike<number>, wanted: ArrayLike<number>): number {
  assertEquals(found.length, wanted.length);
  let far = 0, all = 0;
  for (let i = 0; i < wanted.length; i++) {
    far += (found[i] - wanted[i]) ** 2;
    all += wanted[i] ** 2;
  }
  return all === 0 ? Math.sqrt(far) : Math.sqrt(far / all);
}

/** Arguments of a transform of rows that are as long as it, shorter or longer. */
function argumentsOf(
  way: Way,
  length: number,
  given: number,
  rows: readonly number[],
): tf.Tensor[] {
  const half = (length >> 1) + 1, width = Math.max(1, (way === "rfft" ? length : half) + given);
  const weights = way === "rfft"
    ? tf.tensor(noise("float32", [...rows, half, 2], 3))
    : realRows(rows, length, 3);
  const y = way === "rfft" ? tf.zeros([1]) : realRows(rows, width, 2);
  return [realRows(rows, width, 1), y, weights];
}

for (const way of ["rfft", "irfft"] as const) {
  testOnDevices(`${way} of rows of any length and its gradient are those of float64`, async () => {
    for (const length of LENGTHS) {
      // A number of a stage of 509 is a sum of as many.
      const limit = length % 509 === 0 ? 1e-6 : 3e-7;
      for (const [given, rows] of [[0, [3]], [-1, [2, 2]], [2, []]] as const) {
        using _scope = tf.scope();
        const f = withGradient(way, length), args = argumentsOf(way, length, given, rows);
        const exact = tf.device("/CPU:0", () => {
          const wide = args.map((x) => tf.tensor(Float64Array.from(x.dataSync()), x.shape));
          return f(...wide as [tf.Tensor, tf.Tensor, tf.Tensor]).map((x) => x.dataSync());
        });
        const ways = { eager: f, compiled: tf.function(f) };
        for (const [name, run] of Object.entries(ways)) {
          const found = run(...args as [tf.Tensor, tf.Tensor, tf.Tensor]) as tf.Tensor[];
          for (const [i, x] of found.entries()) {
            const far = distance(await x.data() as Float32Array, exact[i] as ArrayLike<number>);
            assert(far < limit, `${length}, given ${given}, ${name}: result ${i} is ${far} off`);
          }
        }
      }
    }
  });
}

testOnDevices("rfft in a session, in a loop and mapped over rows is that of float64", async () => {
  const length = 512, x = realRows([2], length, 5);
  const exact = tf.device("/CPU:0", () => {
    const wide = tf.tensor(Float64Array.from(x.dataSync()), x.shape);
    return tf.rfft(wide).dataSync();
  }) as ArrayLike<number>;
  const near = (found: ArrayLike<number>, what: string): void => {
    const far = distance(found, exact);
    assert(far < 3e-7, `${what}: ${far}`);
  };
  const graph = new tf.Graph();
  const [feed, fetch] = graph.asDefault(() => {
    const feed = tf.placeholder("float32", [2, length]);
    return [feed, tf.rfft(feed)];
  });
  await using session = new tf.Session({ graph });
  const values = new tf.NdArray("float32", [2, length], await x.data());
  const feeds = new Map([[feed, values]]);
  const { data } = await session.run(fetch, { feeds }) as tf.NdArray;
  near(data as Float32Array, "session");
  const looped = tf.function((x: tf.Tensor) =>
    tf.whileLoop(
      (i: tf.Tensor) => tf.less(i, 2),
      (i: tf.Tensor, x: tf.Tensor) => [tf.add(i, 1), tf.irfft(tf.rfft(x))],
      [tf.scalar(0, "int32"), x],
    )[1]
  );
  near(await tf.rfft(looped(x) as tf.Tensor).data() as Float32Array, "loop");
  const mapped = tf.vectorizedMap((x: tf.Tensor) => tf.rfft(x), x) as tf.Tensor;
  near(await mapped.data() as Float32Array, "mapped");
});

testOnGpu(
  "transforms of real rows are no farther from float64 than those of complex ones",
  async () => {
    for (const length of [128, 512, 1000, 1024]) {
      using _scope = tf.scope();
      const x = realRows([16], length, 9);
      const exact = tf.device(
        "/CPU:0",
        () => tf.rfft(tf.tensor(Float64Array.from(x.dataSync()), x.shape)).dataSync(),
      ) as ArrayLike<number>;
      const whole = tf.slice(tf.fft(tf.complex(x, tf.zerosLike(x))), [0, 0], [16, length / 2 + 1]);
      const [own, other] = await Promise.all([tf.rfft(x).data(), whole.data()]);
      const [far, farther] = [own, other].map((y) => distance(y as ArrayLike<number>, exact));
      assert(far <= 1.1 * farther, `${length}: ${far}, of complex rows ${farther}`);
    }
  },
);

testOnGpu(
  "transforms of real rows of even length keep half the numbers between their dispatches",
  () => {
    const { profile } = gpuDevice() as WebGpuDevice;
    /** Dispatches and kept bytes for a number of a row, by lengths and rows. */
    const planOf = (op: string, width: number, length: number, rows: number): number[] => {
      const dtype = op === "RFFT" ? "float32" as const : "complex64" as const;
      const x = new tf.NdArray(
        dtype,
        [rows, width],
        new Float32Array(rows * width * (op === "RFFT" ? 1 : 2)),
      );
      const problem = problemOf(lookupOp(op)!, [
        x,
        new tf.NdArray("int32", [1], Int32Array.of(length)),
      ], {});
      const variant = gpuVariants(lookupOp(op)!).find(({ fits }) => fits!(problem, profile))!;
      const { dispatches, temps = [] } = variant.plan(problem, profile);
      return [dispatches.length, temps.reduce((a, b) => a + b, 0) / (rows * length)];
    };
    const forward = (length: number, rows = 1): number[] => planOf("RFFT", length, length, rows);
    const back = (length: number, rows = 1): number[] =>
      planOf("IRFFT", (length >> 1) + 1, length, rows);
    // Where the dispatches are as many, or where there are many rows.
    assertEquals(forward(128), [3, 8]);
    assertEquals(forward(1024), [4, 8]);
    assertEquals(forward(64), [2, 8]);
    assertEquals(forward(256), [3, 16]);
    assertEquals(forward(256, 1024), [4, 8]);
    assertEquals(forward(4096, 64), [5, 8]);
    assertEquals(forward(243), [5, 16]);
    // Inverse transforms need no dispatch more.
    assertEquals(back(8), [1, 0]);
    assertEquals(back(64), [2, 4]);
    assertEquals(back(128), [2, 4]);
    assertEquals(back(1024), [3, 8]);
    assertEquals(back(243), [5, 16]);
  },
);
