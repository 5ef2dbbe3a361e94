/**
 * Steps on rows of a table, as TensorFlow 1's optimizers do them: `sparse_steps.json` is what TensorFlow gave (`python/sparse_steps.py`).
 * Momentum, Adagrad, Adadelta, RMSProp and Ftrl leave rows and slots alone that no index names; the means of Adam decay everywhere.
 */

import * as tf from "@weft/weft";
import { assert, assertEquals, assertThrows } from "@std/assert";
import GOLDEN from "./sparse_steps.json" with { type: "json" };
import { testOnDevices } from "../devices.ts";

const { train } = tf.compat.v1;
type Optimizer = InstanceType<typeof train.Optimizer>;
type Pairs = ReturnType<Optimizer["computeGradients"]>;

const TABLE = Array.from({ length: 5 }, (_, i) => [0, 1, 2].map((j) => 0.5 + 0.25 * i - 0.125 * j));
const INDICES = [[[0, 3], [3, 3]], [[1, 1], [1, 4]], [[3, 0], [4, 1]]];

const OPTIMIZERS: Record<string, () => Optimizer> = {
  GradientDescent: () => new train.GradientDescentOptimizer(0.125),
  Momentum: () => new train.MomentumOptimizer(0.125, 0.5),
  Nesterov: () => new train.MomentumOptimizer(0.125, 0.5, false, "Momentum", true),
  Adagrad: () => new train.AdagradOptimizer(0.125),
  Adadelta: () => new train.AdadeltaOptimizer(0.5, 0.75, 1e-3),
  RMSProp: () => new train.RMSPropOptimizer(0.125, 0.75, 0.5, 1e-3),
  CenteredRMSProp: () => new train.RMSPropOptimizer(0.125, 0.75, 0.5, 1e-3, false, true),
  Adam: () => new train.AdamOptimizer(0.125, 0.75, 0.875, 1e-3),
  Ftrl: () =>
    new train.FtrlOptimizer(0.25, {
      l1RegularizationStrength: 0.125,
      l2RegularizationStrength: 0.0625,
    }),
  FtrlPower: () => new train.FtrlOptimizer(0.25, { learningRatePower: -0.25, beta: 0.5 }),
  FtrlShrinkage: () => new train.FtrlOptimizer(0.25, { l2ShrinkageRegularizationStrength: 0.125 }),
};

const gradientOf = ([g]: Pairs[number]): tf.Tensor => g!;
const CASES: Record<string, [() => Optimizer, ((pairs: Pairs) => Pairs)?]> = {
  ...Object.fromEntries(Object.entries(OPTIMIZERS).map(([name, make]) => [name, [make] as const])),
  "clipped by their norm": [
    OPTIMIZERS.GradientDescent,
    (pairs) => {
      const [clipped] = tf.clipByGlobalNorm(pairs.map(gradientOf), 1.5);
      return pairs.map(([, v], i) => [clipped[i], v]);
    },
  ],
  "each clipped": [
    OPTIMIZERS.Adagrad,
    (pairs) => pairs.map((pair) => [tf.clipByNorm(gradientOf(pair), 1.5), pair[1]]),
  ],
};

interface Model {
  readonly graph: tf.Graph;
  readonly table: tf.Variable;
  readonly i: tf.Tensor;
  readonly optimizer: Optimizer;
  readonly step: tf.Operation;
}

function model(make: () => Optimizer, change: (pairs: Pairs) => Pairs = (pairs) => pairs): Model {
  const graph = new tf.Graph();
  return graph.asDefault(() => {
    const table = tf.compat.v1.getVariable("table", { initializer: TABLE });
    const i = tf.placeholder("int32", [2, 2], "i");
    const rows = tf.gather(table, i), more = tf.gather(table, tf.unstack(i)[0]);
    const loss = tf.add(tf.sum(tf.square(rows)), tf.sum(tf.mul(more, [1, 2, 3])));
    const optimizer = make();
    const pairs = change(optimizer.computeGradients(loss));
    assert(gradientOf(pairs[0]) instanceof tf.IndexedSlices);
    return { graph, table, i, optimizer, step: optimizer.applyGradients(pairs) };
  });
}

async function trained({ graph, table, i, optimizer, step }: Model): Promise<unknown> {
  await using session = new tf.Session({ graph });
  const init = graph.asDefault(() => tf.compat.v1.globalVariablesInitializer());
  await session.run(init);
  for (const indices of INDICES) await session.run(step, { feeds: new Map([[i, indices]]) });
  const slots = optimizer.getSlotNames().map((n) => [n, optimizer.getSlot(table, n)!] as const);
  return await session.run({ table, ...Object.fromEntries(slots) });
}

for (const [name, [make, change]] of Object.entries(CASES)) {
  testOnDevices(`rows of a table after steps of optimizers are TensorFlow's: ${name}`, async () => {
    const found = await trained(model(make, change)) as Record<string, tf.NdArray>;
    const wanted = GOLDEN[name as keyof typeof GOLDEN] as unknown as Record<string, number[][]>;
    assertEquals(Object.keys(found).sort(), Object.keys(wanted).sort());
    for (const [key, rows] of Object.entries(wanted)) {
      const data = found[key].data as Float32Array;
      rows.flat().forEach((v, k) => {
        assert(Math.abs(data[k] - v) <= 3e-6 * (1 + Math.abs(v)), `${key}[${k}]: ${data[k]}, ${v}`);
      });
    }
  });
}

Deno.test("a step on rows of a table is TensorFlow's own ops, and means the same when it is imported", async () => {
  const { graph, table, i, step } = model(OPTIMIZERS.Momentum);
  const def = graph.asDefault(() => {
    tf.compat.v1.globalVariablesInitializer();
    return graph.toGraphDef();
  });
  const types = graph.operations.map((o) => o.type);
  assert(types.includes("ResourceSparseApplyMomentum") && types.includes("UniqueV2"));
  assertEquals(tf.portability(graph), []);
  const copy = new tf.Graph();
  copy.asDefault(() => tf.importGraphDef(def, { prefix: "" }));
  await using session = new tf.Session({ graph: copy });
  await session.run("init");
  for (const indices of INDICES) {
    await session.run(step.name, { feeds: { [i.name]: indices } });
  }
  const read = copy.operations.find((o) =>
    o.type === "ReadVariableOp" && o.inputs[0].op.attrs.shared_name === table.name
  )!;
  const got = await session.run(read.outputs[0]) as tf.NdArray;
  const wanted = GOLDEN.Momentum.table.flat();
  (got.data as Float32Array).forEach((v, k) => assert(Math.abs(v - wanted[k]) < 3e-6));
});

Deno.test("FtrlOptimizer() refuses settings that TensorFlow refuses", () => {
  const wrong: [object, string][] = [
    [{ learningRatePower: 1 }, "learning_rate_power 1 needs to be negative or zero"],
    [{ initialAccumulatorValue: -1 }, "initial_accumulator_value -1 needs to be positive or zero"],
    [{ l1RegularizationStrength: -1 }, "l1_regularization_strength -1"],
    [{ l2RegularizationStrength: NaN }, "l2_regularization_strength NaN"],
    [{ l2ShrinkageRegularizationStrength: -1 }, "l2_shrinkage_regularization_strength -1"],
  ];
  for (const [options, text] of wrong) {
    assertThrows(() => new train.FtrlOptimizer(0.1, options), tf.ValueError, text);
  }
  assertThrows(() => new train.FtrlOptimizer(0.1, { power: 1 } as object), TypeError);
});
