/** checkNumerics() whose result nothing reads checks wherever it stands in a function, and in no session that does not fetch it. */
import * as tf from "@weft/weft";
import { assertEquals, assertRejects } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const { InvalidArgumentError } = tf.errors;
const check = (x: tf.Tensor): void => void tf.debugging.checkNumerics(x, "here");
const zero = () => tf.constant(0, "int32");

const PLACES: Readonly<Record<string, (x: tf.Tensor) => tf.Tensor>> = {
  "a function": (x) => (check(x), tf.add(x, 1)),
  "a function that returns something else": (x) => (check(tf.mul(x, 2)), tf.scalar(1)),
  "a function in it": (x) => tf.function((y: tf.Tensor) => (check(y), y))(x) as tf.Tensor,
  "a branch": (x) => tf.cond(tf.greater(tf.size(x), 0), () => (check(x), x), () => x) as tf.Tensor,
  "a loop": (x) =>
    tf.whileLoop(
      (i: tf.Tensor) => tf.less(i, 2),
      (i: tf.Tensor, y: tf.Tensor) => (check(y), [tf.add(i, 1), y]),
      [zero(), x],
    )[1] as tf.Tensor,
  "the rows of mapFn": (x) => tf.mapFn((y: tf.Tensor) => (check(y), y), x) as tf.Tensor,
  "the rows of vectorizedMap": (x) =>
    tf.vectorizedMap((y: tf.Tensor) => (check(y), tf.add(y, 1)), x) as tf.Tensor,
  "a function that is differentiated": (x) =>
    tf.grad((y: tf.Tensor) => (check(y), tf.sum(tf.square(y))))(x) as tf.Tensor,
};

for (const [place, f] of Object.entries(PLACES)) {
  testOnDevices(`a check that nothing reads is made in ${place}`, async () => {
    using _ = tf.scope();
    for (const bad of [NaN, Infinity, -Infinity]) {
      const compiled = tf.function((x: tf.Tensor) => f(x));
      const fine = tf.tensor([1, 2]), wrong = tf.tensor([1, bad]);
      for (const x of [fine, wrong, fine]) {
        const run = async (): Promise<unknown> => (await compiled.async(x) as tf.Tensor).array();
        if (x === wrong) await assertRejects(run, InvalidArgumentError, "here : Tensor had", place);
        else assertEquals(await run(), await (f(fine) as tf.Tensor).array(), place);
      }
    }
  });
}

testOnDevices("a dataset's map makes a check that nothing reads", async () => {
  const dataset = tf.data.range(3).map((x) => {
    check(tf.where(tf.equal(x, 1), NaN, 0));
    return x;
  });
  const found: number[] = [];
  for await (const x of dataset.ignoreErrors()) found.push(x.item());
  assertEquals(found, [0, 2]);
});

testOnDevices("a session makes the checks that it fetches", async () => {
  const graph = new tf.Graph();
  const { x, y, z } = graph.asDefault(() => {
    const x = tf.placeholder("float32", [1]);
    return { x, y: tf.add(x, 1), z: tf.debugging.checkNumerics(x, "here") };
  });
  await using session = new tf.Session({ graph });
  const feeds = new Map([[x, [NaN]]]);
  assertEquals(String(await session.run(y, { feeds })), "[NaN]");
  await assertRejects(
    () => session.run(z, { feeds }),
    InvalidArgumentError,
    "here : Tensor had NaN",
  );
});
