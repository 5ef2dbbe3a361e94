/** Objects of a SavedModel: methods with all that they were traced for, variables and modules by attribute (make_fixtures.py). */

import { assertEquals, assertRejects, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import { type LoadedModel, loadSavedModel } from "@weft/weft/tf";
import { testOnDevices } from "../devices.ts";

const OBJECTS = new URL("./fixtures/objects/", import.meta.url);

/** Tensors in a nest as arrays; ragged ones as lists. */
async function plain(x: unknown): Promise<unknown> {
  if (x instanceof tf.Tensor) return await x.array();
  if (x instanceof tf.RaggedTensor) return x.toList();
  if (Array.isArray(x)) return await Promise.all(x.map(plain));
  if (x === null || typeof x !== "object") return x;
  const entries = Object.entries(x).map(async ([k, v]) => [k, await plain(v)]);
  return Object.fromEntries(await Promise.all(entries));
}

/** Calls, and TensorFlow's results. */
const CALLS: readonly (readonly [string, (model: LoadedModel) => Promise<unknown>, unknown])[] = [
  [
    "a method that changes a variable",
    ({ methods }) => methods.predict!([[1, 2]]),
    { y: [[13, 26]], count: 1 },
  ],
  [
    "the first trace that fits, its default taken",
    ({ methods }) => methods.power!(3),
    { power: 9, nest: [3, [3, null]] },
  ],
  [
    "another trace, by its shape",
    ({ methods }) => methods.power!([3, 4]),
    { power: [9, 16], nest: [[3, 4], [[3, 4], null]] },
  ],
  [
    "another trace, by its dtype and a number",
    ({ methods }) => methods.power!(tf.tensor([2, 3], [2], "int32"), 3),
    { power: [8, 27], nest: [[2, 3], [[2, 3], null]] },
  ],
  [
    "arguments by name",
    ({ methods }) => methods.power!({ x: 3, n: 2 }),
    { power: 9, nest: [3, [3, null]] },
  ],
  [
    "a table filled from an asset",
    ({ methods }) => methods.ids!(["fox"]).then((t) => tf.cast(t as tf.Tensor, "int32")),
    [2],
  ],
  [
    "a table that was saved with its keys, and takes others",
    async ({ methods }) => {
      await methods.see!(["a", "c"]);
      const [counts, size] = await methods.see!(["c"]) as tf.Tensor[];
      return [tf.cast(counts!, "int32"), tf.cast(size!, "int32")];
    },
    [[2, 2, 2], 3],
  ],
  ["a list that grows", ({ methods }) => methods.squares!([1, 2, 3]), [1, 4, 9]],
  [
    "branches that read a variable",
    ({ methods }) => Promise.all([0, 1, 2].map((i) => methods.choose!(i))),
    [3, 20, 0],
  ],
  [
    "a variable whose shape varies",
    async ({ methods, root }) => {
      const before = root.variables.longer!.shape;
      const value = await methods.lengthen!([5]);
      return { before, value, after: root.variables.longer!.shape };
    },
    { before: [2], value: [1, 2, 5], after: [3] },
  ],
  [
    "ragged values in and out",
    ({ methods }) => methods.rows!(tf.ragged.constant([[1, 2], [], [3]])),
    [[[2, 4], [], [6]], [3, 0, 3]],
  ],
  [
    "a module in a list",
    ({ root }) => root.children.scales!.children["0"]!.methods.__call__!(4),
    8,
  ],
  [
    "a module in a list, with an argument that has no place",
    ({ root }) => root.children.scales!.children["0"]!.methods.__call__!(4, true, { power: 2 }),
    -64,
  ],
  [
    "a module in a dictionary",
    ({ root }) => root.children.named!.children.other!.methods.__call__!([2], { power: 3 }),
    [1000],
  ],
  [
    "a signature with a ragged argument, part by part",
    ({ signatures }) =>
      signatures.rows!({
        x: [1, 2, 3],
        x_1: new tf.NdArray("int64", [3], BigInt64Array.of(0n, 1n, 3n)),
      })
        .then(({ output_0, output_1 }) => [output_0, output_1]),
    [[2, 4, 6], [1, 5]],
  ],
];

for (const [name, call, expected] of CALLS) {
  testOnDevices(`loadSavedModel() calls ${name}`, async () => {
    const model = await loadSavedModel(OBJECTS);
    assertEquals(await plain(await call(model)), expected);
    model.dispose();
  });
}

Deno.test("loadSavedModel() gives variables by the attributes that they had", async () => {
  const model = await loadSavedModel(OBJECTS);
  const { scales, named } = model.root.children;
  const values = [scales!.children["0"]!, scales!.children["1"]!, named!.children.other!].map(
    ({ variables: { w, unused } }) => [w!.item(), w!.name, ...unused!.dataSync()],
  );
  // All six are called "w" in Python; what is saved under which key tells them apart.
  assertEquals(values.map(([w, , ...unused]) => [w, ...unused]), [[2, 2, 2], [3, 3, 3], [5, 5, 5]]);
  assertEquals(new Set(values.map(([, name]) => name)).size, 3);
  assertEquals(Object.keys(model.root.variables), ["count", "longer"]);
  await model.methods.predict!([[1, 2]]);
  assertEquals(model.root.variables.count!.item(), 1);
  scales!.children["1"]!.variables.w!.assign(0);
  assertEquals(await plain(await model.methods.predict!([[1, 2]])), { y: [[10, 20]], count: 2 });
  model.dispose();
});

Deno.test("a method is differentiated with respect to variables of a module", async () => {
  const model = await loadSavedModel(OBJECTS);
  const { w } = model.root.children.scales!.children["1"]!.variables;
  using tape = new tf.GradientTape();
  const { y } = await model.methods.predict!([[1, 2]]) as { y: tf.Tensor };
  assertEquals((tape.gradient(y, w!) as tf.Tensor).item(), 3);
  model.dispose();
});

testOnDevices("methods and signatures train inside a compiled step by sync()", async () => {
  const model = await loadSavedModel(OBJECTS);
  const { w } = model.root.children.scales!.children["1"]!.variables;
  const { predict, power } = model.methods, before = await w!.array();
  const optimizer = tf.train.sgd(0.5);
  const minimized = (loss: () => tf.Tensor) => optimizer.minimize(loss, true, [w!]);
  const step = tf.function((x: tf.Tensor) =>
    minimized(() => tf.sum((predict!.sync(x) as { y: tf.Tensor }).y))
  );
  const loss = step(tf.tensor([[1, 2]]));
  assertEquals(await loss.array(), 39);
  assertEquals(await tf.sub(w!, before as number).array(), -1.5);
  const slope = tf.grad((x) => (power!.sync(x) as { power: tf.Tensor }).power)(tf.scalar(3));
  assertEquals(await slope.array(), 6);
  const nested = tf.vectorizedMap(
    (x: tf.Tensor) => (power!.sync(x) as { power: tf.Tensor }).power,
    tf.tensor([2, 4]),
  );
  assertEquals(await (nested as tf.Tensor).array(), [4, 16]);
  assertThrows(() => power!.sync("a"), tf.ValueError, "it was traced for (float32[], 2)");
  model.dispose();

  const module = await loadSavedModel(new URL("./fixtures/module", import.meta.url));
  const { serving_default, count } = module.signatures, x = [[1, 2]];
  assertEquals(
    await plain(serving_default!.sync({ x })),
    await plain(await serving_default!({ x })),
  );
  const one = tf.scalar(1, "int32");
  assertEquals(await plain([count!.sync({ by: one }), await count!({ by: one })]), [
    { n: 1 },
    { n: 2 },
  ]);
  assertThrows(() => serving_default!.sync({ z: 1 }), tf.ValueError, '"serving_default"');
  module.dispose();
});

Deno.test("a method says what it was traced for, and refuses other arguments", async () => {
  const model = await loadSavedModel(OBJECTS);
  const { power, rows } = model.methods;
  assertEquals(power!.traces, ["(float32[], 2)", "(float32[2], 2)", "(int32[2], 3)"]);
  assertEquals(rows!.traces, ["(ragged float32[?,?])"]);
  const text = "it was traced for (float32[], 2) and (float32[2], 2) and (int32[2], 3)";
  for (const args of [[], [1, 3], [[1, 2, 3]], ["a"], [1, 2, 3], [1, { m: 2 }], [{ n: 2 }]]) {
    await assertRejects(() => power!(...args), tf.ValueError, text);
  }
  model.dispose();
});

Deno.test("a model of version 1 has no methods", async () => {
  const model = await loadSavedModel(new URL("./fixtures/version_1", import.meta.url));
  assertEquals([model.methods, model.root.variables, model.root.children], [{}, {}, {}]);
  model.dispose();
});
