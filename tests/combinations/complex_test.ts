/** complex64 joined with branches, loops, scans, scripts, maps over rows, gradients and unknown shapes, beside the same eagerly on the CPU. */
import * as tf from "@weft/weft";
import { assertEquals, fail } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { THOROUGH } from "../effort.ts";

type Op = (...z: tf.Tensor[]) => tf.Tensor;
type Shape = readonly number[];

/** Complex numbers that look random and lie on no cut, the same every time. */
function noise(shape: Shape, seed: number): tf.Tensor {
  const n = shape.reduce((a, b) => a * b, 1);
  const part = (by: number, add: number): tf.Tensor =>
    tf.tensor(
      Array.from({ length: n }, (_, i) => Math.sin((i + seed) * by) + add),
      shape as number[],
      "float32",
    );
  return tf.complex(part(12.9898, 1.25), part(78.233, 0.1));
}

const half = (z: tf.Tensor): tf.Tensor => tf.mul(z, 0.5);
const positive = (z: tf.Tensor): tf.Tensor => tf.greater(tf.imag(z), 0);

/** Ops, and the shapes of their inputs. Those of a name with "known" must know extents. */
const OPS: readonly (readonly [string, Op, readonly Shape[]])[] = [
  ["where", (a, b) => tf.where(positive(a), a, b), [[3, 4], [3, 4]]],
  ["where of a row and a number", (a, b) => tf.where(positive(a), tf.mul(a, b), 0), [[3, 4], [4]]],
  ["where of a column's mask", (a, b) => tf.where(tf.slice(positive(a), [0, 0], [-1, 1]), a, b), [[
    3,
    4,
  ], [3, 4]]],
  ["mask as a factor", (a) => tf.mul(a, tf.cast(positive(a), "complex64")), [[3, 4]]],
  ["real operand", (a, b) => tf.mul(a, tf.cast(tf.abs(b), "complex64")), [[3, 4], [4]]],
  ["sums and quotients", (a, b) => tf.div(tf.sub(a, tf.conj(b)), tf.add(b, 2)), [[3, 1], [4]]],
  ["powers", (a, b) => tf.pow(a, half(b)), [[3, 4], [3, 4]]],
  ["functions", (a) => tf.exp(tf.sqrt(tf.log(tf.add(tf.sin(a), 3)))), [[3, 4]]],
  ["hyperbolic functions", (a) => tf.add(tf.tanh(a), tf.mul(tf.sinh(half(a)), tf.cosh(half(a)))), [[
    7,
  ]]],
  ["abs and angle", (a) => tf.mul(tf.abs(a), tf.math.angle(a)), [[3, 4]]],
  ["equal", (a, b) => tf.cast(tf.equal(a, tf.where(positive(b), a, b)), "float32"), [[3, 4], [
    3,
    4,
  ]]],
  ["concat", (a, b) => tf.concat([a, tf.conj(b), a], 1), [[3, 4], [3, 2]]],
  ["stack", (a, b) => tf.stack([a, tf.conj(b)], -1), [[3, 4], [3, 4]]],
  ["slice", (a) => tf.slice(a, [1, 1], [2, -1]), [[3, 4]]],
  ["strided slice", (a) => tf.stridedSlice(a, [2, 3], [0, 0], [-1, -2]), [[3, 4]]],
  ["gather", (a) => tf.gather(a, [3, 0, 3], 1), [[3, 4]]],
  ["gatherND", (a) => tf.gatherND(a, [[2, 1], [0, 0]]), [[3, 4]]],
  ["scatterND", (a) => tf.scatterND([[4], [1], [4]], a, [6, 4]), [[3, 4]]],
  ["tensorScatterUpdate", (a, b) => tf.tensorScatterUpdate(a, [[2], [0]], b), [[3, 4], [2, 4]]],
  ["tensorScatterAdd", (a, b) => tf.tensorScatterAdd(a, [[1], [1]], b), [[3, 4], [2, 4]]],
  ["segments", (a) => tf.math.unsortedSegmentSum(a, [2, 0, 2], 4), [[3, 4]]],
  ["transpose", (a) => tf.transpose(tf.mul(a, 2), [2, 0, 1]), [[3, 4, 5]]],
  ["pad, tile and reverse", (a) => tf.reverse(tf.tile(tf.pad(a, [[1, 0], [0, 2]]), [2, 1]), [1]), [[
    3,
    4,
  ]]],
  ["roll", (a) => tf.roll(a, [1, -2], [0, 1]), [[3, 4]]],
  ["sum", (a) => tf.sum(a, [1]), [[3, 4, 5]]],
  ["sum of all that keeps axes", (a) => tf.add(tf.sum(a, undefined, true), a), [[3, 4]]],
  ["mean", (a) => tf.sub(a, tf.mean(a, -1, true)), [[3, 4]]],
  ["product of elements", (a) => tf.prod(half(a), 1, true), [[3, 4]]],
  ["running sum", (a) => tf.cumsum(a, 0, true, true), [[5, 3]]],
  ["running product", (a) => tf.cumprod(half(a), 1), [[3, 4]]],
  ["matMul", (a, b) => tf.matMul(a, b), [[3, 4], [4, 2]]],
  ["matMul transposed", (a, b) => tf.matMul(a, b, true, true), [[4, 3], [2, 4]]],
  ["matMul of adjoints", (a, b) => tf.matMul(tf.linalg.adjoint(a), tf.linalg.adjoint(b)), [[
    2,
    4,
    3,
  ], [2, 4]]],
  ["matMul of batches", (a, b) => tf.add(tf.matMul(a, b), 1), [[2, 1, 3, 4], [5, 4, 2]]],
  ["product with a row after it", (a, b) => tf.add(tf.matMul(a, b), tf.sum(b, 0)), [[3, 4], [
    4,
    2,
  ]]],
  ["einsum", (a, b) => tf.einsum("bij,kj->bki", a, tf.conj(b)), [[2, 3, 4], [5, 4]]],
  ["fft of one", (a) => tf.fft(a), [[3, 1]]],
  ["fft of 13", (a) => tf.fft(a), [[2, 13]]],
  ["fft of 15", (a) => tf.fft(a), [[2, 2, 15]]],
  ["fft of 64", (a) => tf.ifft(tf.mul(tf.fft(a), 2)), [[3, 64]]],
  ["ifft of 37", (a) => tf.ifft(a), [[37]]],
  ["fft2d", (a) => tf.fft2d(a), [[2, 6, 5]]],
  ["ifft3d", (a) => tf.ifft3d(a), [[3, 4, 5]]],
  ["rfft of 11, known", (a) => tf.rfft(tf.real(a)), [[2, 11]]],
  ["rfft of a length", (a) => tf.rfft(tf.real(a), 9), [[2, 12]]],
  ["irfft of 9", (a) => tf.irfft(a, 9), [[2, 5]]],
  ["rfft2d and back, known", (a) => tf.irfft2d(tf.rfft2d(tf.real(a)), [4, 6]), [[2, 4, 6]]],
  ["stft, known", (a) => tf.signal.stft(tf.real(a), 8, 3), [[2, 20]]],
  ["fftshift, known", (a) => tf.signal.fftshift(a), [[3, 5]]],
];

const ZERO = (): tf.Tensor => tf.constant(0, "int32");

/** A number that every part of every element counts in, differently. */
function lossOf(y: tf.Tensor): tf.Tensor {
  if (!y.dtype.startsWith("complex")) return tf.sum(tf.square(y));
  return tf.add(tf.sum(tf.square(tf.real(y))), tf.sum(tf.mul(tf.imag(tf.mul(y, y)), 0.5)));
}

/** Functions with an op in them, of the same inputs. */
const JOINS: Readonly<Record<string, (op: Op) => Op>> = {
  "alone": (op) => op,
  "a branch": (op) => (...z) =>
    tf.cond(
      tf.greater(tf.sum(tf.real(z[0])), -1e6),
      () => op(...z),
      () => tf.neg(op(...z)),
    ) as tf.Tensor,
  "a loop": (op) => (...z) =>
    tf.whileLoop(
      (i: tf.Tensor) => tf.less(i, 2),
      (i: tf.Tensor, sum: tf.Tensor, first: tf.Tensor) => [
        tf.add(i, 1),
        tf.add(sum, tf.sum(op(first, ...z.slice(1)))),
        tf.mul(first, tf.complex(0.5, 0.25)),
      ],
      [ZERO(), tf.mul(tf.sum(op(...z)), 0), z[0]],
    )[1] as tf.Tensor,
  "a scan": (op) => (...z) =>
    tf.scan(
      (sum: tf.Tensor, first: tf.Tensor) => tf.add(sum, tf.sum(op(first, ...z.slice(1)))),
      tf.stack([z[0], tf.conj(z[0])]),
      {
        initializer: tf.mul(tf.sum(op(...z)), 0),
      },
    ) as tf.Tensor,
  "a numpyFunction before": (op) => (first, ...z) =>
    op(
      tf.reshape(
        tf.numpyFunction((a: tf.NdArray) => a, [tf.conj(first)], "complex64") as tf.Tensor,
        tf.shape(first),
      ),
      ...z,
    ),
  "a pyFunction": (op) => (...z) => {
    const like = op(...z);
    return tf.pyFunction((...x: tf.Tensor[]) => op(...x), z, like.dtype) as tf.Tensor;
  },
  "rows": (op) => (first, ...z) =>
    tf.mapFn((a: tf.Tensor) => op(a, ...z), tf.stack([first, tf.conj(first)])) as tf.Tensor,
  "all rows": (op) => (first, ...z) =>
    tf.vectorizedMap((a: tf.Tensor) => op(a, ...z), tf.stack([first, tf.conj(first)])) as tf.Tensor,
  "a product of the Jacobian": (op) => (...z) =>
    tf.jvp(
      (re: tf.Tensor) => lossOf(op(tf.complex(re, tf.imag(z[0])), ...z.slice(1))),
      [tf.real(z[0])],
      [tf.imag(z[0])],
    )[1],
  "a gradient": (op) => (...z) => tf.grad((a: tf.Tensor) => lossOf(op(a, ...z.slice(1))))(z[0]),
  "a gradient of the last": (op) => (...z) =>
    tf.grad((a: tf.Tensor) => lossOf(op(...z.slice(0, -1), a)))(z.at(-1)!),
  "a gradient of a gradient": (op) => (...z) =>
    tf.grad((a: tf.Tensor) => lossOf(tf.grad((b: tf.Tensor) => lossOf(op(b, ...z.slice(1))))(a)))(
      z[0],
    ),
  "a gradient through a pyFunction": (op) => (...z) => {
    const { dtype } = op(...z);
    return tf.grad((a: tf.Tensor) =>
      lossOf(tf.pyFunction((...x: tf.Tensor[]) => op(...x), [a, ...z.slice(1)], dtype) as tf.Tensor)
    )(z[0]);
  },
};

async function partsOf(t: tf.Tensor): Promise<number[]> {
  return Array.from(await t.data() as Float32Array, Number);
}

function assertNear(own: readonly number[], wanted: readonly number[], what: string): void {
  assertEquals(own.length, wanted.length, what);
  const largest = Math.max(1, ...wanted.filter(Number.isFinite).map(Math.abs));
  own.forEach((x, i) => {
    const w = wanted[i];
    if (Object.is(x, w) || x === w || Math.abs(x - w) <= 2e-5 * largest) return;
    fail(`${what}: element ${i} is ${x}, wanted ${w}`);
  });
}

async function inSession(
  f: Op,
  inputs: readonly tf.Tensor[],
  shapes: readonly (Shape | null)[],
): Promise<number[]> {
  const graph = new tf.Graph();
  const [given, y] = graph.asDefault(() => {
    const given = shapes.map((s) => tf.placeholder("complex64", s as number[] | null));
    return [given, f(...given)] as const;
  });
  await using session = new tf.Session({ graph });
  const feeds = new Map(given.map((x, i) => [x, inputs[i].ndarraySync()]));
  const found = await session.run(y, { feeds }) as tf.NdArray | number;
  return typeof found === "number"
    ? [found]
    : [found].flat().flatMap((v) =>
      v instanceof tf.NdArray ? Array.from(v.data as Float32Array) : [v as number]
    );
}

/** Each join takes one op of so many as a rule, others than the join before. */
const SHARE = 6;

/** True where there is something to differentiate. */
const hasGradient = (name: string, join: string): boolean =>
  name !== "equal" || !/gradient|Jacobian/.test(join);

for (const [n, [join, put]] of Object.entries(JOINS).entries()) {
  testOnDevices(`complex numbers are the CPU's joined with ${join}`, async () => {
    const ops = OPS.filter(([name], i) =>
      hasGradient(name, join) && (THOROUGH || i % SHARE === n % SHARE)
    );
    for (const [name, op, shapes] of ops) {
      using _ = tf.scope();
      const f = put(op), what = `${name}, ${join}`;
      const inputs = shapes.map((shape, i) => noise(shape, i + 1));
      const wanted = await tf.device(
        "/CPU:0",
        () => partsOf(f(...inputs.map((x) => tf.identity(x)))),
      );
      assertNear(await partsOf(f(...inputs)), wanted, `${what}, eagerly`);
      const kinds: [string, (Shape | null)[]][] = [["compiled", [...shapes]]];
      if (!name.includes("known")) {
        kinds.push(["of unknown extents", shapes.map((s) => s.map(() => null) as never)]);
      }
      for (const [kind, dims] of kinds) {
        const inputSignature = dims.map((s) => tf.TensorSpec(s as number[] | null, "complex64"));
        const g = tf.function((...z: tf.Tensor[]) => f(...z), { inputSignature });
        assertNear(
          await partsOf(await g.async(...inputs) as tf.Tensor),
          wanted,
          `${what}, ${kind}`,
        );
        assertNear(await inSession(f, inputs, dims), wanted, `${what}, ${kind} in a session`);
      }
    }
  });
}
