import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

/** x², whose gradient is made to be |x|·dy. */
const odd = tf.customGrad((x, save) => {
  save([x]);
  return { value: tf.square(x), gradFunc: (dy, [x]) => tf.mul(dy, tf.abs(x)) };
});

testOnDevices("customGrad() puts its own gradient in place", () => {
  assertEquals(odd(tf.tensor([-2, 3])).arraySync(), [4, 9]);
  assertEquals(tf.grad((x) => odd(x))([-2, 3]).arraySync(), [2, 3]);
  assertEquals(tf.grad((x) => tf.mul(odd(tf.mul(2, x)), x))([1.5]).arraySync(), [2 * 3 * 1.5 + 9]);
});

testOnDevices("customGrad() is differentiated again through its gradient function", () => {
  assertEquals(tf.grad(tf.grad((x) => odd(x)))([-2, 3]).arraySync(), [-1, 1]);
});

testOnDevices("customGrad() gives one gradient per input", () => {
  const f = tf.customGrad((a, b, save) => {
    save([b, a]);
    return { value: tf.mul(a, b), gradFunc: (dy, [b, a]) => [tf.mul(dy, a), tf.mul(dy, b)] };
  });
  const [da, db] = tf.grads((a, b) => f(a, b))([2, 5]);
  assertEquals([da.item(), db.item()], [2, 5]);
});

testOnDevices(
  "customGrad() frees what its function made, but for what is saved while a tape lives",
  () => {
    const x = tf.tensor([1, 2]);
    const before = tf.memory().numTensors;
    const f = tf.customGrad((x, save) => {
      const e = tf.exp(tf.mul(x, 2));
      save([e]);
      return { value: tf.add(e, 1), gradFunc: (dy, [e]) => tf.mul(dy, e) };
    });
    f(x).dispose();
    assertEquals(tf.memory().numTensors, before);
    tf.grad((x) => f(x))(x).dispose();
    assertEquals(tf.memory().numTensors, before);
  },
);

testOnDevices("customGrad() follows tapes and variables", () => {
  using v = tf.variable([3, -4]);
  using tape = new tf.GradientTape();
  const y = odd(v);
  assertEquals((tape.gradient(y, v) as tf.Tensor).arraySync(), [3, 4]);
});

Deno.test("customGrad() holds in graphs: gradients(), second order and functions", async () => {
  const g = new tf.Graph();
  const { x, fetches } = g.asDefault(() => {
    const x = tf.placeholder("float32", [null]);
    const y = odd(x);
    const [dx] = tf.gradients(y, [x]);
    const [ddx] = tf.gradients(dx!, [x]);
    return { x, fetches: [y, dx!, ddx!] };
  });
  await using session = new tf.Session({ graph: g });
  const out = await session.run(fetches, { feeds: new Map([[x, [-2, 3]]]) }) as tf.NdArray[];
  assertEquals(out.map((a) => a.toArray()), [[4, 9], [2, 3], [-1, 1]]);

  const f = tf.function((x: tf.Tensor) => tf.sum(odd(x)));
  assertEquals(tf.grad((x) => f(x))([-2, 3]).arraySync(), [2, 3]);
  assertEquals(f(tf.tensor([-2, 3])).item(), 13);
});

testOnDevices(
  "customGrad() is differentiated again through what it computed and saved",
  async () => {
    // log(1 + exp(2x)): the slope is given by what is saved on the way.
    const f = tf.customGrad((x, save) => {
      const e = tf.tidy(() => tf.exp(tf.mul(x, 2)));
      save([e]);
      return {
        value: tf.log1p(e),
        gradFunc: (dy, [e]) => tf.mul(dy, tf.sub(2, tf.div(2, tf.add(1, e)))),
      };
    });
    const x = [-0.5, 0.25, 2],
      wanted = x.map((v) => 4 * Math.exp(2 * v) / (1 + Math.exp(2 * v)) ** 2);
    const near = (t: tf.Tensor): void =>
      t.dataSync().forEach((v, i) => assertAlmostEquals(Number(v), wanted[i], 1e-5));
    near(tf.grad(tf.grad((x) => f(x)))(x));
    using v = tf.variable(x);
    {
      const [outer, inner] = [new tf.GradientTape(), new tf.GradientTape()];
      near(outer.gradient(inner.gradient(f(v), v) as tf.Tensor, v) as tf.Tensor);
    }
    const graph = new tf.Graph();
    const ddx = graph.asDefault(() => {
      const p = tf.constant(x);
      const [outer, inner] = [new tf.GradientTape(), new tf.GradientTape()];
      outer.watch(p);
      inner.watch(p);
      return outer.gradient(inner.gradient(f(p), p) as tf.Tensor, p) as tf.Tensor;
    });
    await using session = new tf.Session({ graph });
    near(tf.tensor(await session.run(ddx) as tf.NdArray));
  },
);

testOnDevices("customGrad() keeps nothing for tapes where only inputs are saved", () => {
  const f = tf.customGrad((x, save) => {
    save([x]);
    return {
      value: tf.exp(tf.exp(tf.mul(x, 2))),
      gradFunc: (dy, [x]) => tf.mul(dy, x),
    };
  });
  using x = tf.tensor([1, 2]);
  const before = tf.memory();
  const tapes = [new tf.GradientTape(), new tf.GradientTape()];
  for (const tape of tapes) tape.watch(x);
  f(x).dispose();
  // Each tape holds the input, and the owner of what the gradient may close over: the input and the value.
  assertEquals(tf.memory().numTensors, before.numTensors + 2 * 2 + 2);
  assertEquals(tf.memory().numBytes, before.numBytes + 2 * 4);
  for (const tape of tapes) tape.dispose();
  assertEquals(tf.memory().numTensors, before.numTensors);
});

Deno.test("customGrad() refuses what is no tensor and results of another form", () => {
  const x = tf.scalar(1);
  const run = (f: unknown): unknown => tf.grad((x) => tf.customGrad(f as never)(x))(x);
  assertThrows(() => tf.customGrad(3 as never), TypeError, "must be a function");
  assertThrows(() => odd(1 as never), TypeError, "must all be tensors");
  assertThrows(() => run(() => ({ value: 1 })), TypeError, "`obj.value` is a tensor");
  assertThrows(
    () => run((x: tf.Tensor) => ({ value: x })),
    TypeError,
    "`obj.gradFunc` is a function",
  );
  assertThrows(
    () => run((x: tf.Tensor) => ({ value: x, gradFunc: (dy: tf.Tensor) => [dy, dy] })),
    tf.ValueError,
    "received 2, wanted 1",
  );
  assertThrows(
    () => run((x: tf.Tensor) => ({ value: x, gradFunc: () => [1] })),
    TypeError,
    "list of only tensors",
  );
});

testOnDevices("customGrad() refuses gradients of another shape or dtype than the input", () => {
  const gradient = (dx: () => tf.Tensor) => {
    const op = tf.customGrad((x) => ({ value: tf.square(x), gradFunc: dx }));
    return tf.grad((x) => op(x))([1, 2]);
  };
  assertEquals(gradient(() => tf.ones([2])).arraySync(), [1, 1]);
  for (
    const [dx, received] of [
      [() => tf.ones([3]), "float32[3]"],
      [() => tf.ones([]), "float32[]"],
      [() => tf.ones([2], "int32"), "int32[2]"],
    ] as const
  ) {
    assertThrows(
      () => gradient(dx),
      tf.ValueError,
      `gradient of input 0 that \`obj.gradFunc\` of customGrad(f) returned: received ${received}, wanted float32[2]`,
    );
  }
});

testOnDevices("a function's second gradient follows what its gradient alone reads", () => {
  const steep = tf.customGrad((x: tf.Tensor) => {
    const factor = tf.square(tf.sin(x));
    return { value: tf.identity(x), gradFunc: (dy: tf.Tensor) => tf.mul(dy, factor) };
  });
  const f = tf.function((x: tf.Tensor) => steep(x));
  const first = (x: tf.Tensor): tf.Tensor => tf.grad((x: tf.Tensor) => f(x))(x);
  using x = tf.scalar(0.5);
  assertAlmostEquals(first(x).item(), Math.sin(0.5) ** 2, 1e-6);
  assertAlmostEquals(tf.grad(first)(x).item(), Math.sin(1), 1e-6);
});
