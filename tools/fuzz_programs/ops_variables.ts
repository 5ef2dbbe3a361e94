/**
 * Lines of programs that read and change variables: whole values and rows of them, in branches, loops, scripts and functions. Each line is one
 * expression: what is written stands before a comma. The table's language is explained in templates.ts.
 *
 * @module
 */

import type { Template } from "./templates.ts";

const I = 'tf.constant(0, "int32")';

/** Variables that are read. */
export const READS: readonly Template[] = [
  ["w:variable", "tf.identity($w)", 2],
  ["w:variable x=w", "tf.mul($w, $x)", 2],
  ["w:variable x=w", "tf.cond(tf.greater(tf.sum($x), 0), () => tf.add($w, $x), () => tf.sin($w))"],
  [
    "w:variable x=w",
    `tf.whileLoop((i) => tf.less(i, 2), (i, a) => [tf.add(i, 1), tf.mul(#expr(a, a), $w)], [${I}, $x])[1]`,
  ],
  [
    "w:variable x=w",
    'tf.pyFunction((a) => tf.mul($w, #expr(a, a)), [$x], tf.TensorSpec(null, "float32"))',
  ],
  ["w:table i:int32", "tf.gather($w, tf.mod(tf.reshape($i, [-1]), $w.shape[0]))"],
];

/** Index of a row of a table, as a tensor. */
const ROW = "tf.reshape(tf.mod(tf.sum($i), $w.shape[0]), [1])";
/** A product of one row, as wide as two rows of a table and one more. */
const PRODUCT =
  'tf.matMul(tf.expandDims(tf.stack([tf.sum($x), tf.sum(tf.sin($x))]), 0), tf.reshape(tf.sin(tf.range(0, 4 * n + 2, 1, "float32")), [2, 2 * n + 1]))';
const WIDTH = "$w.shape.slice(1).reduce((a, b) => a * b, 1)";

/** Variables that are changed, and read before and after. */
export const WRITES: readonly Template[] = [
  ["w:variable x=w", "($w.#pick(assign|assignAdd|assignSub)($x), tf.identity($w))", 2],
  ["w:variable x=w", "($w.assign(tf.mul($x, 0.5)), tf.add($w, $x))"],
  [
    "w:variable x=w",
    "((before) => ($w.#pick(assign|assignAdd)(#expr(before, $x)), tf.sub($w, before)))(tf.identity($w))",
  ],
  [
    "w:variable x=w y=w",
    "tf.controlDependencies([$w.#pick(assign|assignAdd|assignSub)(#expr($x, $y))].filter(Boolean), () => tf.mul($w, $y))",
  ],
  [
    "w:variable v:variable",
    "($w.assign(tf.add($w, tf.sum($v))), $v.assign(tf.sub($v, tf.mean($w))), tf.sum($v))",
  ],
  [
    "w:variable x=w",
    "tf.cond(tf.greater(tf.sum($x), #pick(0|0.5)), () => ($w.assign($x), tf.mul($w, 2)), () => ($w.assignAdd(#expr($x, $x)), tf.sin($w)))",
    2,
  ],
  [
    "w:variable x=w",
    "(tf.cond(tf.greater(tf.sum($x), tf.sum($w)), () => ($w.assignSub($x), tf.constant(1)), () => tf.constant(0)), tf.identity($w))",
    2,
  ],
  [
    "w:variable x=w i:int32",
    "tf.switchCase(tf.mod(tf.sum(tf.abs($i)), 3), [() => ($w.assign($x), tf.identity($w)), () => tf.identity($w), () => ($w.assignAdd(tf.mul($x, 0.5)), tf.identity($x))])",
  ],
  [
    "w:variable x=w",
    `tf.whileLoop((i) => tf.less(i, #int(0,3)), (i, a) => ($w.assignAdd(tf.mul(a, 0.25)), [tf.add(i, 1), tf.mul(#expr(a, $w), 0.5)]), [${I}, $x])[1]`,
    2,
  ],
  [
    "w:variable x=w",
    `tf.whileLoop((i) => tf.logicalAnd(tf.less(i, 4), tf.less(tf.sum(tf.abs($w)), 9)), (i) => ($w.assignAdd(tf.abs($x)), [tf.add(i, 1)]), [${I}])[0]`,
  ],
  [
    "w:variable x=w",
    `(tf.whileLoop((i) => tf.less(i, 3), (i) => [tf.cond(tf.equal(tf.mod(i, 2), 0), () => ($w.assignSub($x), tf.add(i, 1)), () => ($w.assign(#expr($w, $x)), tf.add(i, 1)))], [${I}]), tf.add($w, $x))`,
    2,
  ],
  [
    "w:variable x:rows",
    'tf.mapFn((e) => ($w.assign(tf.add($w, tf.mul(tf.cast(tf.sum(e), "float32"), 0.1))), tf.cast(tf.sum($w), e.dtype)), $x)',
  ],
  [
    "w:variable x:rows",
    "tf.foldl((a, e) => ($w.assign(tf.mul($w, -1)), tf.add(a, tf.mul(e, tf.cast(tf.mean(tf.sin($w)), e.dtype)))), $x)",
  ],
  [
    "w:variable x=w",
    "((f) => tf.sub(f($x), f(tf.mul($x, 2))))(tf.function((a) => ($w.assignAdd(a), tf.mul($w, a))))",
    2,
  ],
  ["w:variable x=w", "(tf.function(() => void $w.assign($x))(), tf.identity($w))"],
  [
    "w:variable x=w",
    'tf.add(tf.pyFunction((a) => ($w.assignAdd(a), #expr(a, a)), [$x], tf.TensorSpec(null, "float32")), $w)',
    2,
  ],
  [
    "w:variable x=w",
    '($w.assign($x), tf.pyFunction((a) => ((b) => ($w.assign(a), b))(tf.mul($w, 2)), [tf.sin($x)], tf.TensorSpec(null, "float32")))',
  ],
  [
    "w:variable x=w",
    'tf.cond(tf.greater(tf.sum($w), 0), () => tf.pyFunction((a) => ($w.assignSub(a), tf.neg(a)), [$x], tf.TensorSpec($w.shape, "float32")), () => tf.identity($w))',
  ],
  [
    "w:variable x=w",
    '($w.assignAdd(tf.numpyFunction((a) => a.map((v) => v / 2), [$x], tf.TensorSpec($w.shape, "float32"))), tf.mul($w, $w))',
  ],
  [
    "w:table i:int32 x:float32",
    `($w.#pick(scatterAdd|scatterSub|scatterUpdate)(new tf.IndexedSlices(tf.reshape(tf.broadcastTo(tf.sum(tf.sin($x)), [${WIDTH}]), [1, ...$w.shape.slice(1)]), ${ROW})), tf.identity($w))`,
    2,
  ],
  [
    "w:table x=w",
    '($w.#pick(scatterAdd|scatterSub)(new tf.IndexedSlices($x, tf.zerosLike(tf.range(0, $w.shape[0], 1, "int32")))), tf.mul($w, $x))',
  ],
  [
    "w:table",
    '($w.assign(tf.sin($w)), $w.#pick(scatterAdd|scatterSub|scatterUpdate)(new tf.IndexedSlices($w, tf.sub($w.shape[0] - 1, tf.range(0, $w.shape[0], 1, "int32")))), tf.identity($w))',
  ],
  [
    "w:table i:int32 x:float32",
    `((n) => ((y) => ($w.scatterUpdate(new tf.IndexedSlices(tf.reshape(tf.slice(y, [0, #int(0,1)], [1, n]), [1, ...$w.shape.slice(1)]), ${ROW})), tf.add(tf.sum($w), y)))(#pick(tf.tanh|tf.identity)(${PRODUCT})))(${WIDTH})`,
    3,
  ],
  [
    "w:table x:float32",
    `((n) => tf.whileLoop((i) => tf.less(i, 2), (i, a) => ($w.scatterUpdate(new tf.IndexedSlices(tf.reshape(tf.slice(tf.mul(tf.cast(tf.add(i, 1), "float32"), ${PRODUCT}), [0, n], [1, n]), [1, ...$w.shape.slice(1)]), tf.reshape(tf.mod(i, $w.shape[0]), [1]))), [tf.add(i, 1), tf.add(a, tf.sum($w))]), [${I}, tf.sum($x)])[1])(${WIDTH})`,
    2,
  ],
];
