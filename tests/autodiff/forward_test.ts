/** Forward-mode derivatives against rows of Jacobians, alone and joined with gradients, control flow, scripts and vmap. */

import { assertEquals, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import { testOnDevices } from "../devices.ts";

type Fn = (x: tf.Tensor) => tf.Tensor;

const w = [[0.5, -1, 0.25], [2, 0.25, -0.5], [-0.75, 1, 1.5]];

/** Functions of three numbers. */
const PROGRAMS: Readonly<Record<string, Fn>> = {
  "a product": (x) => tf.dot(x, w),
  "a power": (x) => tf.pow(x, 3),
  "a softmax": (x) => tf.softmax(tf.dot(x, w)),
  "a layer norm": (x) => tf.div(tf.sub(x, tf.mean(x)), tf.sqrt(tf.add(tf.moments(x).variance, 1))),
  "parts joined": (x) => tf.concat([tf.slice(x, [1], [2]), tf.reverse(x, 0)]),
  "a gather": (x) => tf.gather(x, [2, 0, 2]),
  "a cumulative sum": (x) => tf.cumsum(tf.square(x)),
  ...Object.fromEntries(
    (["segmentMax", "segmentMin", "segmentMean", "segmentProd"] as const).map((op) => [
      `${op}() with an empty segment`,
      (x: tf.Tensor) => tf.math[op](x, tf.tensor([0, 0, 2], [3], "int32")),
    ]),
  ),
  "the largest of segments in any order, one of them empty": (x) =>
    tf.slice(tf.math.unsortedSegmentMax(x, tf.tensor([2, 0, 2], [3], "int32"), 3), [0], [3]),
  "numbers rounded as if quantised": (x) =>
    tf.quantization.fakeQuantWithMinMaxArgs(tf.mul(x, x), { min: -1, max: 5 }),
  "numbers rounded between ends that depend on them": (x) =>
    tf.quantization.fakeQuantWithMinMaxVars(tf.mul(x, 3), {
      min: tf.neg(tf.sum(tf.square(x))),
      max: tf.add(tf.sum(tf.square(x)), 1),
    }),
  "numbers rounded between ends of each channel": (x) =>
    tf.quantization.fakeQuantWithMinMaxVarsPerChannel(tf.stack([tf.mul(x, 3), tf.square(x)]), {
      min: tf.neg(tf.square(x)),
      max: tf.add(tf.abs(x), 1),
    }),
  "a sum of sparse tensors": (x) => {
    const other = tf.sparse.fromDense(tf.mul(tf.stopGradient(x), [1, 0, 1]));
    return tf.sparse.toDense(tf.sparse.add(tf.sparse.fromDense(x), other));
  },
  "a convolution": (x) =>
    tf.conv2d(
      tf.reshape(tf.square(x), [1, 1, 3, 1]) as tf.Tensor4D,
      tf.fill([1, 2, 1, 2], 0.5) as tf.Tensor4D,
      1,
      "same",
    ),
  "a scalar": (x) => tf.norm(x),
  "a branch": (x) => tf.cond(tf.greater(tf.sum(x), 0), () => tf.square(x), () => tf.neg(x)),
  "a loop": (x) =>
    tf.whileLoop(
      (i: tf.Tensor) => tf.less(i, 3),
      (i: tf.Tensor, x: tf.Tensor) => [tf.add(i, 1), tf.sin(x)],
      [tf.scalar(0, "int32"), x],
    )[1]!,
  "a scan": (x) => tf.scan((a, v) => tf.add(tf.mul(a, 0.5), tf.square(v)), x),
  "a function": (x) => tf.function((x: tf.Tensor) => tf.tanh(tf.dot(x, w)))(x),
  "a script of tensors": (x) =>
    tf.pyFunction((x: tf.Tensor) => tf.square(x), [x], tf.TensorSpec([3], "float32")),
  "a script with a vjp": (x) =>
    tf.numpyFunction(
      (a: tf.NdArray) => a.map((v) => Number(v) ** 2),
      [x],
      tf.TensorSpec([3], "float32"),
      {
        vjp: ({ inputs: [x] }, dy) => [tf.mul(dy, tf.mul(2, x!))],
      },
    ),
  "a gradient of one's own": (x) =>
    tf.customGrad((x, save) => {
      save([x]);
      return { value: tf.square(x), gradFunc: (dy, [x]) => tf.mul(dy, tf.mul(2, x!)) };
    })(x),
  "vmap()": (x) => tf.vmap((v: tf.Tensor) => tf.mul(v, tf.sum(tf.square(x))))(x),
};

const POINT = [0.5, -1.25, 2], TANGENT = [1, 0.5, -2];

async function numbers(x: tf.Tensor): Promise<number[]> {
  return Array.from(await x.data(), Number);
}

function assertClose(found: number[], wanted: number[]): void {
  const isClose = found.length === wanted.length &&
    found.every((v, i) => Math.abs(v - wanted[i]!) <= 1e-4 * (1 + Math.abs(wanted[i]!)));
  if (!isClose) assertEquals(found, wanted);
}

for (const [name, f] of Object.entries(PROGRAMS)) {
  testOnDevices(`jvp() of ${name} is a product with its Jacobian`, async () => {
    using _scope = tf.scope();
    const x = tf.tensor(POINT), t = tf.tensor(TANGENT);
    const jacobian = tf.function((x: tf.Tensor) => {
      using tape = new tf.GradientTape();
      tape.watch(x);
      return tape.jacobian(f(x), x)!;
    });
    const j = tf.reshape(await jacobian.async(x), [-1, 3]);
    const wanted = await numbers(tf.squeeze(tf.matMul(j, tf.reshape(t, [3, 1])), [1]));
    const push = (x: tf.Tensor, t: tf.Tensor) => tf.jvp(f, [x], [t]);
    const [y, dy] = push(x, t);
    assertClose(await numbers(y), await numbers(await tf.function(f).async(x)));
    assertClose(await numbers(dy), wanted);
    assertClose(await numbers((await tf.function(push).async(x, t))[1]), wanted);
    const [, along] = tf.linearize(f, [x]);
    assertClose(await numbers(along([t])), wanted);
    assertClose(await numbers(along([tf.mul(t, 2)])), wanted.map((v) => 2 * v));
    // The gradient with respect to the point, and the derivative of that along the tangent, are symmetric.
    const loss = (x: tf.Tensor) => tf.sum(tf.sin(f(x)));
    const [, forward] = await tf.function((x: tf.Tensor, t: tf.Tensor) =>
      tf.jvp(tf.grad(loss), [x], [t])
    ).async(x, t);
    const reverse = await tf.function(tf.grad((x) => tf.sum(tf.mul(tf.grad(loss)(x), TANGENT))))
      .async(x);
    assertClose(await numbers(forward), await numbers(reverse));
    const twice = tf.function(tf.grad((x) => tf.sum(tf.jvp(loss, [x], [TANGENT])[1])));
    assertClose(await numbers(await twice.async(x)), await numbers(reverse));
  });
}

testOnDevices("jvp() of jvp() is a second derivative along the tangent", async () => {
  using _scope = tf.scope();
  const f = (x: tf.Tensor) => tf.pow(x, 3);
  const [, d2] = tf.jvp((x) => tf.jvp(f, [x], [[1, 2]])[1], [[2, 3]], [[1, 2]]);
  assertClose(await numbers(d2), [12, 72]);
});

testOnDevices("vmap() of jvp() is a Jacobian", async () => {
  using _scope = tf.scope();
  const f = (x: tf.Tensor) => tf.mul(x, tf.sum(x));
  const x = tf.tensor([1, 2, 3]);
  const columns = tf.vmap((t: tf.Tensor) => tf.jvp(f, [x], [t])[1])(tf.eye(3));
  using tape = new tf.GradientTape();
  tape.watch(x);
  const wanted = tf.transpose(tape.jacobian(f(x), x)!);
  assertClose(await numbers(columns), await numbers(wanted));
});

testOnDevices("ForwardAccumulator follows variables, nests and tapes inside of it", async () => {
  using _scope = tf.scope();
  const v = tf.variable([1, 2]), x = tf.tensor([3, 4]);
  using accumulator = new tf.ForwardAccumulator({ v, x }, { v: [1, 0], x: [0, 1] });
  const { sum, free, product } = { sum: tf.add(v, x), free: tf.scalar(1), product: tf.mul(v, x) };
  using tape = new tf.GradientTape();
  const loss = tf.sum(tf.pow(v, 3));
  const slope = tape.gradient(loss, v)!;
  assertClose(await numbers(accumulator.jvp(sum)!), [1, 1]);
  assertClose(await numbers(accumulator.jvp(product)!), [3, 2]);
  assertClose(await numbers(accumulator.jvp(slope)!), [6, 0]);
  assertEquals(accumulator.jvp(free), null);
  assertEquals(accumulator.jvp(free, { unconnectedGradients: "zero" })!.item(), 0);
  const both = accumulator.jvp({ sum, free }) as { sum: tf.Tensor; free: null };
  assertEquals([await numbers(both.sum), both.free], [[1, 1], null]);
  v.dispose();
});

testOnDevices(
  "ForwardAccumulator follows what functions and sessions compute, as TensorFlow's does",
  async () => {
    using _scope = tf.scope();
    // TensorFlow 2.21: x = [1, 2], tangent [1, -1] of sum(tanh(x) · x²), and of its gradient.
    const wanted = [-2.1955512, 2.5633857, -1.9483871];
    const follow = (x: tf.Tensor): tf.Tensor => {
      using accumulator = new tf.ForwardAccumulator(x, tf.tensor([1, -1]));
      using tape = new tf.GradientTape();
      tape.watch(x);
      const y = tf.sum(tf.mul(tf.tanh(x), tf.square(x)));
      const slope = tape.gradient(y, x)!;
      return tf.concat([tf.reshape(accumulator.jvp(y)!, [1]), accumulator.jvp(slope)!], 0);
    };
    const x = tf.tensor([1, 2]);
    const graph = new tf.Graph();
    const { fed, made } = graph.asDefault(() => {
      const fed = tf.placeholder("float32", [2]);
      return { fed, made: follow(fed) };
    });
    await using session = new tf.Session({ graph });
    assertClose(await numbers(follow(x)), wanted);
    assertClose(await numbers(tf.function(follow)(x)), wanted);
    const found = await session.run(made, { feeds: new Map([[fed, [1, 2]]]) });
    assertClose(Array.from((found as tf.NdArray).data as Float32Array), wanted);
  },
);

testOnDevices("jvp() leaves nothing behind", () => {
  using x = tf.tensor(POINT), t = tf.tensor(TANGENT);
  const before = tf.memory();
  tf.dispose(tf.jvp((x) => tf.tanh(tf.dot(x, w)), [x], [t]));
  const after = tf.memory();
  assertEquals([after.numTensors, after.liveTapes], [before.numTensors, before.liveTapes]);
});

Deno.test("jvp() refuses tangents that do not fit", () => {
  const x = [1, 2], square = (x: tf.Tensor) => tf.square(x);
  const cases: [() => unknown, new (...args: never[]) => Error, string][] = [
    [() => tf.jvp(square, [x], [[1]]), tf.ValueError, "tangent 0 of shape [1] in jvp"],
    [() => tf.jvp(square, [x], []), tf.ValueError, "one for each primal, in the same nest of 1"],
    [
      () => tf.jvp(square, [tf.cast(x, "float16")], [tf.tensor(x)]),
      TypeError,
      "Cannot use tangent 0 of dtype float32 in jvp: its primal has dtype float16",
    ],
    [() => tf.jvp(square, tf.tensor(x) as never, [x]), TypeError, "'primals' passed to 'jvp'"],
    [() => tf.jvp(3 as never, [x], [x]), TypeError, "Argument 'f' passed to 'jvp'"],
    [() => tf.jvp(() => 3 as never, [x], [x]), TypeError, "must return tensors"],
    [
      () => tf.jvp(square, [tf.complex(x, x)], [tf.tensor(x)]),
      TypeError,
      "Cannot use tangent 0 of dtype float32 in jvp: its primal has dtype complex64",
    ],
    [() => new tf.ForwardAccumulator(tf.tensor(x), [1, 2, 3]), tf.ValueError, "tangent"],
  ];
  for (const [call, type, text] of cases) assertThrows(call, type, text);
});
