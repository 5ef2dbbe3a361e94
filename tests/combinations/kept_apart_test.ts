/** Programs of parts that differ in one thing, which passes over graphs must keep apart: compiled code gives what eager code gives. */

import * as tf from "@weft/weft";
import { assertEquals, assertNotEquals } from "@std/assert";
import { difference } from "../../src/library/testing/compare.ts";
import { attentionOptions } from "../../src/engine/graph/passes/attention.ts";
import { testOnDevices } from "../devices.ts";

/** Makes several results out of two matrices `[4, 4]`. */
type Build = (x: tf.Tensor, y: tf.Tensor) => tf.Tensor[];

const bits = (values: readonly number[]): tf.Tensor =>
  tf.tensor(new Int32Array(Float32Array.from(values).buffer), [values.length], "int32");
const triangle = (n: number, seen: number, hidden: number): tf.Tensor =>
  tf.tensor(Array.from({ length: n * n }, (_, i) => i % n <= Math.floor(i / n) ? seen : hidden), [
    n,
    n,
  ]);

/** Attention as users write it, of one batch. */
function attention(
  x: tf.Tensor,
  y: tf.Tensor,
  score: (s: tf.Tensor) => tf.Tensor,
  { transposeA = false, transposeB = true } = {},
): tf.Tensor[] {
  const q = tf.reshape(x, [1, 4, 4]), k = tf.reshape(y, [1, 4, 4]);
  return [tf.matMul(tf.softmax(score(tf.matMul(q, k, transposeA, transposeB))), tf.sin(k))];
}

const CASES: Readonly<Record<string, Build>> = {
  "outputs of one op": (x) => tf.unstack(x).map((row) => tf.exp(row)),
  "later outputs of equal ops": (x) => [
    tf.topk(x, 2).values,
    tf.cast(tf.topk(x, 2).indices, "float32"),
    tf.unstack(x)[1],
    tf.unstack(x)[2],
  ],
  "operands in two orders": (
    x,
    y,
  ) => [tf.sub(x, y), tf.sub(y, x), tf.matMul(x, y), tf.matMul(y, x)],
  "attributes": (x, y) => [
    tf.matMul(x, y),
    tf.matMul(x, y, true),
    tf.matMul(x, y, false, true),
    tf.sum(x, 0),
    tf.sum(x, 0, true),
  ],
  "attributes of zero and minus zero": (x) => [
    tf.div(1, tf.leakyRelu(tf.neg(tf.abs(x)), 0)),
    tf.div(1, tf.leakyRelu(tf.neg(tf.abs(x)), -0)),
  ],
  "constants of zero and minus zero": (x) => [
    tf.div(1, tf.mul(tf.abs(x), tf.constant(0))),
    tf.div(1, tf.mul(tf.abs(x), tf.constant(-0))),
  ],
  "shapes of constants": (x) => [
    tf.add(x, tf.tensor([1, 2, 3, 4], [1, 4])),
    tf.add(x, tf.tensor([1, 2, 3, 4], [4, 1])),
  ],
  "dtypes of constants": (x) => [
    tf.add(x, tf.cast(bits([1, 2, 3, 4]), "float32")),
    tf.add(x, tf.cast(tf.tensor([1, 2, 3, 4]), "float32")),
  ],
  "dtypes that are cast to": (x, y) => [
    tf.add(tf.cast(tf.cast(tf.mul(x, 3), "int32"), "float32"), y),
    tf.add(tf.cast(tf.cast(tf.mul(x, 3), "bool"), "float32"), y),
    tf.add(tf.cast(tf.cast(tf.mul(x, 3), "uint8"), "float32"), y),
    tf.add(tf.cast(tf.cast(tf.mul(x, 3), "float16"), "float32"), y),
  ],
  "sums and means over first axes": (x, y) => [tf.sum(x, 0), tf.mean(y, 0), tf.mean(x, 0)],
  "sums over other axes": (x, y) => [tf.sum(x, 0), tf.sum(y, 1), tf.sum(y), tf.sum(y, -2)],
  "sums of other dtypes": (x, y) => [
    tf.sum(x, 0),
    tf.cast(tf.sum(tf.cast(tf.mul(y, 9), "int32"), 0), "float32"),
  ],
  "sums of terms": (x, y) => [tf.sum(x, 0), tf.norm(y, 2, 0), tf.prod(y, 0), tf.max(y, 0)],
  "sums of sums": (x) => {
    const all = tf.sum(x, 0);
    return [all, tf.sum(tf.mul(x, tf.exp(tf.neg(all))), 0)];
  },
  "attention": (x, y) => attention(x, y, (s) => s),
  "attention of scaled scores": (x, y) => attention(x, y, (s) => tf.mul(s, 0.25)),
  "attention of divided scores": (x, y) => attention(x, y, (s) => tf.div(s, 4)),
  "attention of scores without a transposed operand": (x, y) =>
    attention(x, y, (s) => s, { transposeB: false }),
  "attention of scores with both operands transposed": (x, y) =>
    attention(x, y, (s) => s, { transposeA: true }),
  "attention with a triangle of scores": (x, y) =>
    attention(x, y, (s) => tf.add(s, triangle(4, 0, -1e9))),
  "attention with a triangle that only lowers": (x, y) =>
    attention(x, y, (s) => tf.add(s, triangle(4, 0, -2))),
  "attention with a triangle of the keys before": (x, y) =>
    attention(x, y, (s) => tf.add(s, tf.transpose(triangle(4, 0, -1e9)))),
  "attention with chosen scores": (x, y) =>
    attention(x, y, (s) => tf.where(tf.cast(triangle(4, 1, 0), "bool"), s, -1e9)),
  "attention with scores chosen the other way": (x, y) =>
    attention(x, y, (s) => tf.where(tf.cast(triangle(4, 0, 1), "bool"), s, -1e9)),
  "attention with hidden scores": (x, y) =>
    attention(x, y, (s) => tf.where(tf.cast(triangle(4, 0, 1), "bool"), -1e9, s)),
  "attention with lowered scores": (x, y) =>
    attention(x, y, (s) => tf.where(tf.cast(triangle(4, 1, 0), "bool"), s, -1)),
};

/** A matrix of four rows as two of another extent, with its axes turned. */
const turned = (x: tf.Tensor): tf.Tensor => tf.transpose(tf.reshape(x, [2, 2, 4]), [2, 0, 1]);
/** Heads as models with fewer keys than queries repeat them, or all of them again and again. */
function heads(y: tf.Tensor, order: "each repeated" | "all repeated"): tf.Tensor {
  const [own, wide] = order === "each repeated" ? [[1, 2, 1, 4, 2], 2] : [[1, 1, 2, 4, 2], 1];
  const shape = wide === 2 ? [1, 2, 3, 4, 2] : [1, 3, 2, 4, 2];
  return tf.reshape(tf.broadcastTo(tf.reshape(y, own), shape), [1, 6, 4, 2]);
}
const exponentials = (x: tf.Tensor, axis: number): tf.Tensor =>
  tf.exp(tf.sub(x, tf.max(x, axis, true)));
const spread = (x: tf.Tensor, axis = -1): tf.Tensor =>
  tf.sqrt(tf.add(tf.mean(tf.square(tf.sub(x, tf.mean(x, axis, true))), axis, true), 0.01));
const standard = (x: tf.Tensor): tf.Tensor => tf.div(tf.sub(x, tf.mean(x, -1, true)), spread(x));
const indices = [[0], [2], [1], [3]];

/** Programs of parts that passes look for, and of such as differ from them in one thing. */
const PATTERNS: Readonly<Record<string, Build>> = {
  "products and what is read beside each element": (x, y) => [
    tf.add(tf.matMul(x, y), y),
    tf.add(tf.matMul(x, y), tf.slice(y, [1, 0], [1, 4])),
    tf.add(tf.matMul(x, y), tf.slice(y, [0, 1], [4, 1])),
  ],
  "products that their readers broadcast": (x, y) => {
    const row = tf.matMul(tf.slice(x, [1, 0], [1, 4]), y);
    return [tf.add(row, x), tf.mul(tf.matMul(x, tf.slice(y, [0, 1], [4, 1])), y)];
  },
  "products that are read as other dtypes": (x, y) => [
    tf.cast(tf.cast(tf.matMul(x, y), "int32"), "float32"),
    tf.cast(tf.greater(tf.matMul(y, x), 0.5), "float32"),
  ],
  "written softmax along either axis": (x) =>
    [0, 1].map((axis) => {
      const e = exponentials(x, axis);
      return tf.div(e, tf.sum(e, axis, true));
    }),
  "written softmax of mixed axes": (x) => {
    const e = exponentials(x, 0);
    return [tf.div(e, tf.sum(e, -1, true)), tf.div(e, tf.sum(e, -1))];
  },
  "written softmax of two values": (x, y) => [
    tf.div(exponentials(x, -1), tf.sum(exponentials(y, -1), -1, true)),
    tf.sub(tf.sub(x, tf.max(x, -1, true)), tf.log(tf.sum(exponentials(y, -1), -1, true))),
  ],
  "written softmax of float16": (x) => {
    const e = exponentials(tf.cast(x, "float16"), -1);
    return [tf.cast(tf.div(e, tf.sum(e, -1, true)), "float32")];
  },
  "written normalization of two values": (x, y) => [
    tf.div(tf.sub(x, tf.mean(x, -1, true)), spread(y)),
    tf.div(tf.sub(x, tf.mean(y, -1, true)), spread(x)),
  ],
  "written normalization along either axis": (x) => [
    standard(x),
    tf.div(tf.sub(x, tf.mean(x, 0, true)), spread(x, 0)),
    tf.div(tf.sub(x, tf.mean(x, -1)), spread(x)),
  ],
  "written normalization with scales of a row, a column and each element": (x, y) =>
    [tf.slice(y, [0, 0], [1, 4]), tf.slice(y, [0, 0], [4, 1]), y].flatMap((scale) => [
      tf.add(tf.mul(standard(x), tf.reshape(tf.slice(y, [1, 0], [1, 4]), [4])), scale),
      tf.add(tf.mul(standard(x), scale), tf.reshape(tf.slice(y, [1, 0], [1, 4]), [4])),
    ]),
  "written cross entropy of labels for each row and for all": (x, y) =>
    [y, tf.slice(y, [0, 0], [1, 4])].map((labels) =>
      tf.neg(tf.sum(tf.mul(labels, tf.logSoftmax(x)), -1))
    ),
  "large whole constants": (x) => {
    const i = tf.cast(tf.mul(x, 3), "int32");
    return [16_777_217, 33_554_433, -16_777_219].map((n) =>
      tf.cast(tf.sub(tf.add(i, n), n - 1), "float32")
    );
  },
  "constants of one number and several ranks": (x) =>
    [[], [1], [1, 1], [1, 1, 1]].map((shape) => tf.sub(tf.exp(x), tf.tensor([0.5], shape))),
  "sums on turned values": (x) =>
    [0, 1, 2].flatMap((axis) => [
      tf.sum(turned(x), axis),
      tf.sum(turned(x), axis, true),
      tf.max(turned(x), [axis], true),
    ]),
  "pads, slices and joins of turned values": (x, y) => [
    tf.pad(turned(x), [[1, 0], [0, 2], [0, 1]], 0.5),
    tf.mirrorPad(turned(x), [[1, 0], [0, 1], [1, 1]], "reflect"),
    tf.slice(turned(x), [1, 0, 1], [2, 2, 1]),
    tf.stridedSlice(turned(x), [1, 0, 1], [4, 1, 2], [2, 1, 1]),
    tf.stridedSlice(turned(x), [3, 1, 1], [1, 1, 2], [1, 1, 1], 1, 2),
    tf.stridedSlice(turned(x), [3, 1, 1], [1, 1, 2], [1, 1, 1], 4, 5),
    ...[0, 1, 2].map((axis) => tf.concat([turned(x), turned(y)], axis)),
    tf.concat([turned(x), tf.reshape(y, [4, 2, 2])], 1),
  ],
  "ops on values that are turned alike and otherwise": (x, y) => {
    const other = tf.transpose(tf.reshape(y, [2, 4, 2]), [1, 2, 0]);
    return [
      tf.add(turned(x), turned(y)),
      tf.add(turned(x), other),
      tf.mul(turned(x), tf.slice(turned(y), [0, 0, 0], [4, 1, 2])),
      tf.mul(turned(x), tf.slice(turned(y), [0, 0, 0], [1, 2, 1])),
      tf.transpose(tf.exp(turned(x)), [1, 2, 0]),
      tf.transpose(tf.exp(turned(x)), [2, 0, 1]),
      tf.transpose(turned(x), [0, 2, 1]),
    ];
  },
  "rows of products under other extents": (x, y) => {
    const p = tf.matMul(x, y);
    return [[2, 2, 4], [2, 4, 2], [4, 2, 2], [1, 4, 4]].flatMap((shape) => [
      tf.exp(tf.reshape(p, shape)),
      ...[0, 1, -1].map((axis) => tf.sum(tf.reshape(p, shape), axis, true)),
      tf.add(tf.reshape(p, shape), tf.reshape(y, shape)),
    ]);
  },
  "products of transposed operands": (x, y) =>
    [false, true].flatMap((a) =>
      [false, true].flatMap((b) => [
        tf.matMul(tf.transpose(x), y, a, b),
        tf.matMul(x, tf.transpose(y), a, b),
      ])
    ),
  "products with heads that are repeated each, and all": (x, y) => {
    const q = tf.reshape(tf.concat([x, y, x], 0), [1, 6, 2, 4]);
    return (["each repeated", "all repeated"] as const).map((order) =>
      tf.matMul(q, heads(y, order))
    );
  },
  "values that are changed and read": (x) => {
    const e = tf.exp(x);
    return [
      tf.tensorScatterAdd(e, indices, e),
      tf.tensorScatterUpdate(tf.sin(x), indices, tf.cos(x)),
      e,
    ];
  },
  "loop variables that are changed and read": (x) =>
    tf.whileLoop(
      (i) => tf.less(i, 3),
      (i, a, b) => [
        tf.add(i, 1),
        tf.tensorScatterAdd(a, indices, tf.mul(b, 0.5)),
        tf.tensorScatterUpdate(tf.add(a, b), [[0]], tf.slice(a, [1, 0], [1, 4])),
      ],
      [tf.constant(0, "int32"), x, tf.neg(x)],
    ).slice(1),
};

/** Updates of two variables in one step, which differ in one thing. */
const STEPS: Readonly<Record<string, () => readonly [tf.Optimizer, tf.Optimizer]>> = {
  "one rule": () => {
    const one = tf.train.adam(0.1);
    return [one, one];
  },
  "learning rates": () => [tf.train.sgd(0.1), tf.train.sgd(0.3)],
  "momenta": () => [tf.train.momentum(0.1, 0.5), tf.train.momentum(0.1, 0.9)],
  "Nesterov's rule": () => [
    tf.train.momentum(0.1, 0.9, true),
    tf.train.momentum(0.1, 0.9, false),
  ],
  "decay of moments": () => [tf.train.adam(0.1, 0.9, 0.99), tf.train.adam(0.1, 0.5, 0.7)],
};

// Plans make one op of attention however small it is.
attentionOptions.leastOnCpu = 0;

const TOLERANCE = { ulps: 256, ulpsOfLargest: 256, absolute: 2e-5 };

/** The results that differ. */
function differing(found: readonly tf.Tensor[], want: readonly tf.Tensor[]): string[] {
  return found.flatMap((t, i) => {
    const text = difference(t.ndarraySync(), want[i].ndarraySync(), t.dtype, TOLERANCE);
    return text === null ? [] : [`result ${i} ${text}`];
  });
}

for (const [name, build] of Object.entries({ ...CASES, ...PATTERNS })) {
  testOnDevices(`compiled code keeps apart, as eager code does: ${name}`, async () => {
    using _ = tf.scope();
    const numbers = (by: number): tf.Tensor =>
      tf.tensor(Array.from({ length: 16 }, (_, i) => 2 * Math.sin(by * i + 1)), [4, 4]);
    const x = numbers(1.7), y = numbers(2.9);
    assertEquals(differing(await tf.function(build).async(x, y), build(x, y)), []);
  });
}

for (const [name, optimizers] of Object.entries(STEPS)) {
  testOnDevices(`compiled steps keep apart, as eager steps do: ${name}`, async () => {
    using _ = tf.scope();
    const make = () => {
      const used = optimizers();
      const variables = [tf.variable([1, -2, 3]), tf.variable([[0.5, 4]])];
      const step = (): void =>
        variables.forEach((v, i) =>
          void used[i].minimize(() => tf.sum(tf.square(tf.sub(v, i))), false, [v])
        );
      return { variables, step };
    };
    const eager = make(), compiled = make();
    const fn = tf.function(compiled.step);
    for (let i = 0; i < 3; i++) {
      eager.step();
      await fn.async();
    }
    assertEquals(differing(compiled.variables, eager.variables), []);
  });
}

/** Eager calls of one op that read alike, each pair with results that differ. */
const ALIKE: Readonly<Record<string, readonly [() => tf.Tensor, () => tf.Tensor]>> = {
  "an attribute of zero and minus zero": [
    () => tf.div(1, tf.leakyRelu([-3, -5], 0)),
    () => tf.div(1, tf.leakyRelu([-3, -5], -0)),
  ],
  "texts that hold what stands between attributes": [
    () => tf.string.staticRegexReplace(["a;rewrite=b"], "a;rewrite=b", "c"),
    () => tf.string.staticRegexReplace(["a;rewrite=b"], "a", "b;rewrite=c"),
  ],
};

for (const [name, [first, second]] of Object.entries(ALIKE)) {
  // Drivers of GPUs need not keep the sign of zero.
  Deno.test(`eager calls keep apart ${name}`, async () => {
    await tf.setBackend("cpu");
    using _ = tf.scope();
    const found = [first(), second()].map((t) => t.arraySync());
    assertNotEquals(found[0], found[1]);
  });
}
