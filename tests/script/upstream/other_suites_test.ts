/** Tests of script ops in TensorFlow's other suites: datasets, control flow, functions, backprop, metrics, errors and distribution. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertMatch } from "@std/assert";
import { fileName, isBundled, testOnDevices } from "../../devices.ts";
import { assertBoth, errorOf, evaluate, open, plain } from "../helpers.ts";

type T = tf.Tensor;
type N = tf.NdArray;

const F32 = tf.TensorSpec([], "float32");
const I64 = tf.TensorSpec([], "int64");
const HERE = fileName(import.meta.url);
/** Frames above a user's: none, but for the library's in a bundle. */
const ABOVE = isBundled(import.meta.url) ? "[^]*" : "";
const square = (x: N): N => x.map((v) => Number(v) ** 2);

/** Reads a pass: the elements before it ends or fails, and the error of the failure. */
async function pass(dataset: AsyncIterable<unknown>): Promise<[unknown[], Error | null]> {
  const seen: unknown[] = [];
  try {
    for await (const x of dataset) seen.push(plain(x));
    return [seen, null];
  } catch (error) {
    return [seen, error as Error];
  }
}

testOnDevices(
  "map_test testMultiOutputPyFunc: a list of outputs is an element of two",
  async () => {
    const both = (x: T) => tf.pyFunc((x: N) => [x, Float64Array.of(37)], [x], ["int64", "float64"]);
    const [seen, error] = await pass(tf.data.range(10).map((x) => both(tf.cast(x, "int64"))));
    assertEquals(seen, Array.from({ length: 10 }, (_, i) => [BigInt(i), [37]]));
    assertEquals(error, null);
  },
);

Deno.test("map_test and scan_test testPreserveCardinality: StopIteration of a body is no end of data", async () => {
  const stop = (): never => {
    throw new tf.StopIteration();
  };
  const one = tf.data.fromTensorSlices([0]);
  const mapped = one.map((x) => tf.pyFunc(stop, [x], "int64"));
  const scanned = one.scan(
    tf.scalar(1, "int64"),
    (state: T, x: T) => [state, tf.pyFunc(stop, [x], I64)],
  );
  for (const dataset of [mapped, scanned]) {
    const elements = dataset[Symbol.asyncIterator]();
    const error = await errorOf(() => elements.next());
    assert(error instanceof tf.errors.InvalidArgumentError, String(error));
    assertEquals((await elements.next()).done, true);
  }
});

Deno.test("map_and_batch testMapAndBatchMapError: batches before the one that fails come whole", async () => {
  for (const threshold of [0, 10, 50, 55, 99]) {
    const raising = (i: N): N => {
      if (Number(i.item()) >= threshold) throw new tf.StopIteration();
      return i;
    };
    const dataset = tf.data.range(100).map((x) =>
      tf.pyFunc(raising, [tf.cast(x, "int64")], [I64])[0]!
    );
    const [seen, error] = await pass(dataset.batch(10));
    const wanted = Array.from(
      { length: Math.floor(threshold / 10) },
      (_, b) => Array.from({ length: 10 }, (_, i) => BigInt(10 * b + i)),
    );
    assertEquals(seen, wanted);
    assert(error instanceof tf.errors.InvalidArgumentError, String(error));
  }
});

Deno.test("parallel_interleave_test: a body that fails in an inner dataset fails in its place", async () => {
  const check = (x: N): N => {
    if (Number(x.item()) === 5) throw new tf.ValueError("no five");
    return x;
  };
  const inner = (x: T) =>
    tf.data.fromTensorSlices(tf.expandDims(x, 0)).map((y) => tf.pyFunc(check, [y], I64));
  const input = tf.data.fromTensorSlices(tf.tensor([4n, 5n, 6n], [3], "int64"));
  const [seen, error] = await pass(input.interleave(inner, { cycleLength: 2, blockLength: 1 }));
  assertEquals(seen, [4n]);
  assert(error instanceof tf.errors.InvalidArgumentError, String(error));
  const ignoring = input.interleave(inner, { cycleLength: 2, blockLength: 1 }).ignoreErrors();
  assertEquals((await pass(ignoring))[0], [4n, 6n]);
});

Deno.test("metadata_test: a numpyFunction of strings in map() with AUTOTUNE", async () => {
  const upper = (x: N): string => x.text().toUpperCase();
  const letters = [..."abcdefghijklmnopqrstuvwxyz"];
  const dataset = tf.data.fromTensorSlices(letters).map(
    (x) => tf.numpyFunction(upper, [x], "string"),
    { numParallelCalls: tf.data.AUTOTUNE },
  );
  assertEquals(await pass(dataset), [letters.map((c) => c.toUpperCase()), null]);
});

testOnDevices(
  "control_flow_ops_py_test testWhilePyFuncBasic: a body in a loop, with a gradient",
  async () => {
    const turns = (script: (v: T) => T) => (x: T): T =>
      tf.whileLoop((i) => tf.less(i, 4), (i, v) => [tf.add(i, 1), script(v)], [tf.scalar(0), x])[1];
    const numpy = turns((v) => tf.pyFunc(square, [v], [F32])[0]!);
    await assertBoth(() => numpy(tf.constant(2)), 65536);
    assertEquals((tf.function(numpy) as typeof numpy)(tf.scalar(2)).item(), 65536);
    // The sixteenth power of 2, and its slope.
    const tensors = turns((v) => tf.pyFunction(tf.square, [v], F32));
    assertEquals(tf.grad(tensors)(tf.scalar(2)).item(), 16 * 2 ** 15);
    const slope = await evaluate(() => {
      const x = tf.constant(2);
      return tf.gradients(tensors(x), [x])[0];
    });
    assertEquals(slope, 16 * 2 ** 15);
  },
);

testOnDevices("cond: the body of the branch that is not taken does not run", async () => {
  let calls: string[] = [];
  const named = (name: string, by: number) => (x: N): N => {
    calls.push(name);
    return x.map((v) => Number(v) * by);
  };
  const branch = (x: T): T =>
    tf.cond(
      tf.greater(x, 0),
      () => tf.pyFunc(named("then", 2), [x], F32),
      () => tf.pyFunc(named("else", 3), [x], F32),
    );
  await using g = open(() => {
    const x = tf.placeholder("float32", [], "x");
    return branch(x);
  });
  for (const [x, y, name] of [[1, 2, "then"], [-1, -3, "else"]] as const) {
    calls = [];
    assertEquals(await g.sess.run(g.parts, { feeds: { "x:0": x } }), y);
    assertEquals((tf.function(branch) as typeof branch)(tf.scalar(x)).item(), y);
    assertEquals(branch(tf.scalar(x)).item(), y);
    assertEquals(calls, [name, name, name]);
  }
});

testOnDevices("auto_control_deps_test: bodies whose results nothing reads run, in order", () => {
  const effects: number[] = [];
  const f = tf.function(() => {
    tf.pyFunction((x: T) => (effects.push(1), x), [1], ["float32"]);
    tf.pyFunction((x: T) => (effects.push(2), x), [1], ["float32"]);
    return tf.scalar(1);
  });
  for (let k = 0; k < 2; k++) assertEquals((f() as T).item(), 1);
  assertEquals(effects, [1, 2, 1, 2]);
});

testOnDevices("core_test: a variable is an input of a body in a function, as its value", () => {
  const v = tf.variable([2, 3]);
  const f = tf.function((v: tf.Variable) =>
    tf.pyFunction((value: T) => tf.sum(value), [v], "float32")
  );
  assertEquals((f(v) as T).item(), 5);
  v.assign(tf.tensor([4, 5]));
  assertEquals((f(v) as T).item(), 9);
});

testOnDevices(
  "subscribe_test: a body that passes a tensor on sees it once a run, however many read it",
  async () => {
    const seen: unknown[] = [];
    const look = (t: N): N => (seen.push(t.item()), t);
    await using g = open(() => {
      const x = tf.placeholder("float32", [], "x");
      const watched = tf.pyFunc(look, [x], F32);
      return [
        tf.neg(watched),
        tf.add(watched, 1),
        tf.controlDependencies([watched], () => tf.constant(42)),
      ];
    });
    for (const x of [3, 4]) {
      assertEquals(await g.sess.run(g.parts, { feeds: { "x:0": x } }), [-x, x + 1, 42]);
    }
    assertEquals(seen, [3, 4]);
    assertEquals(await g.sess.run(g.parts[2]!, { feeds: { "x:0": 5 } }), 42);
    assertEquals(seen, [3, 4, 5]);
  },
);

testOnDevices(
  "metrics_utils_test test_handles_dynamic_shapes: a result of unknown rank goes on",
  async () => {
    const x = [0.25, 0.125, 0.5, -0.5, 42], top = [-1, -1, 0.5, -1, 42];
    const filterTop2 = (x: T): T => {
      const { values } = tf.topk(x, 2);
      return tf.where(tf.greaterEqual(x, tf.min(values, -1, true)), x, tf.fill([], -1));
    };
    const unknown = (x: T): T => {
      const y = tf.numpyFunction((v: N) => v, [x], "float32");
      if (y.isSymbolic) assertEquals(y.staticShape, null);
      return filterTop2(y);
    };
    await assertBoth(() => unknown(tf.constant(x)), top);
    assertEquals((tf.function(unknown) as typeof unknown)(tf.tensor(x)).arraySync(), top);
  },
);

testOnDevices("metrics_test: a metric counts values that a body gives", async () => {
  const best = (x: N): number => Math.max(...x.data as Float32Array);
  await using g = open(() => {
    const x = tf.placeholder("float32", [null], "x");
    const [mean, update] = tf.compat.v1.metrics.mean(tf.pyFunc(best, [x], F32));
    return { mean, update, init: tf.compat.v1.localVariablesInitializer() };
  });
  await g.sess.run(g.parts.init);
  const seen: unknown[] = [];
  for (const x of [[1, 2], [5, 3], [2]]) {
    seen.push(await g.sess.run(g.parts.update, { feeds: { "x:0": x } }));
  }
  assertEquals([seen, await g.sess.run(g.parts.mean)], [[2, 3.5, 3], 3]);
});

testOnDevices(
  "backprop_test: a persistent tape is asked again and again through bodies in a loop",
  () => {
    const x = tf.variable([1, 2]);
    using tape = new tf.GradientTape({ persistent: true });
    let y: T = tf.mul(x, 1), calls = 0;
    for (let i = 0; i < 3; i++) {
      y = tf.pyFunction(
        (v: T) => {
          calls++;
          return tf.mul(v, x);
        },
        [y],
        tf.TensorSpec([2], "float32"),
      );
    }
    const z = tf.pyFunction((v: T) => tf.sum(v), [y], "float32");
    // y is the fourth power of x.
    for (let k = 0; k < 2; k++) {
      assertEquals((tape.gradient(z, x) as T).arraySync(), [4, 32]);
      assertEquals((tape.gradient(y, x) as T).arraySync(), [4, 32]);
    }
    assertEquals(calls, 3);
  },
);

testOnDevices("backprop_test: tapes within tapes, and within a body", () => {
  const x = tf.scalar(3);
  const cube = (v: T): T => tf.pyFunction((v: T) => tf.mul(v, tf.square(v)), [v], "float32");
  using outer = new tf.GradientTape();
  outer.watch(x);
  let slope: T;
  {
    using inner = new tf.GradientTape();
    inner.watch(x);
    slope = inner.gradient(cube(x), x) as T;
  }
  assertEquals([slope.item(), (outer.gradient(slope, x) as T).item()], [27, 18]);
  const within = tf.pyFunction(
    (v: T) => {
      using tape = new tf.GradientTape();
      tape.watch(v);
      return tape.gradient(cube(v), v) as T;
    },
    [x],
    "float32",
  );
  assertEquals(within.item(), 27);
});

testOnDevices(
  "error_interpolation_test: an error names its node, in scopes, functions and loops, and the line that made it",
  async () => {
    const fail = (): never => {
      throw new RangeError("out of luck");
    };
    const script = (x: T): T => tf.pyFunc(fail, [x], [F32], { name: "unlucky" })[0]!;
    const cases: [name: string, build: (x: T) => T, node: string][] = [
      [
        "a scope",
        (x) => tf.nameScope("outer", () => tf.nameScope("inner", () => script(x))),
        "outer/inner/unlucky",
      ],
      [
        "a second of its name",
        (
          x,
        ) => (tf.nameScope("a", () => tf.identity(x)),
          tf.pyFunc((v: N) => v, [x], F32, { name: "unlucky" }),
          script(x)),
        "unlucky_1",
      ],
      ["a loop", (x) => tf.whileLoop((v) => tf.less(v, 9), (v) => [script(v)], [x])[0], "unlucky"],
      ["a branch", (x) => tf.cond(tf.less(x, 9), () => script(x), () => x), "unlucky"],
      ["a function", (x) => (tf.function(script) as typeof script)(x), "unlucky"],
    ];
    for (const [name, build, node] of cases) {
      const error = await errorOf(() =>
        evaluate(() => build(tf.placeholderWithDefault(tf.constant(1), [])))
      );
      assert(error instanceof tf.errors.InvalidArgumentError, `${name}: ${error}`);
      assertEquals([error.node, error.op], [node, "PyFunc"], name);
      assertMatch(error.message, new RegExp(`\\[\\[\\{\\{node ${node}\\}\\}\\]\\]`), name);
      assertMatch(
        error.message,
        new RegExp(
          `Original stack trace for '.*unlucky.*':\n${ABOVE}\\s+at .*script\\d* .*${HERE}`,
        ),
      );
      assertMatch(error.message, /out of luck/, name);
    }
  },
);

testOnDevices(
  "distribute: replicas on devices of their own call bodies, and their gradients add up",
  async () => {
    const devices = tf.listDevices().map((d) => d.name);
    const seen: unknown[] = [];
    const w = tf.variable(3);
    const replica = (x: T): T =>
      tf.pyFunction(
        (x: T) => {
          seen.push(x.item());
          return tf.square(tf.mul(x, w));
        },
        [x],
        F32,
      );
    const shards = tf.split(tf.range(1, 5), devices.length > 1 ? 2 : 4);
    const step = (): T =>
      tf.addN(
        shards.map((shard, i) =>
          tf.device(devices[i % devices.length]!, () => tf.addN(tf.unstack(shard).map(replica)))
        ),
      );
    using tape = new tf.GradientTape();
    const loss = step();
    // The sum of the squares of 1 to 4 is 30.
    assertEquals([loss.item(), (tape.gradient(loss, w) as T).item()], [270, 180]);
    assertEquals(seen, [1, 2, 3, 4]);
    assertEquals(await evaluate(() => step()), 270);
  },
);
