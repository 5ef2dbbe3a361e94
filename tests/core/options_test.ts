/** Options objects: what is no option is an error that names what was probably meant, in every function that takes options. */

import { assert, assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import { gradCheck, opCheck } from "@weft/weft/testing";
import { optionCheck } from "../../src/engine/core/arguments.ts";

// deno-lint-ignore no-explicit-any
type Any = any;

Deno.test("optionCheck() names the nearest option, and all there are", () => {
  const check = optionCheck<{ feeds?: unknown; timeoutMs?: number; signal?: unknown }>(
    "run",
    { feeds: true, timeoutMs: true, signal: true },
    "feeds go into feeds",
  ) as (options: unknown) => void;
  check(undefined);
  check({});
  check({ feeds: 1, timeoutMs: undefined });
  check(Object.assign(Object.create(null), { signal: 1 }));
  const cases: [string, string][] = [
    ["feedDict", "feeds"],
    ["feed_dict", "feeds"],
    ["timeout", "timeoutMs"],
    ["timeout_ms", "timeoutMs"],
    ["timeoutMS", "timeoutMs"],
    ["Signals", "signal"],
    ["sgl", "signal"],
  ];
  const takes = "takes feeds, timeoutMs, signal; feeds go into feeds";
  for (const [key, meant] of cases) {
    const wanted = `Unknown option "${key}" of run: did you mean "${meant}"? It ${takes}`;
    assertEquals(assertThrows(() => check({ [key]: 1 }), TypeError).message, wanted);
  }
  for (const key of ["zzz", "elapsed"]) {
    const strange = assertThrows(() => check({ [key]: 1 }), TypeError);
    assertEquals(strange.message, `Unknown option "${key}" of run: it ${takes}`);
  }
  for (const name of ["toString", "constructor", "__defineGetter__", "hasOwnProperty"]) {
    assertThrows(() => check({ [name]: 1 }), TypeError, `Unknown option "${name}"`);
  }
  const others: [unknown, string][] = [
    [null, "null"],
    [true, "true of type boolean"],
    ["x", '"x"'],
    [[1], "an array of 1"],
    [new Map(), "a value of type Map"],
    [() => 1, "function (anonymous)"],
  ];
  for (const [value, text] of others) {
    const error = assertThrows(() => check(value), TypeError);
    assertEquals(
      error.message,
      `Options of run must be an object of feeds, timeoutMs, signal: received ${text}; feeds go into feeds`,
    );
  }
});

const id = (x: Any): Any => x;
const build = <R>(fn: () => R): R => new tf.Graph().asDefault(fn);
const image = () => tf.ones([1, 2, 2, 1]), filter = () => tf.ones([1, 1, 1, 1]);

/** A call of every function that takes options, with an option that it has not; and the one that is nearest. */
const CALLS: readonly (readonly [string, string, string, (options: Any) => unknown])[] = [
  ["Session", "allowSoftplacement", "allowSoftPlacement", (o) =>
    build(() => {
      tf.constant(1);
      return new tf.Session(o);
    })],
  ["function", "input_signature", "inputSignature", (o) => tf.function(id, o)],
  ["whileLoop", "maxIterations", "maximumIterations", (o) => tf.whileLoop(id, id, [1], o)],
  ["mapFn", "names", "name", (o) => tf.mapFn(id, [1], o)],
  ["scan", "reversed", "reverse", (o) => tf.scan(id, [1], o)],
  ["foldl", "initialiser", "initializer", (o) => tf.foldl(id, [1], o)],
  ["foldr", "initial", "initializer", (o) => tf.foldr(id, [1], o)],
  ["TensorArray", "dynamic_size", "dynamicSize", (o) => new tf.TensorArray("float32", 1, o)],
  ["gradients", "grad_ys", "gradYs", (o) =>
    build(() => {
      const x = tf.constant(1);
      return tf.gradients(tf.square(x), x, o);
    })],
  ["GradientTape", "persist", "persistent", (o) => new tf.GradientTape(o)],
  ["GradientTape.gradient", "outputGradient", "outputGradients", (o) => {
    const x = tf.scalar(1);
    using tape = new tf.GradientTape();
    tape.watch(x);
    return tape.gradient(tf.square(x), x, o);
  }],
  ["GradientTape.gradient", "unconnected", "unconnectedGradients", (o) => {
    using tape = new tf.GradientTape();
    const x = tf.scalar(1);
    return tape.jacobian(x, x, o);
  }],
  [
    "importGraphDef",
    "input_map",
    "inputMap",
    (o) => build(() => tf.importGraphDef({ node: [] } as Any, o)),
  ],
  ["toGraphDef", "add_shapes", "addShapes", (o) => new tf.Graph().toGraphDef(o)],
  ["numpyFunction", "statefull", "stateful", (o) => tf.numpyFunction(id, [1], "float32", o)],
  ["pyFunction", "timeout", "timeoutMs", (o) => tf.pyFunction(id, [1], "float32", o)],
  ["pyFunc", "named", "name", (o) => tf.pyFunc(id, [1], "float32", o)],
  [
    "contrib.framework.pyFunc",
    "output_types",
    "outputTypes",
    (o) => tf.contrib.framework.pyFunc(id, o),
  ],
  ["registerScript", "tout", "Tout", (o) => tf.registerScript("options.test@1", () => 1, o)],
  ["worker", "modul", "module", (worker) => tf.numpyFunction(id, [1], "float32", { worker })],
  ["range", "dType", "dtype", (o) => tf.data.range(3, o)],
  ["map", "num_parallel_calls", "numParallelCalls", (o) => tf.data.range(3).map(id, o)],
  ["batch", "drop_remainder", "dropRemainder", (o) => tf.data.range(3).batch(2, o)],
  ["paddedBatch", "paddedShape", "paddedShapes", (o) => tf.data.range(3).paddedBatch(2, o)],
  ["shuffle", "reshuffle", "reshuffleEachIteration", (o) => tf.data.range(3).shuffle(2, o)],
  [
    "fromGenerator",
    "arg",
    "args",
    (o) => tf.data.fromGenerator(() => [1], { outputSignature: "float32", ...o }),
  ],
  ["meshgrid", "index", "indexing", (o) => tf.meshgrid([1], [2], o)],
  ["decodeImage", "channel", "channels", (o) => tf.io.decodePng(new Uint8Array(), o)],
  ["image.resize", "methods", "method", (o) => tf.image.resize(image(), [1, 1], o)],
  ["scaledDotProductAttention", "isCausal", "causal", (o) => {
    const x = tf.ones([1, 2, 1, 1]);
    return tf.scaledDotProductAttention(x, x, x, o);
  }],
  ["fused.matMul", "activaton", "activation", (o) => tf.fused.matMul({ a: [[1]], b: [[1]], ...o })],
  [
    "fused.conv2d",
    "padding",
    "pad",
    (o) => tf.fused.conv2d({ x: image(), filter: filter(), strides: 1, pad: 0, ...o }),
  ],
  [
    "fused.depthwiseConv2d",
    "stride",
    "strides",
    (o) => tf.fused.depthwiseConv2d({ x: image(), filter: filter(), strides: 1, pad: 0, ...o }),
  ],
  ["gradCheck", "tol", "tolerance", (o) => gradCheck(id, [1], o)],
];

for (const [name, key, meant, call] of CALLS) {
  Deno.test(`${name} refuses the option ${key} and names ${meant}`, () => {
    const error = assertThrows(() => tf.tidy(() => void call({ [key]: 1 })), TypeError);
    assert(error.message.startsWith(`Unknown option "${key}" of ${name}: `), error.message);
    assert(error.message.includes(`did you mean "${meant}"?`), error.message);
  });
}

Deno.test("functions that return promises refuse unknown options as well", async () => {
  const calls: [string, () => Promise<unknown>][] = [
    ["numpyFunction", () => tf.numpyFunctionAsync(id, [1], "float32", { timeout: 1 } as Any)],
    ["pyFunction", () => tf.pyFunctionAsync(id, [1], "float32", { strict: 1 } as Any)],
    ["loadVariables", () => tf.io.loadVariables("none", [], { strickt: 1 } as Any)],
    ["opCheck", () => opCheck("AddV2", [], { device: 1 } as Any)],
  ];
  for (const [name, call] of calls) {
    const error = await assertRejects(call, TypeError);
    assert(error.message.includes(` of ${name}: did you mean`), error.message);
  }
});

Deno.test("a decorator's further options are looked at when it is called", () => {
  const f = (tf.numpyFunction as Any)({ Tout: "float32", statefull: false })(id);
  assertThrows(() => f(1), TypeError, 'Unknown option "statefull" of numpyFunction');
});
