import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";

/** A function of a scalar that reads variables. */
type Body = (x: tf.Tensor) => tf.Tensor;
/** A way to put a body into a sub-graph, and what that computes without one. */
interface Form {
  readonly wrap: (body: Body) => Body;
  readonly unrolled: (body: Body) => Body;
}

const twice = (body: Body): Body => (x) => body(body(x));
const overRows = (body: Body): Body => (x) => tf.add(body(x), body(tf.mul(x, 0.5)));
const rowsOf = (x: tf.Tensor): tf.Tensor => tf.stack([x, tf.mul(x, 0.5)]);

const forms: Record<string, Form> = {
  "in place": { wrap: (body) => body, unrolled: (body) => body },
  function: { wrap: (body) => tf.function(body), unrolled: (body) => body },
  cond: {
    wrap: (body) => (x) =>
      tf.cond(tf.greater(x, -100), () => body(x), () => tf.neg(body(x))) as tf.Tensor,
    unrolled: (body) => body,
  },
  whileLoop: {
    wrap: (body) => (x) =>
      tf.whileLoop((i) => tf.less(i, 2), (i, y) => [tf.add(i, 1), body(y as tf.Tensor)], [
        tf.scalar(0, "int32"),
        x,
      ])[1] as tf.Tensor,
    unrolled: twice,
  },
  mapFn: {
    wrap: (body) => (x) => tf.sum(tf.mapFn((row) => body(row as tf.Tensor), rowsOf(x)) as tf.Tensor),
    unrolled: overRows,
  },
  foldl: {
    wrap: (body) => (x) =>
      tf.foldl((a, row) => tf.add(a as tf.Tensor, body(row as tf.Tensor)), rowsOf(x), {
        initializer: tf.zerosLike(x),
      }) as tf.Tensor,
    unrolled: overRows,
  },
  scan: {
    wrap: (body) => (x) =>
      tf.sum(
        tf.scan((_, row) => body(row as tf.Tensor), rowsOf(x), {
          initializer: tf.zerosLike(x),
        }) as tf.Tensor,
      ),
    unrolled: overRows,
  },
  pyFunction: {
    wrap: (body) => (x) => tf.pyFunction(body, [x], tf.TensorSpec([], "float32")) as tf.Tensor,
    unrolled: (body) => body,
  },
};

/** Three variables, each in a term of its own; the order of reads differs from that of their names. */
function model(): { variables: tf.Variable[]; body: Body; [Symbol.dispose](): void } {
  const [a, b, c] = [0.5, -0.3, 0.7].map((v) => tf.variable(v));
  return {
    variables: [a, b, c],
    body: (x) => tf.add(tf.mul(c, tf.sin(x)), tf.mul(a, tf.tanh(tf.add(x, b)))),
    [Symbol.dispose]: () => tf.dispose([a, b, c]),
  };
}

const X = 0.8, RATE = 0.1;

/** What the variables are after one step of gradient descent, by central differences in plain numbers it would be the same. */
function stepsTo(build: (body: Body) => Body, compiled: boolean): number[] {
  using m = model();
  const x = tf.scalar(X), f = build(m.body);
  const optimizer = tf.train.sgd(RATE);
  const step = (x: tf.Tensor): void => void optimizer.minimize(() => f(x));
  if (compiled) tf.function(step)(x);
  else step(x);
  optimizer.dispose();
  return m.variables.map((v) => v.item());
}

/** The same from what `variableGrads` returns. */
function gradientsBy(build: (body: Body) => Body, compiled: boolean): number[] {
  using m = model();
  const x = tf.scalar(X), f = build(m.body);
  const gradients = (x: tf.Tensor): Record<string, tf.Tensor> =>
    tf.variableGrads(() => f(x)).grads;
  const grads = (compiled ? tf.function(gradients) : gradients)(x);
  return m.variables.map((v) => v.item() - RATE * (grads[v.name]?.item() ?? NaN));
}

const compose = (outer: Form, inner: Form): Form => ({
  wrap: (body) => outer.wrap(inner.wrap(body)),
  unrolled: (body) => outer.unrolled(inner.unrolled(body)),
});

for (const [outerName, outer] of Object.entries(forms)) {
  testOnDevices(`minimize() and variableGrads() find what is read in forms in ${outerName}`, async (_, t) => {
    for (const [innerName, inner] of Object.entries(forms)) {
      const form = compose(outer, inner);
      await t.step(innerName, () => {
        const wanted = stepsTo(form.unrolled, false);
        for (const compiled of [false, true]) {
          for (const [how, got] of [
            ["minimize", stepsTo(form.wrap, compiled)],
            ["variableGrads", gradientsBy(form.wrap, compiled)],
          ] as const) {
            const where = `${how} ${compiled ? "compiled" : "eager"}`;
            got.forEach((v, i) => assertAlmostEquals(v, wanted[i], 1e-5, `${where}: variable ${i}`));
          }
        }
      });
    }
  });
}
