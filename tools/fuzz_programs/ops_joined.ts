/**
 * Lines of programs that plans compute in another form: transpositions that wait, heads that are repeated, masks of constants, norms before
 * products, filters that take over what follows. The table's language is explained in templates.ts.
 *
 * @module
 */

import type { Template } from "./templates.ts";

/** Lines that passes over transpositions and views move. */
const TURNS: readonly Template[] = [
  ["x:any y=x", "tf.transpose(tf.concat([tf.transpose($x), tf.transpose($y)], #axis(x)))"],
  ["x:number", "tf.transpose(tf.pad(tf.transpose($x), #paddings(x).reverse(), 1))"],
  ["x:number", 'tf.transpose(tf.mirrorPad(tf.transpose($x), #paddings(x), "symmetric"))'],
  ["x:any", "tf.transpose(tf.slice(tf.transpose($x), #begin(x).reverse()))"],
  [
    "x:any",
    "tf.transpose(tf.stridedSlice(tf.transpose($x), #begin(x).reverse(), #tiles(x).map(() => 9), #tiles(x)))",
  ],
  ["x:number", "tf.transpose(tf.#pick(sum|max|min)(tf.transpose($x), #axes(x), true))", 2],
  ["x:float", "tf.transpose(tf.mean(tf.transpose($x, #perm(x)), #axes(x), true), #perm(x))"],
  ["x:number y=x", "tf.transpose(tf.#pick(add|maximum|sub)(tf.transpose($x), tf.transpose($y)))"],
  ["x:float y~x", "tf.transpose(tf.mul(tf.transpose($x), tf.sum($y)))"],
  ["x:matrix", "tf.transpose(tf.add(tf.transpose($x), tf.sum($x, 0, true).reshape([-1, 1])))"],
  ["x:any", "tf.transpose(tf.transpose($x, #perm(x)), #perm(x))", 2],
  ["x:float", "tf.transpose(tf.sin(tf.transpose($x, #perm(x))), #perm(x))"],
  [
    "x:float",
    'tf.cast(tf.#pick(transpose|reverse|identity)(tf.cast(tf.clipByValue(tf.round($x), -7, 7), "#pick(int8|int16)")), $x.dtype)',
  ],
  [
    "x:float32 y=x",
    'tf.sub(tf.cast(tf.concat([tf.cast(tf.clipByValue(tf.round($x), 0, 9), "uint8"), tf.cast(tf.clipByValue(tf.floor($y), 0, 5), "uint8")], #axis(x)), "float32"), 3)',
    2,
  ],
];

const SCORES = "tf.mul(tf.matMul($y, $x, false, true), 0.5)";
const TRIANGLE = "tf.linalg.bandPart(tf.ones([n, n]), -1, 0)";
/** Scores with later keys hidden by a constant: a choice of what is seen, one of what is hidden, and a sum. */
const MASKED = [
  `tf.where(tf.cast(${TRIANGLE}, "bool"), s, -1e5)`,
  `tf.where(tf.equal(${TRIANGLE}, 0), -1e9, s)`,
  `tf.add(s, tf.cast(tf.mul(tf.sub(1, ${TRIANGLE}), -6e4), s.dtype))`,
  `tf.add(s, tf.mul(tf.cast(tf.sub(1, ${TRIANGLE}), "float32"), -1e9))`,
].map((masked) => (scores: string) => `((s, n) => ${masked})(${scores}, $x.shape.at(-2))`);
/** Shares that are scaled, dropped or both. */
const WEIGHTED = [
  "tf.where(tf.any($m), w, 0)",
  "tf.mul(w, 2)",
  "tf.div(w, 4)",
  "tf.where(tf.any($m), tf.mul(w, 2), w)",
  "tf.mul(w, tf.div(tf.cast(tf.any($m), w.dtype), 0.5))",
].map((weighted) => (scores: string) => `((w) => ${weighted})(tf.softmax(${scores}))`);

/** Attentions whose masks, weights and heads are known while a plan is made. */
const MASKS: readonly Template[] = [
  ...MASKED.flatMap((masked): Template[] => [
    ["x:attended y=x", `tf.matMul(tf.softmax(${masked(SCORES)}), $x)`],
    [
      "x:attended",
      `tf.grad((a) => tf.sum(tf.square(tf.matMul(tf.softmax(${
        masked("tf.matMul(a, $x, false, true)")
      }), a))))($x)`,
    ],
  ]),
  ...WEIGHTED.flatMap((weighted): Template[] => [
    ["x:attended y=x m:bool", `tf.matMul(${weighted(SCORES)}, $x)`],
    [
      "x:attended y=x m:bool",
      `tf.grad((a) => tf.sum(tf.sin(tf.matMul(${
        weighted("tf.matMul(a, $y, false, true)")
      }, a))))($x)`,
    ],
  ]),
  [
    "x:attended y=x",
    "(([q, k, v]) => tf.matMul(tf.softmax(tf.matMul(q, k, false, true)), v))(tf.split(tf.concat([$x, $y, $x], -1), 3, -1))",
  ],
  [
    "x:attended y=x",
    "(([q, k, v]) => tf.matMul(tf.softmax(tf.matMul(q, k, false, true)), v))(tf.unstack(tf.stack([$x, $y, $x])))",
  ],
  [
    "x:attended y=x",
    "(([b, n, d]) => tf.matMul(tf.concat([$y, $y], 0), tf.reshape(tf.broadcastTo(tf.expandDims($x, 1), [b, 2, n, d]), [2 * b, n, d]), false, true))($x.shape)",
  ],
];

/** Text of a fixed filter of 16 elements. */
const FILTER = 'tf.cast(tf.reshape(tf.sin(tf.range(0, 16, 1, "float32")), [2, 2, 2, 2]), $x.dtype)';

/** Products of norms, sums over rows, and products that are scaled and shifted by constants. */
const SCALED: readonly Template[] = [
  ["x:matrix y=x", "tf.matMul(tf.layerNorm($x), $y, false, true)", 2],
  [
    "x:matrix y=x",
    "((h) => tf.add(tf.matMul(h, $y, false, true), tf.tanh(tf.matMul(h, $x, false, true))))(tf.layerNorm($x))",
  ],
  [
    "x:matrix y=x",
    "tf.concat([tf.sum($x, 0), tf.mean(tf.sin($y), 0), tf.sum(tf.mul($y, 2), 0)], 0)",
  ],
  [
    "x:float32",
    "tf.#pick(add|sub|mul|div)(tf.mul(tf.matMul(tf.reshape($x, [-1, 1]), [[0.5, 2]]), [2, -1]), [4, 0.5])",
    2,
  ],
  [
    "x:float32",
    "tf.sub([1, 2], tf.mul(tf.matMul(tf.reshape($x, [-1, 1]), [[0.5], [2]], false, true), [[3, 0.25]]))",
  ],
  [
    "x:image",
    `tf.div(tf.sub(tf.cast([1, -1], $x.dtype), tf.conv2d($x, ${FILTER}, #int(1,2), "same")), tf.cast([2, 0.5], $x.dtype))`,
    2,
  ],
  [
    "x:image",
    `tf.mul(tf.conv2dTranspose($x, ${FILTER}, $x.shape, 1, "same"), tf.cast([2, -0.5], $x.dtype))`,
  ],
  [
    "x:image",
    `tf.mul(tf.add(tf.conv2d(tf.transpose($x, [0, 3, 1, 2]), ${FILTER}, 1, "same", "NCHW"), tf.cast([[[1]], [[2]]], $x.dtype)), tf.cast([[[2]], [[-3]]], $x.dtype))`,
    2,
  ],
];

/** Lines for passes. */
export const JOINED: readonly Template[] = [...TURNS, ...MASKS, ...SCALED];
