/** Products with a quantised matrix inside of whatever may hold them, against its dequantised form. */
import { assert } from "@std/assert";
import * as tf from "@weft/weft";
import { testOnDevices } from "../devices.ts";

/** A product by the quantised matrix, which types hold for a tensor. */
type Product = (x: tf.Tensor, q: tf.Tensor) => tf.Tensor;

const row = (q: tf.Tensor) => (x: tf.Tensor): tf.Tensor =>
  tf.reshape(tf.matMul(tf.reshape(x, [1, 64]), q), [8]);

const WAYS: Readonly<Record<string, Product>> = {
  "eager code": (x, q) => tf.matMul(x, q),
  "a function that captures it": (x, q) => tf.function((x: tf.Tensor) => tf.matMul(x, q))(x),
  "a function that takes it": (x, q) =>
    tf.function((x: tf.Tensor, q: tf.Tensor) => tf.matMul(x, q))(x, q),
  "a branch": (x, q) =>
    tf.function((x: tf.Tensor, p: tf.Tensor) =>
      tf.cond(p, () => tf.matMul(x, q), () => tf.zeros([3, 8]))
    )(x, tf.scalar(true)),
  "results of branches": (x, q) =>
    tf.function((x: tf.Tensor, p: tf.Tensor) => tf.matMul(x, tf.cond(p, () => q, () => q)))(
      x,
      tf.scalar(false),
    ),
  "a loop": (x, q) =>
    tf.function((x: tf.Tensor) =>
      tf.whileLoop(
        (i: tf.Tensor) => tf.less(i, 2),
        (i: tf.Tensor) => [tf.add(i, 1), tf.matMul(x, q)],
        [tf.scalar(0, "int32"), tf.zeros([3, 8])],
      )[1]!
    )(x),
  "a state of a loop": (x, q) =>
    tf.function((x: tf.Tensor) =>
      tf.whileLoop(
        (i: tf.Tensor) => tf.less(i, 2),
        (i: tf.Tensor, _: tf.Tensor, q: tf.Tensor) => [tf.add(i, 1), tf.matMul(x, q), q],
        [tf.scalar(0, "int32"), tf.zeros([3, 8]), q],
      )[1]!
    )(x),
  "mapFn()": (x, q) => tf.function((x: tf.Tensor) => tf.mapFn(row(q), x))(x),
  "vmap()": (x, q) => tf.vmap(row(q))(x),
  "compiled vmap()": (x, q) => tf.function(tf.vmap(row(q)))(x),
  "recomputeGrad()": (x, q) => tf.recomputeGrad((x: tf.Tensor) => tf.matMul(x, q))(x),
  "a function of open rows": (x, q) =>
    tf.function((x: tf.Tensor) => tf.matMul(x, q), { inputSignature: [tf.TensorSpec([null, 64])] })(
      x,
    ),
};

for (const [name, product] of Object.entries(WAYS)) {
  testOnDevices(
    `a quantised matrix in ${name} multiplies as its numbers do, and so do gradients`,
    async () => {
      using _scope = tf.scope();
      const w = tf.randomNormal([64, 8], 0, 1, "float32", 1);
      const q = tf.quantize(w, { bits: 4, block: 32 }), numbers = tf.dequantize(q);
      const x = tf.randomNormal([3, 64], 0, 1, "float32", 2);
      const results = (f: Product, matrix: tf.Tensor): tf.Tensor[] => {
        const loss = (x: tf.Tensor): tf.Tensor => tf.sum(tf.sin(f(x, matrix)));
        return [f(x, matrix), tf.grad(loss)(x), tf.jvp(loss, [x], [tf.onesLike(x)])[1]];
      };
      const found = results(product, q as unknown as tf.Tensor);
      for (const [i, wanted] of results(tf.matMul, numbers).entries()) {
        const apart = (await tf.max(tf.abs(tf.sub(wanted, found[i]!))).data())[0]!;
        assert(apart < 1e-2, `result ${i} is ${apart} away`);
      }
    },
  );
}
