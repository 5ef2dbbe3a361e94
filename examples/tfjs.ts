/**
 * A function of TensorFlow.js as an op: TensorFlow.js computes a loss and its gradient, Weft trains.
 *
 * `deno run examples/tfjs.ts`
 *
 * @module
 */

import * as tf from "@weft/weft";
import { tfjsFunction } from "@weft/weft/tfjs";
import * as tfjs from "@tensorflow/tfjs-core";
import "@tensorflow/tfjs-backend-cpu";

/** Registers gradients. In programs this is a plain import; here it is computed, so that type-checking does not fetch so much. */
const GRADIENTS = "@tensorflow/tfjs-layers";

/** TensorFlow.js's computation: the distance of a line from points on y = 2x + 1. */
export function loss(slope: tfjs.Tensor, offset: tfjs.Tensor): tfjs.Tensor {
  const x = tfjs.linspace(-1, 1, 9);
  const wanted = tfjs.add(tfjs.mul(x, 2), 1);
  return tfjs.losses.meanSquaredError(wanted, tfjs.add(tfjs.mul(x, slope), offset));
}

async function main(): Promise<void> {
  await import(GRADIENTS);
  tfjs.enableProdMode();
  const slope = tf.variable(tf.scalar(0)), offset = tf.variable(tf.scalar(0));
  const optimizer = tf.train.adam(0.1);
  for (let step = 0; step <= 200; step++) {
    using cost = optimizer.minimize(
      () => tfjsFunction(loss, [slope, offset], tf.TensorSpec([], "float32")),
      true,
    )!;
    if (step % 50 === 0) console.log(`step ${step}: loss ${cost.item().toFixed(6)}`);
  }
  const found = [slope.item(), offset.item()];
  console.log(`y = ${found[0].toFixed(3)} x + ${found[1].toFixed(3)}`);
  [2, 1].forEach((wanted, i) => {
    if (!(Math.abs(found[i] - wanted) < 0.02)) {
      throw new Error(`Expected ${wanted}, received ${found[i]}`);
    }
  });
}

if (import.meta.main) await main();
