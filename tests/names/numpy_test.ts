// tf.experimental.numpy beside JAX, and what it refuses.

import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { plain } from "../composites/values.ts";
import { testOnDevices } from "../devices.ts";
import RECORDED from "./fixtures/numpy.json" with { type: "json" };
import { type Recorded, type Row, testTable } from "./harness.ts";

const np = tf.experimental.numpy;

type Rows = [string, Row | Row["body"]][];

const nan = (["nansum", "nanprod", "nanmean", "nanmax", "nanmin", "nanvar", "nanstd"] as const)
  .flatMap((fn): Rows => [
    [fn, (x) => np[fn](x)],
    [`${fn} 1`, (x) => np[fn](x, 1)],
    [`${fn} none`, (x) => np[fn](x, 1, true)],
    ...(fn === "nanprod" ? [] : [[`${fn} whole`, (x: tf.Tensor) => np[fn](x, 0)] as Rows[number]]),
  ]);
const quantiles: Rows = [
  ...[0, 0.3, 0.5, 1].map((q): Rows[number] => [`quantile ${q}`, (x) => np.quantile(x, q)]),
  ...(["lower", "higher", "midpoint", "nearest", "linear"] as const).map((method): Rows[number] => [
    `quantile ${method}`,
    (x) => np.quantile(x, [0.1, 0.45, 0.9], { axis: 1, method }),
  ]),
];
// Sliding windows want lengths that are known.
const slides = (["full", "same", "valid"] as const).flatMap((mode) =>
  [[5, 3], [3, 5], [5, 4], [4, 5], [3, 3], [1, 4]].flatMap(([n, m]): Rows => [
    [`convolve ${mode} ${n} ${m}`, { body: (a, v) => np.convolve(a, v, mode), unknown: false }],
    [`correlate ${mode} ${n} ${m}`, { body: (a, v) => np.correlate(a, v, mode), unknown: false }],
  ])
);
const wide: readonly tf.DType[] = ["float64"];

testTable("numpy", RECORDED as unknown as Record<string, Recorded>, {
  ...Object.fromEntries([...nan, ...quantiles, ...slides]),
  // The greatest numbers of other dtypes are others.
  nanToNum: { body: (x) => np.nanToNum(x), dtypes: [] },
  "nanToNum given": (x) => np.nanToNum(x, { nan: 7, posinf: 8, neginf: -9 }),
  "nanToNum slope": (x) => np.nanToNum(x, { nan: 7 }),
  isclose: { body: (a, b) => np.isclose(a, b), dtypes: wide },
  "isclose NaN": (a, b) => np.isclose(a, b, { rtol: 0.2, equalNan: true }),
  "isclose complex": (a, b) => np.isclose(a, b),
  "isclose whole": (a, b) => np.isclose(a, b, { atol: 1 }),
  allclose: (a, b) => np.allclose(a, b, { rtol: 0.2, equalNan: true }),
  logaddexp: (a, b) => np.logaddexp(a, b),
  "logaddexp ends": (a, b) => np.logaddexp(a, b),
  "quantile 0 kept": (x, q) => np.quantile(x, q, { axis: 0, keepDims: true }),
  "quantile all kept": (x) => np.quantile(x, 0.6, { keepDims: true }),
  "quantile NaN": (x) => np.quantile(x, [0.1, 0.5], { axis: 1 }),
  percentile: (x) => np.percentile(x, [10, 50, 77], { axis: 1 }),
  median: (x) => np.median(x),
  "median 0": (x) => np.median(x, 0),
  "median kept": (x) => np.median(x, -1, true),
  "median whole": (x) => np.median(x),
  cov: (x) => np.cov(x),
  "cov columns": (x) => np.cov(x, { rowvar: false, ddof: 0 }),
  "cov one": (x) => np.cov(x),
  corrcoef: (x) => np.corrcoef(x),
  "corrcoef columns": (x) => np.corrcoef(x, false),
  diff: (x) => np.diff(x),
  "diff 2 0": (x) => np.diff(x, 2, 0),
  "diff 0": (x) => np.diff(x, 0),
  "diff all": (x) => np.diff(x, 2, 0),
  "diff booleans": (x) => np.diff(x),
  "diff whole": (x) => np.diff(x),
  trapezoid: (y) => np.trapezoid(y),
  "trapezoid dx": (y) => np.trapezoid(y, { dx: 0.5, axis: 0 }),
  "trapezoid x": (y, x) => np.trapezoid(y, { x }),
  "trapezoid x 0": (y, x) => np.trapezoid(y, { x, axis: 0 }),
  interp: (x, xp, fp) => np.interp(x, xp, fp),
  "interp points": (x, xp, fp) => np.interp(x, xp, fp),
  "interp ends": (x, xp, fp) => np.interp(x, xp, fp, { left: -7, right: 9 }),
  "interp one": (x, xp, fp) => np.interp(x, xp, fp),
  outer: (a, b) => np.outer(a, b),
  inner: (a, b) => np.inner(a, b),
  "inner vectors": (a, b) => np.inner(a, b),
  "inner scalar": (a, b) => np.inner(a, b),
  vdot: (a, b) => np.vdot(a, b),
  "vdot complex": (a, b) => np.vdot(a, b),
  kron: (a, b) => np.kron(a, b),
  "kron ranks": (a, b) => np.kron(a, b),
  "kron whole": (a, b) => np.kron(a, b),
}, "JAX");

testOnDevices(
  "quantiles of nothing are NaN, or nothing, whether extents are known or not",
  async () => {
    using _s = tf.scope();
    const shapes = [[0], [2, 0], [0, 2], [2, 0, 0], [2, 3]];
    for (const fn of ["quantile", "nanquantile"] as const) {
      for (const shape of shapes) {
        for (const q of [0.3, [0.1, 0.9], [[0.1], [0.9]]]) {
          const sloped = (x: tf.Tensor): tf.Tensor[] => {
            using tape = new tf.GradientTape();
            tape.watch(x);
            const y = np[fn](x, q, { axis: -1, keepDims: true });
            return [y, tape.gradient(tf.sum(y), x)!];
          };
          const open = tf.function(sloped, {
            inputSignature: [tf.TensorSpec(shape.map(() => null), "float32")],
          });
          const x = tf.ones(shape), wanted = sloped(x);
          assertEquals(await plain(open(x)), await plain(wanted), `${fn} of [${shape}] at ${q}`);
          const isNone = shape.includes(0);
          assertEquals((await wanted[0].data() as Float32Array).every(isNaN), isNone);
        }
      }
    }
  },
);

testOnDevices("numpy's functions of nothing and of infinities are those of NumPy", async () => {
  using _s = tf.scope();
  const none = tf.zeros([0]), rows = tf.zeros([2, 0]);
  assertEquals(await np.nansum(none).array() as unknown, 0);
  assertEquals(await np.nanmean(rows, 1).array(), [NaN, NaN]);
  assertEquals(await np.median(none).array() as unknown, NaN);
  assertEquals(await np.quantile(rows, [0.5, 1], { axis: 1 }).array(), [[NaN, NaN], [NaN, NaN]]);
  const ends = np.quantile([1, Infinity, 2], [0, 0.5, 1]);
  assertEquals(await ends.array() as unknown, [1, 2, Infinity]);
  assertEquals(np.diff(none).shape, [0]);
  assertEquals(await np.trapezoid(none).array() as unknown, 0);
  assertEquals(await np.allclose(none, none).array() as unknown, true);
  assertEquals([np.outer(none, [1, 2]).shape, np.kron(none, [1, 2]).shape], [[0, 2], [0]]);
});

Deno.test("numpy's functions refuse what does not fit, by name", () => {
  // deno-lint-ignore no-explicit-any
  const n = np as any, text = tf.tensor(["a"]), v = tf.tensor([1, 2, 3]);
  const refusals: [() => unknown, new (...args: never[]) => Error, string][] = [
    [() => np.isclose(text, text), TypeError, "isclose"],
    [() => np.isclose([1, 2], [1, 2, 3]), tf.ValueError, "[2]"],
    [() => n.isclose([1], [1], { rTol: 1 }), TypeError, 'did you mean "rtol"'],
    [() => n.allclose([1], [1], { atol: "a" }), TypeError, "'atol'"],
    [() => n.nanToNum(v, { inf: 1 }), TypeError, "inf"],
    [() => np.nansum(v, 1), tf.ValueError, "axis"],
    [() => np.nanvar(tf.complex(1, 2)), TypeError, "complex64 as x of nanvar"],
    [() => n.quantile(v, 0.5, { method: "weibull" }), tf.ValueError, "wanted linear"],
    [() => np.quantile(v, 0.5, { axis: 1 }), tf.ValueError, "axis 1"],
    [() => n.quantile(v, 0.5, { axes: 1 }), TypeError, 'did you mean "axis"'],
    [() => np.median(text), TypeError, "string as x of median"],
    [() => np.cov([[[1]]]), tf.ValueError, "x of shape [1,1,1]: wanted a vector or a matrix"],
    [() => np.diff(v, -1), tf.ValueError, "n must be a whole number from 0 on, is -1"],
    [() => np.diff(1), tf.ValueError, "axis -1"],
    [() => np.trapezoid(v, { x: [[1, 2, 3]] }), tf.ValueError, "x of shape [1,3]"],
    [() => n.trapezoid(v, { dx: "a" }), TypeError, "'dx'"],
    [() => np.interp(1, [1, 2], [1]), tf.ValueError, "wanted vectors of one length"],
    [() => np.interp(1, [], []), tf.ValueError, "wanted vectors of one length"],
    [() => np.inner([1, 2], [1, 2, 3]), tf.ValueError, "wanted equal last extents"],
    [() => np.vdot([1, 2], [1]), tf.ValueError, "2 and b of 1 elements"],
    [() => np.logaddexp(text, text), TypeError, "logaddexp"],
    [() => np.convolve([], [1]), tf.ValueError, "a must be a vector of known length"],
    [() => np.correlate([1], [[1]]), tf.ValueError, "v must be a vector"],
    [() => n.convolve([1], [1], "half"), tf.ValueError, "wanted full, same, valid"],
  ];
  for (const [run, kind, words] of refusals) assertThrows(run, kind, words);
});
