/** Register tiles of convolutions and their gradients, each by force, on random geometries. */
import { assert } from "@std/assert";
import { type NdArray, setBackend } from "@weft/weft";
import type { GpuPlan, Profile } from "../../src/core/dispatch.ts";
import { lookupOp } from "../../src/core/op.ts";
import type { WebGpuDevice } from "../../src/devices/webgpu/webgpu_device.ts";
import { windowGeometry } from "../../src/kernels/conv_geometry.ts";
import type { ConvChoice, ConvTask } from "../../src/kernels/conv_candidates.ts";
import { planConv, planConvFilter, planConvInput } from "../../src/kernels/conv_plan.ts";
import type { RegisterTile } from "../../src/kernels/gemm_tiles.ts";
import { cpuDevice, gpuDevice } from "../../src/runtime/devices.ts";
import { difference } from "../../src/testing/compare.ts";
import {
  disposeInputs,
  inputsOn,
  problemOf,
  runEagerly,
  runPlan,
} from "../../src/testing/run_op.ts";
import { noise, random, testOnGpu, vector } from "./force_variant.ts";

/** Tiles whose lanes share their rows, and one whose lanes do not; as wide as this adapter's subgroups allow. */
function tilesOf({ subgroup }: Profile): RegisterTile[] {
  return [
    { rows: 4, vecs: 1, across: subgroup },
    { rows: 8, vecs: 1, across: subgroup / 2 },
    { rows: 4, vecs: 1 },
  ].filter(({ across = 2 }) => across > 1);
}

interface Case {
  readonly x: readonly number[];
  readonly filter: readonly number[];
  readonly dy: readonly number[];
  readonly attrs: Record<string, unknown>;
}

/** An op, its inputs, which of them its task reads, and its planner. */
interface Kind {
  readonly op: string;
  readonly inputs: (c: Case) => NdArray[];
  readonly operands: readonly [number, number];
  readonly plan: (task: ConvTask, profile: Profile, choice: ConvChoice) => GpuPlan;
}

const floats = (shape: readonly number[], seed: number): NdArray => noise("float32", shape, seed);

const KINDS: readonly Kind[] = [
  {
    op: "Conv2D",
    inputs: ({ x, filter }) => [floats(x, 1), floats(filter, 2)],
    operands: [0, 1],
    plan: planConv,
  },
  {
    op: "Conv2DBackpropInput",
    inputs: ({ x, filter, dy }) => [vector(...x), floats(filter, 2), floats(dy, 3)],
    operands: [2, 1],
    plan: planConvInput,
  },
  {
    op: "Conv2DBackpropFilter",
    inputs: ({ x, filter, dy }) => [floats(x, 1), vector(...filter), floats(dy, 3)],
    operands: [0, 2],
    plan: planConvFilter,
  },
];

async function check(kind: Kind, c: Case, choice: ConvChoice, gpu: WebGpuDevice): Promise<void> {
  const def = lookupOp(kind.op)!;
  const inputs = kind.inputs(c);
  const given = inputsOn(def, inputs, cpuDevice());
  const [wanted] = await runEagerly(def, given, c.attrs, cpuDevice());
  disposeInputs(given);
  const problem = problemOf(def, inputs, c.attrs);
  const task: ConvTask = {
    geometry: windowGeometry(c.x, c.filter, c.filter[3], problem.attrs),
    dtype: "float32",
    out: "float32",
    a: { input: kind.operands[0] },
    b: { input: kind.operands[1] },
    c: { output: 0 },
  };
  const plan = kind.plan(task, gpu.profile, choice);
  const forced = { variant: kind.op, profile: "forced", maxGrid: gpu.profile.maxGrid, plan };
  const [out] = await runPlan(gpu, forced, inputs, problem);
  const wrong = difference(out, wanted, "float32", { ulps: 32, ulpsOfLargest: 32 });
  assert(
    wrong === null,
    `${kind.op} of ${JSON.stringify(c)} by ${JSON.stringify(choice)}: ${wrong}`,
  );
}

testOnGpu("conv2d register tiles agree with the CPU on random geometries", async () => {
  assert(await setBackend("webgpu"));
  const gpu = gpuDevice() as WebGpuDevice;
  const tiles = tilesOf(gpu.profile);
  const next = random(23);
  const upTo = (n: number): number => 1 + Math.floor(next() * n);
  const channels = (): number => (next() < 0.5 ? 4 * upTo(6) : upTo(9));
  for (let i = 0; i < 60; i++) {
    const filter = [upTo(3), upTo(3), channels(), channels()];
    const strides = [upTo(2), upTo(2)];
    const x = [upTo(2), filter[0] + upTo(9), filter[1] + upTo(9), filter[2]];
    const same = next() < 0.5;
    const places = strides.map((s, d) => Math.ceil((x[1 + d] - (same ? 0 : filter[d] - 1)) / s));
    const c: Case = {
      x,
      filter,
      dy: [x[0], ...places, filter[3]],
      attrs: { strides: [1, ...strides, 1], padding: same ? "SAME" : "VALID" },
    };
    for (const [j, kind] of KINDS.entries()) {
      const tile = tiles[(i + j) % tiles.length];
      await check(kind, c, { kind: "register", tile, splits: i % 2 + 1 }, gpu);
    }
  }
});
