/** Gradients with respect to integers and booleans are those of TensorFlow.js, op by op. */
// Runs alone: TensorFlow.js keeps one engine, with its kernels and tensors, for all of a global scope.

import * as weft from "@weft/weft";
import {
  assert,
  assertAlmostEquals,
  assertEquals,
  assertNotEquals,
  assertThrows,
} from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { importNpm } from "../../tools/npm.ts";
import type { Any } from "../script/helpers.ts";

// The union package: the core alone registers no gradients. It comes first, since it brings the engine of both.
const tfjs = await importNpm<Any>("@tensorflow/tfjs");
const tf = await import("@weft/weft/tfjs-core");

tfjs.enableProdMode();

/** A function of one tensor, in the library given first. */
type Fn = (lib: Any, x: Any) => Any;

const named = (...names: string[]): Record<string, Fn> =>
  Object.fromEntries(names.map((name) => [name, (lib, x) => lib[name](x)]));
const withNumber = (...names: string[]): Record<string, Fn> =>
  Object.fromEntries(
    names.flatMap((name): [string, Fn][] => [
      [`${name}(x, 1.5)`, (lib, x) => lib[name](x, 1.5)],
      [`${name}(2, x)`, (lib, x) => lib[name](2, x)],
      [`${name}(x, int)`, (lib, x) => lib[name](x, lib.tensor2d([[2, 3, 1]], [1, 3], "int32"))],
      [`${name}(int, x)`, (lib, x) => lib[name](lib.tensor1d([2, 7, 1], "int32"), x)],
      [`${name}(x, x)`, (lib, x) => lib[name](x, x)],
    ]),
  );

/** Functions of a matrix of two rows and three columns, whose elements are 1 to 6, or true and false. */
const FUNCTIONS: Record<string, Fn> = {
  ...named(
    ..."abs acos acosh asin asinh atan atanh ceil clone cos cosh elu erf exp expm1 floor".split(
      " ",
    ),
    ..."isFinite isInf isNaN leakyRelu log log1p neg onesLike reciprocal relu relu6 round rsqrt"
      .split(" "),
    ..."selu sigmoid sign sin sinh softmax logSoftmax softplus sqrt square step tan tanh".split(
      " ",
    ),
    ..."zerosLike sum mean max min prod logSumExp argMax argMin all any transpose norm".split(" "),
    ..."logicalNot cumsum reverse stack".split(" "),
  ),
  ...withNumber(..."add sub mul div floorDiv maximum minimum mod pow squaredDifference".split(" ")),
  ...withNumber(..."atan2 equal greater greaterEqual less lessEqual".split(" ")),
  "sum(x, 0, true)": (lib, x) => lib.sum(x, 0, true),
  "max(x, 1)": (lib, x) => lib.max(x, 1),
  "mean(x, 1)": (lib, x) => lib.mean(x, 1),
  "moments(x)": (lib, x) => lib.moments(x).variance,
  "cast to float": (lib, x) => lib.cast(x, "float32"),
  "cast to int": (lib, x) => lib.cast(x, "int32"),
  "cast to bool": (lib, x) => lib.cast(x, "bool"),
  "cast there and back": (lib, x) => lib.cast(lib.cast(lib.mul(x, 1.5), "int32"), "float32"),
  "gather(x, [0])": (lib, x) => lib.gather(x, lib.tensor1d([0, 0], "int32")),
  "gather(x, [2, 0], 1)": (lib, x) => lib.gather(x, lib.tensor1d([2, 0], "int32"), 1),
  "gather of x": (lib, x) => lib.gather(lib.range(0, 9), lib.cast(x, "int32")),
  "oneHot": (lib, x) => lib.oneHot(lib.cast(x, "int32"), 7),
  "where(x)": (lib, x) => lib.where(lib.cast(x, "bool"), lib.ones([2, 3]), lib.zeros([2, 3])),
  "where(mask, x, 2)": (lib, x) =>
    lib.where(lib.tensor2d([[1, 0, 1], [0, 1, 0]], [2, 3], "bool"), x, 2),
  "where(mask, 1.5, x)": (lib, x) =>
    lib.where(lib.tensor2d([[1, 0, 1], [0, 1, 0]], [2, 3], "bool"), 1.5, x),
  "matMul(x, w)": (lib, x) => lib.matMul(x, lib.tensor2d([[1.5, 2], [3, -1], [2, 5]])),
  "matMul of floats": (lib, x) =>
    lib.matMul(lib.cast(x, "float32"), lib.tensor2d([[1.5, 2], [3, -1], [2, 5]])),
  "matMul(x, x')": (lib, x) => lib.matMul(x, x, false, true),
  "concat": (lib, x) => lib.concat([x, lib.mul(x, x)], 1),
  "concat with floats": (lib, x) => lib.concat([x, lib.ones([2, 3])], 0),
  "stack": (lib, x) => lib.stack([x, x, x], 1),
  "unstack": (lib, x) => lib.unstack(x, 1)[1],
  "split": (lib, x) => lib.split(x, 3, 1)[2],
  "slice": (lib, x) => lib.slice(x, [0, 1], [2, 2]),
  "pad": (lib, x) => lib.pad(x, [[1, 0], [0, 2]]),
  "tile": (lib, x) => lib.tile(x, [2, 2]),
  "reshape": (lib, x) => lib.reshape(x, [3, 2]),
  "expandDims and squeeze": (lib, x) => lib.squeeze(lib.expandDims(x, 1)),
  "broadcastTo": (lib, x) => lib.broadcastTo(x, [2, 2, 3]),
  "clipByValue": (lib, x) => lib.clipByValue(x, 2, 4),
  "prelu": (lib, x) => lib.prelu(x, lib.tensor1d([0.5, 0.25, 2])),
  "addN": (lib, x) => lib.addN([x, x]),
  "unsortedSegmentSum": (lib, x) => lib.unsortedSegmentSum(x, lib.tensor1d([1, 0], "int32"), 3),
  "cumsum(x, 1, exclusive, reverse)": (lib, x) => lib.cumsum(x, 1, true, true),
  "batchNorm": (lib, x) => lib.batchNorm2d(lib.cast(x, "float32"), [1, 2, 3], [1, 4, 9]),
  "topk": (lib, x) => lib.topk(x, 2).values,
  "losses": (lib, x) => lib.losses.meanSquaredError(lib.ones([2, 3]), x),
  "a long way": (lib, x) => lib.sum(lib.mul(lib.square(lib.sub(x, 2)), lib.sin(lib.neg(x)))),
  "without x": (lib, _x) => lib.ones([2]),
  "a function with a gradient of its own": (lib, x) =>
    lib.customGrad((x: Any, save: Any) => {
      save([x]);
      return {
        value: lib.square(x),
        gradFunc: (dy: Any, [x]: Any) => lib.mul(dy, lib.add(lib.cast(x, "float32"), 0.5)),
      };
    })(x),
};

const DTYPES = {
  int32: [1, 2, 3, 4, 5, 6],
  bool: [1, 0, 1, 1, 1, 0],
  float32: [1, 2, 3, 4, 5, 6],
};

/** Answers of ours that differ from TensorFlow.js's: names and dtypes by the reason. */
const OTHER: Readonly<Record<string, readonly string[]>> = {
  "the slope at the corner differs for floats too, as it does in TensorFlow": [
    ...["abs bool", "relu6 int32", "relu6 float32", "selu bool"],
  ],
  "equal elements share the gradient for floats too, as in TensorFlow": [
    ...["max bool", "min bool", "max(x, 1) bool"],
  ],
  "TensorFlow.js computes the gradient in whole numbers or booleans, and so wrongly": [
    ...["reciprocal bool", "logSumExp bool", "atan2(x, x) bool"],
    ...["atan2(x, int) int32", "atan2(x, int) bool", "atan2(int, x) int32", "atan2(int, x) bool"],
  ],
  "our op does not take the dtype, or refuses to divide whole numbers by zero": [
    ...["logSoftmax int32", "logSoftmax bool", "addN bool", "unsortedSegmentSum bool"],
    ...["div(int, x) bool", "div(x, x) bool", "floorDiv(int, x) bool", "floorDiv(x, x) bool"],
  ],
};
const other = new Set(Object.values(OTHER).flat());

interface Gradient {
  readonly shape: readonly number[];
  readonly values: readonly number[];
}

/** The gradient; null where there is none. */
function gradientIn(lib: Any, fn: Fn, dtype: keyof typeof DTYPES): Gradient | null {
  try {
    const g = lib.grad((x: Any) => fn(lib, x))(lib.tensor2d(DTYPES[dtype], [2, 3], dtype));
    return g.dtype === "float32" ? { shape: g.shape, values: [...g.dataSync()] } : null;
  } catch {
    return null;
  }
}

await tfjs.setBackend("cpu");
const CASES = Object.entries(FUNCTIONS).flatMap(([name, fn]) =>
  (Object.keys(DTYPES) as (keyof typeof DTYPES)[]).map((dtype) => ({
    name: `${name} ${dtype}`,
    want: gradientIn(tfjs, fn, dtype),
    give: () => gradientIn(tf, fn, dtype),
  }))
);

testOnDevices("grad() with respect to numbers of each dtype is TensorFlow.js's", (device) => {
  for (const { name, want, give } of CASES) {
    // Where TensorFlow.js throws, it mostly fails in its own gradient: ours may have an answer.
    if (want === null || other.has(name)) continue;
    if (device === "webgpu" && !name.endsWith("int32")) continue;
    const got = give();
    assert(got !== null, `${name}: no gradient`);
    assertEquals(got.shape, want.shape, name);
    got.values.forEach((v, i) => {
      const w = want.values[i];
      if (!Number.isFinite(w)) return assertEquals(v, w, name);
      assertAlmostEquals(v, w, 1e-4 * Math.max(1, Math.abs(w)), name);
    });
  }
});

Deno.test("each exception is one", async () => {
  await weft.setBackend("cpu");
  for (const { name, want, give } of CASES) {
    if (!other.has(name)) continue;
    assert(want !== null, name);
    assertNotEquals(give()?.values.map(Math.fround), want.values, name);
  }
  assertEquals([...other].filter((name) => !CASES.some((c) => c.name === name)), []);
});

testOnDevices("all functions of gradients take integers, and gradients have gradients", () => {
  const x = tf.tensor([2, 3], [2], "int32"), y = tf.tensor([3.5], [1]);
  const [dx, dy] = tf.grads((x, y) => tf.mul(x, y))([tf.tensor([2], [1], "int32"), y]);
  assertEquals([dx.arraySync(), dy.arraySync()], [[3.5], [2]]);
  const cube = (x: weft.Tensor) => tf.mul(x, tf.mul(x, x));
  assertEquals(tf.grad(tf.grad(cube))(x).arraySync(), [12, 18]);
  assertEquals(tf.grad(cube)(x, tf.tensor([1.5, 2])).arraySync(), [18, 54]);
  const { value, grad } = tf.valueAndGrad(cube)(x);
  assertEquals([value.dtype, grad.dtype, grad.arraySync()], ["int32", "float32", [12, 27]]);
  assertEquals(tf.valueAndGrads((x) => cube(x))([x]).grads[0].arraySync(), [12, 27]);
  using v = tf.variable(x, true, "whole");
  assertEquals(tf.variableGrads(() => tf.sum(cube(v))).grads.whole.arraySync(), [12, 27]);
  const b = tf.tensor([1, 0], [2], "bool");
  assertEquals(tf.grad((b) => tf.cast(b, "float32"))(b).arraySync(), [1, 1]);
});

Deno.test("Weft's own functions give integers no gradient, inside TensorFlow.js's too", () => {
  const x = tf.tensor([2, 3], [2], "int32");
  const square = (x: weft.Tensor) => tf.mul(x, x);
  assertThrows(() => weft.grad(square)(x), weft.ValueError);
  using tape = new weft.GradientTape();
  tape.watch(x);
  assertEquals(tape.gradient(square(x), x), null);
  assertThrows(() => tf.grad((x) => weft.grad(square)(x))(x), weft.ValueError);
});
