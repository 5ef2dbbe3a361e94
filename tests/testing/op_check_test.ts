/** opCheck must find each kind of mistake, and say where it is. */

import * as tf from "@weft/weft";
import { opCheck, OpCheckError, type OpSample } from "@weft/weft/testing";
import { assert, assertEquals, assertRejects } from "@std/assert";
import { defineOp, type OpDef, type OpInit } from "../../src/engine/core/op.ts";
import { scalar as s } from "../../src/engine/core/scalar/expr.ts";
import type { Tensor } from "../../src/engine/core/tensor.ts";
import { gpuVariants } from "../../src/engine/devices/webgpu/kernel_table.ts";
import { definePointwise } from "../../src/engine/ops/pointwise/define_pointwise.ts";
import { HAS_WEBGPU } from "../devices.ts";

const SAMPLES: readonly OpSample[] = [
  { inputs: [{ shape: [2, 3] }] },
  { inputs: [{ shape: [1] }] },
  { inputs: [{ shape: [0] }] },
];
const good: Omit<OpInit, "name"> = {
  inputs: ["x: T"],
  outputs: ["y: T"],
  attrs: ["T: {float, double}"],
  infer: ([x]) => [x.shape],
  cpu: ([x], [y]) =>
    (x.data as Float32Array).forEach((v, i) => (y.data as Float32Array)[i] = v * v),
  grad: { saves: ["x"], vjp: ({ x }, [dy]) => [tf.mul(dy, tf.mul(x, 2))] },
};
let made = 0;
const define = (change: Partial<OpInit>): OpDef =>
  defineOp({ ...good, ...change, name: `TestSquare${made++}` });

Deno.test("opCheck() passes a good op and counts what it checked", async () => {
  const report = await opCheck(define({}), SAMPLES, { devices: ["CPU"] });
  assert(report.checks["gradient = differences"] >= 2);
  assert(report.checks["graph = eager"] >= 2);
  assert(report.checks["GraphDef round trip"] >= 2);
});

/** A mistake, the check that must find it, and what its message says. */
const MISTAKES: Record<string, [Partial<OpInit>, string, string]> = {
  "a shape that is not the actual one": [
    { expand: ([x]) => [tf.sum(x)], cpu: undefined as never },
    "infer = actual",
    "inferred float32[2,3]",
  ],
  "a shape rule that needs to know everything": [
    {
      infer: ([x]) => {
        if (x.shape === null || x.shape.includes(null)) throw new Error("unknown");
        return [x.shape];
      },
    },
    "infer from partial shapes",
    "unknown dimensions: threw Error: unknown",
  ],
  "a kernel that forgets an element": [
    {
      cpu: ([x], [y]) => {
        const out = y.data as Float32Array;
        for (let i = 0; i + 1 < out.length || i < 1 && out.length === 1; i++) {
          out[i] = (x.data as Float32Array)[i] ** 2;
        }
      },
      expand: ([x]) => [tf.square(x)],
    },
    "cpu kernel fills its outputs",
    "is NaN at [1,2]",
  ],
  "a kernel that disagrees with the expansion": [
    { expand: ([x]) => [tf.mul(tf.square(x), 1.001)] },
    "cpu = reference",
    "ulp",
  ],
  "a kernel that writes to its input": [
    {
      cpu: ([x], [y]) => {
        const a = x.data as Float32Array;
        a.forEach((v, i) => (y.data as Float32Array)[i] = v * v);
        if (a.length > 0) a[0] = 5;
      },
    },
    "inputs stay as they are",
    "input 0 was written to",
  ],
  "a wrong gradient": [
    { grad: { saves: ["x"], vjp: ({ x }, [dy]) => [tf.mul(dy, x)] } },
    "gradient = differences",
    "gradient of input 0 at flat element 0",
  ],
  "a gradient of another shape": [
    { grad: { saves: ["x"], vjp: ({ x }, [dy]) => [tf.sum(tf.mul(dy, tf.mul(x, 2)))] } },
    "gradient = differences",
    "has shape []",
  ],
  "a gradient that cannot be differentiated": [
    { grad: { saves: ["x"], vjp: ({ x }, [dy]) => [tf.mul(dy, tf.stopGradient(tf.mul(x, 2)))] } },
    "second order",
    "gradient of input 0",
  ],
  "no gradient at all": [{ grad: undefined as never }, "gradient exists", "say grad: null"],
  "a gradient rule that reads what it does not save": [
    { grad: { saves: [], vjp: ({ x }, [dy]) => [tf.mul(dy, tf.mul(x ?? 1, 2))] } },
    "saves",
    "reads x, which saves does not name",
  ],
  "a gradient rule that saves what it does not read": [
    { grad: { saves: ["x", "y"], vjp: ({ x }, [dy]) => [tf.mul(dy, tf.mul(x, 2))] } },
    "saves",
    "saves names y, which the gradient rule never reads",
  ],
  "saving a name that is not there": [
    { grad: { saves: ["input"], vjp: ({ x }, [dy]) => [tf.mul(dy, tf.mul(x, 2))] } },
    "saves",
    "saves names input, the op has x, y",
  ],
  "a leak": [
    {
      cpu: undefined as never,
      expand: ([x]) => {
        tf.keep(tf.square(x));
        return [tf.square(x)];
      },
    },
    "memory is flat",
    "numTensors went from",
  ],
};

for (const [name, [change, check, text]] of Object.entries(MISTAKES)) {
  Deno.test(`opCheck() finds ${name}`, async () => {
    const def = define(change);
    const error = await assertRejects(
      () => opCheck(def, SAMPLES, { devices: ["CPU"] }),
      OpCheckError,
      "Op check failed: TestSquare",
    );
    const found = error.failures.find((f) => f.check === check && f.message.includes(text));
    assert(found, `No "${check}" with "${text}" among:\n${error.message}`);
    assert(
      error.message.includes(def.name) && /\[2,3\]|\(all\)/.test(error.message),
      error.message,
    );
  });
}

Deno.test({
  name: "opCheck() finds a GPU kernel that is wrong only where grids fold [webgpu]",
  ignore: !HAS_WEBGPU,
  async fn() {
    await tf.setBackend("webgpu");
    await tf.setBackend("cpu");
    const pointwise = definePointwise("TestSquareOnGpu", ([x]) => s.mul(x, x), {
      types: "{float, double}",
      grad: {
        saves: ["x"],
        vjp: ({ x }: Record<string, Tensor>, [dy]) => [tf.mul(dy, tf.mul(x, 2))],
      },
    });
    const samples = [{ inputs: [{ shape: [1001] }] }];
    await opCheck(pointwise, samples, { devices: ["GPU"] });
    const [variant] = gpuVariants(pointwise);
    const broken: OpDef = {
      ...pointwise,
      gpu: [{
        ...variant,
        plan: (problem, profile) => {
          const plan = variant.plan(problem, profile);
          // Forgets the second row of workgroups.
          return {
            ...plan,
            dispatches: plan.dispatches.map((d) => ({ ...d, grid: [d.grid[0], 1, 1] as const })),
          };
        },
      }],
    };
    const error = await assertRejects(
      () => opCheck(broken, samples, { devices: ["GPU"] }),
      OpCheckError,
    );
    const places = error.failures.map((f) => f.device);
    assert(places.every((p) => p.includes("small grids")), places.join());
  },
});

Deno.test("opCheck() refuses an unknown op and no samples", async () => {
  await assertRejects(() => opCheck("Nobody", SAMPLES), tf.ValueError, 'op "Nobody"');
  await assertRejects(() => opCheck("Square", []), tf.ValueError, "no samples");
});

Deno.test("opCheck() compares with a reference that is given", async () => {
  const twice: OpSample["reference"] = ([x]) => [x.map((v) => 2 * Number(v))];
  const samples: OpSample[] = [{ inputs: [{ shape: [3] }], reference: twice, dtypes: ["float32"] }];
  const error = await assertRejects(
    () => opCheck(define({}), samples, { devices: ["CPU"] }),
    OpCheckError,
    "Op check failed: TestSquare14, sample [3] (float32), /device:CPU:0,",
  );
  assertEquals(error.failures.map((f) => f.check), ["cpu = reference"]);
});
