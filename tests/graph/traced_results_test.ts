/** Results of a traced function: captured tensors are returned as they are, promises are refused. */

import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const number = (value: number): tf.Tensor => tf.scalar(value, "int32");

testOnDevices("a traced function may return a captured tensor as it is", async () => {
  using c = tf.tensor([1, 2, 3]);
  using yes = tf.tensor(true, [], "bool");
  using no = tf.tensor(false, [], "bool");
  const more = () => tf.add(c, 1);
  // Bodies in a graph: each of these is called where tensors are symbolic.
  const bodies: Record<string, [body: (x: tf.Tensor) => tf.Tensor, wanted: unknown]> = {
    "function": [() => c, [1, 2, 3]],
    "nested function": [tf.function(() => c), [1, 2, 3]],
    "cond, taken": [() => tf.cond(yes, () => c, more), [1, 2, 3]],
    "cond, not taken": [() => tf.cond(yes, more, () => c), [2, 3, 4]],
    "cond, else": [() => tf.cond(no, more, () => c), [1, 2, 3]],
    "loop": [
      (x) =>
        tf.whileLoop((i) => tf.less(i, 2), (i) => [tf.add(i, 1), c], [number(0), tf.mul(x, c)])[1],
      [1, 2, 3],
    ],
    "condition of a loop": [
      (x) => tf.whileLoop(() => no, (v) => [tf.add(v, 1)], [tf.mul(x, c)])[0],
      [2, 4, 6],
    ],
    "mapFn": [(x) => tf.mapFn(() => c, tf.stack([x, x])), [[1, 2, 3], [1, 2, 3]]],
    "scan": [
      (x) => tf.scan(() => c, tf.stack([x, x]), { initializer: tf.mul(x, c) }),
      [[1, 2, 3], [1, 2, 3]],
    ],
    "foldl": [(x) => tf.foldl(() => c, tf.stack([x, x]), { initializer: tf.mul(x, c) }), [1, 2, 3]],
  };
  for (const [name, [body, wanted]] of Object.entries(bodies)) {
    using x = tf.scalar(2);
    const f = tf.function(body);
    (await f.async(x) as unknown as tf.Tensor).dispose();
    const before = tf.memory().numTensors;
    const y = await f.async(x) as unknown as tf.Tensor;
    assertEquals(tf.memory().numTensors - before, 1, name);
    assertEquals(await y.array(), wanted, name);
    // The result is a handle of its own: disposing it leaves what was captured.
    y.dispose();
    assertEquals(f.traceCount, 1, name);
  }
  assertEquals(c.isDisposed, false);
  assertEquals(await c.array(), [1, 2, 3]);
});

testOnDevices("a captured tensor stands among the other results of a function", () => {
  using c = tf.tensor([1, 2]);
  using x = tf.scalar(3);
  const f = tf.function((x: tf.Tensor) => ({ a: c, b: [x, c, tf.mul(x, c)], none: null }));
  const { a, b, none } = f(x);
  assertEquals([a.arraySync(), ...b.map((t) => t.arraySync()), none], [
    [1, 2],
    3,
    [1, 2],
    [3, 6],
    null,
  ]);
});

testOnDevices("a loop of no iterations gives what it began with", async () => {
  const count = (limit: number) => (x: tf.Tensor) =>
    tf.whileLoop(() => true, (v) => [tf.add(v, 1)], [x], { maximumIterations: limit })[0];
  for (const limit of [0, 1, 3]) {
    assertEquals(count(limit)(tf.scalar(5)).item(), 5 + limit);
    assertEquals((await tf.function(count(limit)).async(tf.scalar(5))).dataSync()[0], 5 + limit);
  }
});

Deno.test("a list in a loop keeps its length, but for one that grows", () => {
  const shapeOf = (dynamicSize: boolean) => {
    const f = tf.function((n: tf.Tensor) => {
      const list = new tf.TensorArray("float32", 3, { elementShape: [2], dynamicSize });
      const [, filled] = tf.whileLoop(
        (i) => tf.less(i, n),
        (i, list) => [tf.add(i, 1), list.write(i, [1, 2])],
        [number(0), list],
      );
      return filled.stack();
    });
    return f.getConcreteFunction(tf.TensorSpec([], "int32")).outputs[0].shape;
  };
  assertEquals([shapeOf(false), shapeOf(true)], [[3, 2], [null, 2]]);
});

Deno.test("a function's async form works in a graph, where nothing needs to be awaited", async () => {
  const f = tf.function((x: tf.Tensor) => tf.mul(x, x));
  const graph = new tf.Graph();
  const x = graph.asDefault(() => tf.placeholder("float32", [], "x"));
  const made = graph.asDefault(() => f.async(x));
  const y = await made as unknown as tf.Tensor;
  await using session = new tf.Session({ graph });
  assertEquals(await session.run(y, { feeds: { "x:0": 3 } }), 9);
});

Deno.test("Dataset.map() may give a captured tensor", async () => {
  const c = tf.tensor([1, 2]);
  const seen = await tf.data.range(2).map((i) => ({ i, c })).toArray();
  assertEquals(seen.map(({ i, c }) => [i.item(), c.arraySync()]), [[0, [1, 2]], [1, [1, 2]]]);
});

testOnDevices("under a signature JavaScript values are inputs at every call", () => {
  const scalar = tf.function(
    (x: tf.TensorLike, on: tf.TensorLike) => tf.where(on, tf.add(x, 1), x),
    {
      inputSignature: [tf.TensorSpec([], "float32"), tf.TensorSpec([], "bool")],
    },
  );
  const calls = [[3, true], [3, true], [4, true], [4, false], [tf.scalar(3), true], [
    3,
    true,
  ]] as const;
  assertEquals(calls.map(([x, on]) => scalar(x, on).item()), [4, 4, 5, 4, 4, 4]);
  const vector = tf.function((x: tf.TensorLike) => tf.add(x, 1), {
    inputSignature: [tf.TensorSpec([null], "float32")],
  });
  const given = [[1], [1, 2], [1], tf.tensor([5]), tf.tensor([6]), [7]];
  assertEquals(given.map((x) => vector(x).arraySync()), [[2], [2, 3], [2], [6], [7], [8]]);
  assertEquals([scalar.traceCount, vector.traceCount], [1, 1]);
});

Deno.test("a promise where a tensor is wanted throws at once, and its rejection ends nothing", async () => {
  // deno-lint-ignore no-explicit-any
  const late = (() => Promise.reject(new Error("nobody hears of it"))) as any;
  const zeros = tf.zeros([2]), one = number(1);
  const cases: Record<string, [() => unknown, string]> = {
    "function": [() => tf.function(late)(), "it returned a promise, but tracing is synchronous"],
    "cond": [
      () => tf.function((p: tf.Tensor) => tf.cond(p, late, late))(tf.tensor(true, [], "bool")),
      "Cannot use the result of cond_true: its function returned a promise",
    ],
    "body": [() => tf.whileLoop(() => true, late, [one]), "Cannot use the body[0] of whileLoop"],
    "condition": [() => tf.whileLoop(late, (i) => [i], [one]), "the condition of whileLoop"],
    "mapFn": [() => tf.mapFn(late, zeros), "Cannot use the result of mapFn"],
    "mapFn in a graph": [
      () => tf.function((x: tf.Tensor) => tf.mapFn(late, x))(zeros),
      "Cannot use the result of mapFn: its function returned a promise",
    ],
    "scan": [() => tf.scan(late, zeros), "Cannot use the state of scan"],
    "foldl": [() => tf.foldl(late, zeros), "Cannot use the state of foldl"],
    "tidy": [() => tf.tidy(late), "Cannot return a Promise inside of tidy"],
    "grad": [
      () => tf.grad(late)(1),
      "f passed in grad(f) must return a tensor, but it returned a promise",
    ],
    "variableGrads": [() => tf.variableGrads(late), "it returned a promise"],
    "customGrad": [
      () => tf.customGrad(late)(one),
      "must return an object, but it returned a promise",
    ],
    "map": [
      () => tf.data.range(2).map(late),
      "Cannot trace the function of map(): it returned a promise",
    ],
  };
  for (const [name, [call, message]] of Object.entries(cases)) {
    assertThrows(call, TypeError, message, name);
  }
  // Unhandled rejections are reported after the due tasks, and would fail the test.
  await new Promise((resolve) => setTimeout(resolve));
});

testOnDevices("scan() over an unknown rank begins with a row of any shape", async () => {
  const { x, y, sum } = new tf.Graph().asDefault(() => {
    const x = tf.placeholder("float32");
    const y = tf.scan((a, row) => tf.add(a, row), x);
    return { x, y, sum: tf.foldr((a, row) => tf.add(a, row), x) };
  });
  await using session = new tf.Session({ graph: y.graph });
  const cases: [value: unknown, scanned: unknown, folded: unknown][] = [
    [[5], [5], 5],
    [[1, 2, 3], [1, 3, 6], 6],
    [[[7, 8]], [[7, 8]], [7, 8]],
    [[[1, 2], [3, 4]], [[1, 2], [4, 6]], [4, 6]],
    [[[[1], [2]]], [[[1], [2]]], [[1], [2]]],
  ];
  for (const [value, scanned, folded] of cases) {
    const out = await session.run([y, sum], { feeds: new Map([[x, value as number[]]]) });
    const [all, last] = out as [tf.NdArray, tf.NdArray | number];
    assertEquals(all.toArray(), scanned);
    assertEquals(typeof last === "number" ? last : last.toArray(), folded);
  }
});

testOnDevices("bodies of loops over rows may give back what they got, once or more", async () => {
  const x = [[1, 2], [3, 4]], start = tf.tensor([5, 6]);
  const cases: Record<string, [fn: (x: tf.Tensor) => unknown, wanted: unknown]> = {
    "a row": [(x) => tf.mapFn((v) => v, x), x],
    "a row twice": [(x) => tf.mapFn((v) => [v, v], x), [x, x]],
    "a row as the state": [(x) => tf.foldl((_, v) => v, x), [3, 4]],
    "a row as the state, stacked": [(x) => tf.scan((_, v) => v, x), x],
    "the state": [(x) => tf.scan((a) => a, x, { initializer: start }), [[5, 6], [5, 6]]],
    "the state, not stacked": [(x) => tf.foldl((a) => a, x, { initializer: start }), [5, 6]],
    "states that change places": [
      (x) => tf.scan(([a, b]) => [b, a], x, { initializer: [start, tf.add(start, 1)] }),
      [[[6, 7], [5, 6]], [[5, 6], [6, 7]]],
    ],
    "what is captured": [(x) => tf.mapFn(() => start, x), [[5, 6], [5, 6]]],
  };
  for (const [name, [fn, wanted]] of Object.entries(cases)) {
    const graph = new tf.Graph();
    const y = graph.asDefault(() => fn(tf.placeholder("float32", [null, 2], "x")));
    await using session = new tf.Session({ graph });
    const run = () => session.run(y as tf.Tensor, { feeds: { "x:0": x } }) as Promise<unknown>;
    const f = tf.function(fn);
    const call = () =>
      tf.tidy(() => {
        const out = f(tf.tensor(x)) as tf.Tensor | tf.Tensor[];
        return Array.isArray(out) ? out.map((t) => t.arraySync()) : out.arraySync();
      });
    const arrays = (out: unknown): unknown =>
      Array.isArray(out) ? out.map(arrays) : (out as tf.NdArray).toArray();
    await run();
    call();
    const before = tf.memory().numTensors;
    for (let i = 0; i < 3; i++) {
      assertEquals(arrays(await run()), wanted, name);
      assertEquals(call(), wanted, name);
    }
    assertEquals(tf.memory().numTensors, before, name);
  }
  assertEquals(start.arraySync(), [5, 6]);
});

testOnDevices(
  "a branch gives another tensor than the one from outside, eagerly as in a function",
  () => {
    type Choose = (x: tf.Tensor, twice: () => tf.Tensor[]) => [one: tf.Tensor, pair: tf.Tensor[]];
    const ways: Record<string, Choose> = {
      "cond": (x, twice) => [
        tf.cond(true, () => x, () => tf.neg(x)),
        tf.cond(false, () => [x, x], twice),
      ],
      "switchCase": (x, twice) => [
        tf.switchCase(1, [() => tf.neg(x), () => x]),
        tf.switchCase(0, [twice, () => [x, x]]),
      ],
      "case": (x, twice) => [
        tf.case([[false, () => tf.neg(x)]], { default: () => x }),
        tf.case([[true, twice]], { default: () => [x, x] }),
      ],
    };
    for (const [name, choose] of Object.entries(ways)) {
      const program = (x: tf.Tensor): tf.Tensor[] => {
        const twice = (): tf.Tensor[] => {
          const y = tf.square(x);
          return [y, y];
        };
        const [one, [a, b]] = choose(x, twice);
        // Only what the function is given counts, not the tensor behind it.
        const byOne = tf.grad((v) => tf.sum(tf.mul(v, x)))(one);
        return [byOne, tf.grad((v) => tf.sum(tf.mul(v, b)))(a)];
      };
      tf.tidy(() => {
        const x = tf.tensor([1, 2, 3]);
        const wanted = [[1, 2, 3], [1, 4, 9]];
        assertEquals(program(x).map((t) => t.arraySync()), wanted, name);
        assertEquals(tf.function(program)(x).map((t) => t.arraySync()), wanted, name);
        choose(x, () => [tf.neg(x), tf.neg(x)])[0].dispose();
        assertEquals(x.arraySync(), [1, 2, 3], name);
      });
    }
  },
);
