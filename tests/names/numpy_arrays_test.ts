// Joins, places, polynomials, signs and spaces of tf.experimental.numpy beside JAX, and what they refuse.

import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import RECORDED from "./fixtures/numpy_arrays.json" with { type: "json" };
import { type Recorded, type Row, testTable } from "./harness.ts";

const np = tf.experimental.numpy;

type Rows = [string, Row | Row["body"]][];

const wide: readonly tf.DType[] = ["float64"];
const signs = (["signbit", "isneginf", "isposinf", "fix"] as const)
  .map((fn): Rows[number] => [fn, (x) => np[fn](x)]);
const deep = ([["atleast1d", 0], ["atleast2d", 0], ["atleast3d", 0], ["atleast2d", 1], [
  "atleast3d",
  1,
], ["atleast3d", 2]] as const).map((
  [fn, rank],
): Rows[number] => [`${fn} ${rank}`, (x) => np[fn](x)]);
const joins = (["hstack", "vstack", "dstack", "columnStack"] as const).flatMap((fn): Rows =>
  ["vectors", "matrices"].map((of) => [`${fn} ${of}`, (...x) => np[fn](x)])
);
const equals = ["same", "other", "shape", "length"].flatMap((name): Rows =>
  [false, true].map((nan) => [
    `arrayEqual ${name} ${nan ? "True" : "False"}`,
    (a, b) => np.arrayEqual(a, b, nan),
  ])
);
const diagonals = [-2, 0, 1].map((k): Rows[number] => [`diagflat ${k}`, (x) => np.diagflat(x, k)]);
const known = { unknown: false } as const;
const slopes = [0, 1, 2, 5].map((m): Rows[number] => [
  `polyder ${m}`,
  { body: (p) => np.polyder(p, m), ...known },
]);
const wholes = [0, 1, 2].map((m): Rows[number] => [
  `polyint ${m}`,
  { body: (p) => np.polyint(p, m), ...known },
]);
// Fits of float16 lose most of their digits.
const fit = (body: Row["body"]): Row => ({ body, epsilon: 5e-4, slopes: 1e-3, dtypes: wide });
const rooted = (body: Row["body"]): Row => ({ body, epsilon: 1e-4, dtypes: [], ...known });

testTable("numpy_arrays", RECORDED as unknown as Record<string, Recorded>, {
  ...Object.fromEntries([...signs, ...deep, ...joins, ...equals, ...diagonals]),
  ...Object.fromEntries([...slopes, ...wholes]),
  copysign: (a, b) => np.copysign(a, b),
  cbrt: (x) => np.cbrt(x),
  "cbrt ends": (x) => np.cbrt(x),
  "cbrt whole": (x) => np.cbrt(x),
  floatPower: (a, b) => np.floatPower(a, b),
  "floatPower whole": (a, b) => np.floatPower(a, b),
  logaddexp2: (a, b) => np.logaddexp2(a, b),
  "hstack scalars": (...x) => np.hstack(x),
  "columnStack both": (...x) => np.columnStack(x),
  append: (x, y) => np.append(x, y),
  "append axis": (x, y) => np.append(x, y, 0),
  arraySplit: { body: (x) => np.arraySplit(x, 3), ...known },
  "arraySplit axis": { body: (x) => np.arraySplit(x, 3, -1), ...known },
  "arraySplit places": { body: (x) => np.arraySplit(x, [1, 1, -1, 9]), ...known },
  hsplit: { body: (x) => np.hsplit(x, 2), ...known },
  "hsplit vector": { body: (x) => np.hsplit(x, [1, 3]), ...known },
  vsplit: { body: (x) => np.vsplit(x, 3), ...known },
  dsplit: { body: (x) => np.dsplit(x, [2]), ...known },
  flipud: (x) => np.flipud(x),
  fliplr: (x) => np.fliplr(x),
  unravelIndex: (i) => np.unravelIndex(i, [3, 2, 4]),
  ravelMultiIndex: (...p) => np.ravelMultiIndex(p, [3, 2, 4]),
  lexsort: (a, b) => np.lexsort([a, b]),
  "lexsort stacked": { body: (k) => np.lexsort(k), ...known },
  "lexsort axis": (a, b) => np.lexsort([a, b], 0),
  divmod: (a, b) => np.divmod(a, b),
  "divmod floats": (a, b) => np.divmod(a, b),
  select: (x, y) => np.select([tf.less(x, -0.5), tf.less(x, 0.5)], [tf.mul(x, y), y], 3),
  "select none": (x) => np.select([tf.less(x, 0)], [x]),
  piecewise: (x) =>
    np.piecewise(x, [tf.less(x, -0.5), tf.greater(x, 0.5)], [tf.square, 2, (v) => tf.neg(v)]),
  "piecewise none": (x) => np.piecewise(x, [tf.less(x, 0), tf.less(x, -1)], [tf.sin, tf.cos]),
  "piecewise whole": (x) => np.piecewise(x, [tf.greater(x, 0)], [1, -1]),
  "arrayEqual whole": (a, b) => np.arrayEqual(a, b),
  logspace: () => np.logspace(-1, 2, { num: 4 }),
  "logspace open": () => np.logspace(0, 3, { num: 6, endpoint: false, base: 2 }),
  geomspace: () => np.geomspace(1, 1000, { num: 4 }),
  "geomspace below": () => np.geomspace(-2, -32, { num: 4, endpoint: false }),
  "geomspace one": () => np.geomspace(3, 5, { num: 1 }),
  tri: () => np.tri(3, 4, 1),
  "tri square": () => np.tri(3, undefined, -1),
  ix: (...v) => np.ix(...v),
  polyfit: fit((x, y) => np.polyfit(x, y, 2)),
  "polyfit columns": fit((x, y) => np.polyfit(x, y, 1)),
  "polyfit weights": fit((x, y, w) => np.polyfit(x, y, 3, { w })),
  "polyfit constant": fit((y) => np.polyfit([0.25, 0.5, 1.5, 2, 3.5, 4], y, 0)),
  "polyder whole": { body: (p) => np.polyder(p), ...known },
  "polyint whole": { body: (p) => np.polyint(p), ...known },
  roots: rooted((p) => tf.sort(tf.real(np.roots(p)))),
  "roots complex": rooted((p) => tf.sort(tf.abs(tf.imag(np.roots(p))))),
  "roots one": rooted((p) => np.roots(p)),
}, "JAX");

testOnDevices("numpy's joins and places of nothing, of texts and of flags", async () => {
  using _s = tf.scope();
  const words = tf.tensor([["a", "b"], ["c", "d"]]), flags = tf.tensor([true, false]);
  assertEquals(await np.hstack([words, words]).array() as unknown, [["a", "b", "a", "b"], [
    "c",
    "d",
    "c",
    "d",
  ]]);
  assertEquals(await np.fliplr(words).array() as unknown, [["b", "a"], ["d", "c"]]);
  assertEquals(await np.append(flags, [true]).array() as unknown, [true, false, true]);
  assertEquals(await np.arrayEqual(words, words).array() as unknown, true);
  assertEquals(await np.arrayEqual(tf.zeros([0]), tf.zeros([0])).array() as unknown, true);
  assertEquals(await np.arrayEqual(tf.zeros([0, 2]), tf.zeros([2, 0])).array() as unknown, false);
  assertEquals(np.arraySplit([1, 2], 3).map((t) => t.shape), [[1], [1], [0]]);
  assertEquals(np.unravelIndex(tf.zeros([0], "int32"), [2, 3]).map((t) => t.shape), [[0], [0]]);
  assertEquals(await np.lexsort([tf.tensor([2, 1, 2], [3], "int32"), [2, 1, 1]]).array(), [
    1,
    2,
    0,
  ]);
  assertEquals(np.logspace(0, 1, { num: 0 }).shape, [0]);
  assertEquals(np.roots([3]).shape, [0]);
  // Beyond what float16 counts.
  const places = tf.tensor([40000n], [1], "int64");
  assertEquals(await np.unravelIndex(places, [200, 300])[1].array() as unknown, [100n]);
});

Deno.test("numpy's joins, places and polynomials say what they refuse", () => {
  using _s = tf.scope();
  const v = tf.tensor([1, 2, 3]), n = np as Record<string, (...args: unknown[]) => unknown>;
  const rows: [() => unknown, new (...args: never[]) => Error, string][] = [
    [() => np.hstack([]), tf.ValueError, "pass at least one tensor"],
    [() => n.hstack(v), TypeError, "'tensors'"],
    [() => np.hsplit(v, 2), tf.ValueError, "wanted a divisor"],
    [() => np.arraySplit(v, 0), tf.ValueError, "wanted a whole number from 1 on"],
    [() => np.arraySplit(v, [2, 1]), tf.ValueError, "wanted whole numbers that rise"],
    [() => np.arraySplit(v, 2, 1), tf.ValueError, "axis 1"],
    [() => np.vsplit(v, 3), tf.ValueError, "wanted at least 2 dimensions"],
    [() => np.fliplr(v), tf.ValueError, "wanted at least 2 dimensions"],
    [() => np.unravelIndex(v, [3]), TypeError, "wanted whole numbers"],
    [() => np.unravelIndex([1], [0, 3]), tf.ValueError, "wanted whole numbers from 1 on"],
    [() => np.ravelMultiIndex([[1]], [2, 3]), tf.ValueError, "wanted one for each"],
    [() => np.lexsort([]), tf.ValueError, "pass at least one key"],
    [() => np.select([], []), tf.ValueError, "at least one"],
    [() => np.select([[true]], [1, 2]), tf.ValueError, "wanted as many"],
    [() => np.select([v], [v]), TypeError, "bool"],
    [() => np.piecewise(v, [], []), tf.ValueError, "at least one"],
    [() => np.piecewise(v, [tf.less(v, 0)], [1, 2, 3]), tf.ValueError, "one for the rest"],
    [() => np.geomspace(-1, 4), tf.ValueError, "wanted bounds of one sign"],
    [() => np.geomspace(0, 4), tf.ValueError, "wanted bounds of one sign"],
    [() => n.logspace(0, 1, { nums: 3 }), TypeError, 'did you mean "num"'],
    [() => np.logspace(0, 1, { num: 1.5 }), tf.ValueError, "wanted a whole number"],
    [() => n.logspace("0", 1), TypeError, "'start'"],
    [() => np.diagflat(v, 0.5), tf.ValueError, "wanted a whole number"],
    [() => np.ix(v, [[1]]), tf.ValueError, "vectors[1]"],
    [() => np.polyfit(v, [1, 2], 1), tf.ValueError, "wanted vectors of one length"],
    [() => np.polyfit(v, v, -1), tf.ValueError, "deg -1"],
    [() => np.polyder([[1]]), tf.ValueError, "wanted a vector"],
    [() => np.polyint(v, 0.5), tf.ValueError, "m 0.5"],
    [() => np.roots(tf.complex([1], [1])), TypeError, "wanted real numbers"],
    [() => np.signbit(tf.tensor(["a"])), TypeError, "signbit"],
  ];
  for (const [run, kind, text] of rows) assertThrows(run, kind, text, String(run));
});
