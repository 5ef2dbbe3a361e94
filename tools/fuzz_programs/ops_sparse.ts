/**
 * Lines of programs with sparse tensors: each makes them of dense values, gives dense ones, and says beside it what is the same without
 * them. The table's language is explained in templates.ts.
 *
 * @module
 */

import type { Template } from "./templates.ts";

/** Ones for the stored elements of a value. */
function stored(name: string): string {
  return `tf.cast(tf.notEqual($${name}, 0), $${name}.dtype)`;
}

/** A value as a sparse tensor. */
function sparse(name: string): string {
  return `tf.sparse.fromDense($${name})`;
}

/** The value, whose gradient is that of its stored elements. */
function dense(name: string): string {
  return `tf.mul($${name}, ${stored(name)})`;
}

/** The positive elements of a value, sparse and dense. */
const SOME = "tf.sparse.fromDense(tf.relu($x))", SOME_DENSE = "tf.relu($x)";
const [X, Y] = ["x", "y"].map(sparse), [DX, DY] = ["x", "y"].map(dense);

function same(operands: string, made: string, other: string, weight = 1): Template {
  return [operands, `tf.sparse.toDense(${made}) ≡ ${other}`, weight];
}

/** `tf.sparse`, and sparse values that control flow and functions carry. */
export const SPARSE: readonly Template[] = [
  same("x:number", X!, DX!),
  ["x:number", `tf.sparse.toDense(${X}, 7) ≡ tf.where(tf.equal($x, 0), tf.cast(7, $x.dtype), $x)`],
  [
    "x:float",
    "tf.sparse.toDense(new tf.SparseTensor(tf.where(tf.greater($x, 0)), tf.gatherND($x, tf.where(tf.greater($x, 0))), tf.shape($x))) ≡ tf.relu($x)",
  ],
  [
    "x:rows",
    "tf.sparse.toDense(tf.sparse.reorder(new tf.SparseTensor(tf.reverse(tf.where(tf.onesLike($x)), [0]), tf.reverse(tf.reshape($x, [-1]), [0]), tf.shape($x)))) ≡ tf.identity($x)",
  ],
  [
    "x:matrix",
    `tf.sparse.matMul(${SOME}, tf.sin($x), #pick(true, false|false, true)) ≡ tf.matMul(${SOME_DENSE}, tf.sin($x), #pick(true, false|false, true))`,
    2,
  ],
  [
    "x:matrix",
    `tf.sparse.matMul(tf.cos($x), ${SOME}, #pick(true, false|false, true)) ≡ tf.matMul(tf.cos($x), ${SOME_DENSE}, #pick(true, false|false, true))`,
    2,
  ],
  [
    "x:matrix m:bool",
    `tf.where(tf.any($m), tf.sparse.matMul(${SOME}, tf.transpose($x)), 0) ≡ tf.where(tf.any($m), tf.matMul(${SOME_DENSE}, tf.transpose($x)), 0)`,
  ],
  [
    "x:matrix",
    "tf.sparse.matMul(tf.sparse.eye(#rows(x), #rows(x), $x.dtype), $x) ≡ tf.identity($x)",
  ],
  same("x:number y=x", `tf.sparse.add(${X}, ${Y})`, `tf.add(${DX}, ${DY})`, 2),
  ["x:number y=x", `tf.sparse.add(${X}, $y) ≡ tf.add(${DX}, $y)`, 2],
  ["x:number y=x", `tf.sparse.add($y, ${X}) ≡ tf.add($y, ${DX})`],
  same(
    "x:float y=x",
    `tf.sparse.add(${X}, ${Y}, 0.5)`,
    `tf.where(tf.logicalAnd(tf.logicalAnd(tf.notEqual($x, 0), tf.notEqual($y, 0)), tf.less(tf.abs(tf.add($x, $y)), 0.5)), 0, tf.add(${DX}, ${DY}))`,
  ),
  same(
    "x:number",
    `tf.sparse.slice(${X}, #begin(x), tf.shape($x))`,
    `tf.slice(${DX}, #begin(x), tf.sub(tf.shape($x), #begin(x)))`,
    2,
  ),
  same(
    "x:float",
    `((s) => tf.sparse.retain(s, tf.greater(s.values, 0.3)))(${X})`,
    "tf.where(tf.greater($x, 0.3), $x, 0)",
  ),
  same(
    "x:number y=x",
    `tf.sparse.concat([${X}, ${Y}], #axis(x))`,
    `tf.concat([${DX}, ${DY}], #axis(x))`,
    2,
  ),
  same(
    "x:matrices",
    `tf.sparse.concat([${SOME}, tf.sparse.fromDense(tf.sin(tf.gather($x, [0], 0)))], 0, true)`,
    // What is 0 is not stored, and has no gradient.
    `tf.concat([${SOME_DENSE}, ((g) => tf.where(tf.notEqual(g, 0), tf.sin(g), 0))(tf.gather($x, [0], 0))], 0)`,
  ),
  ["x:number", `tf.sparse.reduceSum(${X}, #axes(x), #bool) ≡ tf.sum(${DX}, #axes(x), #bool)`, 2],
  [
    "x:float",
    `tf.stopGradient(tf.sparse.reduceMax(${SOME}, #axes(x), #bool)) ≡ tf.stopGradient(tf.maximum(tf.max(${SOME_DENSE}, #axes(x), #bool), 0))`,
  ],
  same(
    "x:matrices",
    `tf.sparse.softmax(${SOME})`,
    "((e) => tf.divNoNan(e, tf.sum(e, -1, true)))(tf.where(tf.greater($x, 0), tf.exp($x), 0))",
    2,
  ),
  [
    "x:number y=x",
    `tf.stopGradient(tf.sparse.toDense(tf.sparse.#pick(maximum|minimum)(${X}, ${Y}))) ≡ tf.stopGradient(tf.#pick(maximum|minimum)($x, $y))`,
    2,
  ],
  same("x:number", `tf.sparse.transpose(${X}, #perm(x))`, `tf.transpose(${DX}, #perm(x))`, 2),
  same("x:number", `tf.sparse.expandDims(${X}, #pick(0|-1))`, `tf.expandDims(${DX}, #pick(0|-1))`),
  same("x:number", `tf.sparse.reshape(${X}, [-1])`, `tf.reshape(${DX}, [-1])`),
  same(
    "x:matrices",
    `tf.sparse.reshape(${X}, [$x.shape[1], $x.shape[0], -1])`,
    `tf.reshape(${DX}, [$x.shape[1], $x.shape[0], -1])`,
  ),
  same(
    "x:number y=x",
    `tf.sparse.split(tf.sparse.concat([${X}, ${Y}], #axis(x)), 2, #axis(x))[#int(0,1)]`,
    `tf.identity([${DX}, ${DY}][#int(0,1)])`,
    2,
  ),
  same(
    "x:float",
    `tf.sparse.resetShape(${X}, tf.add(tf.shape($x), 1))`,
    `tf.pad(${DX}, $x.shape.map(() => [0, 1]))`,
  ),
  same(
    "x:float",
    `tf.sparse.mapValues((a, b) => #expr(a, b), ${SOME}, ${SOME})`,
    "((a) => tf.where(tf.greater(a, 0), tf.scatterND(tf.where(tf.greater(a, 0)), ((v) => ((a, b) => #expr(a, b))(v, v))(tf.gatherND(a, tf.where(tf.greater(a, 0)))), tf.shape(a)), 0))(tf.relu($x))",
    2,
  ),
  same(
    "x:matrix",
    `tf.sparse.fillEmptyRows(${SOME}, 5)[0]`,
    "tf.where(tf.logicalAnd(tf.logicalNot(tf.any(tf.greater($x, 0), 1, true)), tf.equal(tf.range(0, $x.shape[1]), 0)), 5, tf.relu($x))",
    2,
  ),
  [
    "x:matrix",
    `tf.sparse.fillEmptyRows(${SOME}, 5)[1] ≡ tf.logicalNot(tf.any(tf.greater($x, 0), 1))`,
  ],
  [
    "x:rows i:int32",
    "tf.sparse.sparseSegment#pick(Sum|Mean)($x, tf.mod(tf.reshape($i, [-1]), #rows(x)), tf.zerosLike(tf.reshape($i, [-1]))) ≡ tf.math.segment#pick(Sum|Mean)(tf.gather($x, tf.mod(tf.reshape($i, [-1]), #rows(x))), tf.zerosLike(tf.reshape($i, [-1])))",
  ],
  [
    "i:int32",
    'tf.sparse.toDense(tf.sparse.bincount(tf.reshape(tf.abs($i), [-1]), { minlength: 9, maxlength: 9 })) ≡ tf.cast(tf.sum(tf.oneHot(tf.reshape(tf.abs($i), [-1]), 9), 0), "int32")',
  ],
  [
    "x:float y=x",
    `tf.cond(tf.greater(tf.sum($y), 0), () => tf.sparse.toDense(${SOME}), () => tf.sparse.reduceSum(${Y}, [], true)) ≡ tf.cond(tf.greater(tf.sum($y), 0), () => ${SOME_DENSE}, () => ${DY})`,
  ],
  same(
    "x:float m:bool",
    `tf.cond(tf.any($m), () => ${SOME}, () => tf.sparse.mapValues(tf.sin, ${X}))`,
    `tf.cond(tf.any($m), () => ${SOME_DENSE}, () => tf.sin(${DX}))`,
    2,
  ),
  same(
    "x:float",
    `tf.whileLoop((i) => tf.less(i, #int(0,3)), (i, s) => [tf.add(i, 1), tf.sparse.mapValues((v) => tf.mul(tf.sin(v), 2), s)], [0, ${X}])[1]`,
    `tf.whileLoop((i) => tf.less(i, #int(0,3)), (i, s) => [tf.add(i, 1), tf.mul(tf.sin(s), 2)], [0, ${DX}])[1]`,
    2,
  ),
  [
    "x:matrix y=x",
    `tf.whileLoop((i) => tf.less(i, 2), (i, a) => [tf.add(i, 1), tf.tanh(tf.sparse.matMul(${SOME}, tf.matMul($y, a, true, false)))], [0, $x])[1] ≡ tf.whileLoop((i) => tf.less(i, 2), (i, a) => [tf.add(i, 1), tf.tanh(tf.matMul(${SOME_DENSE}, tf.matMul($y, a, true, false)))], [0, $x])[1]`,
  ],
  same(
    "x:float",
    `tf.function((s) => tf.sparse.mapValues(tf.square, s))(${X})`,
    `tf.square(${DX})`,
    2,
  ),
  [
    "x:matrix",
    `tf.function((s, d) => tf.sparse.matMul(s, d, false, true))(${SOME}, $x) ≡ tf.matMul(${SOME_DENSE}, $x, false, true)`,
  ],
  [
    "x:rows",
    "tf.mapFn((row) => tf.sparse.reduceSum(tf.sparse.fromDense(row)), $x) ≡ tf.mapFn((row) => tf.sum(tf.mul(row, tf.cast(tf.notEqual(row, 0), row.dtype))), $x)",
  ],
  [
    "x:rows",
    `tf.mapFn((row) => tf.sparse.reduceSum(row), ${X}, { fnOutputSignature: tf.TensorSpec([], $x.dtype) }) ≡ tf.mapFn((row) => tf.sum(row), ${DX})`,
  ],
  [
    "x:matrix",
    `tf.pyFunction((a) => tf.sparse.toDense(tf.sparse.mapValues(tf.square, tf.sparse.fromDense(a))), [$x], $x.dtype) ≡ tf.pyFunction((a) => tf.square(a), [${DX}], $x.dtype)`,
  ],
  [
    "x:float32",
    `tf.grad((a) => tf.sum(tf.square(tf.sparse.mapValues(tf.sin, tf.sparse.fromDense(a)).values)))($x) ≡ tf.mul(tf.mul(2, ${
      stored("x")
    }), tf.mul(tf.sin($x), tf.cos($x)))`,
  ],
];
