/** TensorFlow's update ops as they stand in its graphs: variables by handle, every hyperparameter an input. */

import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertRejects } from "@std/assert";
import { testOnDevices } from "../devices.ts";

const G = 0.5;
const START = {
  var: 2,
  accum: 0.1,
  accum_update: 0.2,
  ms: 0.3,
  mg: 0.1,
  mom: 0.4,
  m: 0.1,
  v: 0.2,
} as const;
type Slot = keyof typeof START;
const { sqrt, max, abs } = Math;

interface Case {
  readonly handles: readonly Slot[];
  readonly inputs: readonly (readonly [string, number])[];
  readonly attrs?: Readonly<Record<string, boolean>>;
  /** Expected contents of the handles. */
  readonly wanted: readonly number[];
}
const { var: x, accum: a, accum_update: u, ms, mg, mom, m, v } = START;
const rms = 0.9 * ms + 0.1 * G * G, mean = 0.9 * mg + 0.1 * G;
const m1 = 0.9 * m + 0.1 * G, v1 = 0.99 * v + 0.01 * G * G;
const alpha = 0.1 * sqrt(1 - 0.98) / (1 - 0.81);
const step = sqrt(u + 1e-3) / sqrt(0.9 * a + 0.1 * G * G + 1e-3) * G;
const adam = [
  ["beta1_power", 0.81],
  ["beta2_power", 0.98],
  ["lr", 0.1],
  ["beta1", 0.9],
  ["beta2", 0.99],
  ["epsilon", 1e-3],
  ["grad", G],
] as const;

const CASES: Record<string, Case> = {
  ResourceApplyGradientDescent: {
    handles: ["var"],
    inputs: [["alpha", 0.1], ["delta", G]],
    wanted: [x - 0.1 * G],
  },
  ResourceApplyMomentum: {
    handles: ["var", "accum"],
    inputs: [["lr", 0.1], ["grad", G], ["momentum", 0.9]],
    attrs: { use_nesterov: true },
    wanted: [x - 0.1 * (G + 0.9 * (0.9 * a + G)), 0.9 * a + G],
  },
  ResourceApplyAdagrad: {
    handles: ["var", "accum"],
    inputs: [["lr", 0.1], ["grad", G]],
    wanted: [x - 0.1 * G / sqrt(a + G * G), a + G * G],
  },
  ResourceApplyAdagradV2: {
    handles: ["var", "accum"],
    inputs: [["lr", 0.1], ["epsilon", 0.5], ["grad", G]],
    wanted: [x - 0.1 * G / (sqrt(a + G * G) + 0.5), a + G * G],
  },
  ResourceApplyAdadelta: {
    handles: ["var", "accum", "accum_update"],
    inputs: [["lr", 0.1], ["rho", 0.9], ["epsilon", 1e-3], ["grad", G]],
    wanted: [x - 0.1 * step, 0.9 * a + 0.1 * G * G, 0.9 * u + 0.1 * step * step],
  },
  ResourceApplyRMSProp: {
    handles: ["var", "ms", "mom"],
    inputs: [["lr", 0.1], ["rho", 0.9], ["momentum", 0.5], ["epsilon", 1e-3], ["grad", G]],
    wanted: [
      x - (0.5 * mom + 0.1 * G / sqrt(rms + 1e-3)),
      rms,
      0.5 * mom + 0.1 * G / sqrt(rms + 1e-3),
    ],
  },
  ResourceApplyCenteredRMSProp: {
    handles: ["var", "mg", "ms", "mom"],
    inputs: [["lr", 0.1], ["rho", 0.9], ["momentum", 0.5], ["epsilon", 1e-3], ["grad", G]],
    wanted: [
      x - (0.5 * mom + 0.1 * G / sqrt(rms - mean * mean + 1e-3)),
      mean,
      rms,
      0.5 * mom + 0.1 * G / sqrt(rms - mean * mean + 1e-3),
    ],
  },
  ResourceApplyAdam: {
    handles: ["var", "m", "v"],
    inputs: adam,
    wanted: [x - alpha * m1 / (sqrt(v1) + 1e-3), m1, v1],
  },
  ResourceApplyAdaMax: {
    handles: ["var", "m", "v"],
    inputs: adam.filter(([name]) => name !== "beta2_power"),
    wanted: [x - 0.1 / (1 - 0.81) * m1 / (max(0.99 * v, abs(G)) + 1e-3), m1, max(0.99 * v, abs(G))],
  },
};

const type = { type: "DT_FLOAT" };
const constant = (name: string, value: number): unknown => ({
  name,
  op: "Const",
  attr: {
    dtype: type,
    value: { tensor: { dtype: "DT_FLOAT", tensorShape: {}, floatVal: [value] } },
  },
});
const shapeOf = { shape: { dim: [] } };

/** A graph as TensorFlow writes it: handles, their first values, the update, and reads. */
function graphDef(
  op: string,
  { handles, inputs, attrs = {} }: Case,
  extra: Record<string, unknown> = {},
): unknown {
  return {
    node: [
      ...handles.flatMap((h) => [
        {
          name: h,
          op: "VarHandleOp",
          attr: { dtype: type, shape: shapeOf, shared_name: { s: btoa(`${op}/${h}`) } },
        },
        constant(`${h}/start`, START[h]),
        {
          name: `${h}/assign`,
          op: "AssignVariableOp",
          input: [h, `${h}/start`],
          attr: { dtype: type },
        },
        { name: `${h}/read`, op: "ReadVariableOp", input: [h], attr: { dtype: type } },
      ]),
      ...inputs.map(([name, value]) => constant(name, value)),
      {
        name: "update",
        op,
        input: [...handles, ...inputs.map(([name]) => name)],
        attr: {
          T: type,
          ...Object.fromEntries(Object.entries(attrs).map(([k, b]) => [k, { b }])),
          ...extra,
        },
      },
    ],
  };
}

for (const [op, c] of Object.entries(CASES)) {
  testOnDevices(`${op} does in an imported graph what TensorFlow's does`, async () => {
    const graph = new tf.Graph();
    graph.asDefault(() => tf.importGraphDef(graphDef(op, c) as never, { prefix: "" }));
    await using session = new tf.Session({ graph });
    await session.run(c.handles.map((h) => `${h}/assign`));
    await session.run("update");
    const values = await session.run(c.handles.map((h) => `${h}/read:0`)) as number[];
    values.forEach((value, i) => assertAlmostEquals(value, c.wanted[i], 1e-6));
  });
}

Deno.test("an update op refuses what it does not do", async () => {
  const graph = new tf.Graph();
  const c = CASES.ResourceApplyAdagrad;
  const def = graphDef("ResourceApplyAdagrad", c, { update_slots: { b: false } });
  graph.asDefault(() => tf.importGraphDef(def as never, { prefix: "" }));
  await using session = new tf.Session({ graph });
  await session.run(c.handles.map((h) => `${h}/assign`));
  const error = await assertRejects(
    () => session.run("update"),
    tf.errors.UnimplementedError,
    "update_slots",
  );
  assertEquals(error.op, "ResourceApplyAdagrad");
});
