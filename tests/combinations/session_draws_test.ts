/** Each random op of a graph has a sequence of its own in a session, whatever else is fetched, as in TensorFlow. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { THOROUGH } from "../effort.ts";

/** Draws with an op seed, or with the global one where it is undefined. */
const DRAWS: Readonly<Record<string, (seed?: number) => tf.Tensor>> = {
  randomUniform: (seed) => tf.randomUniform([3], 0, 1, "float32", seed),
  "randomUniform of int32": (seed) => tf.randomUniform([3], 0, 1000, "int32", seed),
  randomNormal: (seed) => tf.randomNormal([3], 0, 1, "float32", seed),
  truncatedNormal: (seed) => tf.truncatedNormal([3], 0, 1, "float32", seed),
  randomGamma: (seed) => tf.randomGamma([3], 2, 1, "float32", seed),
  multinomial: (seed) => tf.multinomial(tf.zeros([1, 100]), 3, seed),
  dropout: (seed) => tf.dropout(tf.range(1, 9), 0.5, undefined, seed),
  "a function": (seed) =>
    tf.function(() => tf.add(DRAWS.randomUniform(seed), DRAWS.randomNormal(seed)))() as tf.Tensor,
  "a branch": (seed) =>
    tf.cond(
      tf.placeholderWithDefault(tf.scalar(true, "bool"), []),
      () => DRAWS.randomUniform(seed),
      () => DRAWS.randomNormal(seed),
    ) as tf.Tensor,
  "a loop": (seed) =>
    tf.whileLoop(
      (i: tf.Tensor) => tf.less(i, 3),
      (i: tf.Tensor, sum: tf.Tensor) => [tf.add(i, 1), tf.add(sum, DRAWS.randomUniform(seed))],
      [tf.constant(0, "int32"), tf.zeros([3])],
    )[1] as tf.Tensor,
  "a gradient": (seed) => {
    const x = tf.ones([4]);
    return tf.gradients(tf.sum(tf.mul(tf.dropout(x, 0.5, undefined, seed), x)), [x])[0]!;
  },
  "a script": () =>
    tf.numpyFunction((ctx: { seed: bigint }) => Number(ctx.seed % 1000n), [], "float32"),
};
/** Numbers of the fetched ops, run after run. */
const ORDERS = [[[2], [1], [0]], [[1], [1], [0]], [[2], [2], [0], [1]], [[1, 2], [0], [2]], [[1], [
  0,
  2,
]]];

for (const isGlobal of [false, true]) {
  const by = isGlobal ? "the global seed" : "seeds of their own";
  testOnDevices(`draws by ${by} do not depend on what else a session fetches`, async () => {
    for (const [first, draw] of Object.entries(DRAWS)) {
      const others = Object.entries(DRAWS), at = others.findIndex(([name]) => name === first);
      // Each with its neighbours, or all pairs with --thorough.
      for (const [second, other] of THOROUGH ? others : [...others, ...others].slice(at, at + 3)) {
        // Scripts have no seed of their own.
        if (!isGlobal && [first, second].includes("a script")) continue;
        tf.setRandomSeed(isGlobal ? 5 : null);
        const seed = (n: number) => isGlobal ? undefined : n;
        const graph = new tf.Graph();
        const ops = graph.asDefault(() => [draw(seed(1)), other(seed(2)), draw(seed(3))]);
        const drawn = async (order: readonly number[][]): Promise<string[][]> => {
          await using session = new tf.Session({ graph });
          const found: string[][] = ops.map(() => []);
          for (const some of order) {
            const values = await session.run(some.map((i) => ops[i]));
            some.forEach((i, k) => found[i].push(String((values as unknown[])[k])));
          }
          return found;
        };
        const together = await drawn([[0, 1, 2], [0, 1, 2]]);
        for (const order of ORDERS) {
          const apart = await drawn(order);
          apart.forEach((draws, i) =>
            assertEquals(draws, together[i].slice(0, draws.length), `${first}, ${second}: ${i}`)
          );
        }
      }
    }
    tf.setRandomSeed(null);
  });
}
