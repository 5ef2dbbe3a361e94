/** Steps of optimizers, as files that train themselves hold them: Adagrad, Adam, Momentum. */
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { NodeCall } from "../../build/node_call.ts";
import { op, type OpEntry, type Rule } from "../../build/rule.ts";
import { like, to } from "../raw.ts";
import * as tf from "../../build/tf.ts";

/** Makes the new value of a parameter and of its states from the old ones and a gradient. */
type Step = (n: NodeCall, x: Tensor, gradient: Tensor, states: readonly Tensor[]) => Tensor[];

/** Makes the rule of a step with so many states. Inputs are a rate, a count, all parameters, all gradients, all of each state. */
function stepOf(states: number, step: Step): Rule {
  return (n) => {
    const groups = states + 2, count = (n.count - 2) / groups;
    if (!Number.isInteger(count)) n.fail(`${n.count - 2} tensors are not ${groups} of each kind`);
    const made = Array.from({ length: count }, (_, i) => {
      const [x, gradient, ...rest] = Array.from(
        { length: groups },
        (_, g) => n.x(2 + g * count + i),
      );
      const decay = n.attributes.float("norm_coefficient", 0);
      return step(n, x, tf.add(scaled(x, decay), gradient), rest);
    });
    return Array.from({ length: states + 1 }, (_, k) => made.map((one) => one[k])).flat();
  };
}

function scaled(x: Tensor, by: number): Tensor {
  return tf.mul(x, like(x, by));
}

/** Returns the learning rate and the count of steps, in the dtype of a parameter. */
function rateAndCount(n: NodeCall, { dtype }: Tensor): [Tensor, Tensor] {
  return [to(n.x(0), dtype), to(n.x(1), dtype)];
}

const adagrad: Step = (n, x, gradient, [sums]) => {
  const { attributes } = n, [rate, count] = rateAndCount(n, x);
  const now = tf.div(rate, tf.add(scaled(count, attributes.float("decay_factor", 0)), like(x, 1)));
  const sum = tf.add(sums, tf.square(gradient));
  const root = tf.add(tf.sqrt(sum), like(x, attributes.float("epsilon", 1e-6)));
  return [tf.sub(x, tf.div(tf.mul(now, gradient), root)), sum];
};

const adam: Step = (n, x, gradient, [means, squares]) => {
  const { attributes } = n, [rate, count] = rateAndCount(n, x);
  const a = attributes.float("alpha", 0.9), b = attributes.float("beta", 0.999);
  const mean = tf.add(scaled(means, a), scaled(gradient, 1 - a));
  const square = tf.add(scaled(squares, b), scaled(tf.square(gradient), 1 - b));
  const root = tf.add(tf.sqrt(square), like(x, attributes.float("epsilon", 1e-6)));
  const left = (base: number): Tensor => tf.sub(like(x, 1), tf.pow(like(x, base), count));
  const corrected = tf.div(tf.mul(rate, tf.sqrt(left(b))), left(a));
  const now = tf.where(tf.greater(count, like(x, 0)), corrected, rate);
  const moved = tf.sub(x, tf.div(tf.mul(now, mean), root));
  return [scaled(moved, 1 - attributes.float("norm_coefficient_post", 0)), mean, square];
};

const momentum: Step = (n, x, gradient, [momenta]) => {
  const { attributes } = n,
    [rate, count] = rateAndCount(n, x),
    mode = attributes.text("mode", "standard");
  const a = attributes.float("alpha", 0), b = attributes.float("beta", 1);
  const share = tf.where(tf.greater(count, like(x, 0)), like(x, b), like(x, 1));
  const next = tf.add(scaled(momenta, a), tf.mul(share, gradient));
  const direction = mode === "nesterov" ? tf.add(gradient, scaled(next, a)) : next;
  return [tf.sub(x, tf.mul(rate, direction)), next];
};

const TRAINING = { domain: "ai.onnx.preview.training" };

/** Optimizers. */
export const OPTIMIZERS: readonly OpEntry[] = [
  op("Adagrad", 1, stepOf(1, adagrad), TRAINING),
  op("Adam", 1, stepOf(2, adam), TRAINING),
  op("Momentum", 1, stepOf(1, momentum), TRAINING),
];
