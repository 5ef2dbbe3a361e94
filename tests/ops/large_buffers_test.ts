/** Plans for buffers larger than one binding: run with a binding limit made small, they must give the same results. */

import { assert, assertEquals } from "@std/assert";
import { type DType, NdArray, setBackend } from "@weft/weft";
import type { Profile } from "../../src/engine/core/dispatch.ts";
import { argument, scalar } from "../../src/engine/core/scalar/expr.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import { gpuVariants } from "../../src/engine/devices/webgpu/kernel_table.ts";
import type { WebGpuDevice } from "../../src/engine/devices/webgpu/webgpu_device.ts";
import { cpuDevice, gpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import { problemOf, runEagerly, runPlan } from "../../src/library/testing/run_op.ts";
import { HAS_WEBGPU } from "../devices.ts";
import { ofTheDay } from "../effort.ts";
import { withEpilogue } from "../fusions.ts";

/** A limit of so many bytes makes pieces of every buffer below. */
const LIMIT = 4096;

function counted(dtype: DType, ...shape: number[]): NdArray {
  const out = NdArray.zeros(dtype, shape);
  const data = out.data as Float32Array;
  for (let i = 0; i < data.length; i++) data[i] = (i * 7919) % 1009;
  return out;
}

function ints(shape: number[], ...values: number[]): NdArray {
  return new NdArray("int32", shape, Int32Array.from(values));
}

/** Indices in `[0, below)`. */
function places(count: number, below: number): NdArray {
  return ints([count, 1], ...Array.from({ length: count }, (_, i) => (i * 31) % below));
}

const flatPlaces = (count: number, below: number): NdArray => places(count, below).reshape([count]);

const CASES: readonly { op: string; inputs: NdArray[]; attrs?: Record<string, unknown> }[] = [
  { op: "Slice", inputs: [counted("float32", 50, 60), ints([2], 3, 4), ints([2], 45, 52)] },
  // The last piece holds less than a vector, which is how the others are read.
  { op: "Slice", inputs: [counted("float32", 2049), ints([1], 2020), ints([1], 12)] },
  { op: "Transpose", inputs: [counted("float32", 50, 60), ints([2], 1, 0)] },
  { op: "Transpose", inputs: [counted("int32", 51, 61), ints([2], 1, 0)] },
  { op: "ReverseV2", inputs: [counted("float32", 50, 60), ints([1], 0)] },
  { op: "Pad", inputs: [counted("float32", 50, 60), ints([2, 2], 1, 2, 3, 1)] },
  { op: "Fill", inputs: [ints([1], 3001), new NdArray("float32", [], Float32Array.of(2.5))] },
  { op: "GatherV2", inputs: [counted("float32", 50, 60), flatPlaces(40, 50), ints([], 0)] },
  { op: "GatherV2", inputs: [counted("float32", 50, 61), flatPlaces(40, 50), ints([], 0)] },
  { op: "ScatterNd", inputs: [places(10, 50), counted("float32", 10, 60), ints([2], 50, 60)] },
  { op: "ScatterNd", inputs: [places(40, 50), counted("float32", 40, 12), ints([2], 120, 12)] },
  {
    op: "TensorScatterUpdate",
    inputs: [counted("float32", 50, 60), ints([3, 1], 4, 20, 49), counted("float32", 3, 60)],
  },
  { op: "StatelessRandomUniform", inputs: [ints([1], 4000), ints([2], 3, 4)] },
  { op: "StatelessRandomUniform", inputs: [ints([1], 4001), ints([2], 3, 4)] },
  { op: "Neg", inputs: [counted("float32", 3001)] },
  { op: "AddV2", inputs: [counted("int32", 50, 60), counted("int32", 50, 60)] },
  { op: "Sub", inputs: [counted("float32", 300, 15), counted("float32", 15)] },
  { op: "Sub", inputs: [counted("float32", 300, 1), counted("float32", 300, 15)] },
  { op: "Mul", inputs: [counted("float32", 3000), counted("float32")] },
  { op: "Less", inputs: [counted("int32", 70, 1, 8), counted("int32", 9, 1)] },
  { op: "Cast", inputs: [counted("int32", 3001)], attrs: { DstT: "bool" } },
  { op: "AddN", inputs: Array.from({ length: 6 }, () => counted("float32", 3001)) },
  { op: "MatMul", inputs: [counted("int32", 12, 96), counted("int32", 96, 200)] },
  {
    op: "MatMul",
    inputs: [counted("int32", 12, 96), counted("int32", 200, 96)],
    attrs: { transpose_b: true },
  },
  { op: "BatchMatMulV2", inputs: [counted("int32", 3, 33, 40), counted("int32", 40, 70)] },
  {
    op: "MatMul",
    inputs: [
      counted("float32", 12, 96),
      counted("float32", 200, 96),
      counted("float32", 200),
      counted("float32", 12, 200),
    ],
    attrs: withEpilogue(
      { transpose_b: true },
      scalar.add(scalar.add(argument(0), argument(1)), argument(2)),
      ["column", "element"],
    ),
  },
  {
    op: "_GroupedUpdate",
    inputs: [
      counted("float32"),
      ...[3001, 7, 1024].flatMap((n) => [
        counted("float32", n),
        counted("float32", n),
      ]),
    ],
    attrs: {
      exprs: [scalar.sub(argument(1), scalar.mul(argument(0), argument(2)))],
      scalars: 1,
      arrays: 2,
      Tin: new Array(7).fill("float32"),
      Tout: new Array(3).fill("float32"),
    },
  },
];

Deno.test({
  name: "buffers larger than one binding are read and written in pieces [webgpu]",
  ignore: !HAS_WEBGPU,
  async fn() {
    assert(await setBackend("webgpu"));
    const gpu = gpuDevice() as WebGpuDevice;
    const profile: Profile = { ...gpu.profile, maxBinding: LIMIT };
    for (const { op, inputs, attrs = {} } of ofTheDay(CASES, 2)) {
      const def = lookupOp(op)!;
      const problem = problemOf(def, inputs, attrs);
      const variant = gpuVariants(def).find((v) => v.fits?.(problem, profile) ?? true);
      assert(variant !== undefined, `${op} has no variant for small bindings`);
      const plan = variant.plan(problem, profile);
      const words = plan.dispatches.flatMap((d) => d.buffers.map((b) => b.size ?? 0));
      assert(words.some((bytes) => bytes > 0), `${op} binds whole buffers`);
      assert(words.every((bytes) => bytes <= LIMIT), `${op} binds more than the limit`);
      const wanted = await runEagerly(def, inputs, attrs, cpuDevice());
      const got = await runPlan(
        gpu,
        {
          variant: variant.name,
          profile: "small",
          maxGrid: profile.maxGrid,
          plan,
        },
        inputs,
        problem,
      );
      assertEquals(got.map((a) => a.toArray()), wanted.map((a) => a.toArray()), op);
    }
  },
});
