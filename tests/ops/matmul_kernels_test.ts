import { assert } from "@std/assert";
import { type DType, NdArray, setBackend } from "@weft/weft";
import type { Profile } from "../../src/engine/core/dispatch.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import {
  chooseKernel,
  type KernelChoice,
  planMatMul,
} from "../../src/engine/kernels/matmul/plan.ts";
import { SHARED_RANKING } from "../../src/engine/kernels/matmul/shared_ranking.ts";
import { matMulTask } from "../../src/engine/kernels/matmul/variants.ts";
import { gpuDevice } from "../../src/engine/runtime/devices/devices.ts";
import type { WebGpuDevice } from "../../src/engine/devices/webgpu/webgpu_device.ts";
import { difference } from "../../src/library/testing/compare.ts";
import { problemOf, runPlan } from "../../src/library/testing/run_op.ts";
import { isOfTheDay, ofTheDay, Turns } from "../effort.ts";
import { testOnGpu } from "./force_variant.ts";
import { noise } from "./values.ts";

interface Case {
  readonly batchA?: readonly number[];
  readonly batchB?: readonly number[];
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly transA?: boolean;
  readonly transB?: boolean;
  readonly dtype?: DType;
}

function operands(
  { batchA = [], batchB = [], m, n, k, transA, transB, dtype = "float32" }: Case,
): NdArray[] {
  return [
    noise(dtype, [...batchA, ...(transA ? [k, m] : [m, k])], 3),
    noise(dtype, [...batchB, ...(transB ? [n, k] : [k, n])], 5),
  ];
}

/** The product in float64, element by element; int32 wraps. */
function reference(problem: ReturnType<typeof problemOf>, [a, b]: readonly NdArray[]): NdArray {
  const { shape } = matMulTask(problem);
  const out = problem.outputs[0];
  const integer = out.dtype !== "float32";
  const data = integer
    ? new Int32Array(shape.batch * shape.m * shape.n)
    : new Float64Array(shape.batch * shape.m * shape.n);
  const x = a.data as Float32Array, y = b.data as Float32Array;
  const { m, n, k, transA, transB, batch, walk } = shape;
  for (let z = 0; z < batch; z++) {
    let za = 0, zb = 0, rest = z;
    for (let d = walk.dims.length - 1; d >= 0; d--) {
      za += (rest % walk.dims[d]) * walk.strides[0][d];
      zb += (rest % walk.dims[d]) * walk.strides[1][d];
      rest = Math.floor(rest / walk.dims[d]);
    }
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < n; j++) {
        let s = 0;
        for (let q = 0; q < k; q++) {
          const p = x[za * m * k + (transA ? q * m + i : i * k + q)];
          const r = y[zb * k * n + (transB ? j * k + q : q * n + j)];
          s = integer ? (s + Math.imul(p, r)) | 0 : s + p * r;
        }
        data[(z * m + i) * n + j] = s;
      }
    }
  }
  return new NdArray(integer ? "int32" : "float64", out.shape, data);
}

const choiceTurns = new Turns(), layoutTurns = new Turns();

async function check(
  c: Case,
  choices: (profile: Profile) => readonly (KernelChoice | null)[],
  change: Partial<Profile> = {},
): Promise<void> {
  assert(await setBackend("webgpu"));
  const gpu = gpuDevice() as WebGpuDevice;
  const profile = { ...gpu.profile, ...change };
  const def = lookupOp("BatchMatMulV2")!;
  const inputs = operands(c);
  const problem = problemOf(def, inputs, { adj_x: c.transA ?? false, adj_y: c.transB ?? false });
  const wanted = reference(problem, inputs);
  for (const given of choiceTurns.of(choices(profile))) {
    const task = matMulTask(problem);
    const choice = given ?? chooseKernel(task, profile);
    const plan = planMatMul(task, profile, choice);
    const forced = { variant: choice.kind, profile: "forced", maxGrid: profile.maxGrid, plan };
    const [out] = await runPlan(gpu, forced, inputs, problem);
    const wrong = difference(out, wanted, out.dtype, { ulps: 8, ulpsOfLargest: 8 + c.k / 16 });
    assert(wrong === null, `${JSON.stringify(c)} by ${JSON.stringify(choice)}: ${wrong}`);
  }
}

const SIZES: readonly [number, number, number][] = [
  [1, 1, 1],
  [1, 5, 3],
  [7, 1, 9],
  [8, 16, 4],
  [9, 17, 5],
  [33, 65, 18],
  [36, 68, 20],
  [64, 64, 32],
  [130, 20, 34],
  [12, 132, 7],
  [11, 23, 12],
  [6, 22, 8],
  [9, 77, 16],
];

/** Sizes of the day: each tile meets those of every layout, by turns. */
const TODAY = ofTheDay(SIZES, 3);

interface MatMulLayout {
  readonly transA: boolean;
  readonly transB: boolean;
}

/** Which operands lie transposed: as a rule one way at a time. */
function layouts(): readonly MatMulLayout[] {
  const ways = [false, true];
  return layoutTurns.of(ways.flatMap((transA) => ways.map((transB) => ({ transA, transB }))));
}

testOnGpu("matMul register tiles are right for every layout and edge", async () => {
  const choices: KernelChoice[] = [[8, 4], [4, 2], [8, 1]].map(([rows, vecs]) => ({
    kind: "register",
    tile: { rows, vecs },
    splits: 1,
  }));
  for (const [m, n, k] of TODAY) {
    for (const layout of layouts()) {
      await check({ m, n, k, ...layout }, () => choices, { lanes: 8 });
    }
  }
});

testOnGpu("matMul register tiles of one and two rows are right", async () => {
  const choices: KernelChoice[] = [[1, 4], [2, 1], [1, 1]].map(([rows, vecs]) => ({
    kind: "register",
    tile: { rows, vecs },
    splits: 1,
  }));
  for (const [m, n, k] of TODAY) {
    for (const transB of [false, true]) {
      await check({ m, n, k, transB }, () => choices, { lanes: 4 });
    }
  }
});

testOnGpu("matMul shared tiles are right for every layout and edge", async () => {
  const tile = SHARED_RANKING.tiles.find((t) => t.bm * t.bn <= 1024)!;
  const small: KernelChoice[] = [{ kind: "shared", tile, splits: 1 }];
  for (const [m, n, k] of TODAY) {
    for (const layout of layouts()) {
      await check({ m, n, k, ...layout }, () => small);
    }
  }
  // More rows of workgroups than a band has.
  await check({ m: 300, n: 70, k: 12 }, () => small);
});

testOnGpu("matMul adds up the parts of long sums", async () => {
  for (const layout of layouts()) {
    for (const k of [1000, 1003]) {
      await check({ m: 6, n: 12, k, batchA: [2], batchB: [2], ...layout }, () => [
        { kind: "register", tile: { rows: 4, vecs: 2 }, splits: 3 },
        { kind: "shared", tile: SHARED_RANKING.tiles[4], splits: 5 },
      ], { lanes: 8 });
    }
  }
});

testOnGpu("matMul kernels for few vectors are right", async () => {
  const dots = (matrixIsB: boolean): KernelChoice[] => [
    { kind: "dot", matrixIsB, rows: 4, lanes: 1, threads: 8 },
    { kind: "dot", matrixIsB, rows: 1, lanes: 32, threads: 64 },
    { kind: "dot", matrixIsB, rows: 2, lanes: 8, threads: 64 },
  ];
  for (const k of ofTheDay([8, 37, 300], 3)) {
    for (const few of [1, 2, 3, 4]) {
      await check({ m: few, n: 70, k, transB: true }, () => dots(true));
      await check({ m: 70, n: few, k, transB: true }, () => dots(false));
    }
    await check({ m: 1, n: 9, k, transA: true, transB: true }, () => dots(true));
    await check({ m: 9, n: 1, k }, () => dots(false));
    for (const few of [1, 3, 8]) {
      for (const transA of [false, true]) {
        for (const n of [40, 71]) {
          await check(
            { m: few, n, k, transA },
            () => [{ kind: "columns", rows: 8, columns: 16, slices: 8 }],
          );
        }
      }
    }
  }
});

testOnGpu("matMul broadcasts batches", async () => {
  const cases: Partial<Case>[] = [
    { batchA: [3], batchB: [3] },
    { batchA: [3], batchB: [1] },
    { batchA: [], batchB: [3] },
    { batchA: [2, 1, 3], batchB: [4, 1] },
    { batchA: [2, 3, 2], batchB: [2, 1, 2] },
    { batchA: [20], batchB: [20] },
  ];
  for (const [i, batches] of cases.entries()) {
    for (const layout of layouts()) {
      for (const barriers of [false, true].filter((b) => isOfTheDay(i + Number(b), 2))) {
        await check({ m: 5, n: 12, k: 8, ...batches, ...layout }, () => [null], {
          barriers,
          maxGrid: 8,
        });
        await check({ m: 1, n: 9, k: 16, ...batches, ...layout }, () => [null], { barriers });
      }
    }
  }
});

testOnGpu("matMul is exact for int32", async () => {
  for (const barriers of [false, true]) {
    for (const layout of layouts()) {
      await check({ m: 9, n: 20, k: 33, dtype: "int32", ...layout }, () => [null], { barriers });
      await check({ m: 1, n: 20, k: 64, dtype: "int32", ...layout }, () => [null], { barriers });
    }
  }
});

const LONG = [[1, 64, 200], [200, 4, 64], [60, 60, 60], [1, 201, 40], [3, 5, 201]];

testOnGpu("matMul cuts what exceeds a binding", async () => {
  const maxBinding = 4096;
  for (const barriers of [false, true]) {
    for (const layout of layouts()) {
      for (const [m, n, k] of ofTheDay(LONG, 2)) {
        await check({ m, n, k, ...layout }, () => [null], { barriers, maxBinding });
      }
      await check({ m: 40, n: 36, k: 32, batchA: [3], batchB: [1], ...layout }, () => [null], {
        barriers,
        maxBinding,
      });
    }
  }
});
