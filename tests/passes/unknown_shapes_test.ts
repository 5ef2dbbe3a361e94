/** Ops over values of unknown rank or extents, each joined with what reads it: a graph gives eager numbers and eager shapes. */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { difference } from "../../src/library/testing/compare.ts";
import { Turns } from "../effort.ts";
import { testOnDevices } from "../devices.ts";

type Ops = (...x: tf.Tensor[]) => tf.Tensor;
type Values = number | Values[];

const ONE = [1.75], VECTOR = [0.25, -1, 3], ROW = [[2, -1, 0.5]], COLUMN = [[2], [3]];
const MATRIX = [[0.5, -1.25, 2], [1.5, 0.75, -0.5]], SQUARE = [[2, 0.5], [0.25, 3]];
const CUBE = [[[1, 2], [3, -4]], [[0.5, -6], [7, 8.5]]];
const LIST = [[0.7], [ONE], [VECTOR], [MATRIX], [CUBE]], ROWS = [[ONE], [VECTOR], [MATRIX], [CUBE]];
const PAIRS = [[0.7, VECTOR], [ONE, MATRIX], [VECTOR, COLUMN], [MATRIX, ROW], [ONE, [[1.5]]]];

const shifted = (x: tf.Tensor): tf.Tensor => tf.sub(x, tf.mean(x, -1, true));

/** Producers of the value, with their operands. */
const PRODUCERS: Readonly<Record<string, readonly [Ops, readonly (readonly Values[])[]]>> = {
  sum: [(x) => tf.sum(x), LIST],
  mean: [(x) => tf.mean(x), LIST],
  max: [(x) => tf.max(x), LIST],
  min: [(x) => tf.min(x), LIST],
  prod: [(x) => tf.prod(x), LIST],
  "kept sum": [(x) => tf.sum(x, null, true), LIST],
  "sum of columns": [(x) => tf.sum(x, 0), ROWS],
  "sum of rows": [(x) => tf.sum(x, -1), ROWS],
  "kept mean of rows": [(x) => tf.mean(x, -1, true), ROWS],
  "log of a sum": [(x) => tf.logSumExp(x), LIST],
  variance: [(x) => tf.moments(x).variance, LIST],
  "kept variance": [(x) => tf.moments(x, -1, true).variance, ROWS],
  norm: [(x) => tf.norm(x), LIST],
  "norm of rows": [(x) => tf.norm(x, Infinity, -1, true), ROWS],
  "sum of squares": [(x) => tf.sum(tf.square(tf.add(x, 1))), LIST],
  "sum of products": [(x, y) => tf.sum(tf.mul(x, y)), PAIRS],
  add: [(x, y) => tf.add(x, y), PAIRS],
  choice: [(x, y) => tf.where(tf.greater(x, y), x, y), PAIRS],
  softmax: [(x) => tf.softmax(x), ROWS.slice(1)],
  "softmax written out": [(x) => {
    const powers = tf.exp(tf.sub(x, tf.max(x, -1, true)));
    return tf.div(powers, tf.sum(powers, -1, true));
  }, ROWS.slice(1)],
  "layer norm written out": [
    (x) => tf.div(shifted(x), tf.sqrt(tf.add(tf.mean(tf.square(shifted(x)), -1, true), 0.1))),
    ROWS.slice(1),
  ],
  "layer norm with an epsilon of rank 3": [
    (x) => {
      const variance = tf.mean(tf.square(shifted(x)), -1, true);
      return tf.div(shifted(x), tf.sqrt(tf.add(variance, [[[0.1]]])));
    },
    ROWS.slice(1),
  ],
  "cross entropy written out": [
    (x, y) => tf.neg(tf.sum(tf.mul(y, tf.logSoftmax(x)), -1)),
    [[MATRIX, MATRIX], [MATRIX, ROW], [ROW, MATRIX], [MATRIX, COLUMN], [COLUMN, MATRIX]],
  ],
  product: [(x, y) => tf.matMul(x, y), [[SQUARE, MATRIX], [CUBE, SQUARE], [SQUARE, CUBE]]],
  "product and bias": [
    (x, y, z) => tf.add(tf.matMul(x, y), z),
    [[SQUARE, MATRIX, ROW], [[[1, 2]], COLUMN, VECTOR], [[[1, 2]], COLUMN, [[[1]]]]],
  ],
  transpose: [(x) => tf.transpose(x), LIST],
  expandDims: [(x) => tf.expandDims(x, -1), LIST],
  squeeze: [(x) => tf.squeeze(x), [[0.7], [ONE], [ROW]]],
  concat: [(x, y) => tf.concat([x, y], 0), [[ONE, VECTOR], [MATRIX, ROW]]],
  broadcastTo: [(x) => tf.broadcastTo(x, [2, 3]), [[0.7], [VECTOR], [ROW], [MATRIX]]],
  branch: [
    (x) => tf.cond(tf.greater(tf.sum(x), 0), () => tf.mul(x, 2), () => tf.neg(x)) as tf.Tensor,
    LIST,
  ],
  rows: [(x) => tf.mapFn((row) => tf.mul(tf.sum(row), 2), x) as tf.Tensor, ROWS],
};

/** Readers of the value `t`, made of `x` and more. */
const READERS: Readonly<Record<string, (t: tf.Tensor, x: tf.Tensor) => tf.Tensor>> = {
  nothing: (t) => t,
  "add a one": (t) => tf.add(t, [1]),
  "multiply by a matrix": (t) => tf.mul(t, [[2]]),
  "sub from a cube": (t) => tf.sub([[[1]]], t),
  "sine by ones": (t) => tf.mul(tf.ones([1, 1, 1, 1]), tf.sin(t)),
  reshape: (t, x) => tf.add(t, tf.reshape(tf.sum(x), [1, 1])),
  "sums of both": (t, x) => tf.sub(tf.sum(t), tf.reshape(tf.max(x), [1])),
  "kept sum": (t) => tf.mul(t, tf.sum(tf.square(t), null, true)),
  "kept sum and ones": (t) => tf.add(tf.sum(t, null, true), [[1]]),
  "root of a sum": (t) => tf.mul(tf.sqrt(tf.sum(tf.square(t))), [[3]]),
  moments: (t) => tf.add(tf.moments(t).variance, [1, 2]),
  norm: (t) => tf.add(tf.norm(t), [[1]]),
  choice: (t) => tf.where(tf.greater(t, [[0.5]]), t, [[[2]]]),
  integers: (t) => tf.mul(tf.cast(tf.less(t, 1), "int32"), [[2]]),
};

/** Known parts of the arguments' shapes. */
const FORMS: Readonly<Record<string, (shape: readonly number[], i: number) => tf.PartialShape>> = {
  "unknown rank": () => null,
  "unknown extents": (shape) => shape.map(() => null),
  "unknown rank beside a known shape": (shape, i) => (i === 0 ? null : shape),
};

const TOLERANCE = { ulps: 512, ulpsOfLargest: 128, absolute: 1e-5 };
const turns = new Turns();

/** A value and, of floats, its gradients. */
function withGradients(make: Ops, xs: readonly tf.Tensor[]): (tf.Tensor | null)[] {
  using tape = new tf.GradientTape();
  tape.watch([...xs]);
  const y = make(...xs);
  if (y.dtype !== "float32") return [y];
  return [y, ...tape.gradient(tf.sum(tf.sin(y)), [...xs]) as (tf.Tensor | null)[]];
}

async function inGraph(
  make: Ops,
  xs: readonly tf.Tensor[],
  blur: (typeof FORMS)[string],
): Promise<(tf.NdArray | null)[]> {
  const graph = new tf.Graph();
  const feeds = new Map<tf.Tensor, tf.NdArray>();
  const fetches = graph.asDefault(() => {
    const given = xs.map((x, i) => tf.placeholder("float32", blur(x.shape, i)));
    given.forEach((p, i) => feeds.set(p, xs[i].ndarraySync()));
    const y = make(...given);
    const gradients = y.dtype === "float32" ? tf.gradients(tf.sum(tf.sin(y)), given) : [];
    return [y, ...gradients] as (tf.Tensor | null)[];
  });
  const session = new tf.Session({ graph });
  const found: (tf.NdArray | null)[] = [];
  // One at a time: what is fetched besides is never joined with its readers.
  for (const t of fetches) {
    const value = t === null ? null : await session.run(t, { feeds }) as tf.NdArray | number;
    found.push(typeof value === "number" ? tf.scalar(value).ndarraySync() : value);
    if (t?.staticShape && value instanceof tf.NdArray) {
      assert(new tf.TensorSpec(t.staticShape, t.dtype).isCompatibleWith(value), "static shape");
    }
  }
  await session.close();
  return found;
}

for (const [what, [make, cases]] of Object.entries(PRODUCERS)) {
  testOnDevices(
    `${what} of unknown shapes, joined with its readers, is what eager code gives`,
    async () => {
      for (const values of cases) {
        const xs = values.map((v) => tf.tensor(v as number[]));
        for (const [name, reader] of turns.of(Object.entries(READERS))) {
          const both: Ops = (...given) => reader(make(...given), given[0]);
          const wanted = tf.tidy(() => withGradients(both, xs).map((t) => t && t.ndarraySync()));
          for (const [form, blur] of Object.entries(FORMS)) {
            const title = `${name}, ${form}, of ${JSON.stringify(values)}`;
            const found = await inGraph(both, xs, blur);
            assertEquals(found.map((t) => t?.shape), wanted.map((t) => t?.shape), title);
            found.forEach((t, i) => {
              if (t) assertEquals(difference(t, wanted[i]!, t.dtype, TOLERANCE), null, title);
            });
          }
        }
        tf.dispose(xs);
      }
    },
  );
}

Deno.test("a reduction over all axes is a scalar, whatever the rank", () => {
  new tf.Graph().asDefault(() => {
    const x = tf.placeholder("float32", null);
    const scalars = [tf.sum(x), tf.mean(x), tf.prod(x), tf.norm(x), tf.logSumExp(x)];
    assertEquals(scalars.map((t) => t.staticShape), scalars.map(() => []));
    assertEquals(tf.all(tf.greater(x, 0)).staticShape, []);
    assertEquals([tf.sum(x, 0), tf.sum(x, null, true)].map((t) => t.staticShape), [null, null]);
  });
});

testOnDevices(
  "prod() has gradients where elements are zero and axes are known only when it runs",
  async () => {
    const fed = [[0, 2, 3], [4, 5, 0]];
    for (const axes of [[0], [1], [-1, 0], [], [1, -1], [0, 1]]) {
      const x = tf.tensor(fed);
      const f = (x: tf.Tensor, axes: tf.Tensor | number[]): tf.Tensor =>
        tf.sum(tf.sin(tf.prod(x, axes)));
      const wanted = tf.grad((x) => f(x, axes))(x).ndarraySync();
      const again = tf.grad((x) => tf.sum(tf.square(tf.grad((x) => f(x, axes))(x))))(x)
        .ndarraySync();
      for (const shape of [null, [null, 3], [2, 3]]) {
        const graph = new tf.Graph();
        const [p, a, d, dd] = graph.asDefault(() => {
          const p = tf.placeholder("float32", shape), a = tf.placeholder("int32", [null]);
          const [d] = tf.gradients(f(p, a), [p]) as tf.Tensor[];
          const [dd] = tf.gradients(tf.sum(tf.square(d)), [p]) as tf.Tensor[];
          return [p, a, d, dd];
        });
        const feeds = new Map<tf.Tensor, unknown>([[p, fed], [
          a,
          tf.tensor(axes, [axes.length], "int32").ndarraySync(),
        ]]);
        const session = new tf.Session({ graph });
        const [first, second] = await session.run([d, dd], {
          feeds: feeds as never,
        }) as tf.NdArray[];
        const title = `axes ${axes}, shape ${shape}`;
        assertEquals(difference(first, wanted, "float32", TOLERANCE), null, title);
        assertEquals(difference(second, again, "float32", TOLERANCE), null, title);
        await session.close();
      }
    }
  },
);
