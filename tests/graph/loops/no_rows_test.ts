/**
 * Loops over no rows, and lists without elements, whose extents are known only when they run: the results have the shapes that rows
 * would have. What TensorFlow 2.21 gives is said beside each; where it refuses, the shapes of eager code.
 */
import { assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { testOnDevices } from "../../devices.ts";

// deno-lint-ignore no-explicit-any
type Any = any;

interface Case {
  readonly name: string;
  readonly fn: (...xs: Any[]) => tf.Tensor;
  /** The values that it gets, and what is known of their shapes. */
  readonly given: readonly (readonly [shape: number[], known: (number | null)[] | null])[];
  readonly want: readonly number[];
  /** A file does not tell the shape: TensorFlow refuses it, and here its unknown extents are zero. */
  readonly notInFile?: true;
}

const sumUp = (a: tf.Tensor, e: tf.Tensor) => tf.add(a, tf.sum(e));
const plus = (a: tf.Tensor, e: tf.Tensor) => tf.add(a, e);
const started = (x: Any, i: Any) => tf.scan(sumUp, x, { initializer: i });
const rowsOfOne = (x: Any) => tf.mapFn((e: tf.Tensor) => tf.sum(e, 0, true), x);

const multiplied = tf.function((r: Any) => tf.matMul(r, r, false, true));
const repeated = (next: (x: Any) => Any, start: Any): Any =>
  (tf.whileLoop(
    (i: Any) => tf.less(i, 3),
    (i: Any, x: Any) => [tf.add(i, 1), next(x)],
    [tf.constant(0, "int32"), start],
  ) as Any)[1];

/** Bodies, and the shapes of their results for rows of [3, 2]. */
const BODIES: Readonly<Record<string, readonly [(r: Any) => Any, readonly number[]]>> = {
  "a function": [(r) => multiplied(r), [3, 3]],
  "a loop": [(r) => repeated((x) => tf.mul(x, 2), r), [3, 2]],
  "a loop of another shape": [(r) => repeated((x) => tf.mul(x, 2), tf.transpose(r)), [2, 3]],
  "a fold": [
    (r) => tf.foldl((a: Any, v: Any) => tf.add(a, tf.sum(v)), r, { initializer: tf.transpose(r) }),
    [2, 3],
  ],
  "a condition": [
    (r) => tf.cond(tf.greater(tf.sum(r), 0), () => tf.transpose(r), () => tf.neg(tf.transpose(r))),
    [2, 3],
  ],
  "a condition within a map": [
    (r) =>
      tf.mapFn(
        (v: Any) => tf.cond(tf.greater(tf.sum(v), 0), () => tf.mul(v, 2), () => tf.neg(v)),
        r,
      ),
    [3, 2],
  ],
  "a switch": [
    (r) =>
      tf.switchCase(tf.cast(tf.sum(r), "int32"), [
        () => tf.transpose(r),
        () => tf.neg(tf.transpose(r)),
      ]),
    [2, 3],
  ],
  "a gradient of one's own": [
    (r) =>
      (tf.customGrad as Any)((x: Any) => ({
        value: tf.transpose(x),
        gradFunc: (d: Any) => tf.transpose(d),
      }))(r),
    [2, 3],
  ],
  "its shape": [(r) => tf.zeros(tf.shape(r) as Any), [3, 2]],
  "its shape, reversed": [(r) => tf.reshape(r, tf.reverse(tf.shape(r)) as Any), [2, 3]],
  "its size": [(r) => tf.range(0, tf.size(r)), [6]],
  "a list": [
    (r) => {
      const list: Any = new tf.TensorArray("float32", 2);
      return list.write(0, r).write(1, r).stack();
    },
    [2, 3, 2],
  ],
};

const CASES: readonly Case[] = [
  // TensorFlow: [1, 3, 1].
  ...[false, true].map((reverse): Case => ({
    name: `a scan of one row, ${reverse ? "back" : "onward"}`,
    fn: (x: Any) => tf.scan(plus, x, { reverse }),
    given: [[[1, 3, 1], [1, 3, null]]],
    want: [1, 3, 1],
  })),
  {
    name: "a scan of one row of unknown rank",
    fn: (x: Any) => tf.scan(plus, x),
    given: [[[1, 3, 1], null]],
    want: [1, 3, 1],
  },
  // TensorFlow: [0, 2, 5] eagerly, refused in graphs.
  {
    name: "a scan of no rows from a state of unknown extents",
    fn: started,
    given: [[[0, 3, 1], [null, 3, null]], [[2, 5], [null, null]]],
    want: [0, 2, 5],
  },
  {
    name: "a scan of no rows from a state of unknown rank",
    fn: started,
    given: [[[0, 3, 1], null], [[2, 5], null]],
    want: [0, 2, 5],
  },
  // TensorFlow: [2, 5].
  {
    name: "a fold of no rows",
    fn: (x: Any, i: Any) => tf.foldl(sumUp, x, { initializer: i }),
    given: [[[0, 3, 1], [null, 3, null]], [[2, 5], [null, null]]],
    want: [2, 5],
  },
  // TensorFlow refuses these in graphs.
  {
    name: "a map over no rows",
    fn: (x: Any) => tf.mapFn((e: tf.Tensor) => tf.matMul(e, e, false, true), x),
    given: [[[0, 3, 2], [null, null, null]]],
    want: [0, 3, 3],
    notInFile: true,
  },
  {
    name: "a map over no rows, which captures",
    fn: (x: Any, y: Any) => tf.mapFn((e: tf.Tensor) => tf.concat([tf.mul(e, 2), y], 0), x),
    given: [[[0, 3], [null, null]], [[4], [null]]],
    want: [0, 7],
    notInFile: true,
  },
  {
    name: "a map within a map over no rows",
    fn: (x: Any) => tf.mapFn((e: tf.Tensor) => rowsOfOne(e), x),
    given: [[[0, 3, 2], [null, null, null]]],
    want: [0, 3, 1],
    notInFile: true,
  },
  {
    name: "a scan within a map over no rows of unknown rank",
    fn: (x: Any) => tf.mapFn((e: tf.Tensor) => tf.scan(plus, e), x),
    given: [[[0, 3, 2], null]],
    want: [0, 3, 2],
    notInFile: true,
  },
  {
    name: "a scan from a captured state within a map over no rows",
    fn: (x: Any, y: Any) => tf.mapFn((e: tf.Tensor) => tf.scan(sumUp, e, { initializer: y }), x),
    given: [[[0, 3, 2], null], [[4], null]],
    want: [0, 3, 4],
    notInFile: true,
  },
  // Bodies of ranks that are known only when they run, over [0, 3, 2].
  ...Object.entries(BODIES).map(([name, [body, row]]): Case => ({
    name: `a map over no rows, by ${name},`,
    fn: (x: Any) => tf.mapFn(body, x),
    given: [[[0, 3, 2], null]],
    want: [0, ...row],
    notInFile: true,
  })),
  // TensorFlow: [0, 4, 2].
  {
    name: "a list that a loop without turns would write to",
    fn: (x: Any) =>
      tf.whileLoop(
        (i: Any) => tf.less(i, tf.sub(tf.size(x), 3)),
        (i: Any, list: Any) => [tf.add(i, 1), list.write(i, tf.ones([4, 2]))],
        [
          tf.constant(0, "int32"),
          new tf.TensorArray("float32", 0, { dynamicSize: true, elementShape: [null, 2] }),
        ] as Any,
      )[1 as never] as Any,
    given: [[[3], null]],
    want: [0, 4, 2],
  },
  {
    name: "a map of no rows to ragged ones",
    fn: (x) =>
      (tf.mapFn((e: tf.Tensor) => tf.RaggedTensor.fromRowLengths(e, [2, 1]), x) as Any).flatValues,
    given: [[[0, 3], [null, 3]]],
    want: [0],
  },
];

/** Runs a case in a session, whose graph may go through a file first. */
async function inSession({ fn, given }: Case, isFile: boolean): Promise<readonly number[]> {
  const graph = new tf.Graph();
  const [xs, y] = graph.asDefault(() => {
    const xs = given.map(([, known], i) => tf.placeholder("float32", known, `x${i}`));
    const made = fn(...xs) as Any;
    return [xs, tf.identity(made instanceof tf.TensorArray ? made.stack() : made)] as const;
  });
  const read = isFile ? new tf.Graph() : graph;
  if (isFile) {
    const def = graph.toGraphDef();
    read.asDefault(() => tf.importGraphDef(def, { prefix: "" }));
  }
  await using session = new tf.Session({ graph: read });
  const feeds = Object.fromEntries(given.map(([shape], i) => [xs[i].name, tf.ones(shape)]));
  return ((await session.run(y.name, { feeds })) as tf.NdArray).shape;
}

for (const c of CASES) {
  testOnDevices(`${c.name} has the shape that rows would have`, async () => {
    const stacked = (...xs: Any[]) => {
      const made = c.fn(...xs) as Any;
      return made instanceof tf.TensorArray ? made.stack() : made;
    };
    const values = c.given.map(([shape]) => tf.ones(shape));
    const inputSignature = c.given.map(([, known]) => tf.TensorSpec(known, "float32"));
    const compiled = await tf.function(stacked, { inputSignature } as Any).async(...values) as Any;
    assertEquals(compiled.shape, c.want);
    if (!c.name.startsWith("a list")) assertEquals(stacked(...values).shape, c.want);
    assertEquals(await inSession(c, false), c.want);
    const inFile = await inSession(c, true);
    if (!c.notInFile) assertEquals(inFile, c.want);
    else assertEquals(inFile[0], 0);
  });
}
