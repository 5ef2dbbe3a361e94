/** Gradients of gradients through functions, branches, loops and scripts. The numbers are TensorFlow 2.21's, the same in all its forms. */
import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { type Body, forms, nest } from "./forms.ts";

type Loss = (x: tf.Tensor) => tf.Tensor;
interface Program extends Disposable {
  readonly variables: readonly tf.Variable[];
  readonly loss: Loss;
}

function variables(...values: readonly number[][]): tf.Variable[] {
  return values.map((v) => tf.variable(v));
}

/** A loss with the norm of a gradient in it, as in WGAN-GP. */
function penalty(build: (body: Body) => Body): Program {
  const all = variables([0.5, -0.3, 0.7], [0.1, 0.2, -0.1], [0.9, 0.4, -0.6]);
  const [w, b, a] = all;
  const body = build((x) => tf.mul(a, tf.tanh(tf.add(tf.mul(x, w), b))));
  const loss: Loss = (x) => {
    using tape = new tf.GradientTape();
    tape.watch(x);
    const y = tf.sum(body(x));
    const norm = tf.sqrt(tf.sum(tf.square(tape.gradient(y, x)!)));
    return tf.add(y, tf.square(tf.sub(norm, 1)));
  };
  return { variables: all, loss, [Symbol.dispose]: () => tf.dispose(all) };
}

/** A loss after one step on another task, as in MAML. */
function maml(build: (body: Body) => Body): Program {
  const all = variables([0.5, -0.3, 0.7], [0.1, 0.2, -0.1]);
  const task = (w: tf.Tensor, b: tf.Tensor, x: tf.Tensor, y: number[]): tf.Tensor =>
    tf.mean(tf.square(tf.sub(build((x) => tf.tanh(tf.add(tf.mul(x, w), b)))(x), y)));
  const loss: Loss = (x) => {
    using tape = new tf.GradientTape();
    const [w, b] = all.map((v) => v.readValue());
    tape.watch([w, b]);
    const [gw, gb] = tape.gradient(task(w, b, x, [0.2, 0.1, -0.3]), [w, b]) as tf.Tensor[];
    const stepped = [tf.sub(w, tf.mul(gw, 0.5)), tf.sub(b, tf.mul(gb, 0.5))];
    return task(stepped[0], stepped[1], tf.mul(x, 0.7), [-0.1, 0.3, 0.2]);
  };
  return { variables: all, loss, [Symbol.dispose]: () => tf.dispose(all) };
}

/** The loss, and the variables after a step of gradient descent at 0.1. */
function step(
  make: (build: (body: Body) => Body) => Program,
  build: (body: Body) => Body,
  compiled: boolean,
): number[] {
  using program = make(build);
  using optimizer = tf.train.sgd(0.1);
  const run = (x: tf.Tensor): tf.Tensor => optimizer.minimize(() => program.loss(x), true);
  const loss = (compiled ? tf.function(run) : run)(tf.tensor([0.8, -0.4, 0.3])).item();
  return [loss, ...program.variables.flatMap((v) => v.arraySync() as number[])];
}

const once = {
  penalty: [
    0.67105,
    0.468585,
    -0.291333,
    0.755253,
    0.010737,
    0.162668,
    -0.046744,
    0.876008,
    0.373749,
    -0.656778,
  ],
  maml: [0.078355, 0.490909, -0.301004, 0.702262, 0.081726, 0.204218, -0.086593],
};
const onRows = {
  penalty: [
    0.855893,
    0.425808,
    -0.280932,
    0.745121,
    -0.06163,
    0.125884,
    0.017307,
    0.836466,
    0.345918,
    -0.633532,
  ],
  maml: [0.228782, 0.499245, -0.295234, 0.687439, 0.100741, 0.198579, -0.13011],
};
const tensorflow: Readonly<Record<string, { penalty: number[]; maml?: number[] }>> = {
  plain: once,
  function: once,
  cond: once,
  whileLoop: {
    penalty: [
      1.021981,
      0.484074,
      -0.307234,
      0.743918,
      -0.036205,
      0.165169,
      -0.066631,
      0.881534,
      0.388033,
      -0.647663,
    ],
    maml: [0.130245, 0.499282, -0.296826, 0.686831, 0.088565, 0.20683, -0.097673],
  },
  mapFn: onRows,
  foldl: onRows,
  scan: onRows,
  // The body of a script cannot close over the stepped weights, which are tensors of the graph.
  pyFunction: { penalty: once.penalty },
};

for (const [name, form] of Object.entries(forms)) {
  testOnDevices(`gradient penalties and MAML steps through ${name} are TensorFlow's`, () => {
    const wanted = tensorflow[name];
    for (const compiled of [false, true]) {
      const where = `compiled: ${compiled}`;
      near(step(penalty, form.wrap, compiled), wanted.penalty, `penalty, ${where}`);
      if (wanted.maml) near(step(maml, form.wrap, compiled), wanted.maml, `MAML, ${where}`);
    }
  });

  testOnDevices(`gradients of gradients: any form in ${name}`, () => {
    for (const [innerName, inner] of Object.entries(forms)) {
      const both = nest(form, inner);
      const wanted = derivatives(both.unrolled, false);
      for (const compiled of [false, true]) {
        const where = `${innerName} in ${name}, compiled: ${compiled}`;
        near(derivatives(both.wrap, compiled), wanted, where);
      }
    }
  });
}

function near(got: readonly number[], wanted: readonly number[], where: string): void {
  assertEquals(got.length, wanted.length);
  got.forEach((v, i) => assertAlmostEquals(v, wanted[i], 2e-5, `${where}: number ${i}`));
}

/** Second derivatives of a sine: that of the value and its gradient, of the gradient alone, and the third. */
function derivatives(build: (body: Body) => Body, compiled: boolean): number[] {
  const f = build(tf.sin);
  const find = (x: tf.Tensor): tf.Tensor[] => {
    using outer = new tf.GradientTape({ persistent: true });
    using inner = new tf.GradientTape();
    outer.watch(x);
    inner.watch(x);
    const y = f(x), g = inner.gradient(y, x)!;
    const [both, alone] = [tf.add(g, y), g].map((t) => outer.gradient(t, x)!);
    return [both, alone, tf.grad(tf.grad(tf.grad(f)))(x)];
  };
  return (compiled ? tf.function(find) : find)(tf.scalar(0.7)).map((t) => t.item());
}
