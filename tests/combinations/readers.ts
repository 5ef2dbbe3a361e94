/** Readers and producers of a value: one part for each kind of op, with operands of every supported dtype. */

import * as tf from "@weft/weft";

/** A dtype of an operand that a part brings. */
export type Brought = Exclude<tf.DType, "string" | "resource" | "variant" | "complex128">;

/** Alignment of an operand with the value: an element each, one for a column, for a row, or for all. */
export type Access = "element" | "column" | "row" | "all";

/** An operand: what it holds, and its shape. */
export interface Operand {
  readonly dtype: Brought;
  readonly shape: readonly number[];
}

/** A part of a program. */
export interface Part {
  readonly name: string;
  /** Operands it takes besides a value of this shape; null where it takes no such value. */
  readonly operands: (shape: readonly number[]) => readonly Operand[] | null;
  /** Applies the part to a float32 value and these operands. */
  readonly apply: (y: tf.Tensor, operands: readonly tf.Tensor[]) => tf.Tensor;
}

const ACCESSES: readonly Access[] = ["element", "column", "row", "all"];

function shapeOf(access: Access, shape: readonly number[]): readonly number[] | null {
  if (access === "element") return shape;
  if (access === "all") return [];
  if (shape.length === 0) return null;
  return access === "column" ? shape.slice(-1) : [...shape.slice(0, -1), 1];
}

/** Ops that read a value and an operand of one dtype, and perhaps a further value like the first. */
const POINTWISE: readonly (readonly [
  string,
  Brought,
  (y: tf.Tensor, x: tf.Tensor, other: tf.Tensor) => tf.Tensor,
])[] = [
  ["where(m, y, c)", "bool", (y, m, c) => tf.where(m, y, c)],
  ["where(m, c, y)", "bool", (y, m, c) => tf.where(m, c, y)],
  ["where(not m, y, c)", "bool", (y, m, c) => tf.where(tf.logicalNot(m), y, c)],
  ["y * cast(m)", "bool", (y, m) => tf.mul(y, tf.cast(m, "float32"))],
  ["m and y > c", "bool", (y, m, c) => tf.cast(tf.logicalAnd(m, tf.greater(y, c)), "float32")],
  ["y + cast(i)", "int32", (y, i) => tf.add(y, tf.cast(i, "float32"))],
  ["where(i = 1, y, c)", "int32", (y, i, c) => tf.where(tf.equal(i, 1), y, c)],
  ["cast(y) - i", "int32", (y, i) => tf.cast(tf.sub(tf.cast(tf.mul(y, 3), "int32"), i), "float32")],
  ["y - cast(u)", "uint32", (y, u) => tf.sub(y, tf.cast(u, "float32"))],
  ["cast(u) - y", "uint8", (y, u) => tf.sub(tf.cast(u, "float32"), y)],
  ["y * cast(h)", "float16", (y, h) => tf.mul(y, tf.cast(h, "float32"))],
  ["cast(y) - h", "float16", (y, h) => tf.cast(tf.sub(tf.cast(y, "float16"), h), "float32")],
  ["y + cast(l)", "int64", (y, l) => tf.add(y, tf.cast(l, "float32"))],
  ["where(l = 1, y, c)", "int64", (y, l, c) => tf.where(tf.equal(l, 1), y, c)],
  ["cast(y) - l", "int64", (y, l) => tf.cast(tf.sub(tf.cast(tf.mul(y, 3), "int64"), l), "float32")],
  ["y * cast(d)", "float64", (y, d) => tf.mul(y, tf.cast(d, "float32"))],
  ["where(d > 0, y, c)", "float64", (y, d, c) => tf.where(tf.greater(d, 0), y, c)],
  ["cast(y) - d", "float64", (y, d) => tf.cast(tf.sub(tf.cast(y, "float64"), d), "float32")],
  ["y - real(z)", "complex64", (y, z) => tf.sub(y, tf.real(z))],
  ["x - y", "float32", (y, x) => tf.sub(x, y)],
  ["relu(y + x) * c", "float32", (y, x, c) => tf.mul(tf.relu(tf.add(y, x)), c)],
  ...(["int8", "int16", "uint16", "uint64", "bfloat16"] as const).map((dtype) =>
    [
      `y + cast(${dtype})`,
      dtype,
      (y: tf.Tensor, x: tf.Tensor) => tf.add(y, tf.cast(x, "float32")),
    ] as const
  ),
];

/** Pointwise readers, each as a list with one part for each access of its operand. */
const POINTWISE_READERS: readonly (readonly Part[])[] = POINTWISE.map(([name, dtype, apply]) =>
  ACCESSES.map((access): Part => ({
    name: `${name} by ${access}`,
    operands: (shape) => {
      const own = shapeOf(access, shape);
      return own && [{ dtype, shape: own }, { dtype: "float32", shape }];
    },
    apply: (y, [x, other]) => apply(y, x, other),
  }))
);

function part(
  name: string,
  fits: (shape: readonly number[]) => boolean,
  brings: (shape: readonly number[]) => readonly Operand[],
  apply: Part["apply"],
): Part {
  return { name, operands: (shape) => (fits(shape) ? brings(shape) : null), apply };
}

const some = (shape: readonly number[]): boolean => shape.length > 0;
const matrix = (shape: readonly number[]): boolean => shape.length >= 2;
const image = (shape: readonly number[]): boolean => shape.length === 4;
const none = (): readonly Operand[] => [];
const floats = (...shape: number[]): Operand => ({ dtype: "float32", shape });
const last = (shape: readonly number[]): number => shape[shape.length - 1];
const masked = (shape: readonly number[]): readonly Operand[] => [
  { dtype: "bool", shape },
  floats(...shape),
];

/** Readers of the other kinds. */
const OTHER_READERS: readonly Part[] = [
  part("sum", some, none, (y) => tf.sum(y, -1)),
  part("mean of where(m, y, c)", some, masked, (y, [m, c]) => tf.mean(tf.where(m, y, c), 0)),
  part(
    "sum(y) + cast(i)",
    some,
    (shape) => [{ dtype: "int32", shape: shape.slice(0, -1) }],
    (y, [i]) => tf.add(tf.sum(y, -1), tf.cast(i, "float32")),
  ),
  part(
    "where(m, max(y), c)",
    some,
    (shape) => masked(shape.slice(1)),
    (y, [m, c]) => tf.where(m, tf.max(y, 0), c),
  ),
  part(
    "any(y > c and m)",
    some,
    masked,
    (y, [m, c]) => tf.cast(tf.any(tf.logicalAnd(tf.greater(y, c), m), -1), "float32"),
  ),
  part("argMax", some, none, (y) => tf.cast(tf.argMax(tf.round(y), -1), "float32")),
  part("cumsum", some, none, (y) => tf.cumsum(y, -1)),
  part("softmax of where(m, y, c)", some, masked, (y, [m, c]) => tf.softmax(tf.where(m, y, c))),
  part("softmax of rows up to the diagonal", matrix, none, (y) => {
    const [rows, columns] = y.shape.slice(-2).map((n) => tf.range(0, n, 1, "int32"));
    return tf.softmax(tf.where(tf.greaterEqual(tf.expandDims(rows, 1), columns), y, -1e9));
  }),
  part(
    "where(column < i, y, -1)",
    some,
    (shape) => [{ dtype: "int32", shape: [...shape.slice(0, -1), 1] }],
    (y, [i]) => tf.where(tf.less(tf.range(0, last(y.shape), 1, "int32"), i), y, -1),
  ),
  part("written softmax", some, none, (y) => {
    const e = tf.exp(tf.sub(y, tf.max(y, -1, true)));
    return tf.div(e, tf.sum(e, -1, true));
  }),
  part("layerNorm", some, none, (y) => tf.layerNorm(y)),
  part(
    "matMul",
    matrix,
    (shape) => [floats(last(shape), 5)],
    (y, [w]) => tf.matMul(y, w),
  ),
  part(
    "where(m, w · y, c)",
    matrix,
    (shape) => [floats(3, shape.at(-2)!), ...masked([...shape.slice(0, -2), 3, last(shape)])],
    (y, [w, m, c]) => tf.where(m, tf.matMul(w, y), c),
  ),
  part(
    "conv2d",
    image,
    (shape) => [floats(2, 2, last(shape), 3), { dtype: "bool", shape: [3] }],
    (y, [f, m]) => tf.where(m, tf.conv2d(y, f, 1, "same"), 0),
  ),
  part("maxPool", image, none, (y) => tf.maxPool(y, 2, 1, "same")),
  part("resize", image, none, (y) => tf.image.resizeBilinear(y, [3, 5])),
  part("transpose", matrix, none, (y) => tf.transpose(y)),
  part("pad", some, none, (y) => tf.pad(y, y.shape.map(() => [1, 0]), 0.5)),
  part("reshape", () => true, none, (y) => tf.reshape(y, [-1])),
  part("tile", some, none, (y) => tf.tile(y, y.shape.map(() => 2))),
  part("concat", some, (shape) => [floats(...shape)], (y, [c]) => tf.concat([c, y], -1)),
  part("split", some, none, (y) => tf.stack(tf.unstack(y, 0), 0)),
  part("gather", some, none, (y) => tf.gather(y, tf.tensor([0, 0], [2], "int32"))),
  part(
    "scatter",
    some,
    (shape) => [floats(2, ...shape.slice(1))],
    (y, [c]) => tf.tensorScatterUpdate(y, [[0]], tf.slice(c, 0, 1)),
  ),
  part(
    "segments",
    some,
    none,
    (y) =>
      tf.unsortedSegmentSum(
        y,
        tf.tensor(Array.from({ length: y.shape[0] }, (_, i) => i % 2), [y.shape[0]], "int32"),
        2,
      ),
  ),
  part("oneHot", some, none, (y) => tf.oneHot(tf.cast(tf.clipByValue(y, 0, 2), "int32"), 3)),
  part("fill", some, none, (y) => tf.add(tf.onesLike(y), y)),
  part("loop", some, masked, (y, [m, c]) => {
    const body = (i: tf.Tensor, x: tf.Tensor): [tf.Tensor, tf.Tensor] => [
      tf.add(i, 1),
      tf.where(m, tf.mul(x, 0.5), c),
    ];
    const start: [tf.Tensor, tf.Tensor] = [tf.constant(0, "int32"), y];
    return tf.whileLoop((i) => tf.less(i, 2), body, start)[1];
  }),
  part(
    "cond",
    some,
    masked,
    (y, [m, c]) => tf.cond(tf.any(m), () => tf.where(m, y, c), () => tf.neg(y)),
  ),
];

/** A value as a batch of matrices. */
const batch = (y: tf.Tensor): tf.Tensor => tf.reshape(y, [-1, ...y.shape.slice(-2)]);
const outer = (shape: readonly number[]): number => shape.slice(0, -2).reduce((a, b) => a * b, 1);

/** Keys and values for queries of this shape, then a mask and numbers for each query and key. */
const keyed = (shape: readonly number[]): readonly Operand[] => [
  floats(outer(shape), 5, last(shape)),
  floats(outer(shape), 5, last(shape)),
  { dtype: "bool", shape: [shape.at(-2)!, 5] },
  floats(shape.at(-2)!, 5),
];

function attended(
  [q, k, v]: readonly [tf.Tensor, tf.Tensor, tf.Tensor],
  score: (scores: tf.Tensor) => tf.Tensor = (s) => s,
): tf.Tensor {
  return tf.matMul(tf.softmax(score(tf.matMul(q, k, false, true))), v);
}

/** Repeats one matrix for each of several heads, as models with fewer keys than queries do. */
function repeated(matrix: tf.Tensor, heads: number): tf.Tensor {
  const [rows, columns] = matrix.shape;
  const wide = tf.broadcastTo(tf.reshape(matrix, [1, 1, 1, rows, columns]), [
    ...[1, 1, heads, rows, columns],
  ]);
  return tf.reshape(wide, [1, heads, rows, columns]);
}

/** Readers that plans make one op of several products, or one product of several heads. */
const ATTENTION_READERS: readonly Part[] = [
  part(
    "attention of y",
    matrix,
    keyed,
    (y, [k, v]) => attended([batch(y), k, v], (s) => tf.div(s, 2)),
  ),
  part(
    "attention to y",
    matrix,
    keyed,
    (y, [k, v]) => attended([tf.add(k, v), batch(y), batch(y)]),
  ),
  part("attention within y", matrix, none, (y) => attended([batch(y), batch(y), batch(y)])),
  part(
    "attention of y where m",
    matrix,
    keyed,
    (y, [k, v, m]) => attended([batch(y), k, v], (s) => tf.where(m, s, -1e9)),
  ),
  part(
    "attention of y with cast(m) and c",
    matrix,
    keyed,
    (y, [k, v, m, c]) =>
      attended([batch(y), k, v], (s) => tf.add(tf.mul(s, tf.cast(m, "float32")), c)),
  ),
  part(
    "where(m, causal attention within y, y)",
    matrix,
    (shape) => [{ dtype: "bool", shape: shape.slice(-1) }],
    (y, [m]) => {
      const x = tf.expandDims(batch(y), 2);
      return tf.where(m, tf.scaledDotProductAttention(x, x, x, { causal: true }), x);
    },
  ),
  part(
    "where(m, y · heads, c)",
    matrix,
    (shape) => [floats(last(shape), 3), ...masked([1, outer(shape), shape.at(-2)!, 3])],
    (y, [w, m, c]) => {
      const heads = outer(y.shape), x = tf.reshape(y, [1, heads, ...y.shape.slice(-2)]);
      return tf.where(m, tf.matMul(x, repeated(w, heads)), c);
    },
  ),
];

/** Readers of every kind and dtype; parts of one list differ in the access of an operand alone. */
export const READERS: readonly (readonly Part[])[] = [
  ...POINTWISE_READERS,
  ...[...OTHER_READERS, ...ATTENTION_READERS].map((reader) => [reader]),
];

/** Producers of an op's input, from a similar tensor and operands; the result is similar again. */
export const PRODUCERS: readonly Part[] = [
  part("as it is", () => true, none, (x) => tf.identity(x)),
  part(
    "where(m, x, reversed)",
    () => true,
    (shape) => [{ dtype: "bool", shape }],
    (x, [m]) => tf.where(m, x, x.shape.length > 0 ? tf.reverse(x, 0) : x),
  ),
  part(
    "x by cast(m)",
    some,
    (shape) => [{ dtype: "bool", shape: shape.slice(-1) }],
    (x, [m]) => tf.mul(x, tf.sub(2, tf.square(tf.add(tf.mul(tf.cast(m, "float32"), 0), 1)))),
  ),
  part(
    "x - cast(i) + cast(i)",
    () => true,
    (shape) => [{ dtype: "int32", shape }],
    (x, [i]) => tf.add(tf.sub(x, tf.cast(i, "float32")), tf.cast(i, "float32")),
  ),
  part(
    "where(u < 2, x, |x|)",
    some,
    (shape) => [{ dtype: "uint32", shape: [...shape.slice(0, -1), 1] }],
    (x, [u]) => tf.where(tf.less(tf.cast(u, "float32"), 2), x, tf.abs(x)),
  ),
  part(
    "x by cast(d)",
    () => true,
    () => [{ dtype: "float64", shape: [] }],
    (x, [d]) => tf.cast(tf.mul(tf.cast(x, "float64"), tf.add(tf.mul(d, 0), 1)), "float32"),
  ),
  part(
    "where(l > 0, x, |x|)",
    () => true,
    (shape) => [{ dtype: "int64", shape }],
    (x, [l]) => tf.where(tf.greater(l, 0), x, tf.abs(x)),
  ),
  part("attention to one key", matrix, none, (x) => {
    const rows = tf.reshape(x, [-1, 1, x.shape.at(-1)!]);
    return tf.reshape(attended([rows, tf.cos(rows), rows]), x.shape);
  }),
  part("x · heads", matrix, none, (x) => {
    const heads = outer(x.shape), rows = tf.reshape(x, [1, heads, ...x.shape.slice(-2)]);
    return tf.reshape(tf.matMul(rows, repeated(tf.eye(x.shape.at(-1)!), heads)), x.shape);
  }),
];
