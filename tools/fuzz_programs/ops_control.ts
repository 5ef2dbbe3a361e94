/**
 * Lines of programs with functions in them: control flow, scripts, lists, composite values. The table's language is explained in templates.ts.
 *
 * @module
 */

import type { Template } from "./templates.ts";

/** Branches, loops and functions. */
export const CONTROL: readonly Template[] = [
  [
    "x:float y=x",
    "tf.cond(tf.greater(tf.sum($x), 0.1), () => #expr($x, $y), () => #expr($y, $x))",
    2,
  ],
  ["x:number y=x", "tf.cond(tf.greater(tf.max($x), tf.sum($y)), () => $x, () => tf.add($y, 1))"],
  [
    "x:any y=x i:int32",
    "tf.switchCase(tf.mod(tf.sum(tf.abs($i)), 3), [() => $x, () => $y, () => tf.identity($x)])",
  ],
  [
    "m:bool x:number y=x",
    "tf.cond(tf.any($m), () => [tf.sum($x), $y], () => [tf.max($y), $x])[#int(0,1)]",
  ],
  [
    "x:float y=x",
    'tf.whileLoop((i) => tf.less(i, #int(0,3)), (i, a) => [tf.add(i, 1), tf.mul(#expr(a, $y), 0.5)], [tf.constant(0, "int32"), $x])[1]',
    2,
  ],
  [
    "x:float32 y=x",
    'tf.whileLoop((i, a) => tf.logicalAnd(tf.less(i, 3), tf.less(tf.sum(a), 9)), (i, a) => [tf.add(i, 1), tf.add(tf.abs(a), #expr(a, $y))], [tf.constant(0, "int32"), $x])[#int(0,1)]',
  ],
  [
    "x:float y=x",
    'tf.whileLoop((i) => tf.less(i, 2), (i, a, m) => [tf.add(i, 1), tf.where(m, #expr(a, $y), $y), tf.logicalNot(m)], [tf.constant(0, "int32"), $x, tf.greater($x, $y)])[#int(1,2)]',
  ],
  [
    "x:float32 y=x",
    'tf.whileLoop((i) => tf.less(i, 2), (i, a) => [tf.add(i, 1), tf.cond(tf.equal(i, 0), () => #expr(a, $y), () => tf.sin(a))], [tf.constant(0, "int32"), $x])[1]',
  ],
  ["x:rows", "tf.mapFn((e) => #expr(e, e), $x)", 2],
  ["x:rows y:float32", "tf.mapFn((e) => tf.add(tf.sum(e), tf.cast(tf.sum($y), $x.dtype)), $x)"],
  ["x:rows", "tf.mapFn((e) => tf.greater(tf.sum(e), 0), $x)"],
  ["x:rows", "tf.scan((a, e) => #expr(a, e), $x)"],
  [
    "x:rows i:int32",
    'tf.scan((a, e) => tf.add(a, tf.sum(tf.cast(e, "float32"))), $x, { initializer: tf.cast(tf.sum($i), "float32") })',
  ],
  ["x:rows", "tf.foldl((a, e) => #expr(a, e), $x)"],
  ["x:rows", "tf.foldr((a, e) => #expr(a, e), $x)"],
  ["x:rows", "tf.scan((a, e) => #expr(a, e), $x, { reverse: true })"],
  [
    "x:rows y:float32",
    "tf.scan((a, e) => #expr(a, a), tf.stridedSlice($x, [0], [0], [1]), { initializer: $y })",
  ],
  ["x:float y=x", "tf.function((a, b) => #expr(a, b))($x, $y)", 2],
  ["x:any y:any", "tf.function((a, b) => [b, a])($x, $y)[#int(0,1)]"],
  [
    "x:float32 y=x",
    "tf.customGrad((a, save) => ({ value: #expr(a, a), gradFunc: (dy) => tf.mul(dy, 2) }))($x)",
  ],
  ["x:float32 y=x", "tf.grad((a) => tf.sum(#expr(a, $y)))($x)"],
];

/** Functions of the host inside. */
export const SCRIPTS: readonly Template[] = [
  ["x:float y=x", "tf.pyFunction((a, b) => #expr(a, b), [$x, $y], $x.dtype)", 2],
  ["x:number", "tf.pyFunction((a) => tf.add(a, tf.max(a)), [$x], $x.dtype)"],
  ["x:any y:any", "tf.pyFunction((a, b) => [b, a], [$x, $y], [$y.dtype, $x.dtype])[#int(0,1)]"],
  ["x:any", "tf.numpyFunction((a) => a, [$x], $x.dtype)"],
  [
    "x:float32",
    'tf.numpyFunction((a) => a.map((v) => 2 * v), [$x], "float32", { shapeFn: (s) => s, vjp: (_, dy) => [tf.mul(dy, 2)] })',
    2,
  ],
  ["x:float32", 'tf.numpyFunction((a) => a.data.length, [$x], "int32")'],
  ["m:bool x:number~m", "tf.numpyFunction((a, b) => b, [$m, $x], $x.dtype, { stateful: false })"],
  [
    "x:float32 y=x",
    'tf.cond(tf.greater(tf.sum($x), 0), () => tf.pyFunction((a) => #expr(a, a), [$x], tf.TensorSpec(null, "float32")), () => $y)',
  ],
];

/** Lists and composite values. */
export const COMPOSITES: readonly Template[] = [
  [
    "x:any y=x",
    "new tf.TensorArray($x.dtype, 3).write(#int(0,2), $x).write(#int(0,2), $y).stack()",
    2,
  ],
  [
    "x:float32 y=x",
    'new tf.TensorArray("float32", 3).write(0, $x).write(1, #expr($x, $y)).write(2, $y).read(#int(0,2))',
  ],
  ["x:rows", "new tf.TensorArray($x.dtype, 0, { dynamicSize: true }).unstack($x).stack()"],
  [
    "x:vector",
    'tf.whileLoop((i) => tf.less(i, 2), (i, a) => [tf.add(i, 1), a.write(i, tf.mul($x, tf.cast(i, $x.dtype)))], [tf.constant(0, "int32"), new tf.TensorArray($x.dtype, 2, { elementShape: $x.shape })])[1].stack()',
  ],
  ["x:rows", "tf.RaggedTensor.fromRowLengths($x, [#split(x)]).toTensor()", 2],
  [
    "x:rows",
    "tf.ragged.mapFlatValues((v) => #expr(v, v), tf.RaggedTensor.fromRowLengths($x, [#split(x)])).toTensor()",
    2,
  ],
  ["x:rows", "tf.ragged.#pick(sum|max|mean)(tf.RaggedTensor.fromRowLengths($x, [#split(x)]), 1)"],
  [
    "x:rows y:float32",
    "tf.ragged.mapFlatValues((v) => tf.add(v, tf.cast(tf.sum($y), $x.dtype)), tf.RaggedTensor.fromRowLengths($x, [#split(x)])).flatValues",
  ],
  [
    "x:rows",
    'tf.gather($x, new tf.IndexedSlices($x, tf.range(0, #rows(x), 1, "int32"), tf.shape($x)).indices)',
  ],
];
