// An op of your own from one expression: it fuses with its neighbours, runs on every device and has a gradient.
import * as tf from "@weft/weft";
import { applyOp, definePointwise, scalar as s } from "@weft/weft/ops";

const Mish = definePointwise("Lesson>Mish", ([x]) => s.mul(x, s.tanh(s.log1p(s.exp(x)))), {
  grad: {
    saves: ["x"],
    vjp({ x }, [dy]) {
      const inner = tf.tanh(tf.softplus(x));
      const rest = tf.mul(x, tf.mul(tf.sub(1, tf.square(inner)), tf.sigmoid(x)));
      return [tf.mul(dy, tf.add(inner, rest))];
    },
  },
});
const mish = (x) => applyOp(Mish, [x])[0];

const x = tf.tensor([-2, -1, 0, 1, 2]);
console.log("mish", await mish(x).data());
console.log("slope", await tf.grad(mish)(x).data());

// In a function it is joined with what stands around it: the picture shows one op where you wrote three.
const layer = tf.function(function layer(x) {
  return tf.sum(mish(tf.add(tf.mul(x, 2), 1)));
});
console.log("sum", (await (await layer.async(x)).data())[0]);
