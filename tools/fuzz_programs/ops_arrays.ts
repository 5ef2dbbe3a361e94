/**
 * Lines of programs with functions that mark, repeat, divide and count elements, with sets, seeds and ragged rows. The table's language is
 * explained in templates.ts.
 *
 * @module
 */

import type { Template } from "./templates.ts";

/** The numbers of the rows of x. */
const ROWS = 'tf.range(0, #rows(x), 1, "int32")';
/** A partition for each row of x. */
const PARTS = `tf.mod(tf.mul(${ROWS}, 2), 3)`;
/** A place for each row of x, in turn with those of another. */
const EVEN = 'tf.range(0, 2 * #rows(x), 2, "int32")', ODD = 'tf.range(1, 2 * #rows(x), 2, "int32")';
/** All elements of i in a row. */
const FLAT = "tf.reshape($i, [-1])";
/** The rows of a partition. */
function rowsOf(part: string): string {
  return `tf.gather($x, tf.reshape(tf.where(tf.equal(${PARTS}, ${part})), [-1]))`;
}

/** Functions of `tf` that move, mark, count and convert elements. */
export const ARRAYS: readonly Template[] = [
  [
    "i:int32",
    'tf.sequenceMask(tf.abs($i), #int(0,5), "#pick(bool|int32|float32|float16)") ≡ tf.cast(tf.less(tf.range(0, #int(0,5), 1, "int32"), tf.expandDims(tf.abs($i), -1)), "#pick(bool|int32|float32|float16)")',
    2,
  ],
  ["i:int", "tf.sequenceMask(tf.mod(tf.abs($i), 5))"],
  [
    "x:rows i:int32",
    "tf.where(tf.reshape(tf.sequenceMask(tf.mod(tf.abs(tf.sum($i)), #rows(x) + 1), #rows(x)), [-1, 1]), tf.reshape($x, [#rows(x), -1]), 0)",
  ],
  ["x:rows", `tf.repeat($x, #int(0,3), 0) ≡ tf.gather($x, tf.repeat(${ROWS}, #int(0,3)))`],
  [
    "x:rows",
    'tf.repeat($x, 2, 0) ≡ tf.gather($x, tf.floorDiv(tf.range(0, 2 * #rows(x), 1, "int32"), 2))',
    2,
  ],
  ["x:rows", `tf.repeat($x, tf.mod(${ROWS}, 3), 0)`],
  ["x:any", "tf.repeat($x, #int(0,2), #axis(x))"],
  ["x:any", "tf.repeat($x, #int(0,2))"],
  [
    "x:matrices",
    "tf.reverseSequence($x, tf.fill([#rows(x)], tf.gather(tf.shape($x), 1))) ≡ tf.reverse($x, [1])",
  ],
  [
    "x:matrices",
    `tf.reverseSequence($x, tf.mod(${ROWS}, tf.add(tf.gather(tf.shape($x), 1), 1)))`,
    2,
  ],
  [
    "x:matrices",
    `tf.reverseSequence($x, tf.mod(${ROWS}, tf.add(tf.gather(tf.reverse(tf.shape($x), [0]), 0), 1)), -1, 0)`,
  ],
  [
    "x:rows",
    `tf.dynamicPartition($x, ${PARTS}, 3)[#int(0,2)] ≡ ${rowsOf("#int(0,2)")}`,
    2,
  ],
  [
    "x:rows",
    `tf.concat(tf.dynamicPartition($x, ${PARTS}, 4), 0) ≡ tf.concat([${
      [0, 1, 2].map((k) => rowsOf(String(k)))
    }], 0)`,
  ],
  ["x:any", 'tf.dynamicPartition($x, tf.cast(tf.greater($x, 0), "int32"), 2)[#int(0,1)]'],
  [
    "x:rows y=x",
    `tf.dynamicStitch([${EVEN}, ${ODD}], [$x, $y]) ≡ tf.reshape(tf.stack([$x, $y], 1), tf.concat([[2 * #rows(x)], tf.slice(tf.shape($x), [1])], 0))`,
    2,
  ],
  [
    "x:rows",
    `tf.dynamicStitch(tf.dynamicPartition(${ROWS}, ${PARTS}, 3), tf.dynamicPartition($x, ${PARTS}, 3)) ≡ tf.identity($x)`,
    2,
  ],
  ["x:rows y=x", `tf.dynamicStitch([${ROWS}, ${ROWS}], [$x, tf.sin($y)])`],
  ["i:int", `tf.uniqueWithCounts(${FLAT}).#pick(values|indices|counts)`, 2],
  ["i:int", `tf.sum(tf.uniqueWithCounts(${FLAT}).counts) ≡ tf.size($i)`],
  [
    "i:int",
    `(({ values, indices }) => tf.gather(values, indices))(tf.uniqueWithCounts(${FLAT})) ≡ ${FLAT}`,
  ],
  ["i:int32", 'tf.bitcast(tf.bitcast($i, "#pick(uint8|int16)"), "int32") ≡ tf.identity($i)'],
  ["i:int32", 'tf.bitcast($i, "#pick(uint8|int8)")'],
  ["i:int32", 'tf.bitcast(tf.cast($i, "int64"), "int32")'],
  ["x:float32", 'tf.bitcast(tf.bitcast($x, "int32"), "float32")'],
  [
    "x:number",
    'tf.saturateCast(tf.mul(tf.cast($x, "#pick(float32|int32|float16)"), 50), "#pick(int8|uint8|int16|uint16|float16)")',
    2,
  ],
  [
    "x:float32",
    'tf.saturateCast(tf.mul($x, 100), "int8") ≡ tf.cast(tf.clipByValue(tf.mul($x, 100), -128, 127), "int8")',
  ],
  [
    "x:float",
    'tf.histogramFixedWidth($x, [-1, 1], #int(1,5), "#pick(int32|int64)")',
    2,
  ],
  ["x:number", "tf.sum(tf.histogramFixedWidth($x, [-1, 1], #int(1,5))) ≡ tf.size($x)"],
  ["x:float", "tf.histogramFixedWidthBins($x, [-1.5, 2], #int(1,5))"],
  [
    "x:rows",
    "tf.tensorScatter#pick(Max|Min|Sub)($x, [[0], [#index(x)], [0]], tf.stack([tf.sin(tf.gather($x, 0)), tf.gather($x, #index(x)), tf.cos(tf.gather($x, 0))]))",
    2,
  ],
  [
    "x:rows",
    `tf.tensorScatterSub($x, tf.expandDims(${ROWS}, 1), tf.sin($x)) ≡ tf.sub($x, tf.sin($x))`,
  ],
  ["i:int j~i", "tf.truncate#pick(Div|Mod)($i, tf.add(tf.abs($j), 1))", 2],
  ["x:float y~x", "tf.truncateMod($x, tf.add(tf.abs($y), 1))"],
  [
    "x:float32",
    "tf.gradPassThrough((v) => #expr(v, v))($x) ≡ tf.customGrad((v) => ({ value: #expr(v, v), gradFunc: (dy) => dy }))($x)",
  ],
];

const ONE = `tf.expandDims(${FLAT}, 0)`, OTHER = "tf.expandDims(tf.reshape($j, [-1]), 0)";

/** `tf.sets`, of whole numbers in one group. */
export const SETS: readonly Template[] = [
  [
    "i:int j:int",
    `tf.sparse.toDense(tf.sets.union(${ONE}, tf.cast(${OTHER}, $i.dtype))) ≡ tf.expandDims(tf.sort(tf.unique(tf.concat([${FLAT}, tf.cast(tf.reshape($j, [-1]), $i.dtype)], 0)).values), 0)`,
    2,
  ],
  [
    "i:int32 j:int32",
    `tf.sparse.toDense(tf.sets.#pick(intersection|difference)(${ONE}, ${OTHER}))`,
    2,
  ],
  ["i:int32 j:int32", `tf.sets.size(tf.sets.union(${ONE}, ${OTHER}))`],
  ["i:int", `tf.sets.size(tf.sets.difference(${ONE}, ${ONE})) ≡ tf.zeros([1], "int32")`],
  [
    "i:int32 x:float~i",
    `tf.sum(tf.mul(tf.cast(tf.sparse.toDense(tf.sets.intersection(${ONE}, tf.expandDims(tf.range(0, 4, 1, "int32"), 0))), $x.dtype), tf.sum($x)))`,
  ],
];

/** A seed that a program computes. */
const SEED = "tf.stack([tf.sum($i), #int(1,3)])";

/** `tf.random` without a state, and shuffled rows in order again. */
export const SEEDS: readonly Template[] = [
  ["i:int32", `tf.mod(tf.random.split(${SEED}, #int(0,3)), 97)`],
  ["i:int32", `tf.mod(tf.random.foldIn(${SEED}, tf.max(${FLAT})), 97)`],
  [
    "i:int32 x:float32",
    `tf.random.statelessCategorical(tf.reshape($x, [1, -1]), 5, ${SEED}, "#pick(int32|int64)")`,
  ],
  [
    "i:int32",
    `tf.random.statelessGamma([2, 3], ${SEED}, tf.constant([1.5, 2, 3]), 2, "#pick(float32|float16)")`,
  ],
  [
    "i:int32",
    `tf.random.statelessPoisson([2, 3], ${SEED}, [1.5, 2, 30], "#pick(int32|int64|float32)")`,
  ],
  [
    "i:int32 x:float32",
    `tf.random.statelessBinomial([2, 3], ${SEED}, [4, 10, 40], tf.sigmoid(tf.add(tf.sum($x), 0.3)), "int32")`,
  ],
  [
    "i:int32 x:float32",
    `tf.random.statelessParameterizedTruncatedNormal([2, 3], ${SEED}, tf.tanh(tf.sum($x)), [1, 0.5, 2], -2, 2)`,
  ],
  ["i:int32", `tf.random.indexShuffle(tf.mod(${FLAT}, 5), ${SEED}, 4)`],
  [
    "i:int32",
    `tf.sort(tf.random.indexShuffle(tf.range(0, 7, 1, "int32"), ${SEED}, 6)) ≡ tf.range(0, 7, 1, "int32")`,
  ],
  ["x:rows", "tf.sort(tf.random.shuffle($x), 0) ≡ tf.sort($x, 0)"],
  ["x:rows", "tf.sum(tf.mul(tf.random.shuffle($x), 2), 0) ≡ tf.mul(tf.sum($x, 0), 2)"],
];

/** Ids of segments in order. */
const SORTED = `tf.floorDiv(${ROWS}, 2)`;

/** Segments as rows. */
export const SEGMENTS: readonly Template[] = [
  [
    "x:rows",
    `tf.ragged.rowSplitsToSegmentIds(tf.ragged.segmentIdsToRowSplits(${SORTED}, #pick(null|7))) ≡ ${SORTED}`,
  ],
  ["x:rows", `tf.ragged.segmentIdsToRowSplits(tf.cast(${SORTED}, "#pick(int32|int64)"))`],
  [
    "x:rows",
    `tf.ragged.stackDynamicPartitions($x, ${PARTS}, #int(3,4)).toTensor()`,
    2,
  ],
  [
    "x:rows",
    `tf.ragged.stackDynamicPartitions($x, ${PARTS}, 3).flatValues ≡ tf.concat(tf.dynamicPartition($x, ${PARTS}, 3), 0)`,
  ],
  [
    "x:rows i:int32",
    `tf.ragged.crossHashed([tf.reshape(${ROWS}, [-1, 1]), tf.RaggedTensor.fromRowLengths(${ROWS}, [#split(x)])].map((r, k) => k === 0 ? tf.tile(r, [1, 2]) : tf.reshape(tf.range(0, 2 * #rows(x), 1, "int32"), [-1, 2])), { numBuckets: 7 }).toTensor()`,
  ],
  [
    "i:int32",
    `tf.ragged.crossHashed([${ONE}, tf.ragged.constant([[1, 2]], { dtype: "int32" })], { numBuckets: 50, hashKey: #int(1,9) }).toTensor()`,
  ],
];
