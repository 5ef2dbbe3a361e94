/**
 * A solver as a layer: the temperature along a rod is the solution of a linear system, found by a loop that no tensor op has, and
 * the conductivity of the rod is learned through it. The gradient of a solution is another solution.
 *
 * `deno run examples/solver_layer.ts`
 *
 * @module
 */

import * as tf from "@weft/weft";
import { gradCheck } from "@weft/weft/testing";

/** Thomas's algorithm for a tridiagonal system: `lower`, `diagonal` and `upper` are its three diagonals, `n` long each. */
function thomas(lower: tf.NdArray, diagonal: tf.NdArray, upper: tf.NdArray, b: tf.NdArray) {
  const n = b.size, c = new Float64Array(n), x = new Float64Array(n);
  const at = (a: tf.NdArray, i: number): number => Number(a.at(i));
  for (let i = 0; i < n; i++) {
    const below = i === 0 ? 0 : at(lower, i);
    const pivot = at(diagonal, i) - (i === 0 ? 0 : below * c[i - 1]);
    if (Math.abs(pivot) < 1e-12) throw new tf.ValueError(`The system is singular in row ${i}`);
    c[i] = at(upper, i) / pivot;
    x[i] = (at(b, i) - (i === 0 ? 0 : below * x[i - 1])) / pivot;
  }
  for (let i = n - 2; i >= 0; i--) x[i] -= c[i] * x[i + 1];
  // A list of numbers takes the dtype that Tout declares.
  return [...x];
}

/** Each element's neighbour before or after it; zero where there is none. */
const before = (x: tf.Tensor): tf.Tensor => tf.pad(tf.slice(x, [0], [x.shape[0] - 1]), [[1, 0]]);
const after = (x: tf.Tensor): tf.Tensor => tf.pad(tf.slice(x, [1], [x.shape[0] - 1]), [[0, 1]]);

/** The solution of a tridiagonal system. Differentiable any number of times, since its gradient is written with itself. */
export function solve(
  lower: tf.Tensor,
  diagonal: tf.Tensor,
  upper: tf.Tensor,
  b: tf.Tensor,
): tf.Tensor {
  return tf.numpyFunction(
    thomas,
    [lower, diagonal, upper, b],
    tf.TensorSpec(b.shape, b.dtype),
    {
      stateful: false,
      // A x = b. With Aᵀ g = dy the gradient of b is g, and that of A is −g xᵀ, of which three diagonals count.
      vjp: ({ inputs: [lower, diagonal, upper], outputs: [x] }, dy) => {
        const g = solve(before(upper), diagonal, after(lower), dy);
        const minus = tf.neg(g);
        return [tf.mul(minus, before(x)), tf.mul(minus, x), tf.mul(minus, after(x)), g];
      },
    },
  );
}

/** Temperatures inside a rod that is heated evenly and 0 at both ends; `conductivity` is that of its n + 1 pieces. */
export function temperatures(conductivity: tf.Tensor, heat: tf.Tensor): tf.Tensor {
  const n = heat.shape[0];
  const left = tf.slice(conductivity, [0], [n]), right = tf.slice(conductivity, [1], [n]);
  return solve(tf.neg(left), tf.add(left, right), tf.neg(right), heat);
}

/** A rod that was heated, and the temperatures that were measured. */
interface Trial {
  readonly heat: tf.Tensor;
  readonly measured: tf.Tensor;
}

/** Learns the conductivities of a rod from trials. Returns them, and the loss of each step. */
export function learn(trials: readonly Trial[], steps: number): [tf.Tensor, number[]] {
  const logarithms = tf.variable(tf.zeros([trials[0].heat.shape[0] + 1]));
  const optimizer = tf.train.adam(0.1);
  const loss = (): tf.Tensor =>
    tf.addN(
      trials.map(({ heat, measured }) =>
        tf.mean(tf.square(tf.sub(temperatures(tf.exp(logarithms), heat), measured)))
      ),
    );
  const step = tf.function(() => optimizer.minimize(loss, true));
  const losses = Array.from({ length: steps }, () => {
    using cost = step();
    return cost.item();
  });
  return [tf.exp(logarithms), losses];
}

function main(): void {
  const truth = tf.tensor([1, 1, 1, 0.25, 0.25, 2, 2, 2]);
  const trials = [tf.ones([7]), tf.range(0, 7)].map((heat) => ({
    heat: tf.cast(heat, "float32"),
    measured: temperatures(truth, tf.cast(heat, "float32")),
  }));
  const text = (x: tf.Tensor): string =>
    Array.from(x.dataSync(), (v) => Number(v).toFixed(2)).join(" ");
  console.log(`Measured: ${text(trials[0].measured)}`);

  // Is the gradient right? Central differences say so, in float64, for the first and the second order.
  const rod = [[1, 2, 0.5, 3], [1, 0.3, 2]];
  gradCheck((k, q) => temperatures(k, q), rod);
  gradCheck((k, q) => tf.grad((k) => tf.sum(tf.square(temperatures(k, q))))(k), rod);
  console.log("gradCheck: first and second order agree with differences");

  const [conductivity, losses] = learn(trials, 500);
  const last = losses.at(-1)!;
  console.log(`Loss: ${losses[0].toFixed(2)} at first, ${last < 1e-4 ? "nothing" : last} at last`);
  console.log(`Conductivities: ${text(truth)}`);
  console.log(`Learned:        ${text(conductivity)}`);

  try {
    temperatures(tf.zeros([4]), tf.ones([3]));
  } catch (error) {
    if (!(error instanceof tf.errors.InvalidArgumentError)) throw error;
    console.log("No conductivity:", error.message.split("\n")[0]);
  }
}

if (import.meta.main) main();
