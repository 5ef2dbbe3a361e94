/** Segments: what runs without handles frees what it must, and notices new shapes. */
import * as tf from "@weft/weft";
import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import { ConcreteFunction } from "../../src/engine/runtime/functions/concrete_function.ts";
import { execute, executeAlone } from "../../src/engine/runtime/plan/execute.ts";
import { newRunContext } from "../../src/engine/runtime/run/run_context.ts";
import type { EagerTensor } from "../../src/engine/runtime/eager/tensor.ts";
import { testOnDevices } from "../devices.ts";
import { assertFlat, testAwaited } from "../script/helpers.ts";

testOnDevices("a compiled call leaves nothing behind but its results", () => {
  const x = tf.tensor([1, 2, 3, 4], [2, 2]);
  const f = tf.function((x: tf.Tensor) => {
    const y = tf.matMul(x, tf.reverse(x, [0]));
    const flat = tf.reshape(tf.cumsum(y, 0), [4]);
    return [flat, tf.reshape(flat, [1, 4]), tf.softmax(y)];
  });
  tf.dispose(f(x));
  const before = tf.memory();
  const out = f(x) as tf.Tensor[];
  assertEquals(tf.memory().numTensors, before.numTensors + 3);
  // The second result is a view of the first.
  assertEquals(tf.memory().numDataBuffers, before.numDataBuffers + 2);
  out[0].dispose();
  assertEquals(out[1].arraySync(), [[5, 8, 18, 28]]);
  tf.dispose(out);
  const after = tf.memory();
  assertEquals([after.numTensors, after.numBytes, after.poolBytes], [
    before.numTensors,
    before.numBytes,
    before.poolBytes,
  ]);
  x.dispose();
});

testOnDevices("a compiled call gives back its input where it is returned as it came", () => {
  const f = tf.function((x: tf.Tensor) => [x, tf.reshape(x, [4]), tf.neg(tf.cumsum(x))]);
  const x = tf.tensor([1, 2, 3, 4], [2, 2]);
  for (let i = 0; i < 3; i++) {
    const [same, view, y] = f(x) as tf.Tensor[];
    assertEquals([same.arraySync(), view.arraySync(), y.arraySync()], [
      [[1, 2], [3, 4]],
      [1, 2, 3, 4],
      [[-1, -2], [-4, -6]],
    ]);
    tf.dispose([same, view, y]);
  }
  assertEquals(x.arraySync(), [[1, 2], [3, 4]]);
  x.dispose();
});

testOnDevices("a session fetches a result twice, and a view beside what it is of", async () => {
  const graph = new tf.Graph();
  const { x, y, view, one } = graph.asDefault(() => {
    const x = tf.placeholder("float32", [2], "x");
    const y = tf.cumsum(x), one = tf.ones([1]);
    return { x, y, view: tf.reshape(y, [1, 2]), one };
  });
  await using sess = new tf.Session({ graph });
  for (let round = 0; round < 3; round++) {
    const feeds = new Map([[x, [round, 1]]]);
    const out = await sess.run([y, y, view, x, one], { feeds }) as tf.NdArray[];
    const sums = [round, round + 1];
    assertEquals(out.map((a) => a.toArray()), [sums, sums, [sums], [round, 1], [1]]);
    out[0].data[0] = 100;
    assertEquals(out[1].toArray(), sums);
    assertEquals((await sess.run(y, { feeds }) as tf.NdArray).toArray(), sums);
  }
});

testOnDevices("a plan is prepared anew for each shape, and remembers more than one", async () => {
  const graph = new tf.Graph();
  const { x, y } = graph.asDefault(() => {
    const x = tf.placeholder("float32", [null, 2], "x");
    return { x, y: tf.reverse(tf.cumsum(tf.mul(x, x), 0), [0]) };
  });
  await using sess = new tf.Session({ graph });
  for (let round = 0; round < 2; round++) {
    for (let n = 0; n < 12; n++) {
      const rows = Array.from({ length: n }, (_, i) => [i, 1]);
      const out = await sess.run(y, {
        feeds: new Map([[x, rows.length ? rows : tf.zeros([0, 2])]]),
      });
      let sum = 0;
      const want = rows.map(([i], k) => [sum += i * i, k + 1]).reverse();
      assertEquals((out as tf.NdArray).toArray(), want);
    }
  }
});

testOnDevices("a step that fails between others says where, and frees what is there", async () => {
  const graph = new tf.Graph();
  const { x, y } = graph.asDefault(() => {
    const x = tf.placeholder("float32", null, "x");
    const z = tf.cumsum(tf.square(x), 0);
    return { x, y: tf.cumsum(tf.matMul(tf.reverse(z, [0]), z)) };
  });
  await using sess = new tf.Session({ graph });
  const run = (rows: number[][]): Promise<unknown> => sess.run(y, { feeds: new Map([[x, rows]]) });
  await run([[1, 2], [3, 4]]);
  const before = tf.memory();
  await assertRejects(
    () => run([[1, 2]]),
    tf.errors.InvalidArgumentError,
    "{{node BatchMatMulV2}}",
  );
  await run([[1, 2], [3, 4]]);
  const after = tf.memory();
  assertEquals([after.numTensors, after.numBytes], [before.numTensors, before.numBytes]);
});

testOnDevices("kernels that fail when they run free what was made before them", () => {
  const f = tf.function((x: tf.Tensor, at: tf.Tensor) =>
    tf.neg(tf.gather(tf.cumsum(x), at) as tf.Tensor)
  );
  const x = tf.tensor([1, 2, 3]), good = tf.tensor([0], [1], "int32");
  tf.dispose(f(x, good));
  const before = tf.memory();
  const bad = tf.tensor([7], [1], "int32");
  try {
    // GPUs give zeros instead.
    const [y] = (f(x, bad) as tf.Tensor).dataSync();
    assertEquals(y, -0);
  } catch (e) {
    assertThrows(
      () => {
        throw e;
      },
      tf.errors.InvalidArgumentError,
      "indices[0] = 7 is not in [0, 3)",
    );
  }
  bad.dispose();
  if (tf.getBackend() === "cpu") assertEquals(tf.memory().numBytes, before.numBytes);
  tf.dispose([x, good]);
});

testOnDevices("kernels alone run without slots once they are prepared, scripts do not", () => {
  const bodies: Record<string, { body: (x: tf.Tensor) => tf.Tensor; alone: boolean }> = {
    kernels: { body: (x) => tf.reverse(tf.cumsum(x), [0]), alone: true },
    "a view of a result": { body: (x) => tf.reshape(tf.cumsum(x), [-1, 1]), alone: true },
    "a view of an argument": { body: (x) => tf.reshape(x, [-1, 1]), alone: false },
    "a script": {
      body: (x) => tf.numpyFunction((x) => x, [tf.cumsum(x)], "float32") as tf.Tensor,
      alone: false,
    },
  };
  for (const [name, { body, alone }] of Object.entries(bodies)) {
    const { graph } = tf.function(body).getConcreteFunction(tf.TensorSpec([null], "float32"));
    const plan = new ConcreteFunction(graph).plan();
    for (const n of [2, 3, 2]) {
      const x = tf.ones([n]) as EagerTensor;
      if (n === 3) assertEquals(executeAlone(plan, [x]), null, `${name}, new shape`);
      tf.dispose(execute(plan, [x], newRunContext()));
      const results = executeAlone(plan, [x]);
      assertEquals(results !== null, alone, name);
      tf.dispose(results?.tensors());
      x.dispose();
    }
  }
});

testAwaited("a step that waits for the GPU is no part of the segment around it", async () => {
  const graph = new tf.Graph();
  const [x, out] = graph.asDefault(() => {
    const x = tf.placeholder("float32", [2, 2]);
    const onGpu = [tf.matMul(x, x), tf.softmax(x)];
    // Both are read at once, and what follows on the first could run together with the second.
    const [a, b] = tf.device(
      "/CPU:0",
      () =>
        onGpu.map((y, i) => tf.softmax(tf.matMul(tf.softmax(tf.matMul(y, [[1, i], [i, 1]])), y))),
    );
    return [x, [a, b, ...onGpu]];
  });
  await using session = new tf.Session({ graph });
  const feeds = new Map([[x, [[1, 2], [3, 4]]]]);
  const run = async () =>
    (await session.run(out, { feeds }) as tf.NdArray[]).map((y) => y.toArray());
  const first = await run();
  await assertFlat(async () => {
    for (let i = 0; i < 3; i++) assertEquals(await run(), first);
  });
});
