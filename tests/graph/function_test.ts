/** tf.function, cond and whileLoop: tracing rules, effects, gradients. */
import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

Deno.test("function() retraces for dtypes, shapes, values and structures, not for the same again", () => {
  const object = {};
  const f = tf.function((..._args: unknown[]) => tf.scalar(0));
  const steps: [unknown[], number][] = [
    [[tf.scalar(1)], 1],
    [[tf.scalar(2)], 0],
    [[tf.tensor([1, 2])], 1],
    [[tf.tensor([1, 2, 3])], 1],
    [[tf.tensor([1, 2], [2], "int32")], 1],
    [[1], 1],
    [[1], 0],
    [[2], 1],
    [[true], 1],
    [["a"], 1],
    [["b"], 1],
    [[[tf.scalar(1)]], 1],
    [[{ a: tf.scalar(1) }], 1],
    [[object], 1],
    [[object], 0],
    [[{}], 0],
    [[null], 1],
  ];
  for (const [args, traces] of steps) {
    const before = f.traceCount;
    f(...args);
    assertEquals(f.traceCount - before, traces, `arguments ${Deno.inspect(args)}`);
  }
});

Deno.test("function() with reduceRetracing makes varying dimensions unknown", () => {
  const f = tf.function((x: tf.Tensor) => tf.mul(x, 2), { reduceRetracing: true });
  for (const n of [1, 2, 3, 4, 5]) assertEquals(f(tf.ones([n])).shape, [n]);
  assertEquals(f.traceCount, 2);
});

Deno.test("function() with inputSignature traces once, casts values and refuses what does not fit", () => {
  const f = tf.function((x: tf.Tensor) => tf.add(x, 1), {
    inputSignature: [tf.TensorSpec([null], "float32")],
  });
  assertEquals(f([1, 2] as unknown as tf.Tensor).arraySync(), [2, 3]);
  assertEquals(f(tf.ones([3])).arraySync(), [2, 2, 2]);
  assertEquals(f.traceCount, 1);
  const call = f as unknown as (...args: unknown[]) => unknown;
  assertThrows(
    () => call(tf.ones([1, 1])),
    TypeError,
    "Binding inputs to tf.function failed due to `Can not cast TensorSpec",
  );
  assertThrows(() => call(), TypeError, "missing a required argument");
  assertThrows(() => call(tf.ones([1]), 2), TypeError, "too many positional arguments");
});

Deno.test("function() keeps the nest of its result and refuses what is no tensor", () => {
  const f = tf.function((x: tf.Tensor) => ({ a: x, b: [tf.neg(x), null, 3] }));
  const { a, b } = f(tf.scalar(2)) as unknown as { a: tf.Tensor; b: [tf.Tensor, null, tf.Tensor] };
  assertEquals([a.item(), b[0].item(), b[1], b[2].item()], [2, -2, null, 3]);
  assertThrows(() => tf.function(() => new Map())(), TypeError, "found return value of type");
  assertThrows(
    () => tf.function(async () => await tf.scalar(1))(),
    TypeError,
    "tracing is synchronous",
  );
});

testOnDevices(
  "function() runs effects in program order at each call, and drops what is pure and unused",
  () => {
    const log: number[] = [];
    let pure = 0;
    const f = tf.function((x: tf.Tensor) => {
      for (const k of [1, 2, 3]) tf.numpyFunction(() => void log.push(k), [], []);
      tf.numpyFunction(() => ++pure, [], "int32", { stateful: false });
      return tf.add(x, 1);
    });
    f(tf.scalar(1));
    f(tf.scalar(1));
    assertEquals([log, pure, f.traceCount], [[1, 2, 3, 1, 2, 3], 0, 1]);
  },
);

testOnDevices("function() differentiates through scripts, variables, itself, twice", () => {
  using v = tf.variable(3);
  const f = tf.function((x: tf.Tensor) => {
    const h = tf.numpyFunction(
      (a: tf.NdArray) => a.map((q) => Math.sinh(Number(q))),
      [x],
      "float32",
      {
        vjp: ({ inputs }, dy) => tf.mul(dy, tf.cosh(inputs[0])),
      },
    );
    return tf.mul(tf.mul(h, v), tf.pyFunction((t: tf.Tensor) => tf.mul(t, t), [x], "float32"));
  });
  const x = tf.scalar(1), sh = Math.sinh(1), ch = Math.cosh(1);
  const outer = new tf.GradientTape(), inner = new tf.GradientTape();
  outer.watch(x);
  inner.watch(x);
  const y = f(x);
  const [dx, dv] = inner.gradient(y, [x, v]) as tf.Tensor[];
  assertAlmostEquals(y.item(), 3 * sh, 1e-5);
  assertAlmostEquals(dx.item(), 3 * (ch + 2 * sh), 1e-4);
  assertAlmostEquals(dv.item(), sh, 1e-5);
  assertAlmostEquals((outer.gradient(dx, x) as tf.Tensor).item(), 3 * (3 * sh + 4 * ch), 1e-3);
  const tape = new tf.GradientTape();
  tape.watch(x);
  const twice = f(f(x));
  const d = (tape.gradient(twice, x) as tf.Tensor).item();
  const u = 3 * sh, du = 3 * (ch + 2 * sh);
  assertAlmostEquals(d / (3 * (Math.cosh(u) * u * u + 2 * u * Math.sinh(u)) * du), 1, 1e-4);
});

testOnDevices("function() leaves the tensors it captured alone, also where a tape watched", () => {
  const labels = tf.tensor2d([[1, 0], [0, 1]]), x = tf.ones([2, 3]);
  using w = tf.variable(tf.ones([3, 2]));
  const optimizer = tf.train.sgd(0.1);
  const step = tf.function(() =>
    optimizer.minimize(() => tf.losses.softmaxCrossEntropy(labels, tf.matMul(x, w)), true, [w])!
  );
  for (let k = 0; k < 3; k++) step().dispose();
  assertEquals([labels.isDisposed, x.isDisposed], [false, false]);
  assertEquals(labels.arraySync(), [[1, 0], [0, 1]]);
});

testOnDevices("function() with an async body is awaited through async()", async () => {
  const f = tf.function((x: tf.Tensor) =>
    tf.numpyFunction(async (a: tf.NdArray) => await Promise.resolve(a), [tf.add(x, 1)], "float32")
  );
  assertEquals((await f.async(tf.scalar(1))).item(), 2);
  assertThrows(() => f(tf.scalar(1)), tf.errors.FailedPreconditionError, "await f.async");
});

testOnDevices("function() makes variables on the first trace only", () => {
  let v: tf.Variable | undefined;
  const once = tf.function((x: tf.Tensor) => tf.mul(x, v ??= tf.variable(2)));
  assertEquals([once(tf.scalar(3)).item(), once(tf.ones([1])).arraySync()], [6, [2]]);
  assertEquals(once.traceCount, 3);
  using weight = tf.variable(1);
  const inner = tf.function((x: tf.Tensor) => tf.mul(x, tf.variable(2)));
  const makers: Record<string, (x: tf.Tensor) => tf.Tensor> = {
    "at each call": (x) => tf.mul(x, tf.variable(2)),
    "of an optimizer": (x) => {
      tf.train.adam(0.1).minimize(() => tf.mul(weight, tf.sum(x)));
      return tf.mul(x, weight);
    },
    "in a function": (x) => inner(x),
    "in a function of its own": (x) => tf.function((y: tf.Tensor) => tf.mul(y, tf.variable(2)))(x),
    "in a branch": (x) =>
      tf.cond(tf.less(tf.sum(x), 0), () => tf.mul(x, tf.variable(2)), () => x) as tf.Tensor,
  };
  for (const [name, body] of Object.entries(makers)) {
    const always = tf.function(body);
    for (const x of [tf.scalar(1), tf.ones([1])]) {
      assertThrows(() => always(x), tf.ValueError, "tf.function only supports singleton", name);
    }
  }
});

testOnDevices(
  "cond() runs the branch taken, in graphs and eagerly, and is differentiated",
  async () => {
    let taken = "";
    const say = (s: string, x: tf.Tensor): tf.Tensor =>
      tf.numpyFunction(
        (a: tf.NdArray) => {
          taken += s;
          return a;
        },
        [x],
        tf.TensorSpec([], "float32"),
        { vjp: (_, dy) => dy },
      );
    const build = (x: tf.Tensor): tf.Tensor =>
      tf.cond(tf.greater(x, 0), () => tf.mul(say("t", x), x), () => tf.neg(say("f", x)));
    const graph = new tf.Graph();
    const [y, dx, d2] = graph.asDefault(() => {
      const x = tf.placeholder("float32", [], "x");
      const y = build(x), dx = tf.gradients(y, [x])[0]!;
      return [y, dx, tf.gradients(dx, [x])[0]!];
    });
    const sess = new tf.Session({ graph });
    assertEquals(await sess.run([y, dx, d2], { feeds: { "x:0": 3 } }), [9, 6, 2]);
    assertEquals(await sess.run([y, dx, d2], { feeds: { "x:0": -3 } }), [3, -1, 0]);
    assertEquals(taken, "tf");
    assertEquals(build(tf.scalar(-2)).item(), 2);
    const x = tf.placeholder, g2 = new tf.Graph();
    assertThrows(
      () =>
        g2.asDefault(() =>
          tf.cond(x("bool", []), () => tf.scalar(1), () => [tf.scalar(1)] as unknown as tf.Tensor)
        ),
      TypeError,
      "must have the same number, type, and overall structure of return values",
    );
  },
);

testOnDevices(
  "whileLoop() loops with scripts inside, and is differentiated to second order",
  async () => {
    const graph = new tf.Graph();
    const all = graph.asDefault(() => {
      const x = tf.placeholder("float32", [], "x");
      const [i, y] = tf.whileLoop(
        (i) => tf.less(i, 3),
        (i, y) => [
          tf.add(i, 1),
          tf.pyFunction((t: tf.Tensor) => tf.mul(t, t), [y], tf.TensorSpec([], "float32")),
        ],
        [tf.scalar(0, "int32"), x],
      );
      const dx = tf.gradients(y, [x])[0]!;
      return [i, y, dx, tf.gradients(dx, [x])[0]!];
    });
    const sess = new tf.Session({ graph });
    assertEquals(await sess.run(all, { feeds: { "x:0": 2 } }), [3, 256, 1024, 3584]);
    const before = tf.memory();
    for (let k = 0; k < 3; k++) {
      await sess.run(all, { feeds: { "x:0": 2 } });
    }
    assertEquals([tf.memory().numTensors, tf.memory().liveTapes], [
      before.numTensors,
      before.liveTapes,
    ]);
  },
);

Deno.test("whileLoop() refuses variables that change and honours maximumIterations", async () => {
  const g = new tf.Graph();
  g.asDefault(() => {
    assertThrows(
      () => tf.whileLoop(() => tf.constant(true), (x) => [tf.concat([x, x], 0)], [tf.ones([1])]),
      tf.ValueError,
      "To allow the shape to vary across iterations, use the `shape_invariants` argument",
    );
    assertThrows(
      () => tf.whileLoop(() => tf.constant(true), (x) => [tf.cast(x, "int32")], [tf.ones([1])]),
      TypeError,
      "enters the loop with type",
    );
    assertThrows(
      () => tf.whileLoop(() => tf.constant(true), (x) => [x, x], [tf.ones([1])]),
      tf.ValueError,
      "number of inputs and outputs",
    );
  });
  const [grown] = g.asDefault(() =>
    tf.whileLoop(() => tf.constant(true), (x) => [tf.concat([x, x], 0)], [tf.ones([1])], {
      maximumIterations: 3,
      shapeInvariants: [[null]],
    })
  );
  const out = await new tf.Session({ graph: g }).run(grown) as tf.NdArray;
  assertEquals(out.shape, [8]);
});

Deno.test("an error inside a function names the node", async () => {
  const f = tf.function((x: tf.Tensor) =>
    tf.numpyFunction(
      () => {
        throw new RangeError("no such thing");
      },
      [x],
      "float32",
      { name: "inner" },
    )
  );
  const e = await assertRejects(
    () => f.async(tf.scalar(1)),
    tf.errors.InvalidArgumentError,
    "no such thing",
  ) as tf.errors.OpError;
  assertEquals(e.node, "inner");
});

testOnDevices(
  "switchCase() takes each branch by its number, and its default or the last by others",
  () => {
    const values = [10, 20, 30], branches = values.map((v) => () => tf.scalar(v));
    for (
      const [options, wanted] of [[{}, [30, 10, 20, 30, 30]], [
        { default: () => tf.scalar(-1) },
        [-1, 10, 20, 30, -1],
      ]] as const
    ) {
      const pick = (i: tf.TensorLike): tf.Tensor => tf.switchCase(i, branches, options);
      const compiled = tf.function((i: tf.Tensor) => pick(i));
      [-1, 0, 1, 2, 3].forEach((number, at) => {
        const i = tf.scalar(number, "int32");
        const found = [pick(number), pick(i), compiled(i)].map((x) => x.item());
        assertEquals(found, [wanted[at], wanted[at], wanted[at]], `${number}`);
      });
    }
  },
);
