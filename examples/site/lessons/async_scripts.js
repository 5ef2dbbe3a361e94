// Bodies may wait: for a clock, a file, a server. Those that do not need each other wait together.
import * as tf from "@weft/weft";

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
async function lookUp(id) {
  console.log("  asks for", id.item());
  await wait(60);
  return new Float32Array([id.item() * 1.5]);
}

const graph = new tf.Graph();
const { ids, sum } = graph.asDefault(() => {
  const ids = tf.placeholder("int32", [3], "ids");
  const prices = tf.unstack(ids).map((id) =>
    tf.numpyFunction(lookUp, [id], tf.TensorSpec([1], "float32"), { stateful: false })
  );
  return { ids, sum: tf.sum(tf.concat(prices, 0)) };
});

const session = new tf.Session({ graph });
const start = performance.now();
console.log("sum", await session.run(sum, { feeds: new Map([[ids, [1, 2, 3]]]) }));
console.log("three waits of 60 ms took", Math.round((performance.now() - start) / 10) * 10, "ms");

// What throws in a body names its op, its node and the body's own error.
const failing = graph.asDefault(() =>
  tf.numpyFunction(
    () => {
      throw new RangeError("nothing for sale");
    },
    [ids],
    "float32",
    { name: "shop" },
  )
);
try {
  await session.run(failing, { feeds: new Map([[ids, [1, 2, 3]]]) });
} catch (error) {
  console.log(error.name, "–", error.message.split("\n")[0]);
}
await session.close();
