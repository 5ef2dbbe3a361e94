// More of tf.experimental.numpy, and tf.linalg under NumPy's names, beside JAX, and what they refuse.

import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import RECORDED from "./fixtures/numpy_more.json" with { type: "json" };
import { type Recorded, type Row, testTable } from "./harness.ts";

const np = tf.experimental.numpy, { matrixPower, multiDot, toeplitz } = tf.linalg;

type Rows = [string, Row | Row["body"]][];

const P = [0, 1, 1.5, 3.5, 4], H = [0.1, 0.9, 1, 2.4, 3, 3, -1];
const G = (RECORDED as unknown as Record<string, Recorded>).histogram2d.inputs[1]
  .values as number[];
const wide: readonly tf.DType[] = ["float64"];

const digits = ["up", "down", "one"].flatMap((name): Rows =>
  [false, true].map((right) => [
    `digitize ${name} ${right ? "True" : "False"}`,
    { body: (x, b) => np.digitize(x, b, right), dtypes: wide },
  ])
);
const quantiles = (["lower", "higher", "midpoint", "nearest", "linear"] as const)
  .map((method): Rows[number] => [
    `nanquantile ${method}`,
    (x) => np.nanquantile(x, [0.1, 0.45, 0.9], { axis: 1, method }),
  ]);
const order = (["nanargmax", "nanargmin", "nancumsum", "nancumprod"] as const)
  .flatMap((fn): Rows => [[fn, (x) => np[fn](x)], [`${fn} 1`, (x) => np[fn](x, 1)]]);
const triangles = [-1, 0, 2].flatMap((k): Rows => [
  [`tril ${k}`, (x) => np.tril(x, k)],
  [`triu ${k}`, (x) => np.triu(x, k)],
]);
const turns = [-1, 0, 1, 2, 3, 5].map((k): Rows[number] => [`rot90 ${k}`, (x) => np.rot90(x, k)]);
const extremes = (["fmax", "fmin"] as const).flatMap((fn): Rows =>
  ["", " slope", " whole"].map((end) => [fn + end, (a, b) => np[fn](a, b)])
);
const powers = [0, 1, 2, 3, 7, -1, -3].map((n): Rows[number] => [
  `matrixPower ${n}`,
  // Inverses of matrices of float16 lose most of their digits.
  { body: (x) => matrixPower(x, n), slopes: 1e-3, dtypes: n < 0 ? wide : ["float64", "float16"] },
]);

testTable("numpy_more", RECORDED as unknown as Record<string, Recorded>, {
  ...Object.fromEntries([...digits, ...quantiles, ...order, ...triangles, ...turns, ...extremes]),
  ...Object.fromEntries(powers),
  gradient: (x) => np.gradient(x),
  "gradient rows": (x) => np.gradient(x, { axis: 1, spacing: 0.5 }),
  "gradient all": (x) => np.gradient(x),
  "gradient spacings": (x) => np.gradient(x, { spacing: [2, 0.5] }),
  "gradient whole": (x) => np.gradient(x),
  "gradient places 1": (x) => np.gradient(x, { axis: 1, spacing: P }),
  "gradient places 2": (x) => np.gradient(x, { axis: 1, spacing: P, edgeOrder: 2 }),
  "gradient edges 2": (x) => np.gradient(x, { axis: 0, spacing: 0.5, edgeOrder: 2 }),
  ediff1d: (x) => np.ediff1d(x),
  "ediff1d ends": (x, toBegin, toEnd) => np.ediff1d(x, { toBegin, toEnd }),
  unwrap: { body: (x) => np.unwrap(x), dtypes: wide },
  "unwrap 0": { body: (x) => np.unwrap(x, { axis: 0, discont: 4.5 }), dtypes: wide },
  "unwrap period": (x) => np.unwrap(x, { period: 4 }),
  histogram: { body: (x) => np.histogram(x, { bins: 4 }), dtypes: [] },
  "histogram edges": { body: (x, bins) => np.histogram(x, { bins }), dtypes: wide },
  "histogram range": { body: (x) => np.histogram(x, { bins: 5, range: [0, 2.5] }), dtypes: wide },
  "histogram one": (x) => np.histogram(x, { bins: 3 }),
  "histogram density": { body: (x) => np.histogram(x, { bins: 4, density: true }), dtypes: wide },
  "histogram whole": (x) => np.histogram(x, { bins: 3 }),
  "histogram weights": {
    body: (weights) => np.histogram(tf.tensor(H, [7], weights.dtype), { bins: 4, weights }),
    dtypes: wide,
  },
  histogram2d: { body: (x, y) => np.histogram2d(x, y, { bins: 3 }), dtypes: wide },
  "histogram2d edges": {
    body: (x, y, e) => np.histogram2d(x, y, { bins: [e, 2], range: [[0, 1], [-1, 1]] }),
    dtypes: wide,
  },
  "histogram2d weights": {
    body: (weights) => np.histogram2d(H, G, { bins: 2, weights, density: true }),
    dtypes: [],
  },
  nanmedian: (x) => np.nanmedian(x),
  "nanmedian 1": (x) => np.nanmedian(x, 1),
  "nanmedian kept": (x) => np.nanmedian(x, 0, true),
  "nanquantile scalar": (x, q) => np.nanquantile(x, q, { axis: 0 }),
  nanpercentile: (x) => np.nanpercentile(x, [10, 77]),
  "quantile matrix": (x, q) => np.quantile(x, q, { axis: 1 }),
  "quantile matrix kept": (x, q) => np.quantile(x, q, { axis: 0, keepDims: true }),
  moveaxis: (x) => np.moveaxis(x, 0, -1),
  "moveaxis two": (x) => np.moveaxis(x, [0, -1], [1, 0]),
  swapaxes: (x) => np.swapaxes(x, 0, 2),
  "rot90 axes": (x) => np.rot90(x, 1, [2, 1]),
  takeAlongAxis: (x, i) => np.takeAlongAxis(x, i, 1),
  "takeAlongAxis 0": (x, i) => np.takeAlongAxis(x, i, 0),
  "takeAlongAxis broadcast": (x, i) => np.takeAlongAxis(x, i, 1),
  vander: { body: (x) => np.vander(x), unknown: false },
  "vander rising": (x) => np.vander(x, { n: 3, increasing: true }),
  "vander whole": (x) => np.vander(x, { n: 4 }),
  log2: (x) => np.log2(x),
  log10: (x) => np.log10(x),
  exp2: (x) => np.exp2(x),
  hypot: (a, b) => np.hypot(a, b),
  "hypot ends": { body: (a, b) => np.hypot(a, b), dtypes: wide },
  heaviside: (x, half) => np.heaviside(x, half),
  sinc: (x) => np.sinc(x),
  deg2rad: (x) => np.deg2rad(x),
  rad2deg: (x) => np.rad2deg(x),
  isin: (x, test) => np.isin(x, test),
  "isin not": (x, test) => np.isin(x, test, true),
  average: (x) => np.average(x),
  "average weights": (x, weights) => np.average(x, { axis: 1, weights }),
  "average all": (x, weights) => np.average(x, { weights }),
  "average kept": (x, weights) => np.average(x, { axis: 0, weights, keepDims: true }),
  ptp: (x) => np.ptp(x),
  "ptp 1": (x) => np.ptp(x, 1),
  "matrixPower whole": (x) => matrixPower(x, 5),
  multiDot: (...all) => multiDot(all),
  "multiDot vectors": (...all) => multiDot(all),
  "multiDot row": (...all) => multiDot(all),
  toeplitz: (c) => toeplitz(c),
  "toeplitz row": (c, r) => toeplitz(c, r),
  "toeplitz complex": (c) => toeplitz(c),
  "toeplitz whole": (c, r) => toeplitz(c, r),
}, "JAX");

testOnDevices("numpy's further functions of nothing, of texts and of flags", async () => {
  using _s = tf.scope();
  const none = tf.zeros([0]), words = tf.tensor([["a", "b"], ["c", "d"]]);
  assertEquals(await np.nanmedian(none).array() as unknown, NaN);
  assertEquals(await np.histogram(none, { bins: 2 })[0].array(), [0, 0]);
  assertEquals(np.ediff1d(none).shape, [0]);
  assertEquals([np.unwrap(none).shape, np.vander([1, 2], { n: 0 }).shape], [[0], [2, 0]]);
  assertEquals(await np.digitize([1, 2], none).array(), [0, 0]);
  assertEquals(await np.isin([1, 2], none).array(), [false, false]);
  assertEquals(await np.isin(words, tf.tensor(["c"])).array() as unknown, [[false, false], [
    true,
    false,
  ]]);
  assertEquals(await np.rot90(words).array() as unknown, [["b", "d"], ["a", "c"]]);
  assertEquals(await np.triu(words).array() as unknown, [["a", "b"], ["", "d"]]);
  assertEquals(await np.takeAlongAxis(words, [[1], [0]], 1).array() as unknown, [["b"], ["c"]]);
  const flags = tf.tensor([[true, true], [true, true]]);
  assertEquals(await np.tril(flags).array(), [[true, false], [true, true]]);
  // Second slopes of sinc at 0 are those of its series.
  const bent = tf.grad(tf.grad((x: tf.Tensor) => np.sinc(x)))(tf.scalar(0));
  assertEquals(
    Math.round(1e4 * (await bent.data())[0] as number),
    Math.round(-1e4 * Math.PI ** 2 / 3),
  );
  const [, slope] = tf.jvp((x: tf.Tensor) => np.gradient(x, { axis: 0 }), [tf.tensor([1, 2, 4])], [
    tf.tensor([1, 0, 0]),
  ]);
  assertEquals(await (slope as tf.Tensor).array(), [-1, -0.5, 0]);
});

Deno.test("numpy's further functions refuse what does not fit, by name", () => {
  // deno-lint-ignore no-explicit-any
  const n = np as any, v = tf.tensor([1, 2, 3]), m = tf.tensor([[1, 2], [3, 4]]);
  const text = tf.tensor(["a"]);
  const refusals: [() => unknown, new (...args: never[]) => Error, string][] = [
    [() => np.gradient([1]), tf.ValueError, "wanted 2 elements or more"],
    [() => np.gradient([1, 2], { edgeOrder: 2 }), tf.ValueError, "wanted 3 elements or more"],
    [() => n.gradient(v, { edgeOrder: 3 }), tf.ValueError, "edgeOrder 3"],
    [() => np.gradient(v, { spacing: [1, 2] }), tf.ValueError, "spacing of shape [2]"],
    [() => np.gradient(m, { spacing: [1, 2, 3] }), tf.ValueError, "2 axes with 3 spacings"],
    [() => n.gradient(v, { axes: 0 }), TypeError, 'did you mean "axis"'],
    [() => np.gradient(text), TypeError, "string as f of gradient"],
    [() => n.ediff1d(v, { begin: 1 }), TypeError, "begin"],
    [() => np.unwrap(v, { axis: 1 }), tf.ValueError, "axis 1"],
    [() => n.unwrap(v, { period: "a" }), TypeError, "'period'"],
    [() => np.histogram(v, { bins: 0 }), tf.ValueError, "wanted a whole number above 0"],
    [() => np.histogram(v, { range: [2, 1] }), tf.ValueError, "wanted it to rise"],
    [() => np.histogram(v, { bins: m }), tf.ValueError, "bins of shape [2,2]"],
    [() => np.histogram(text), TypeError, "string as x of histogram"],
    [() => np.histogram2d(v, v, { bins: [1.5, 2] }), tf.ValueError, "bins 1.5"],
    [() => np.digitize(v, m), tf.ValueError, "bins of shape [2,2]: wanted a vector"],
    [() => n.nanquantile(v, 0.5, { method: "a" }), tf.ValueError, "wanted linear"],
    [() => n.nanpercentile(v, 5, { axes: 0 }), TypeError, 'did you mean "axis"'],
    [() => np.nanmedian(v, 1), tf.ValueError, "axis 1"],
    [() => np.nanargmax(v, 1), tf.ValueError, "axis 1"],
    [() => np.moveaxis(m, [0, 1], [0]), tf.ValueError, "wanted as many axes, each once"],
    [() => np.moveaxis(m, [0, 0], [0, 1]), tf.ValueError, "wanted as many axes, each once"],
    [() => np.swapaxes(m, 0, 2), tf.ValueError, "axis 2"],
    [() => n.rot90(m, 1, 0), TypeError, "'axes' passed to 'rot90'"],
    [() => np.rot90(m, 0.5), tf.ValueError, "wanted a whole number and two axes"],
    [() => np.rot90(m, 1, [1, -1]), tf.ValueError, "wanted a whole number and two axes"],
    [() => np.takeAlongAxis(v, [0.5]), TypeError, "0.5"],
    [() => np.takeAlongAxis(v, tf.tensor([1]), 0), TypeError, "indices of dtype float32"],
    [() => np.takeAlongAxis(v, [[1]], 0), tf.ValueError, "wanted one rank"],
    [() => np.tril(v), tf.ValueError, "x of shape [3]"],
    [() => np.triu(m, 0.5), tf.ValueError, "wanted matrices and a whole number"],
    [() => np.vander(m), tf.ValueError, "wanted a vector"],
    [() => np.vander(v, { n: -1 }), tf.ValueError, "n -1"],
    [() => np.log2(text), TypeError, "log2"],
    [() => np.hypot([1, 2], [1, 2, 3]), tf.ValueError, "[2]"],
    [() => np.average(m, { weights: [1, 2] }), tf.ValueError, "weights of shape [2]"],
    [() => n.average(v, { weight: [1, 2, 3] }), TypeError, 'did you mean "weights"'],
    [() => matrixPower(v, 2), tf.ValueError, "wanted square matrices"],
    [() => matrixPower([[1, 2, 3]], 2), tf.ValueError, "shape [1,3]"],
    [() => matrixPower(m, 0.5), tf.ValueError, "n 0.5"],
    [() => multiDot([m]), tf.ValueError, "wanted two matrices or more"],
    [() => multiDot([m, v, m]), tf.ValueError, "vectors only at both ends"],
    [() => multiDot([m, [[1, 2, 3]]]), tf.ValueError, "inner dimensions must be equal"],
    [() => toeplitz(1), tf.ValueError, "a column of shape []"],
    [() => toeplitz(v, m), tf.ValueError, "a row of shape [2,2]"],
  ];
  for (const [run, kind, words] of refusals) assertThrows(run, kind, words);
});
