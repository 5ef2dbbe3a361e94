/**
 * Lines of programs with functions of `tf.math` and `tf.strings`. Programs hold numbers: a line of strings makes them of numbers and gives
 * numbers. The table's language is explained in templates.ts.
 *
 * @module
 */

import type { Template } from "./templates.ts";

/** Between 0 and 1, ends excluded. */
const UNIT = "tf.sigmoid($x)";
/** Ids of segments for the rows of x, in any order. */
const IDS = 'tf.mod(tf.mul(tf.range(0, $x.shape[0], 1, "int32"), 2), 3)';
/** The same in order. */
const SORTED = 'tf.floorDiv(tf.range(0, $x.shape[0], 1, "int32"), 2)';

/** Special functions, spreads, counts, orders and segments. */
export const MATH: readonly Template[] = [
  ["x:float", "tf.math.#pick(digamma|lgamma|reciprocalNoNan)(tf.add(tf.abs($x), 0.5))", 2],
  ["x:float", `tf.math.#pick(erfinv|ndtri)(tf.clipByValue(${UNIT}, 0.1, 0.9))`],
  ["x:float", `tf.math.erfcinv(tf.add(tf.clipByValue(${UNIT}, 0.1, 0.9), 0.3))`],
  [
    "x:float y~x",
    "tf.math.#pick(polygamma|zeta)(#pick(2|3), tf.add(tf.abs(tf.add($x, $y)), 1.5))",
  ],
  ["x:float y~x", "tf.math.xlog1py($x, tf.abs($y))"],
  ["x:float y~x", "tf.math.multiplyNoNan(tf.div($x, $y), tf.where(tf.equal($y, 0), 0, $x))"],
  ["x:float y~x", "tf.math.polyval([1, $y, tf.sin($y), -2], $x)"],
  ["x:number", "tf.math.polyval([#int(1,2), 3], $x)"],
  ["x:float", "tf.math.#pick(reduceStd|reduceVariance)(tf.mul($x, [1]), #axes(x), #bool)", 2],
  ["x:any", 'tf.math.countNonzero($x, #axes(x), #bool, "#pick(int32|int64)")', 2],
  ["x:number", "tf.math.#pick(zeroFraction|isNonDecreasing|isStrictlyIncreasing)($x)", 2],
  ["x:number", "tf.math.isNonDecreasing(tf.sort(tf.reshape($x, [-1])))"],
  ["x:float", "tf.math.l2Normalize($x, #axes(x), 1e-6)", 2],
  ["x:rows", "tf.math.lbeta(tf.add(tf.abs($x), 0.5))"],
  [
    "i:int32",
    "tf.math.confusionMatrix(tf.mod(tf.reshape($i, [-1]), 3), tf.mod(tf.reverse(tf.reshape($i, [-1]), [0]), 3), 3)",
  ],
  ["x:rows", `tf.math.segment#pick(Sum|Mean|Max|Min|Prod)($x, ${SORTED})`, 2],
  ["x:rows", `tf.math.unsortedSegment#pick(Sum|Mean|SqrtN|Prod)($x, ${IDS}, 3)`, 2],
  [
    "x:rows",
    `tf.math.unsortedSegment#pick(Max|Min)(tf.concat([$x, tf.sin($x), tf.cos($x)], 0), tf.tile(${IDS}, [3]), $x.shape[0] > 2 ? 3 : 1)`,
  ],
  ["x:rows", 'tf.math.segmentSum(tf.cast($x, "#pick(int32|float16|float32)"), ' + SORTED + ")"],
];

/** Numbers as strings and back, and numbers of strings. */
export const STRINGS: readonly Template[] = [
  ["i:int", 'tf.strings.toNumber(tf.strings.asString($i), "#pick(int32|float32|int64)")', 2],
  ["x:float", 'tf.strings.toNumber(tf.strings.asString(tf.cast($x, "float32"), { precision: 3 }))'],
  [
    "x:any",
    'tf.strings.length(tf.strings.asString(tf.cast($x, "int32")), "#pick(BYTE|UTF8_CHAR)")',
  ],
  [
    "i:int32",
    'tf.strings.length(tf.strings.join([tf.strings.asString($i), "é"], "-"), "#pick(BYTE|UTF8_CHAR)")',
  ],
  ["i:int32", "tf.strings.toHashBucketFast(tf.strings.asString($i), 7)"],
  ["i:int32", "tf.strings.toHashBucketStrong(tf.strings.asString($i), 7, [1, 2])"],
  [
    "m:bool",
    'tf.strings.regexFullMatch(tf.strings.#pick(lower|upper)(tf.strings.asString($m)), "[a-z]*")',
  ],
  [
    "m:bool",
    'tf.strings.regexFullMatch(tf.strings.regexReplace(tf.strings.asString($m), "[ae]", "x", #bool), ".*x.*")',
  ],
  [
    "i:int32 j~i",
    'tf.strings.toNumber(tf.strings.substr(tf.strings.asString(tf.add(tf.abs($i), 100)), tf.mod($j, 2), 1), "int32")',
  ],
  [
    "i:int32",
    'tf.strings.length(tf.strings.reduceJoin(tf.strings.asString($i), #axes(i), #bool, "#pick(|, )"))',
    2,
  ],
  [
    "i:int32",
    "tf.equal(tf.strings.decodeBase64(tf.strings.encodeBase64(tf.strings.asString($i), #bool)), tf.strings.asString($i))",
  ],
  [
    "i:int32",
    'tf.strings.toNumber(tf.strings.split(tf.strings.reduceJoin(tf.strings.asString(tf.reshape($i, [-1])), 0, false, ","), ","), "int32")',
  ],
  [
    "i:int32",
    "tf.shape(tf.strings.bytesSplit(tf.strings.reduceJoin(tf.strings.asString(tf.reshape($i, [-1])), 0)))",
  ],
  [
    "i:int32",
    'tf.strings.unicodeDecode(tf.strings.reduceJoin(tf.strings.asString(tf.reshape($i, [-1])), 0), "UTF-8")',
  ],
  [
    "i:int32",
    'tf.strings.length(tf.strings.unicodeTranscode(tf.strings.asString($i), "UTF-8", "UTF-16-BE"))',
  ],
  [
    "i:int32",
    'tf.strings.length(tf.strings.unicodeEncode(tf.add(tf.abs(tf.reshape($i, [-1])), 230), "UTF-8"))',
  ],
  [
    "i:int32",
    'tf.strings.toNumber(tf.strings.strip(tf.strings.join([" ", tf.strings.asString($i), "\\n"])), "int32")',
  ],
  ["i:int32 x:float~i", 'tf.where(tf.equal(tf.strings.asString($i), "1"), $x, tf.mul($x, 2))', 2],
  [
    "i:int32",
    'tf.cond(tf.equal(tf.strings.reduceJoin(tf.strings.asString(tf.reshape($i, [-1])), 0), "1"), () => tf.neg($i), () => tf.strings.length(tf.strings.asString($i)))',
  ],
  [
    "i:int32",
    "tf.strings.length(tf.whileLoop((k) => tf.less(k, 3), (k, s) => [tf.add(k, 1), tf.strings.join([s, tf.strings.asString(k)])], [0, tf.strings.asString($i)])[1])",
    2,
  ],
  [
    "i:int32",
    'tf.strings.length(tf.concat([tf.strings.asString(tf.reshape($i, [-1])), ["ab", "c"]], 0))',
  ],
  [
    "i:int32",
    "tf.strings.length(tf.transpose(tf.gather(tf.strings.asString(tf.expandDims($i, 0)), [0, 0])))",
  ],
  [
    "i:int32 j:int32",
    "((rows) => tf.editDistance(rows($i), rows($j), #bool))((v) => tf.sparse.fromDense(tf.expandDims(tf.add(tf.abs(tf.reshape(v, [-1])), 1), 0)))",
    2,
  ],
  ["i:int32", 'tf.cast(tf.fingerprint(tf.strings.asString(tf.reshape($i, [-1]))), "int32")'],
  ["x:any i:int32", 'tf.strings.length(tf.strings.format("a {} b {}", [$i, tf.shape($x)]))'],
  [
    "i:int32",
    'tf.sum(tf.strings.toNumber(tf.strings.asString(tf.pyFunction((a) => tf.abs(a), [$i], tf.TensorSpec(null, "int32")))))',
  ],
];
