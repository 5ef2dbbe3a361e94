/** Pointwise ops: values over shapes and dtypes, dtype rules, errors, gradients of first and second order. */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertThrows } from "@std/assert";
import { erf } from "../../src/engine/core/scalar/math.ts";
import { testOnDevices } from "../devices.ts";

type Binary = (a: tf.TensorLike, b: tf.TensorLike) => tf.Tensor;
type Unary = (x: tf.Tensor) => tf.Tensor;

function numbers(t: tf.Tensor): number[] {
  return Array.from(t.dataSync() as ArrayLike<number>);
}

function assertClose(
  got: readonly number[],
  want: readonly number[],
  what: string,
  tolerance = 2e-6,
): void {
  assertEquals(got.length, want.length, what);
  got.forEach((g, i) => {
    const w = want[i];
    const close = Object.is(g, w) || Math.abs(g - w) <= tolerance * Math.max(1, Math.abs(w)) ||
      g === w;
    assert(close, `${what}: element ${i} is ${g}, wanted ${w}`);
  });
}

/** Element `i` of a broadcast: the flat index in `from` of flat index `i` in `to`. */
function sourceIndex(i: number, to: readonly number[], from: readonly number[]): number {
  let flat = 0, step = 1;
  for (let d = to.length - 1; d >= 0; d--) {
    const at = i % to[d];
    i = Math.floor(i / to[d]);
    const axis = d - (to.length - from.length);
    if (axis < 0) continue;
    if (from[axis] !== 1) flat += at * step;
    step *= from[axis];
  }
  return flat;
}

const BROADCASTS: readonly (readonly [readonly number[], readonly number[], readonly number[]])[] =
  [
    [[], [], []],
    [[1], [], [1]],
    [[7], [7], [7]],
    [[8], [8], [8]],
    [[12], [], [12]],
    [[], [5], [5]],
    [[0], [1], [0]],
    [[0, 3], [3], [0, 3]],
    [[4, 8], [8], [4, 8]],
    [[4, 8], [4, 1], [4, 8]],
    [[5, 3], [1, 3], [5, 3]],
    [[3, 1], [1, 5], [3, 5]],
    [[2, 3, 8], [3, 1], [2, 3, 8]],
    [[2, 1, 4, 1], [3, 1, 4], [2, 3, 4, 4]],
    [[2, 1, 2, 1, 2, 1], [1, 3, 1, 3, 1, 3], [2, 3, 2, 3, 2, 3]],
    [[1031], [1031], [1031]],
  ];

testOnDevices("binary ops broadcast over ranks, sizes and alignments", () => {
  const size = (s: readonly number[]): number => s.reduce((a, b) => a * b, 1);
  for (const [left, right, shape] of BROADCASTS) {
    const a = Float32Array.from({ length: size(left) }, (_, i) => (i % 11) - 5);
    const b = Float32Array.from({ length: size(right) }, (_, i) => (i % 7) - 3.5);
    const got = tf.sub(tf.tensor(a, left), tf.tensor(b, right));
    assertEquals(got.shape, shape);
    const want = Array.from(
      { length: size(shape) },
      (_, i) => a[sourceIndex(i, shape, left)] - b[sourceIndex(i, shape, right)],
    );
    assertEquals(numbers(got), want, `[${left}] - [${right}]`);
    const chosen = tf.where(
      tf.less(tf.tensor(a, left), tf.tensor(b, right)),
      tf.tensor(a, left),
      9,
    );
    assertEquals(
      numbers(chosen),
      want.map((d, i) => (d < 0 ? a[sourceIndex(i, shape, left)] : 9)),
      `where over [${left}] and [${right}]`,
    );
  }
  assertThrows(
    () => tf.add(tf.tensor([1, 2]), tf.tensor([1, 2, 3])),
    Error,
    "Incompatible shapes: [2] vs. [3]",
  );
});

testOnDevices("unary ops compute every element of every size", () => {
  for (const n of [0, 1, 3, 4, 5, 255, 256, 1023, 70_000]) {
    const x = Float32Array.from({ length: n }, (_, i) => i / 7 - 3);
    assertEquals(numbers(tf.floor(tf.tensor(x))), Array.from(x, Math.floor), `${n} elements`);
  }
});

Deno.test("binary ops bring dtypes to the wider one, numbers adopt the other's", async () => {
  await tf.setBackend("cpu");
  const int = tf.tensor([1, 2], undefined, "int32"), float = tf.tensor([0.5, 2]);
  const bool = tf.tensor([true, false]), double = tf.tensor([1, 2], undefined, "float64");
  const complex = tf.complex([1, 2], [0, 1]);
  for (
    const [a, b, dtype] of [
      [int, float, "float32"],
      [int, bool, "int32"],
      [bool, bool, "int32"],
      [bool, float, "float32"],
      [float, double, "float64"],
      [float, complex, "complex64"],
      [int, 3, "int32"],
      [int, 0.5, "float32"],
      [double, 0.5, "float64"],
      [1, 2, "float32"],
    ] as const
  ) {
    assertEquals(tf.add(a, b).dtype, dtype);
    assertEquals(tf.mul(b, a).dtype, dtype);
  }
  assertEquals(tf.div(int, 2).dtype, "int32");
  assertEquals(tf.div(int, float).dtype, "float32");
  assertEquals(tf.divNoNan(int, 0).dtype, "float32");
  assertEquals(tf.equal(int, float).dtype, "bool");
  assertEquals(tf.exp(int).dtype, "float32");
  assertEquals(tf.exp(double).dtype, "float64");
  assertEquals(tf.abs(complex).dtype, "float32");
  for (const keeps of [tf.abs, tf.neg, tf.square, tf.relu, tf.relu6, tf.step, tf.sign, tf.round]) {
    assertEquals(keeps(int).dtype, "int32", keeps.name);
  }
  assertEquals(tf.clipByValue(int, 0, 1.5).dtype, "int32");
});

Deno.test("pointwise ops refuse what they are not defined for", async () => {
  await tf.setBackend("cpu");
  const int = tf.tensor([1], undefined, "int32"), text = tf.tensor(["a"]);
  for (
    const f of [
      tf.sqrt,
      tf.rsqrt,
      tf.log,
      tf.sin,
      tf.cos,
      tf.tan,
      tf.cosh,
      tf.tanh,
      tf.sigmoid,
      tf.elu,
      tf.floor,
      tf.ceil,
    ]
  ) {
    assertThrows(
      () => f(int),
      TypeError,
      `Argument 'x' passed to '${f.name}' must be float32 tensor, but got int32 tensor`,
    );
  }
  assertThrows(() => tf.exp(text), TypeError, "string");
  assertThrows(() => tf.mul(text, text), TypeError, "string");
  assertThrows(
    () => tf.logicalAnd(int, true),
    TypeError,
    "Argument 'a' passed to 'logicalAnd' must be bool tensor, but got int32 tensor",
  );
  assertThrows(() => tf.where(int, 1, 2), TypeError, "Argument 'condition' passed to 'where'");
  assertThrows(() => tf.bitwiseAnd(tf.tensor([0.5]), 1), TypeError, "must be integers");
  assertThrows(
    () => tf.clipByValue([1], 2, 1),
    tf.ValueError,
    "Error in clip: min (2) must be less than or equal to max (1)",
  );
  assertThrows(() => tf.clipByValue("q", 0, 1), TypeError, "must be numeric");
  assertThrows(
    () => tf.addN([]),
    tf.ValueError,
    "Must pass at least one tensor to tf.addN(), but got 0",
  );
  assertThrows(() => tf.addN([[1], [1, 2]]), tf.ValueError, "must have the same shape");
  assertThrows(() => tf.addN([int, [1.5]]), tf.ValueError, "must have the same dtype");
  assertThrows(() => tf.complex([1, 2], [1]), tf.ValueError, "real and imag shapes must match");
  assertThrows(
    () => tf.add({} as tf.Tensor, 1),
    TypeError,
    "Argument 'a' passed to 'add' must be a Tensor",
  );
});

testOnDevices("logic, bits and comparisons", () => {
  const t = [true, true, false, false], u = [true, false, true, false];
  assertEquals(tf.logicalAnd(t, u).arraySync(), [true, false, false, false]);
  assertEquals(tf.logicalOr(t, u).arraySync(), [true, true, true, false]);
  assertEquals(tf.logicalXor(t, u).arraySync(), [false, true, true, false]);
  assertEquals(tf.logicalNot(t).arraySync(), [false, false, true, true]);
  assertEquals(tf.equal(t, u).arraySync(), [true, false, false, true]);
  assertEquals(tf.bitwiseInvert([0, -1, 5]).arraySync(), [-1, 0, -6]);
  assertEquals(tf.leftShift([1, 1], [31, 33]).arraySync(), [-2147483648, 2]);
  assertEquals(tf.rightShift([-8, 8], 1).arraySync(), [-4, 4]);
  assertEquals(
    tf.rightShift(tf.tensor([2 ** 31], undefined, "uint32"), tf.tensor([31], undefined, "uint32"))
      .arraySync(),
    [1],
  );
  assertEquals(tf.greater(t, u).arraySync(), [false, true, false, false]);
  assertEquals(tf.equal(["a", "b", ""], "b").arraySync(), [false, true, false]);
  assertEquals(tf.less(["a", "b", ""], "b").arraySync(), [true, false, true]);
});

testOnDevices("addN() adds as many tensors as there are", () => {
  const xs = Array.from({ length: 40 }, (_, i) => tf.tensor([i, 2 * i, 1]));
  assertEquals(tf.addN(xs).arraySync(), [780, 1560, 40]);
  for (const n of [7, 14, 49]) {
    assertEquals(tf.addN(Array.from({ length: n }, () => tf.scalar(2))).item(), 2 * n);
  }
  assertEquals(tf.addN([tf.tensor([1, 2], undefined, "int32")]).arraySync(), [1, 2]);
});

Deno.test("complex tensors compute on the CPU", async () => {
  await tf.setBackend("cpu");
  const z = tf.complex([1, 0, -2], [2, -1, 0]), w = tf.complex([0, 1, 3], [1, 1, -1]);
  assertEquals(tf.add(z, w).arraySync(), [[1, 3], [1, 0], [1, -1]]);
  assertEquals(tf.mul(z, w).arraySync(), [[-2, 1], [1, -1], [-6, 2]]);
  assertClose(numbers(tf.mul(tf.div(z, w), w)), numbers(z), "div");
  assertClose(numbers(tf.square(tf.sqrt(z))), numbers(z), "sqrt");
  assertClose(numbers(tf.abs(z)), [Math.sqrt(5), 1, 2], "abs");
  assertEquals(tf.squaredDifference(z, w).arraySync(), [[2, 0], [5, 0], [26, 0]]);
  assertEquals([tf.real(z).dtype, tf.imag(z).dtype], ["float32", "float32"]);
  assertEquals(tf.conj(z).arraySync(), [[1, -2], [0, 1], [-2, -0]]);
  assertEquals(tf.equal(z, tf.complex([1, 0, 2], [2, 1, 0])).arraySync(), [true, false, false]);
  assertEquals(
    tf.complex(tf.tensor([1], undefined, "float64"), tf.tensor([1], undefined, "float64")).dtype,
    "complex128",
  );
  // The gradient of |z|² is 2z; of Re(z²), twice the conjugate.
  const squared = tf.grad((x) => tf.square(tf.abs(x)))(z) as tf.Tensor;
  assertClose(numbers(squared), [2, 4, 0, -2, -4, 0], "gradient of |z|²", 1e-5);
  const part = tf.grad((x) => tf.real(tf.square(x)))(z) as tf.Tensor;
  assertClose(numbers(part), [2, -4, 0, 2, -4, 0], "gradient of Re z²", 1e-5);
});

/** Smooth functions of one tensor, their values in float64, and points where they are smooth. */
const SMOOTH: readonly [string, Unary, (x: number) => number, readonly number[]][] = [
  ["abs", tf.abs, Math.abs, [-2, 0.5, 3]],
  ["neg", tf.neg, (x) => -x, [-2, 0.5]],
  ["square", tf.square, (x) => x * x, [-2, 0, 0.5]],
  ["sqrt", tf.sqrt, Math.sqrt, [0.3, 2, 9]],
  ["rsqrt", tf.rsqrt, (x) => 1 / Math.sqrt(x), [0.3, 2, 9]],
  ["reciprocal", tf.reciprocal, (x) => 1 / x, [-0.5, 2]],
  ["exp", tf.exp, Math.exp, [-1, 0, 2]],
  ["expm1", tf.expm1, Math.expm1, [-1, 0, 2]],
  ["log", tf.log, Math.log, [0.2, 1, 3]],
  ["log1p", tf.log1p, Math.log1p, [-0.5, 0, 3]],
  ["sin", tf.sin, Math.sin, [-2, 0, 1]],
  ["cos", tf.cos, Math.cos, [-2, 0, 1]],
  ["tan", tf.tan, Math.tan, [-1, 0, 0.7]],
  ["asin", tf.asin, Math.asin, [-0.6, 0, 0.4]],
  ["acos", tf.acos, Math.acos, [-0.6, 0, 0.4]],
  ["atan", tf.atan, Math.atan, [-3, 0, 0.4]],
  ["sinh", tf.sinh, Math.sinh, [-2, 0, 1]],
  ["cosh", tf.cosh, Math.cosh, [-2, 0, 1]],
  ["tanh", tf.tanh, Math.tanh, [-2, 0, 1]],
  ["asinh", tf.asinh, Math.asinh, [-2, 0, 1]],
  ["acosh", tf.acosh, Math.acosh, [1.3, 2, 5]],
  ["atanh", tf.atanh, Math.atanh, [-0.6, 0, 0.4]],
  ["erf", tf.erf, erf, [-1.5, 0, 0.7]],
  ["sigmoid", tf.sigmoid, (x) => 1 / (1 + Math.exp(-x)), [-3, 0, 2]],
  ["logSigmoid", tf.logSigmoid, (x) => -Math.log1p(Math.exp(-x)), [-3, 0, 2]],
  ["softplus", tf.softplus, (x) => Math.log1p(Math.exp(x)), [-3, 0, 2]],
  ["softsign", tf.softsign, (x) => x / (1 + Math.abs(x)), [-3, 0.5, 2]],
  ["relu", tf.relu, (x) => Math.max(x, 0), [-1, 2]],
  ["relu6", tf.relu6, (x) => Math.min(Math.max(x, 0), 6), [-1, 2, 7]],
  ["leakyRelu", (x) => tf.leakyRelu(x, 0.3), (x) => (x > 0 ? x : 0.3 * x), [-1, 2]],
  ["elu", tf.elu, (x) => (x > 0 ? x : Math.expm1(x)), [-1, 2]],
  [
    "selu",
    tf.selu,
    (x) => 1.0507009873554805 * (x > 0 ? x : 1.6732632423543772 * Math.expm1(x)),
    [-1, 2],
  ],
  ["gelu", (x) => tf.gelu(x), (x) => 0.5 * x * (1 + erf(x * Math.SQRT1_2)), [-2, 0, 1.5]],
  [
    "gelu, approximate",
    (x) => tf.gelu(x, true),
    (x) => 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3))),
    [-2, 0, 1.5],
  ],
  ["floor", tf.floor, Math.floor, [-1.5, 0.3]],
  ["round", tf.round, Math.round, [-1.2, 0.3]],
  ["sign", tf.sign, Math.sign, [-1.2, 0.3]],
  ["step", (x) => tf.step(x, 0.5), (x) => (x > 0 ? 1 : 0.5), [-1, 2]],
  ["clipByValue", (x) => tf.clipByValue(x, -1, 2), (x) => Math.min(Math.max(x, -1), 2), [-3, 0, 5]],
  ["x ** 3", (x) => tf.pow(x, 3), (x) => x ** 3, [-2, 0.5, 2]],
  ["x ** 1.5", (x) => tf.pow(x, 1.5), (x) => x ** 1.5, [0.5, 2]],
  ["2 ** x", (x) => tf.pow(2, x), (x) => 2 ** x, [-1, 2]],
  ["prelu", (x) => tf.prelu(x, 0.25), (x) => (x < 0 ? 0.25 * x : x), [-2, 3]],
];

testOnDevices("unary ops have gradients of first and second order", (device) => {
  const dtype = device === "cpu" ? "float64" : "float32";
  const h = 1e-4;
  for (const [name, f, want, at] of SMOOTH) {
    const x = tf.tensor([...at], undefined, dtype);
    const tolerance = device === "cpu" ? 1e-6 : 4e-6;
    assertClose(numbers(f(x)), at.map(want), name, tolerance);
    const first = (v: number): number => (want(v + h) - want(v - h)) / (2 * h);
    const second = (v: number): number => (want(v + h) - 2 * want(v) + want(v - h)) / (h * h);
    const df = tf.grad(f);
    assertClose(numbers(df(x)), at.map(first), `gradient of ${name}`, 2e-5);
    // A gradient that does not depend on x at all has no gradient of its own.
    if (["abs", "neg", "floor", "round", "sign", "step"].includes(name)) continue;
    const ddf = tf.grad((v) => tf.mul(df(v), 1));
    let got: number[];
    try {
      got = numbers(ddf(x));
    } catch (error) {
      assert(
        error instanceof tf.ValueError && at.every((v) => Math.abs(second(v)) < 1e-5),
        `${name}: ${error}`,
      );
      continue;
    }
    assertClose(got, at.map(second), `second gradient of ${name}`, 1e-5 + 2e-7 / h);
  }
});

const SMOOTH_BINARY: readonly [
  string,
  Binary,
  (a: number, b: number) => number,
  readonly (readonly [number, number])[],
][] = [
  ["add", tf.add, (a, b) => a + b, [[1, 2], [-1, 3]]],
  ["sub", tf.sub, (a, b) => a - b, [[1, 2], [-1, 3]]],
  ["mul", tf.mul, (a, b) => a * b, [[1, 2], [-1, 3]]],
  ["div", tf.div, (a, b) => a / b, [[1, 2], [-1, -3]]],
  ["divNoNan", tf.divNoNan, (a, b) => (b === 0 ? 0 : a / b), [[1, 2], [-1, -3]]],
  ["mod", tf.mod, (a, b) => a - b * Math.floor(a / b), [[7.3, 2], [-7.3, 2]]],
  ["pow", tf.pow, (a, b) => a ** b, [[2, 3], [0.5, -1.5]]],
  ["maximum", tf.maximum, Math.max, [[1, 2], [3, -1]]],
  ["minimum", tf.minimum, Math.min, [[1, 2], [3, -1]]],
  ["squaredDifference", tf.squaredDifference, (a, b) => (a - b) ** 2, [[1, 2], [3, -1]]],
  ["atan2", tf.atan2, Math.atan2, [[1, 2], [-3, -1]]],
  ["prelu", tf.prelu, (a, b) => (a < 0 ? a * b : a), [[-2, 0.3], [2, 0.3]]],
  ["xlogy", tf.xlogy, (a, b) => (a === 0 ? 0 : a * Math.log(b)), [[2, 3], [-1, 0.5]]],
  ["xdivy", tf.xdivy, (a, b) => (a === 0 ? 0 : a / b), [[2, 3], [-1, 0.5]]],
  ["where", (a, b) => tf.where([true, false], a, b), (a, b) => (a < b ? a : b), [[1, 2], [3, 2]]],
];

testOnDevices("binary ops have gradients of first and second order", (device) => {
  const dtype = device === "cpu" ? "float64" : "float32";
  const h = 1e-4;
  for (const [name, f, want, at] of SMOOTH_BINARY) {
    const a = tf.tensor(at.map((p) => p[0]), undefined, dtype);
    const b = tf.tensor(at.map((p) => p[1]), undefined, dtype);
    assertClose(numbers(f(a, b)), at.map(([p, q]) => want(p, q)), name, 4e-6);
    const [da, db] = tf.grads((p, q) => f(p, q))([a, b]);
    assertClose(
      numbers(da),
      at.map(([p, q]) => (want(p + h, q) - want(p - h, q)) / (2 * h)),
      `gradient of ${name} by a`,
      2e-5,
    );
    assertClose(
      numbers(db),
      at.map(([p, q]) => (want(p, q + h) - want(p, q - h)) / (2 * h)),
      `gradient of ${name} by b`,
      2e-5,
    );
    if (["add", "sub", "maximum", "minimum", "where", "mod"].includes(name)) continue;
    // d/db of the gradient by a.
    const mixed = tf.grad((q) => tf.grad((p: tf.Tensor) => f(p, q))(a))(b);
    const cross = at.map(([p, q]) =>
      (want(p + h, q + h) - want(p + h, q - h) - want(p - h, q + h) + want(p - h, q - h)) /
      (4 * h * h)
    );
    assertClose(numbers(mixed), cross, `mixed gradient of ${name}`, 1e-4);
  }
});

testOnDevices("gradients of broadcast operands are summed to their shapes", () => {
  const a = tf.tensor([[1, 2, 3], [4, 5, 6]]),
    b = tf.tensor([10, 20, 30]),
    c = tf.tensor([[2], [3]]);
  const [da, db, dc] = tf.grads((x, y, z) => tf.mul(tf.mul(x, y), z))([a, b, c]);
  assertEquals(da.arraySync(), [[20, 40, 60], [30, 60, 90]]);
  assertEquals(db.arraySync(), [14, 19, 24]);
  assertEquals(dc.arraySync(), [[140], [320]]);
  const [ds] = tf.grads((x) => tf.where([[true], [false]], x, b))([tf.scalar(5)]);
  assertEquals(ds.item(), 3);
});

testOnDevices("gradients stay finite where a power or a quotient is not", () => {
  const x = tf.tensor([0, 2, -3]);
  assertEquals(numbers(tf.grad((v) => tf.pow(v, 0))(x)), [0, 0, 0]);
  assertEquals(numbers(tf.grad((v) => tf.pow(v, tf.tensor([0, 0, 0])))(x)), [0, 0, 0]);
  assertEquals(numbers(tf.grad((v) => tf.pow(v, 1))(x)), [1, 1, 1]);
  assertEquals(numbers(tf.grad((e) => tf.pow(x, e))(tf.tensor([2, 2, 2])))[0], 0);
  assertEquals(numbers(tf.grad((e) => tf.pow(x, e))(tf.tensor([2, 2, 2])))[2], 0);
  assertEquals(numbers(tf.grad((v) => tf.divNoNan(v, [0, 1, 2]))(x)), [0, 1, 0.5]);
  assertEquals(numbers(tf.grad((v) => tf.xlogy([0, 0, 0], v))(x)), [0, 0, 0]);
});

Deno.test("methods of tensors do what the functions do", async () => {
  await tf.setBackend("cpu");
  const x = tf.tensor([1, -2, 4]);
  assertEquals(x.add(1).mul(2).arraySync(), [4, -2, 10]);
  assertEquals(x.abs().sqrt().square().round().arraySync(), [1, 2, 4]);
  assertEquals(x.where([true, false, true], [7, 8, 9]).arraySync(), [1, 8, 4]);
  assertEquals(x.toInt().dtype, "int32");
  assertEquals(x.toBool().arraySync(), [true, true, true]);
  assertEquals(x.as2D(3, 1).shape, [3, 1]);
  assertEquals(x.reshapeAs(tf.tensor([[1, 2, 3]])).shape, [1, 3]);
  assertEquals(x.concat([[9], [10]]).arraySync(), [1, -2, 4, 9, 10]);
  assertEquals(x.concat(tf.tensor([9])).arraySync(), [1, -2, 4, 9]);
  assertEquals(tf.scalar(3).asScalar().shape, []);
  assertThrows(() => x.asScalar(), tf.ValueError, "with 3 elements to shape []");
});
