/** Pieces of models, scripts and variables that random graphs hold beside single ops. Each may show an intermediate result. */
import * as tf from "@weft/weft";
import { withInterpreter } from "../../src/engine/core/apply.ts";
import { apply } from "../../src/engine/core/apply.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import type { Maker, Source } from "./random_graph.ts";

/** The step's result, and now and then an intermediate one as well. */
function shown({ step }: Source, result: tf.Tensor, ...inner: tf.Tensor[]): tf.Tensor[] {
  return step.c % 4 === 0 ? [result, inner[(step.c >> 2) % inner.length]] : [result];
}

const piece = (name: string, make: (source: Source) => readonly tf.Tensor[]): Maker => ({
  name,
  make,
});

const difference = (p: tf.NdArray, q: tf.NdArray): tf.NdArray =>
  p.map((v, i) => Number(v) - Number(q.data[i]));
const spec = tf.TensorSpec([3, 4], "float32");

/** Layers as users write them and as converters leave them. */
const MODELS: readonly Maker[] = [
  piece("pointwise", ({ take, step }) => {
    const a = take([3, 4]), b = take([3, 4]);
    const list = [
      () => tf.add(a, b),
      () => tf.mul(tf.sub(a, b), 0.5),
      () => tf.where(tf.greater(tf.abs(a), 9), a, tf.neg(b)),
      () => tf.maximum(a, tf.sigmoid(b)),
      () => tf.square(tf.tanh(a)),
      () => tf.sub(a, tf.mean(a, -1, true)),
    ];
    return [list[step.c % list.length]()];
  }),
  piece("dense", (s) => {
    const z = tf.matMul(s.take([3, 5]), s.take([4, 5]), false, true);
    const u = tf.add(z, s.take([4]));
    return shown(s, tf.relu(u), u, z);
  }),
  piece("dense and residual", (s) => {
    const z = tf.matMul(s.take([3, 5]), s.take([5, 4]));
    const bias = s.take([[4], [1, 4], [3, 1], [1]][s.step.c % 4]);
    const u = tf.mul(tf.add(z, bias), 0.5);
    return shown(s, tf.add(u, s.take([3, 4])), u, z);
  }),
  piece("batches", (s) => {
    const z = tf.matMul(s.take([2, 3, 5]), s.take([2, 5, 4]));
    return shown(s, tf.sigmoid(tf.add(z, s.take([4]))), z);
  }),
  piece("convolution", (s) => {
    const z = tf.conv2d(s.take([1, 4, 4, 3]), s.take([3, 3, 3, 4]), 1, "same");
    const u = tf.add(z, s.take([4]));
    return shown(s, tf.relu(u), u, z);
  }),
  piece("depthwise convolution", (s) => {
    const z = tf.depthwiseConv2d(s.take([1, 4, 4, 4]), s.take([3, 3, 4, 1]), 1, "valid");
    return shown(s, tf.relu6(tf.add(z, s.take([4]))), z);
  }),
  piece("batch normalisation", (s) => {
    const x = s.take([2, 2, 2, 4]);
    const scale = tf.mul(tf.rsqrt(tf.add(tf.square(s.take([4])), 1e-3)), s.take([4]));
    const y = tf.add(tf.mul(x, scale), tf.sub(s.take([4]), tf.mul(s.take([4]), scale)));
    return shown(s, y, scale);
  }),
  piece("softmax", (s) => {
    const x = s.take([3, 4]);
    const e = tf.exp(tf.sub(x, tf.max(x, -1, true)));
    const sum = tf.sum(e, -1, true);
    return shown(s, tf.div(e, sum), e, sum);
  }),
  piece("log softmax", (s) => {
    const x = s.take([3, 4]);
    const y = tf.sub(x, tf.max(x, 1, true));
    const sum = tf.sum(tf.exp(y), 1, true);
    return shown(s, tf.sub(y, tf.log(sum)), y, sum);
  }),
  piece("layer normalisation", (s) => {
    const x = s.take([3, 4]);
    const mean = tf.mean(x, -1, true);
    const centred = tf.sub(x, mean);
    const variance = tf.mean(tf.square(centred), -1, true);
    const y = tf.mul(centred, tf.rsqrt(tf.add(variance, 1e-3)));
    return shown(s, tf.add(tf.mul(y, s.take([4])), s.take([4])), y, variance, mean);
  }),
  piece("GELU", (s) => {
    const x = s.take([3, 4]);
    const inner = tf.tanh(tf.mul(0.7978845608, tf.add(x, tf.mul(0.044715, tf.pow(x, 3)))));
    return shown(s, tf.mul(0.5, tf.mul(x, tf.add(1, inner))), inner);
  }),
  piece("attention", (s) => {
    const scores = tf.mul(tf.matMul(s.take([2, 3, 4]), s.take([2, 5, 4]), false, true), 0.5);
    const p = tf.softmax(tf.add(scores, s.take([3, 5])));
    return shown(s, tf.matMul(p, s.take([2, 5, 4])), p, scores);
  }),
  piece("cross entropy", (s) => {
    const logits = s.take([3, 4]);
    const labels = tf.softmax(s.take([3, 4]));
    const log = tf.logSoftmax(logits);
    return shown(s, tf.neg(tf.sum(tf.mul(labels, log), -1)), log);
  }),
  piece("gradients", ({ take, step }) => {
    const bodies = [
      (a: tf.Tensor, b: tf.Tensor) => tf.relu(tf.add(tf.matMul(a, b, false, true), 0.3)),
      (a: tf.Tensor, b: tf.Tensor) => tf.mul(tf.softmax(a), tf.tanh(b)),
      (a: tf.Tensor, b: tf.Tensor) =>
        tf.div(tf.exp(tf.sub(a, tf.max(a, -1, true))), tf.add(2, tf.square(b))),
    ];
    return tf.grads(bodies[step.c % bodies.length])([take([3, 4]), take([3, 4])]);
  }),
];

/** Nodes that plans group: updates by one rule, and sums over first axes. */
const ALIKE: readonly Maker[] = [
  piece("updates", ({ take, step }) => {
    const rates = [take([]), take([])];
    const shapes = [[3, 4], [4], [2, 5]].slice(0, 2 + step.c % 2);
    return shapes.flatMap((s, i) =>
      apply(lookupOp("_ApplyMomentum")!, [take(s), take(s), rates[(step.c >> i) % 2], take(s)], {
        momentum: 0.5,
      })
    );
  }),
  piece("column sums", ({ take }) => [
    tf.sum(take([3, 4]), 0),
    tf.mean(take([6, 2]), 0),
    tf.sum(take([5]), 0),
  ]),
];

const CALLS: readonly Maker[] = [
  piece("function", ({ take }) => {
    const f = tf.function((x: tf.Tensor, y: tf.Tensor) =>
      tf.mul(tf.softmax(tf.add(x, y)), tf.sigmoid(y))
    );
    return [f(take([3, 4]), take([4])) as tf.Tensor];
  }),
  piece("custom gradient", ({ take }) => {
    const f = tf.customGrad((x) => ({
      value: tf.tanh(x as tf.Tensor),
      gradFunc: (dy: tf.Tensor) => tf.mul(dy, 0.5),
    }));
    return [f(take([3, 4]))];
  }),
  piece("ensured shape", ({ take }) => [tf.neg(tf.ensureShape(tf.exp(take([2, 5])), [null, 5]))]),
];

const SCRIPTS: readonly Maker[] = [
  piece("stateless script", ({ take }) => [
    tf.numpyFunction(difference, [take([3, 4]), take([3, 4])], spec, { stateful: false }),
  ]),
  piece("stateful script", ({ take, step, log }) => [
    tf.numpyFunction(
      (p: tf.NdArray) => {
        log.push(`script ${step.a},${step.b},${step.c}`);
        return p.map((v) => Number(v) * 0.5);
      },
      [take([3, 4])],
      spec,
    ),
  ]),
  piece("stateful script, called twice", ({ take }) => {
    let calls = 0;
    const count = (p: tf.NdArray): tf.NdArray => (calls++, p.map((v) => Number(v) + calls));
    const x = take([3, 4]);
    const [p, q] = [0, 1].map(() => tf.numpyFunction(count, [x], spec));
    return [tf.abs(tf.sub(p, q))];
  }),
  piece("eager script", ({ take, step, log }) => [
    tf.pyFunction(
      (x: tf.Tensor, y: tf.Tensor) => {
        log.push(`eager ${step.a},${step.b},${step.c}`);
        return tf.tanh(tf.add(tf.mul(x, 0.5), y));
      },
      [take([3, 4]), take([4])],
      spec,
    ),
  ]),
  piece("script that is waited for", ({ take, step, log }) => {
    const waited = tf.numpyFunction(
      (p: tf.NdArray) => {
        log.push(`first ${step.a},${step.b},${step.c}`);
        return p;
      },
      [take([3, 4])],
      spec,
    );
    return [
      tf.controlDependencies([waited], () =>
        tf.numpyFunction(
          (p: tf.NdArray) => {
            log.push(`then ${step.a},${step.b},${step.c}`);
            return p;
          },
          [take([3, 4])],
          spec,
        )),
    ];
  }),
];

const ORDER: readonly Maker[] = [
  piece("control dependency", ({ take }) => {
    const waited = take([3, 4]), x = take([2, 5]);
    return [tf.controlDependencies([waited], () => tf.tanh(tf.mul(x, 0.7)))];
  }),
  piece("variable", ({ take, variables, step }) => {
    // Made outside of the graph: it has its value at once.
    const v = withInterpreter(null, () => tf.variable(tf.fill([3, 4], (step.c % 5) / 4), true));
    variables.push(v);
    const before = tf.identity(v);
    const next = take([3, 4]);
    const assigned = tf.controlDependencies(
      [before],
      () => step.c % 2 === 0 ? v.assign(next) : v.assignAdd(next),
    );
    return [
      tf.controlDependencies(
        assigned ? [assigned] : [],
        () => tf.sub(tf.identity(v), tf.mul(before, 0.5)),
      ),
    ];
  }),
  piece("cond", ({ take, step }) => {
    const x = take([3, 4]), y = take([3, 4]);
    const yes = tf.greater(tf.sum(tf.square(x)), step.c % 2 === 0 ? -1 : 1e9);
    return [
      tf.cond(
        yes,
        () => tf.tanh(tf.mul(tf.add(x, y), 0.5)),
        () => tf.sub(tf.softmax(x), y),
      ) as tf.Tensor,
    ];
  }),
  piece("while", ({ take }) => {
    const x = take([3, 4]), step = take([4]);
    return [
      tf.whileLoop(
        (i) => tf.less(i, 2),
        (i, y) => [tf.add(i, 1), tf.tanh(tf.add(tf.mul(y, 0.5), step))],
        [tf.scalar(0, "int32"), x],
      )[1],
    ];
  }),
];

/** All pieces. */
export const PIECES: readonly Maker[] = [...MODELS, ...ALIKE, ...CALLS, ...SCRIPTS, ...ORDER];
