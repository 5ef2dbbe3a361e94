/**
 * From a matrix product to dispatches: which kernel, which tile, and how what exceeds a binding is cut.
 */
import type { BufferRef, Dispatch, GpuPlan, Profile } from "../../core/dispatch.ts";
import { accDType, gpuBytes } from "../../core/gpu_storage.ts";
import type { SharedTile } from "./tiled.ts";
import { type Piece, pieces } from "./pieces.ts";
import {
  foldGrid,
  rankRegisterTiles,
  rankSharedTiles,
  registerGroups,
  type RegisterTile,
  splitsFor,
} from "./tiles.ts";
import { registerProgram } from "./register.ts";
import { matMulSharedProgram } from "./shared.ts";
import { tunedChoice } from "./tuning.ts";
import { type MatMulShape, matrixPairs } from "./shape.ts";
import type { MatMulSource, MatMulTask } from "./source.ts";
import { planSplitSum } from "./split.ts";
import { columnsProgram, dotProgram } from "./vector.ts";
import { COLUMNS_LEAST, COLUMNS_ROWS, COLUMNS_TERMS, DOT_TERMS } from "../thresholds.ts";

/** A kernel and its extents. */
export type KernelChoice =
  | {
    readonly kind: "register";
    readonly tile: RegisterTile;
    readonly lanes: number;
    readonly splits: number;
  }
  | { readonly kind: "shared"; readonly tile: SharedTile; readonly splits: number }
  | {
    readonly kind: "dot";
    readonly matrixIsB: boolean;
    readonly rows: number;
    readonly lanes: number;
    readonly threads: number;
  }
  | {
    readonly kind: "columns";
    readonly rows: number;
    readonly columns: number;
    readonly slices: number;
  };

/** Which accesses can be four wide. */
export function wideAccess(
  shape: MatMulShape,
): Pick<MatMulSource, "wideA" | "wideB" | "wideC" | "skewB"> {
  const { m, n, k, transA, transB } = shape;
  const filled = m > 0 && n > 0 && k > 0;
  return {
    wideA: filled && (transA ? m : k) % 4 === 0,
    wideB: filled && (transB ? k : n) % 4 === 0,
    wideC: filled && n % 4 === 0,
    // Every fourth row, every matrix and every piece of one begin at a whole four.
    skewB: filled && !transB && k % 4 === 0 ? n % 4 : 0,
  };
}

/** The kernel for a product on this adapter, before any timing. */
export function chooseKernel(task: MatMulTask, profile: Profile): KernelChoice {
  return kernelCandidates(task, profile)[0];
}

/** Kernels for a product on this adapter, the likely best first. */
function kernelCandidates(task: MatMulTask, profile: Profile): readonly KernelChoice[] {
  const { m, n, k, transA, transB, batch } = task.shape;
  const gpu = profile.barriers;
  const alongB = transB || n === 1, alongA = !transA || m === 1;
  if (alongA && alongB && Math.min(m, n) <= 4 && k >= 8) {
    const matrixIsB = m <= n;
    if (!gpu) return [{ kind: "dot", matrixIsB, rows: 4, lanes: 1, threads: profile.lanes }];
    const lanes = k >= DOT_TERMS ? 32 : 8;
    return [{ kind: "dot", matrixIsB, rows: 1, lanes, threads: 64 }];
  }
  if (gpu && !transB && m <= COLUMNS_ROWS && n >= COLUMNS_LEAST) {
    const rows = m <= 1 ? 1 : m <= 2 ? 2 : m <= 4 ? 4 : 8;
    const columns = 16;
    const slices = k >= COLUMNS_TERMS ? 16 : 4;
    return [{ kind: "columns", rows, columns, slices: Math.min(slices, rows === 8 ? 8 : 16) }];
  }
  return gpu
    ? rankSharedTiles(m, n, k, batch, profile).map((tiled) => ({ kind: "shared", ...tiled }))
    : registerCandidates(task, profile);
}

function registerCandidates({ shape }: MatMulTask, profile: Profile): KernelChoice[] {
  const { m, n, k, transA, transB, batch } = shape;
  const { wideA, wideB, skewB } = wideAccess(shape);
  const skewed = skewB > 0, quads = transA && wideA;
  const loads = { wideA, wideB, skewed, transB, quads, splits: k >= 1024 };
  return rankRegisterTiles([m, n, k, batch], loads, profile).map(({ tile, groups }) => ({
    kind: "register",
    tile,
    lanes: profile.lanes,
    splits: groups >= 4 ? 1 : splitsFor(groups, k, 256, 8),
  }));
}

/** The kernel for a product on this adapter, by timing where the device does that. */
function tunedKernel(task: MatMulTask, profile: Profile): KernelChoice {
  const { shape, dtype, out } = task;
  const { m, n, k, batch, transA, transB } = shape;
  return tunedChoice(kernelCandidates(task, profile), profile, () => {
    const { wideA, wideB, skewB } = wideAccess(shape);
    const matrices = (of: "a" | "b"): number =>
      1 + matrixPairs(shape).reduce((most, pair) => Math.max(most, pair[of]), 0);
    const bare: MatMulTask = {
      shape,
      dtype,
      out,
      a: { input: 0 },
      b: { input: 1 },
      c: { output: 0 },
    };
    return {
      name: ["matmul", dtype, ...[transA, transB, wideA, wideB, skewB].map(Number)].join(" "),
      extents: [batch, m, n, k],
      flop: 2 * batch * m * n * k,
      inputs: [
        matrices("a") * m * k * gpuBytes(dtype),
        matrices("b") * k * n * gpuBytes(dtype),
      ],
      output: batch * m * n * gpuBytes(out),
      plan: (choice) => planMatMul(bare, profile, choice),
    };
  });
}

/** Plans a product. `choice` overrides the chosen kernel. */
export function planMatMul(
  task: MatMulTask,
  profile: Profile,
  choice: KernelChoice = tunedKernel(task, profile),
): GpuPlan {
  const { shape } = task;
  if (shape.m * shape.n * shape.batch === 0) return { dispatches: [] };
  const list = pieces(task, profile.maxBinding)!;
  const splits = "splits" in choice && list.length === 1 ? choice.splits : 1;
  if (splits > 1) {
    const bytes = splits * shape.batch * shape.m * shape.n * 4;
    if (bytes <= profile.maxBinding) {
      const part = { ...task, c: { temp: 0 }, epilogue: undefined, out: accDType(task.dtype) };
      const dispatches = [
        ...dispatchPiece(
          part,
          { ...list[0], c: { ref: part.c, base: 0 } },
          profile,
          choice,
          splits,
        ),
        planSplitSum({
          partial: { temp: 0 },
          out: task.c,
          sum: accDType(task.dtype),
          dtype: task.out,
          batch: shape.batch,
          size: shape.m * shape.n,
          columns: shape.n,
          splits,
          epilogue: task.epilogue,
        }, profile),
      ];
      return { dispatches, temps: [bytes] };
    }
  }
  return { dispatches: list.flatMap((piece) => dispatchPiece(task, piece, profile, choice, 1)) };
}

/** Batches beyond the grid's third axis take further dispatches. */
function dispatchPiece(
  task: MatMulTask,
  piece: Piece,
  profile: Profile,
  choice: KernelChoice,
  splits: number,
): Dispatch[] {
  const total = piece.batch * splits;
  const out: Dispatch[] = [];
  for (let zbase = 0; zbase < total; zbase += profile.maxGrid) {
    out.push(
      dispatchBatches(
        task,
        piece,
        profile,
        choice,
        splits,
        zbase,
        Math.min(profile.maxGrid, total - zbase),
      ),
    );
  }
  return out;
}

function dispatchBatches(
  task: MatMulTask,
  piece: Piece,
  profile: Profile,
  choice: KernelChoice,
  splits: number,
  zbase: number,
  depth: number,
): Dispatch {
  const { shape, dtype } = task;
  const { transA, transB, walk } = shape;
  const batched = piece.batch > 1;
  const wide = wideAccess(shape);
  // Dots read both operands alike.
  const ofVectors = choice.kind === "dot"
    ? { wideA: dotWide(shape), wideB: dotWide(shape), wideC: false }
    : choice.kind === "columns"
    ? { ...wide, wideA: false }
    : wide;
  const { wideA, wideB, wideC } = ofVectors;
  const skewB = choice.kind === "register" ? wide.skewB : 0;
  const a4 = wideA ? 4 : 1, b4 = wideB || skewB > 0 ? 4 : 1, c4 = wideC ? 4 : 1;
  const source: MatMulSource = {
    dtype,
    out: task.out,
    transA,
    transB,
    ...ofVectors,
    skewB,
    tail: (piece.k1 - piece.k0) % 4 !== 0,
    batchRank: batched ? walk.dims.length : 0,
    accumulate: !piece.first,
    split: splits > 1,
    epilogue: piece.last ? task.epilogue : undefined,
  };
  const m = piece.m1 - piece.m0, n = piece.n1 - piece.n0, k = piece.k1 - piece.k0;
  const lda = (transA ? shape.m : shape.k) / a4,
    ldb = skewB > 0 ? shape.n : (transB ? shape.k : shape.n) / b4,
    ldc = shape.n / c4;
  const abase = piece.a.base / a4, bbase = piece.b.base / b4, cbase = piece.c.base / c4;
  const cz = shape.m * shape.n / c4;
  const batchWords = batched
    ? walk.dims.flatMap((d, i) => [
      d,
      walk.strides[0][i] * shape.m * shape.k / a4,
      walk.strides[1][i] * shape.k * shape.n / b4,
    ])
    : [];
  const col0 = piece.n0 / c4;
  const operands = (source.epilogue?.operands ?? []).map((o) =>
    o.per === "element" ? { ...o.buffer, ...rangeOf(piece.c.ref) } : o.buffer
  );
  const buffers: BufferRef[] = [piece.a.ref, piece.b.ref, ...operands, piece.c.ref];
  const kstep = splits > 1 ? Math.ceil(k / splits / 4) * 4 : k;
  switch (choice.kind) {
    case "register": {
      const { groups, rowgroups, across } = registerGroups(m, n, choice.tile, choice.lanes);
      const [x, y] = foldGrid(groups, profile);
      return {
        program: registerProgram(source, choice.tile, { ...profile, lanes: choice.lanes }),
        buffers,
        params: [
          m,
          n,
          k,
          0,
          kstep,
          lda,
          ldb,
          ldc,
          abase,
          bbase,
          cbase,
          cz,
          col0,
          zbase,
          splits,
          groups,
          rowgroups,
          across - 1,
          Math.log2(across),
          ...batchWords,
        ],
        grid: [x, y, depth],
      };
    }
    case "shared": {
      const rowgroups = Math.ceil(m / choice.tile.bm),
        groups = rowgroups * Math.ceil(n / choice.tile.bn);
      const [x, y] = foldGrid(groups, profile);
      return {
        program: matMulSharedProgram(source, choice.tile),
        buffers,
        params: [
          m,
          n,
          k,
          0,
          kstep,
          ldc,
          cbase,
          cz,
          col0,
          zbase,
          splits,
          groups,
          rowgroups,
          lda,
          ldb,
          abase,
          bbase,
          ...batchWords,
        ],
        grid: [x, y, depth],
      };
    }
    case "dot": {
      const { matrixIsB, rows, lanes, threads } = choice;
      const count = matrixIsB ? n : m, vectors = matrixIsB ? m : n;
      const [x, y] = foldGrid(Math.ceil(count / (threads / lanes * rows)), profile);
      // A matrix of one column (or row) is contiguous along `k` however it is stored.
      const stepA = shape.m === 1 ? 0 : lda, stepB = shape.n === 1 ? 0 : ldb;
      return {
        program: dotProgram(source, { matrixIsB, vectors, rows, lanes, threads }),
        buffers,
        params: [
          count,
          k / a4,
          matrixIsB ? stepB : stepA,
          matrixIsB ? stepA : stepB,
          abase,
          bbase,
          cbase,
          cz,
          matrixIsB ? 1 : ldc,
          matrixIsB ? ldc : 1,
          col0,
          zbase,
          piece.first ? 0 : 1,
          ...batchWords,
        ],
        grid: [x, y, depth],
      };
    }
    case "columns": {
      const { rows, columns, slices } = choice;
      const [x, y] = foldGrid(Math.ceil(n / 4 / columns), profile);
      return {
        program: columnsProgram(source, { rows, columns, slices }),
        buffers,
        params: [
          m,
          n,
          k,
          transA ? 1 : lda,
          transA ? lda : 1,
          ldb,
          ldc,
          abase,
          bbase,
          cbase,
          cz,
          col0,
          zbase,
          piece.first ? 0 : 1,
          ...batchWords,
        ],
        grid: [x, y, depth],
      };
    }
  }
}

function dotWide({ k }: MatMulShape): boolean {
  return k > 0 && k % 4 === 0;
}

function rangeOf(ref: BufferRef): { offset?: number; size?: number } {
  return {
    ...(ref.offset === undefined ? {} : { offset: ref.offset }),
    ...(ref.size === undefined ? {} : { size: ref.size }),
  };
}
