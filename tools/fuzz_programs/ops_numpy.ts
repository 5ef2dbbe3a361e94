/**
 * Lines of programs with names of NumPy, JAX and Keras: `tf.experimental.numpy`, scans and loops, slices at computed places, activations. The
 * table's language is explained in templates.ts.
 *
 * @module
 */

import type { Template } from "./templates.ts";

const NP = "tf.experimental.numpy";
/** Places that have no gradient and stay in their order where numbers are rounded otherwise. */
const COUNT = "tf.cumsum(tf.onesLike(tf.stopGradient($x)), -1)";
/** A place that is computed, inside or not. */
const PLACE = "tf.sub(tf.mod(tf.sum(tf.abs($i)), 7), 2)";
/** Some elements are NaN: those of equal places in all ways to run. */
const GAPS = `tf.where(tf.equal(tf.mod(${COUNT}, 3), 2), NaN, $x)`;

/** Functions of NumPy. */
export const NUMPY: readonly Template[] = [
  ["x:float", `${NP}.#pick(sinc|deg2rad|rad2deg)($x)`],
  ["x:float", `${NP}.#pick(log2|log10)(tf.add(tf.abs($x), 0.5))`],
  ["x:float", `${NP}.exp2(tf.sin($x))`],
  ["x:float y~x", `${NP}.hypot($x, tf.add(tf.abs($y), 0.5))`],
  ["x:float y~x", `${NP}.logaddexp($x, $y)`],
  ["x:number y~x", `${NP}.#pick(fmax|fmin)($x, $y)`],
  ["x:number y~x", `${NP}.fmax($x, $y) ≡ tf.maximum($x, $y)`],
  ["x:int y=x", `${NP}.isin($x, $y, #bool)`],
  ["x:float", `${NP}.isclose($x, tf.mul($x, 1.5), { rtol: 0.01, equalNan: #bool })`],
  ["x:float", `${NP}.average($x) ≡ tf.mean($x)`],
  ["x:float", `${NP}.average($x, { weights: tf.add(tf.square($x), 1), keepDims: #bool })`],
  ["x:rows", `${NP}.average($x, { axis: -1, weights: tf.add(tf.abs($x), 0.5) })`],
  ["x:rows", `${NP}.ptp($x, -1, #bool) ≡ tf.sub(tf.max($x, -1, #bool), tf.min($x, -1, #bool))`],
  ["x:rows", `${NP}.diff($x, 1, #axis(x))`, 2],
  ["x:rows", `${NP}.trapezoid($x, { axis: #axis(x), dx: 0.5 })`],
  ["x:rows", `${NP}.ediff1d($x, { toEnd: [1] })`],
  [
    "x:rows",
    `${NP}.gradient(tf.concat([$x, tf.sin($x)], 0), { axis: 0, spacing: #pick(1|0.5) })`,
    2,
  ],
  [
    "x:rows",
    `${NP}.gradient(tf.concat([$x, $x, tf.sin($x)], 0), { axis: 0, edgeOrder: 2 })`,
  ],
  ["x:rows", `${NP}.unwrap(tf.sin($x), { axis: #axis(x) }) ≡ tf.sin($x)`],
  ["x:rows", `${NP}.#pick(median|nanmedian)($x, #axis(x), #bool)`, 2],
  ["x:rows", `${NP}.nanmedian($x, -1) ≡ ${NP}.median($x, -1)`],
  [
    "x:rows",
    `${NP}.#pick(quantile|nanquantile)($x, #pick(0.3|[0.2, 0.7]|[[0.1], [0.9]]), { axis: -1, keepDims: #bool })`,
    2,
  ],
  ["x:rows", `${NP}.#pick(nansum|nanmean|nanvar|nanmax|nanmin)(${GAPS}, -1, #bool)`, 2],
  ["x:rows", `${NP}.nanToNum(${NP}.#pick(nanmedian|nanstd)(${GAPS}, -1))`],
  ["x:rows", `${NP}.#pick(nancumsum|nancumprod)(tf.sin(${GAPS}), -1)`],
  ["x:rows", `${NP}.#pick(nanargmax|nanargmin)(${GAPS}, -1)`],
  ["x:float y~x", `${NP}.copysign($x, $y)`],
  ["x:float", `${NP}.fix(tf.mul($x, 3)) ≡ tf.mul(tf.sign($x), tf.floor(tf.abs(tf.mul($x, 3))))`],
  ["x:float", `${NP}.cbrt(tf.add(tf.abs($x), 0.5))`, 2],
  ["x:float y~x", `${NP}.logaddexp2($x, $y)`],
  ["x:rows", `${NP}.#pick(hstack|vstack|dstack|columnStack)([$x, tf.sin($x)])`],
  ["x:rows", `${NP}.#pick(flipud|fliplr)(${NP}.atleast2d($x))`],
  ["x:rows", `${NP}.append($x, $x, #axis(x)) ≡ tf.concat([$x, $x], #axis(x))`],
  ["x:rows", `${NP}.arraySplit($x, [1, 2], 0)[#int(0,1)]`],
  ["x:int", `${NP}.unravelIndex(tf.abs($x), [#int(1,3), 5])[#int(0,1)]`],
  ["x:float y~x", `${NP}.select([tf.less($x, $y), tf.less($x, 0.5)], [$x, $y], 2)`],
  ["x:float", `${NP}.piecewise($x, [tf.less($x, 0)], [tf.sin, (v) => tf.mul(v, 2)])`],
  ["x:rows", `${NP}.lexsort([${COUNT}, tf.mod(${COUNT}, 2)])`],
  ["x:rows y=x", `tf.cast(${NP}.arrayEqual($x, $y, #bool), "float32")`],
  ["x:rows", `${NP}.diagflat($x, #int(-1,1))`],
  ["x:rows", `${NP}.histogram(${COUNT}, { bins: #int(1,4) })[#int(0,1)]`],
  ["x:rows", `${NP}.histogram(${COUNT}, { bins: [0.5, 1.5, 4], weights: $x })[0]`],
  ["x:rows", `${NP}.histogram2d(${COUNT}, ${COUNT}, { bins: 2, weights: $x })[0]`],
  ["x:rows", `${NP}.digitize(${COUNT}, #pick([0.5, 1.5, 9]|[3.5, 1.5]), #bool)`],
  ["x:any", `${NP}.moveaxis(tf.expandDims($x, 0), 0, -1) ≡ tf.expandDims($x, -1)`],
  ["x:matrices", `${NP}.swapaxes($x, -1, -2) ≡ tf.linalg.matrixTranspose($x)`],
  ["x:matrices", `${NP}.rot90($x, #int(-1,3), [-2, -1])`, 2],
  ["x:matrices", `${NP}.tril($x) ≡ tf.linalg.bandPart($x, -1, 0)`],
  ["x:matrices", `${NP}.#pick(tril|triu)($x, #int(-1,1))`],
  [
    "x:rows",
    `${NP}.takeAlongAxis($x, tf.argsort(${COUNT}, -1, "DESCENDING"), -1) ≡ tf.reverse($x, [-1])`,
  ],
  ["x:vector", `${NP}.vander(tf.sin($x), { n: #int(1,4), increasing: #bool })`],
  ["x:matrix", `${NP}.#pick(cov|corrcoef)(tf.concat([$x, tf.sin($x), tf.cos($x)], 1))`],
  ["x:vector y=x", `${NP}.#pick(outer|inner|vdot|kron)($x, $y)`],
  ["x:vector", `${NP}.interp(tf.sin($x), [-1, 0, 0.5, 2], [3, 1, 4, 2])`],
  [
    "x:matrices",
    "tf.linalg.matrixPower(tf.div(tf.matMul($x, $x, false, true), 8), 3) ≡ ((m) => tf.matMul(tf.matMul(m, m), m))(tf.div(tf.matMul($x, $x, false, true), 8))",
  ],
  ["x:matrix", "tf.linalg.multiDot([$x, tf.transpose($x), tf.sin($x)])"],
  ["x:rows", "tf.linalg.toeplitz($x, tf.sin($x))"],
];

/** Scans, loops and slices of JAX. */
export const LOOPS: readonly Template[] = [
  ["x:rows", "tf.associativeScan((a, b) => tf.add(a, b), $x, { axis: #axis(x) })"],
  [
    "x:rows",
    "tf.associativeScan((a, b) => tf.add(a, b), $x, { reverse: true }) ≡ tf.cumsum($x, 0, false, true)",
  ],
  ["x:rows", "tf.associativeScan((a, b) => tf.maximum(a, b), $x, { reverse: #bool })"],
  [
    "x:rows y=x",
    "tf.associativeScan(([a, b], [c, d]) => [tf.mul(a, c), tf.add(tf.mul(c, b), d)], [tf.sin($x), $y])[#int(0,1)]",
    2,
  ],
  ["x:float y=x", "tf.foriLoop(0, #int(0,3), (i, a) => tf.mul(#expr(a, $y), 0.5), $x)", 2],
  [
    "x:float32 i:int32",
    "tf.foriLoop(0, tf.mod(tf.sum(tf.abs($i)), 4), (i, a) => tf.add(tf.sin(a), tf.cast(i, a.dtype)), $x)",
    2,
  ],
  [
    "x:float32",
    'tf.foriLoop(tf.constant(5000000000, "int64"), tf.constant(5000000002, "int64"), (i, a) => tf.mul(a, 0.5), $x) ≡ tf.mul(tf.mul($x, 0.5), 0.5)',
  ],
  [
    "x:rows",
    "tf.dynamicSlice($x, tf.range(0, $x.shape.length, 1, 'int32'), $x.shape.map(() => 1))",
  ],
  [
    "x:rows i:int32",
    `tf.dynamicSlice($x, $x.shape.map((_, k) => (k === 0 ? ${PLACE} : 0)), $x.shape.with(0, 1))`,
    2,
  ],
  [
    "x:rows i:int32",
    `tf.dynamicUpdateSlice($x, tf.sin(tf.slice($x, $x.shape.map(() => 0), $x.shape.with(0, #pick(0|1)))), $x.shape.map((_, k) => (k === 0 ? ${PLACE} : 0)))`,
    2,
  ],
  ["x:rows y=x", "tf.dynamicUpdateSlice($x, $y, $x.shape.map(() => 0)) ≡ tf.identity($y)"],
];

/** Activations of Keras and JAX. */
export const ACTIVATIONS: readonly Template[] = [
  ["x:float", "tf.nn.#pick(hardSigmoid|hardSilu|hardTanh|celu|squareplus|sparsePlus)($x)", 2],
  ["x:float", "tf.nn.#pick(mish|softShrink|hardShrink|tanhShrink|sparseSigmoid)($x)", 2],
  ["x:float", "tf.nn.hardSwish($x) ≡ tf.nn.hardSilu($x)"],
  ["x:float", "tf.nn.mish($x) ≡ tf.mul($x, tf.tanh(tf.softplus($x)))"],
  ["x:float", "tf.nn.threshold($x, 0.25, #int(-1,1))"],
  ["x:rows", "tf.nn.glu(tf.concat([$x, tf.sin($x)], -1)) ≡ tf.mul($x, tf.sigmoid(tf.sin($x)))"],
  ["x:rows", "tf.nn.sparsemax($x)"],
  ["x:rows", "tf.nn.#pick(logMeanExp|standardize)($x, -1)"],
];
