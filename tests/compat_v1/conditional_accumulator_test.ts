/**
 * Accumulators of gradients: means, sums, late gradients, and waiting takers. TensorFlow 2.21's results are written
 * beside.
 */

import * as tf from "@weft/weft";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const v1 = tf.compat.v1, { errors } = tf;

function program(options: tf.compat.v1.ConditionalAccumulatorOptions = {}) {
  const graph = new tf.Graph();
  const ops = graph.asDefault(() => {
    const acc = new v1.ConditionalAccumulator("float32", options);
    const x = v1.placeholder("float32", null, "x"), step = v1.placeholder("int64", [], "step");
    const n = v1.placeholder("int32", [], "n");
    return {
      apply: acc.applyGrad(x, step)!,
      take: acc.takeGrad(n),
      set: acc.setGlobalStep(step)!,
      count: acc.numAccumulated(),
    };
  });
  const session = new tf.Session({ graph });
  return {
    session,
    apply: (x: tf.TensorLike, step: number) =>
      session.run(ops.apply, { feeds: { "x:0": x, "step:0": BigInt(step) } }),
    take: async (n: number, options: tf.RunOptions = {}) => {
      const taken = await session.run(ops.take, { ...options, feeds: { "n:0": n } });
      return taken instanceof tf.NdArray ? taken.toArray() : taken;
    },
    set: (step: number) => session.run(ops.set, { feeds: { "step:0": BigInt(step) } }),
    count: () => session.run(ops.count),
  };
}

testOnDevices("a ConditionalAccumulator gives the mean, and drops what comes late", async () => {
  const { apply, take, set, count, session } = program({ shape: [2] });
  await apply([1, 2], 0);
  await apply([3, 2], 5);
  assertEquals(await count(), 2);
  assertEquals(await take(1), [2, 2]);
  assertEquals(await count(), 0);
  await apply([3, 2], 0); // step 0 is over
  assertEquals(await count(), 0);
  await apply([3, 2], 1);
  assertEquals(await count(), 1);
  await set(9); // what is there stays
  assertEquals(await take(1), [3, 2]);
  await apply([3, 2], 9);
  assertEquals(await count(), 0);
  await set(2); // steps may go back
  await apply([3, 2], 2);
  assertEquals(await count(), 1);
  await session.close();
});

testOnDevices("a ConditionalAccumulator of sums, whose shape the first gradient says", async () => {
  const { apply, take, session } = program({ reductionType: "SUM" });
  await apply([1, 2], 0);
  await assertRejects(
    () => apply([1, 2, 3], 0),
    errors.InvalidArgumentError,
    "Shape mismatch: expected [2], got [3]",
  );
  await apply([1, 2], 0);
  assertEquals(await take(1), [2, 4]);
  await apply([1, 2, 4], 1);
  assertEquals(await take(1), [1, 2, 4]);
  await session.close();
});

testOnDevices("takers wait in order, and a cancelled one takes nothing", async () => {
  const { apply, take, count, session } = program();
  const stop = new AbortController();
  const cancelled = assertRejects(() => take(1, { signal: stop.signal }), errors.CancelledError);
  stop.abort();
  await cancelled;
  const order: string[] = [];
  const two = take(2).then((v) => order.push(`two ${v}`));
  const one = take(1).then((v) => order.push(`one ${v}`));
  await apply(1, 0);
  assertEquals([await count(), order], [1, []]);
  await apply(3, 0);
  await two;
  await apply(5, 1);
  await one;
  assertEquals(order, ["two 2", "one 5"]);
  const waiting = assertRejects(() => take(1), errors.CancelledError, "Session has been closed");
  await session.close();
  await waiting;
});

Deno.test("a ConditionalAccumulator refuses what TensorFlow's does", async () => {
  const { apply, take, session } = program({ shape: [2] });
  await assertRejects(
    () => take(0),
    errors.InvalidArgumentError,
    "Argument num_required must be positive: 0",
  );
  await apply([1, 2], 3);
  await assertRejects(() => apply([1, 2, 3], 3), errors.InvalidArgumentError, "Shape mismatch");
  await session.close();
  new tf.Graph().asDefault(() => {
    assertThrows(
      () => new v1.ConditionalAccumulator("float32", { reductionType: "MAX" as "SUM" }),
      tf.ValueError,
      `passed string 'MAX' not in: "MEAN", "SUM"`,
    );
    assertThrows(() => new v1.ConditionalAccumulator("int32"), TypeError);
    const acc = new v1.ConditionalAccumulator("float32", { shape: [2] });
    assertThrows(() => acc.applyGrad(tf.constant([1, 2, 3])), tf.ValueError);
    assertThrows(() => acc.applyGrad(tf.constant([1, 2], "int32")), TypeError);
  });
});

testOnDevices("a ConditionalAccumulator works in eager code, and keeps no tensors", () => {
  const before = tf.memory().numTensors;
  tf.tidy(() => {
    const acc = new v1.ConditionalAccumulator("float32");
    assertThrows(() => acc.takeGrad(1), errors.FailedPreconditionError, "has 0 of 1");
    acc.applyGrad(tf.constant([1, 2]), 0);
    acc.applyGrad([3, 4], 0);
    assertEquals(acc.numAccumulated().item(), 2);
    const mean = acc.takeGrad(2);
    assertEquals(mean.arraySync(), [2, 3]);
    acc.applyGrad([3, 4], 0);
    acc.setGlobalStep(7);
    assertEquals(acc.numAccumulated().item(), 0);
  });
  assertEquals(tf.memory().numTensors, before);
});

for (const prefix of ["Resource", ""]) {
  Deno.test(`imported graphs have ${prefix}ConditionalAccumulators`, async () => {
    const node = (name: string, op: string, input: string[] = [], attr = {}) => ({
      name,
      op,
      input,
      attr,
    });
    const dtype = { type: "DT_FLOAT" }, acc = `${prefix}Accumulator`;
    const int = (type: string) => ({ dtype: { type } });
    const graph = new tf.Graph();
    graph.asDefault(() =>
      tf.importGraphDef({
        versions: { producer: 2000 },
        node: [
          node("acc", `${prefix}ConditionalAccumulator`, [], {
            dtype,
            shape: { shape: { dim: [{ size: "2" }] } },
          }),
          node("x", "Placeholder", [], { dtype }),
          node("step", "Placeholder", [], int("DT_INT64")),
          node("n", "Placeholder", [], int("DT_INT32")),
          node("apply", `${acc}ApplyGradient`, ["acc", "step", "x"], { dtype }),
          node("take", `${acc}TakeGradient`, ["acc", "n"], { dtype }),
          node("set", `${acc}SetGlobalStep`, ["acc", "step"]),
          node("count", `${acc}NumAccumulated`, ["acc"]),
        ],
      }, { prefix: "" })
    );
    await using session = new tf.Session({ graph });
    await session.run("set", { feeds: { "step:0": 4n } });
    for (const [x, step] of [[1, 3], [2, 4], [4, 5]]) {
      await session.run("apply", { feeds: { "x:0": [x, 2 * x], "step:0": BigInt(step) } });
    }
    assertEquals(await session.run("count:0"), 2);
    const taken = await session.run("take:0", { feeds: { "n:0": 2 } }) as tf.NdArray;
    assertEquals(taken.toArray(), [3, 6]);
  });
}
