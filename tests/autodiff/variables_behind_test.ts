/** Every trainable variable that is read behind a loss is found, wherever that happens. */
import * as tf from "@weft/weft";
import { assert, assertAlmostEquals, assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { type Body, forms, nest } from "./forms.ts";

/** Three variables, each in a term of its own; they are not read in the order they were made. */
function model(): { variables: tf.Variable[]; body: Body } & Disposable {
  const [a, b, c] = [0.5, -0.3, 0.7].map((v) => tf.variable(v));
  return {
    variables: [a, b, c],
    body: (x) => tf.add(tf.mul(c, tf.sin(x)), tf.mul(a, tf.tanh(tf.add(x, b)))),
    [Symbol.dispose]: () => tf.dispose([a, b, c]),
  };
}

const RATE = 0.1;

/** The variables after one step of gradient descent. */
function afterMinimize(build: (body: Body) => Body, compiled: boolean): number[] {
  using m = model();
  using optimizer = tf.train.sgd(RATE);
  const f = build(m.body);
  const step = (x: tf.Tensor): void => void optimizer.minimize(() => f(x));
  (compiled ? tf.function(step) : step)(tf.scalar(0.8));
  return m.variables.map((v) => v.item());
}

/** The same by the gradients that `variableGrads` returns. */
function afterVariableGrads(build: (body: Body) => Body, compiled: boolean): number[] {
  using m = model();
  const f = build(m.body);
  const find = (x: tf.Tensor): Record<string, tf.Tensor> => tf.variableGrads(() => f(x)).grads;
  const grads = (compiled ? tf.function(find) : find)(tf.scalar(0.8));
  return m.variables.map((v) => v.item() - RATE * (grads[v.name]?.item() ?? NaN));
}

for (const [outerName, outer] of Object.entries(forms)) {
  testOnDevices(`variables behind a loss are found: any form in ${outerName}`, () => {
    for (const [innerName, inner] of Object.entries(forms)) {
      const form = nest(outer, inner);
      const wanted = afterMinimize(form.unrolled, false);
      for (const compiled of [false, true]) {
        for (const after of [afterMinimize, afterVariableGrads]) {
          after(form.wrap, compiled).forEach((v, i) =>
            assertAlmostEquals(
              v,
              wanted[i],
              1e-5,
              `${innerName} in ${outerName}, ${after.name}, compiled: ${compiled}, variable ${i}`,
            )
          );
        }
      }
    }
  });
}
