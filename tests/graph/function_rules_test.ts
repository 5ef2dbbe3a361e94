/** The rules of tf.function: when it traces again, what it binds, variables, the order of effects, and its functions in a GraphDef. */
import * as tf from "@weft/weft";
import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

type AnyFunction = (...args: unknown[]) => unknown;
const loose = (f: unknown): AnyFunction => f as AnyFunction;

/** Arguments of calls, one after another, and whether each one traces. */
const RETRACES: Readonly<Record<string, readonly (readonly [args: unknown[], traces: 0 | 1])[]>> = {
  "JavaScript values differ by type as well as by value": [
    ...[1, true, "1", 1n, 0, false, "", 0n, NaN, null, -0].flatMap((v) =>
      [[[v], 1], [[v], 0]] as [unknown[], 0 | 1][]
    ),
    [[1.0], 0],
    [["true"], 1],
    [["null"], 1],
    [["NaN"], 1],
  ],
  "no text can look like another argument": [
    [["a", 'b","c'], 1],
    [['a","b', "c"], 1],
    [["a,string:b", "c"], 1],
    [["a", "b,string:c"], 1],
    [[{ "a:.,b": 1 }], 1],
    [[{ a: 1, b: 1 }], 1],
  ],
  "objects, functions and symbols go by identity": (() => {
    const [o, f, s] = [new Map(), () => 1, Symbol("s")];
    return [[[o], 1], [[o], 0], [[new Map()], 1], [[f], 1], [[f], 0], [[() => 1], 1], [[s], 1], [[
      s,
    ], 0], [
      [Symbol("s")],
      1,
    ]];
  })(),
  "arrays of numbers that have a dtype are tensors": [
    [[tf.tensor([1, 2])], 1],
    [[Float32Array.of(3, 4)], 0],
    [[new tf.NdArray("float32", [2], Float32Array.of(5, 6))], 0],
    [[Float64Array.of(3, 4)], 1],
    [[Int32Array.of(3, 4)], 1],
    [[new tf.NdArray("float32", [1, 2], Float32Array.of(5, 6))], 1],
    [[[3, 4]], 1],
    [[[3, 4]], 0],
    [[[3, 5]], 1],
  ],
  "nests differ by their containers and keys, not by the order of keys": [
    [[[tf.scalar(1), 2]], 1],
    [[{ a: tf.scalar(1), b: 2 }], 1],
    [[{ b: 2, a: tf.scalar(3) }], 0],
    [[{ a: 1, b: 2 }], 1],
    [[[[tf.scalar(1)], 2]], 1],
    [[tf.scalar(1), 2], 1],
    [[], 1],
  ],
};

for (const [name, calls] of Object.entries(RETRACES)) {
  Deno.test(`function() traces again where it must: ${name}`, () => {
    const f = tf.function((..._args: unknown[]) => tf.scalar(0));
    for (const [args, traces] of calls) {
      const before = f.traceCount;
      f(...args);
      assertEquals(f.traceCount - before, traces, Deno.inspect(args));
    }
  });
}

Deno.test("function() runs JavaScript when it traces, and script bodies at each call", () => {
  const log: string[] = [];
  const f = tf.function((x: tf.Tensor, k: number) => {
    log.push(`trace ${k}`);
    return tf.numpyFunction(
      (a: tf.NdArray) => {
        log.push("run");
        return a;
      },
      [tf.mul(x, k)],
      "float32",
    );
  });
  assertEquals([f(tf.scalar(2), 3), f(tf.scalar(5), 3), f(tf.scalar(5), 4)].map((t) => t.item()), [
    6,
    15,
    20,
  ]);
  assertEquals(log, ["trace 3", "run", "run", "trace 4", "run"]);
});

Deno.test("function() forgets a trace that failed", () => {
  let fails = true, made: tf.Variable | undefined;
  const f = tf.function((x: tf.Tensor) => {
    const v = made ??= tf.variable(1);
    if (fails) throw new RangeError("not yet");
    return tf.add(x, v);
  });
  assertThrows(() => f(tf.scalar(1)), RangeError, "not yet");
  fails = false;
  assertEquals([f(tf.scalar(1)).item(), f(tf.scalar(2)).item()], [2, 3]);
  assertEquals(f(tf.ones([2])).arraySync(), [2, 2]);
});

Deno.test("function() with reduceRetracing relaxes shapes of one rank and dtype, and ranks in the end", () => {
  const f = tf.function((x: tf.Tensor) => tf.mul(x, 2), { reduceRetracing: true });
  const steps: [tf.Tensor, number, unknown][] = [
    [tf.ones([1, 2]), 1, [1, 2]],
    [tf.ones([1, 3], "int32"), 1, [1, 3]],
    [tf.ones([4, 2]), 1, [null, 2]],
    [tf.ones([5, 2]), 0, null],
    [tf.ones([5, 3]), 1, [null, null]],
    [tf.ones([7, 9]), 0, null],
    [tf.ones([7]), 1, null],
    [tf.ones([1, 1, 1]), 0, null],
  ];
  for (const [x, traces] of steps) {
    const before = f.traceCount;
    assertEquals(f(x).arraySync(), tf.mul(x, 2).arraySync());
    assertEquals(f.traceCount - before, traces, `${x}`);
  }
});

Deno.test("function() with inputSignature casts literals, takes nests and any rank, and says what does not fit", () => {
  const f = tf.function(
    (x: tf.Tensor, { k }: { k: tf.Tensor }) => tf.mul(x, k),
    { inputSignature: [tf.TensorSpec(null, "float32"), { k: tf.TensorSpec([null], "float32") }] },
  );
  const values: [unknown, unknown, number[] | number[][]][] = [
    [[[1, 2]], [3, 4], [[3, 8]]],
    [2, Float64Array.of(1, 2), [2, 4]],
    [tf.ones([1, 1]), tf.tensor([5]), [[5]]],
    [Int32Array.of(1), new tf.NdArray("int32", [1], Int32Array.of(7)), [7]],
  ];
  for (const [x, k, want] of values) {
    assertEquals((loose(f)(x, { k }) as tf.Tensor).arraySync(), want);
  }
  assertEquals(f.traceCount, 1);
  const bad: [unknown[], string][] = [
    [[1], "missing a required argument"],
    [[1, { k: [1] }, 2], "too many positional arguments"],
    [[1, { k: 1 }], "Can not cast TensorSpec float32[] to TensorSpec float32[?]"],
    [[tf.scalar(1, "int32"), { k: [1] }], "Can not cast TensorSpec int32[] to TensorSpec float32"],
    [[1, [1]], "the nest differs"],
    [[null, { k: [1] }], "must be a Tensor or TensorLike"],
  ];
  for (const [args, why] of bad) {
    const e = assertThrows(
      () => loose(f)(...args),
      TypeError,
      "Binding inputs to tf.function failed due to `",
    ) as Error;
    assert(e.message.startsWith("Binding inputs to tf.function failed due to `"), e.message);
    assert(e.message.includes(why), e.message);
  }
  assertThrows(
    () =>
      tf.function((x: tf.Tensor, _y: tf.Tensor) => x, {
        inputSignature: [tf.TensorSpec([], "float32")],
      }),
    TypeError,
    "input_signature missing type constraint for argument 1",
  );
});

Deno.test("getConcreteFunction() gives the trace that a call would use, and checks what it is called with", () => {
  const f = tf.function((x: tf.Tensor, k: number) => ({ y: tf.mul(x, k) }));
  const concrete = f.getConcreteFunction(tf.TensorSpec([null], "float32"), 3);
  assertEquals([concrete.inputs, concrete.outputs], [
    [{ dtype: "float32", shape: [null] }],
    [{ dtype: "float32", shape: [null] }],
  ]);
  const call = (...args: unknown[]): { y: tf.Tensor } =>
    loose(concrete)(...args) as { y: tf.Tensor };
  assertEquals([call([1, 2]).y.arraySync(), call(tf.ones([1])).y.arraySync()], [[3, 6], [3]]);
  f(tf.ones([2]), 3);
  assertEquals(f.traceCount, 2);
  assertEquals(
    f.getConcreteFunction(tf.ones([2]), 3).graph,
    f.getConcreteFunction(tf.zeros([2]), 3).graph,
  );
  assertEquals(f.traceCount, 2);
  const bad: [unknown[], string][] = [
    [[], "missing a required argument"],
    [[tf.ones([1]), tf.ones([1])], "too many positional arguments"],
    [[tf.ones([1], "int32")], "Can not cast TensorSpec int32[1] to TensorSpec float32[?]"],
    [[tf.scalar(1)], "Can not cast TensorSpec float32[] to TensorSpec float32[?]"],
  ];
  for (const [args, why] of bad) assertThrows(() => call(...args), TypeError, why);
  const signed = tf.function((x: tf.Tensor) => tf.neg(x), {
    inputSignature: [tf.TensorSpec([2], "float32")],
  });
  assertEquals((signed.getConcreteFunction()([1, 2]) as tf.Tensor).arraySync(), [-1, -2]);
  signed([3, 4] as unknown as tf.Tensor);
  assertEquals(signed.traceCount, 1);
});

testOnDevices(
  "function() keeps reads, assignments and scripts in program order, in branches and loops too",
  async () => {
    using v = tf.variable([1, 2]);
    const log: number[] = [];
    const say = (x: tf.Tensor): tf.Tensor =>
      tf.numpyFunction(
        (a: tf.NdArray) => {
          log.push(a.get(0) as number);
          return a;
        },
        [x],
        tf.TensorSpec([2], "float32"),
      );
    const body = (n: tf.Tensor): tf.Tensor[] => {
      const first = v.readValue();
      v.assignAdd([1, 1]);
      const second = say(tf.identity(v));
      v.assign(tf.mul(second, 10));
      tf.cond(tf.greater(n, 0), () => {
        v.assignSub([1, 1]);
        return say(v.readValue());
      }, () => say(tf.zeros([2])));
      tf.whileLoop((i) => tf.less(i, n), (i) => {
        v.assign(say(tf.mul(v, 2)));
        return tf.add(i, 1);
      }, [tf.constant(0)]);
      return [first, v.readValue()];
    };
    const f = tf.function(body);
    const wanted: [number, number[]][] = [[2, [2, 19, 38, 76]], [0, [2, 0]]];
    for (const [n, said] of wanted) {
      for (const run of [body, f]) {
        v.assign([1, 2]);
        log.length = 0;
        const [first, last] = run(tf.scalar(n));
        assertEquals([first.arraySync(), last.arraySync(), log], [
          [1, 2],
          n > 0 ? [76, 116] : [20, 30],
          said,
        ]);
      }
    }
    assertEquals(f.traceCount, 1);
    // In a graph the call is one operation, with the same effects.
    const graph = new tf.Graph();
    const last = graph.asDefault(() => f(tf.constant(2))[1]);
    await using session = new tf.Session({ graph });
    v.assign([1, 2]);
    assertEquals((await session.run(last) as tf.NdArray).toArray(), [76, 116]);
  },
);

const bump = tf.registerScript(
  "weft.tests.rules.bump@1",
  (a: tf.NdArray) => a.map((x) => Number(x) + 1),
);

Deno.test("a GraphDef holds each function once in its library, with its effects, and runs the same", async () => {
  const inner = tf.function((x: tf.Tensor) => tf.mul(x, 3), { name: "inner" });
  const outer = tf.function((x: tf.Tensor) => {
    tf.numpyFunction(bump, [x], tf.TensorSpec([], "float32"), { name: "effect" });
    return tf.add(inner(x), inner(tf.square(x)));
  }, { name: "outer" });
  const a = new tf.Graph();
  const y = a.asDefault(() => {
    const x = tf.placeholder("float32", [], "x");
    return tf.add(outer(x), outer(tf.neg(x)));
  });
  const def = JSON.parse(JSON.stringify(a.toGraphDef())) as tf.GraphDefJson;
  const functions = Object.fromEntries(def.library!.function.map((f) => [f.signature.name, f]));
  assertEquals(Object.keys(functions).sort(), ["inner", "outer"]);
  const calls = (nodes: readonly tf.NodeDefJson[]): unknown[] =>
    nodes.filter((n) => /PartitionedCall$/.test(n.op)).map((n) => [n.op, n.attr!.f.func!.name]);
  assertEquals(calls(def.node), [
    ["StatefulPartitionedCall", "outer"],
    ["StatefulPartitionedCall", "outer"],
  ]);
  assertEquals(calls(functions.outer.nodeDef), [["PartitionedCall", "inner"], [
    "PartitionedCall",
    "inner",
  ]]);
  assertEquals([functions.outer.signature.isStateful, functions.outer.controlRet], [true, {
    effect: "effect",
  }]);
  assertEquals([functions.inner.signature.isStateful, functions.inner.controlRet], [
    undefined,
    undefined,
  ]);
  const b = new tf.Graph();
  const [z] = b.asDefault(() =>
    tf.importGraphDef(def, { prefix: "", returnElements: [y.name] })
  ) as tf.Tensor[];
  const feeds = { "x:0": 2 };
  const wanted = await new tf.Session({ graph: a }).run(y, { feeds });
  assertEquals([wanted, await new tf.Session({ graph: b }).run(z, { feeds })], [24, 24]);
  await assertRejects(
    () => new tf.Session({ graph: b }).run("none:0"),
    tf.ValueError,
    'Argument `fetch` = none:0 cannot be interpreted as a Tensor. ("The',
  );
});

testOnDevices("a function makes a variable of constants, and of no argument", () => {
  const kept: tf.Variable[] = [];
  const f = tf.function((x: tf.Tensor) => {
    if (kept.length === 0) kept.push(tf.variable(tf.add(tf.constant([1, 2]), 1)));
    return tf.mul(kept[0]!, x);
  });
  assertEquals([f(tf.tensor(2)), f(tf.tensor(3))].map((y) => y.arraySync()), [[4, 6], [6, 9]]);
  kept[0]!.dispose();
  const refused = tf.function((x: tf.Tensor) => tf.variable(tf.add(x, 1)));
  assertThrows(
    () => loose(refused)(tf.tensor([1])),
    tf.ValueError,
    "Cannot initialise a variable with <tf.Tensor 'AddV2:0' float32[1]>: You must feed a value for placeholder tensor",
  );
});

testOnDevices("records of a signature may name their parts in any order", () => {
  const spec = tf.TensorSpec([], "float32");
  type Parts = Record<"a" | "b" | "c", tf.Tensor>;
  const f = tf.function(
    ({ a, b, c }: Parts) => tf.sub(tf.mul(a, 10), tf.add(b, tf.mul(c, 100))),
    { inputSignature: [{ c: spec, a: spec, b: spec }] },
  );
  const [a, b, c] = [5, 1, 2].map((n) => tf.tensor(n));
  for (const parts of [{ a, b, c }, { c, b, a }, { b, c, a }] as Parts[]) {
    assertEquals(f(parts).item(), -151);
  }
});
