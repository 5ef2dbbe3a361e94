/**
 * Lines of programs that compute element by element, reduce, or move elements. The table's language is explained in templates.ts.
 *
 * @module
 */

import type { Template } from "./templates.ts";

const UNARY = [
  "sin",
  "cos",
  "tanh",
  "neg",
  "square",
  "sigmoid",
  "relu",
  "abs",
  "softplus",
  "elu",
  "erf",
  "round",
  "floor",
  "ceil",
  "sign",
  "leakyRelu",
  "atan",
  "gelu",
  "relu6",
  "step",
  "selu",
  "softsign",
  "asinh",
].join("|");

/** Element by element, in every mixture of dtypes that TensorFlow takes. */
export const POINTWISE: readonly Template[] = [
  ["x:float", `tf.#pick(${UNARY})($x)`, 4],
  ["x:float", "tf.#pick(exp|expm1)(tf.clipByValue($x, -4, 4))"],
  ["x:float", "tf.#pick(log|log1p|sqrt|rsqrt|reciprocal)(tf.add(tf.abs($x), 0.5))"],
  ["x:number y~x", "tf.#pick(add|sub|mul|maximum|minimum|squaredDifference)($x, $y)", 5],
  ["x:number y~x", "tf.#pick(add|mul|sub|maximum)($y, $x)", 2],
  ["x:number y~x z~x", "tf.addN([$x, tf.broadcastTo($x, tf.shape($x)), tf.mul($x, 2)])"],
  ["x:float y~x", "tf.#pick(div|mod|floorDiv)($x, tf.add(tf.abs($y), 0.7))"],
  ["x:float y~x", "tf.#pick(divNoNan|atan2|xlogy)($x, tf.abs($y))"],
  ["x:float y~x", "tf.pow(tf.add(tf.abs($x), 0.5), tf.clipByValue($y, -2, 2))"],
  ["x:int y~x", "tf.#pick(floorDiv|mod)($x, tf.add(tf.square($y), 1))"],
  ["x:int32 y~x", "tf.#pick(bitwiseAnd|bitwiseOr|bitwiseXor)($x, $y)"],
  ["x:number", "tf.#pick(add|sub|mul|maximum|minimum)($x, #pick(0|1|2|3))", 2],
  ["x:float", "tf.#pick(add|sub|mul|maximum)(#pick(0.5|-0.3|2), $x)"],
  ["x:float", "tf.pow(tf.add(tf.abs($x), 0.5), #pick(0|1|2|0.5|-1))"],
  ["x:number y~x", "tf.#pick(greater|less|equal|notEqual|greaterEqual|lessEqual)($x, $y)", 2],
  ["m:bool n~m", "tf.#pick(logicalAnd|logicalOr|logicalXor)($m, $n)", 2],
  ["m:bool", "tf.logicalNot($m)"],
  ["x:number y~x m:bool~x", "tf.where($m, $x, $y)", 3],
  ["x:number m:bool~x", "tf.where($m, $x, 0)", 2],
  ["x:float m:bool~x", "tf.mul($x, tf.cast($m, $x.dtype))", 2],
  ["x:float i:int32~x", "tf.add($x, tf.cast($i, $x.dtype))", 2],
  ["x:any", `tf.cast($x, "#pick(float32|int32|bool|float16|float32)")`, 2],
  ["x:float", `tf.cast(tf.round(tf.mul($x, 3)), "int32")`],
  [
    "x:number",
    'tf.cast(tf.cast($x, "#pick(int8|uint8|int16|int32|int64|float64|bfloat16|float16|bool)"), $x.dtype)',
    2,
  ],
  ["x:any", 'tf.cast(tf.cast($x, "float32"), "#pick(uint8|int8|int64|int32|bool|float16)")'],
  ["x:float", 'tf.cast(tf.clipByValue(tf.round($x), -3, 3), "#pick(int8|int32|int64)")'],
  [
    "x:float",
    'tf.cast(tf.transpose(tf.cast(tf.clipByValue(tf.round($x), 0, 9), "#pick(uint8|int8)")), "float32")',
  ],
  ["x:number i:int32~x", 'tf.where(tf.cast($i, "bool"), $x, tf.cast($i, $x.dtype))'],
  ["x:number y~x", 'tf.mul($x, tf.cast(tf.cast(tf.greater($x, $y), "int32"), $x.dtype))'],
  ["x:float", "tf.clipByValue($x, -0.5, 1)"],
  ["x:float a:float32", 'tf.prelu(tf.cast($x, "float32"), tf.sum($a))'],
  ["x:complex y~x", "tf.#pick(add|mul|sub)($x, $y)"],
  ["x:complex", "tf.#pick(real|imag|abs)($x)"],
  ["x:complex", "tf.conj($x)"],
  ["x:float32 y=x", "tf.real(tf.mul(tf.complex($x, $y), tf.complex($y, $x)))"],
];

/** Fewer elements than before. */
export const REDUCTIONS: readonly Template[] = [
  ["x:number", "tf.#pick(sum|max|min|prod)($x, #axes(x), #bool)", 3],
  ["x:float", "tf.#pick(mean|logSumExp)($x, #axes(x), #bool)", 2],
  [
    "x:number",
    'tf.sum(tf.cast(tf.greater($x, 0), "#pick(int32|float32|float16|int64)"), #axes(x), #bool)',
    2,
  ],
  [
    "x:float",
    'tf.#pick(sum|max|mean)(tf.cast($x, "#pick(float32|float64|int32)"), #axes(x), #bool)',
  ],
  ["x:float", "tf.moments($x, #axes(x), #bool).#pick(mean|variance)"],
  ["x:float", "tf.euclideanNorm($x, #axes(x), #bool)"],
  ["m:bool", "tf.#pick(any|all)($m, #axes(m), #bool)", 2],
  ["x:number", "tf.#pick(argMax|argMin)($x, #axis(x))"],
  ["x:number", "tf.cumsum($x, #axis(x), #bool, #bool)"],
  ["x:float", "tf.cumprod($x, #axis(x), #bool, #bool)"],
  ["x:float", "tf.#pick(softmax|logSoftmax)($x)", 2],
  ["x:float", "tf.layerNorm($x)"],
  ["x:float y~x", "tf.sub($x, tf.mean($x, #axes(x), true))"],
  ["x:float", "tf.div($x, tf.add(tf.sum(tf.abs($x), #axes(x), true), 1))"],
  ["x:number", "tf.add(tf.sum($x), tf.reshape(tf.max($x), [1]))"],
];

/** The same elements elsewhere. */
export const MOVES: readonly Template[] = [
  ["x:any", "tf.transpose($x, #perm(x))", 2],
  ["x:any", "tf.transpose($x)"],
  ["x:any", "tf.reshape($x, [#pick(-1|1, -1|-1, 1)])", 2],
  ["x:any", "tf.expandDims($x, #pick(0|-1))", 2],
  ["x:any", "tf.squeeze(tf.expandDims($x, 0), [0])"],
  ["x:any", "tf.slice($x, #begin(x))"],
  ["x:any", "tf.stridedSlice($x, [0], [#int(1,3)], [#int(1,2)])"],
  ["x:any y=x", "tf.concat([$x, $y], #axis(x))", 2],
  ["x:any y=x", "tf.stack([$x, $y], #pick(0|-1))"],
  ["x:any", "tf.split(tf.concat([$x, $x], #axis0(x)), 2, #axis0(x))[#int(0,1)]"],
  ["x:any", "tf.gather($x, [#index(x), #index(x), 0])"],
  ["x:any i:int32", "tf.gather($x, tf.mod(tf.reshape($i, [-1]), tf.gather(tf.shape($x), 0)))"],
  ["x:number", "tf.pad($x, #paddings(x), 1)"],
  ["x:any", "tf.tile($x, #tiles(x))"],
  ["x:any", "tf.reverse($x, [#axis(x)])"],
  ["x:any", "tf.roll($x, #int(-1,2), #axis(x))"],
  ["x:any y~x", "tf.broadcastTo($y, tf.shape($x))"],
  ["x:number", "tf.topk($x, 1).#pick(values|indices)"],
  ["x:number", "tf.sort($x)"],
  ["x:any", "tf.#pick(zerosLike|onesLike|identity|stopGradient)($x)"],
  ["x:any", "tf.shape($x)"],
  ["x:any", "tf.size($x)"],
  ["i:int32", "tf.oneHot(tf.abs($i), 3)"],
  ["x:float", "tf.linalg.bandPart($x, #int(0,1), #int(0,1))"],
];

/** Whole numbers in memory, of the shape of a product. */
const WHOLE =
  'tf.reverse(tf.cast(tf.mul(tf.matMul(tf.sin($x), $x, false, true), 3), "int32"), [-1])';

/** Products. */
export const PRODUCTS: readonly Template[] = [
  ["x:matrices", `tf.add(tf.matMul($x, $x, false, true), tf.cast(${WHOLE}, $x.dtype))`, 2],
  ["x:matrices", `tf.where(tf.greater(${WHOLE}, 0), tf.matMul($x, $x, false, true), 1)`],
  [
    "x:matrices",
    `tf.mul(tf.matMul($x, $x, false, true), tf.cast(tf.equal(${WHOLE}, 1), $x.dtype))`,
  ],
  ["x:matrices", "tf.matMul($x, $x, false, true)", 3],
  ["x:matrices", "tf.matMul($x, $x, true, false)", 2],
  ["x:matrices m:bool~x", "tf.matMul(tf.where($m, $x, 0), $x, false, true)"],
  ["x:matrix", "tf.matMul($x, tf.transpose($x))"],
  ["x:matrices", 'tf.matMul(tf.cast(tf.cast($x, "int32"), $x.dtype), $x, false, true)'],
  ["x:matrices", 'tf.cast(tf.matMul($x, $x, false, true), "#pick(int32|float16|bool|float32)")'],
  [
    "x:matrices",
    'tf.matMul(tf.cast($x, "#pick(float32|float16|int32)"), tf.cast($x, "#pick(float32|float16|int32)"), false, true)',
  ],
  ["x:matrix y=x b:float32", "tf.add(tf.matMul($x, $y, true), tf.cast(tf.mean($b), $x.dtype))"],
  ["x:matrices", `tf.einsum("...ij,...kj->...ik", $x, $x)`],
  ["x:matrices", "tf.add(tf.matMul($x, $x, false, true), tf.sum($x, -1))"],
  [
    "x:matrices",
    "tf.where(tf.greater(tf.matMul($x, $x, false, true), 0), 1, tf.matMul($x, $x, false, true))",
  ],
  ["x:matrices i:int32", "tf.mul(tf.matMul($x, $x, false, true), tf.cast(tf.sum($i), $x.dtype))"],
  [
    "x:matrices",
    "tf.logicalAnd(tf.greater(tf.matMul($x, $x, false, true), 0), tf.less(tf.sum($x, -1), 1))",
  ],
  ["x:float32 y=x", "tf.tensordot(tf.reshape($x, [-1]), tf.reshape($y, [-1]), 1)"],
  [
    "x:attended",
    "tf.scaledDotProductAttention(tf.expandDims($x, 1), tf.expandDims($x, 1), tf.expandDims($x, 1))",
  ],
  ["x:attended y=x", "tf.matMul(tf.softmax(tf.mul(tf.matMul($x, $y, false, true), 0.5)), $y)"],
  [
    "x:attended m:bool",
    "tf.matMul(tf.softmax(tf.where(tf.any($m), tf.matMul($x, $x, false, true), -1e9)), $x)",
  ],
];

/** Attentions as programs spell them: of heads, masked, causal, scaled, with scores that are read too. */
export const ATTENTIONS: readonly Template[] = [
  [
    "x:attended y=x",
    "tf.matMul(tf.softmax(tf.#pick(div|mul)(tf.matMul($x, $y, false, true), #pick(2|0.25|-1))), $y)",
    2,
  ],
  [
    "x:attended y=x",
    "tf.matMul(tf.softmax(tf.div(#pick(1|0.5), tf.add(tf.abs(tf.matMul($x, $y, false, true)), 1))), $y)",
  ],
  [
    "x:attended y=x",
    "tf.matMul(tf.softmax(tf.matMul(tf.mul($x, #pick(0.5|2)), $y, false, true)), tf.tanh($y))",
  ],
  [
    "x:attended y=x m:bool",
    "tf.matMul(tf.softmax(tf.add(tf.matMul($x, $y, false, true), tf.mul(tf.cast(tf.any($m), $x.dtype), -30))), $x)",
  ],
  [
    "x:attended y=x",
    'tf.matMul(tf.softmax(tf.where(tf.cast(tf.linalg.bandPart(tf.onesLike(tf.matMul($x, $y, false, true)), -1, 0), "bool"), tf.matMul($x, $y, false, true), -1e4)), $y)',
    2,
  ],
  [
    "x:attended y=x",
    "tf.concat([tf.softmax(tf.matMul($x, $y, false, true)), tf.matMul(tf.matMul($x, $y, false, true), $y)], -1)",
  ],
  [
    "x:attended",
    "tf.transpose(tf.matMul(tf.softmax(tf.matMul(tf.transpose(tf.stack([$x, tf.sin($x)], -2), [0, 2, 1, 3].concat([4].slice(0, $x.shape.length - 3))), tf.transpose(tf.stack([$x, $x], -2), [0, 2, 1, 3].concat([4].slice(0, $x.shape.length - 3))), false, true)), tf.transpose(tf.stack([$x, $x], -2), [0, 2, 1, 3].concat([4].slice(0, $x.shape.length - 3)))), [0, 2, 1, 3].concat([4].slice(0, $x.shape.length - 3)))",
  ],
  [
    "x:attended y=x",
    "tf.scaledDotProductAttention(tf.stack([$x, $y], -2), tf.stack([$x, $x], -2), tf.stack([$y, $x], -2))",
  ],
  [
    "x:attended",
    "tf.grad((a) => tf.sum(tf.square(tf.matMul(tf.softmax(tf.mul(tf.matMul(a, $x, false, true), 0.5)), a))))($x)",
  ],
];

/** Windows over images, and what follows them in networks. */
export const IMAGES: readonly Template[] = [
  [
    "x:image",
    'tf.image.extractGlimpse($x, [2, 3], tf.fill([#rows(x), 2], #pick(0|0.25|-1)), { centered: #bool, normalized: #bool, noise: "zero" })',
    2,
  ],
  ["x:image", `tf.conv2d($x, ${filter("2, 2, 2, 3", 24)}, #int(1,2), "#pick(same|valid)")`, 2],
  ["x:image", `tf.relu(tf.add(tf.conv2d($x, ${filter("1, 1, 2, 2", 4)}, 1, "same"), tf.sum($x)))`],
  [
    "x:image i:int32",
    `tf.mul(tf.conv2d($x, ${filter("2, 2, 2, 2", 16)}, 1, "same"), tf.cast(tf.sum($i), $x.dtype))`,
  ],
  [
    "x:image m:bool",
    `tf.where(tf.all($m), tf.conv2d($x, ${filter("2, 2, 2, 2", 16)}, 1, "same"), 0)`,
  ],
  ["x:image", `tf.depthwiseConv2d($x, ${filter("2, 2, 2, 1", 8)}, 1, "#pick(same|valid)")`],
  ["x:image", `tf.#pick(maxPool|avgPool)($x, #int(1,2), #int(1,2), "#pick(same|valid)")`, 2],
  [
    "x:image",
    `tf.add(tf.mul(tf.conv2d($x, ${
      filter("2, 2, 2, 2", 16)
    }, 1, "same"), tf.cast([0.5, 2], $x.dtype)), tf.cast([1, -1], $x.dtype))`,
    2,
  ],
  [
    "x:image",
    `tf.#pick(relu|identity|tanh)(tf.batchNorm(tf.conv2d($x, ${
      filter("2, 2, 2, 2", 16)
    }, #int(1,2), "#pick(same|valid)"), [0.5, -1], [1, 2], [0.25, 1], [2, -1]))`,
    2,
  ],
  [
    "x:image",
    `tf.sub(tf.cast([1, 0.5], $x.dtype), tf.batchNorm(tf.depthwiseConv2d($x, ${
      filter("2, 2, 2, 1", 8)
    }, 1, "same"), [0.5, -1], [1, 2]))`,
  ],
  [
    "x:image",
    `tf.transpose(tf.conv2d(tf.transpose(tf.transpose($x, [0, 3, 1, 2]), [0, 2, 3, 1]), ${
      filter("1, 1, 2, 3", 6)
    }, 1, "same"), [0, 3, 1, 2])`,
  ],
  [
    "x:image",
    "tf.batchNorm($x, tf.mean($x, [0, 1, 2]), tf.moments($x, [0, 1, 2]).variance, [0.5, 1], [2, 1])",
  ],
];

/** The losses of training programs. */
export const LOSSES: readonly Template[] = [
  [
    "x:matrix y=x",
    "tf.softmaxCrossEntropyWithLogits({ labels: tf.stopGradient(tf.softmax($y)), logits: $x })",
  ],
  [
    "x:matrix y=x",
    "tf.neg(tf.sum(tf.mul(tf.stopGradient(tf.softmax($y)), tf.logSoftmax($x)), -1))",
  ],
  [
    "x:matrix i:int32",
    "tf.sparseSoftmaxCrossEntropyWithLogits({ labels: tf.mul(tf.argMax($x, -1), 0), logits: $x })",
  ],
  ["x:matrix y=x", "tf.add(tf.sum($x, 0), tf.#pick(sum|mean)($y, 0))"],
  ["x:matrix y=x", "tf.concat([tf.sum($x, 0), tf.sum(tf.mul($x, $y), 0), tf.mean($y, 0)], 0)"],
  [
    "x:matrix",
    "tf.div(tf.sub($x, tf.mean($x, -1, true)), tf.sqrt(tf.add(tf.mean(tf.square(tf.sub($x, tf.mean($x, -1, true))), -1, true), 0.001)))",
  ],
  [
    "x:float",
    "tf.div(tf.exp(tf.sub($x, tf.max($x, -1, true))), tf.sum(tf.exp(tf.sub($x, tf.max($x, -1, true))), -1, true))",
  ],
  ["x:float", "tf.mul($x, tf.sigmoid($x))"],
  [
    "x:matrix",
    "tf.concat([tf.mul(tf.sub($x, tf.mean($x, -1, true)), tf.rsqrt(tf.add(tf.mean(tf.square(tf.sub($x, tf.mean($x, -1, true))), -1, true), 0.01))), tf.sub($x, tf.mean($x, -1, true))], 0)",
  ],
  [
    "x:matrix",
    "tf.mul($x, tf.rsqrt(tf.add(tf.mean(tf.square($x), #pick(-1|0), true), 0.01)))",
    2,
  ],
  ["x:matrices", "tf.matMul(tf.reshape($x, [-1, 1]), tf.cast([[0.5, 2]], $x.dtype))"],
  ["x:matrix y=x", "tf.add(tf.matMul($x, $y, false, true), tf.matMul($y, $x, false, true))"],
  ["x:float", "tf.mul(tf.mul($x, 0.5), tf.add(1, tf.erf(tf.mul($x, 0.7071))))"],
  ["x:number", "tf.add(tf.mul($x, 1), 0)"],
  ["x:any", "tf.transpose(tf.transpose($x))"],
  ["x:any", "tf.reshape(tf.reshape($x, [-1]), tf.shape($x))"],
  ["x:float32 y=x", "tf.add(tf.sub(tf.constant([2]), tf.constant([3])), tf.sub($x, $y))"],
  ["x:float", "tf.mul(tf.sin($x), tf.sin($x))"],
];

/** A fixed filter. */
function filter(shape: string, size: number): string {
  return `tf.cast(tf.reshape(tf.sin(tf.range(0, ${size}, 1, "float32")), [${shape}]), $x.dtype)`;
}
