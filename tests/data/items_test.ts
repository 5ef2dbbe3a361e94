import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { collect, specText } from "./collect.ts";

testOnDevices("array() gives the items of a list", async () => {
  using label = tf.tensor1d([7, 8], "int32");
  const rows = tf.data.array([{ x: [1, 2], y: label }, { x: [3, 4], y: label }]);
  assertEquals(specText(rows.elementSpec), { x: "float32[2]", y: "int32[2]" });
  assertEquals(rows.size, 2);
  assertEquals(await collect(rows), [{ x: [1, 2], y: [7, 8] }, { x: [3, 4], y: [7, 8] }]);
  assertEquals(await collect(tf.data.array([1, 2, 3]).map((x) => tf.mul(x, 2)).batch(2)), [[2, 4], [
    6,
  ]]);
  assertEquals(await collect(tf.data.array(["a", "b"]).take(1)), [new TextEncoder().encode("a")]);
});

Deno.test("array() leaves open where items differ in size", async () => {
  const rows = tf.data.array([[1], [2, 3]]);
  assertEquals(specText(rows.elementSpec), "float32[?]");
  assertEquals(await collect(rows), [[1], [2, 3]]);
});

Deno.test("array() keeps its place in a pass, and refuses items of no one type", async () => {
  const iterator = tf.data.array([1, 2, 3])[Symbol.asyncIterator]();
  assertEquals((await iterator.next()).value!.item(), 1);
  await iterator.return?.();
  assertThrows(() => tf.data.array([]), tf.ValueError, "empty array");
  assertThrows(() => tf.data.array<unknown>([1, "a"]), TypeError, "Cannot array");
  assertThrows(() => tf.data.array<unknown>([{ x: 1 }, { y: 1 }]), TypeError);
});

testOnDevices("generator() sees from its first element what it yields", async () => {
  let calls = 0;
  const pairs = tf.data.generator(function* () {
    calls++;
    for (let i = 0; i < 3; i++) yield { x: [i, i + 1], y: i };
  });
  assertEquals([calls, specText(pairs.elementSpec)], [1, { x: "float32[2]", y: "float32[]" }]);
  const wanted = [0, 1, 2].map((i) => ({ x: [i, i + 1], y: i }));
  assertEquals([await collect(pairs), await collect(pairs), calls], [wanted, wanted, 3]);
  const before = tf.memory().numTensors;
  const made = tf.data.generator(() => [tf.scalar(1), tf.scalar(2)].values());
  assertEquals(tf.memory().numTensors, before);
  assertEquals(await collect(made), [1, 2]);
});

Deno.test("generator() refuses what has no first element to see", () => {
  assertThrows(() => tf.data.generator(function* () {}), tf.ValueError, "yielded nothing");
  assertThrows(
    () =>
      tf.data.generator(async function* () {
        yield await Promise.resolve(1);
      } as never),
    tf.ValueError,
    "outputSignature",
  );
});
