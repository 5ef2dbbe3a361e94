/** Dispatches of matrix products: the choice of kernel and tile, and the cuts at the limits of bindings. */
import {
  type BufferRange,
  type BufferRef,
  type Dispatch,
  f32Bits,
  type GpuPlan,
  type Profile,
  type Program,
} from "../../core/dispatch.ts";
import { gpuBytes } from "../../core/gpu_storage.ts";
import { wordsOf } from "../dispatches.ts";
import { helpersOf } from "./epilogue.ts";
import { type Piece, pieces } from "./pieces.ts";
import {
  foldGrid,
  gridLayers,
  nextPower,
  splitsFor,
  tileCandidates,
  type TileChoice,
  tileFields,
} from "./tiles.ts";
import {
  columnsProgram,
  type ColumnsTile,
  dotProgram,
  type DotTile,
  registerProgram,
  sharedProgram,
} from "./programs.ts";
import { tunedChoice } from "./tuning.ts";
import { type MatMulShape, matrixCounts } from "./shape.ts";
import { bareTask, type MatMulSource, type MatMulTask, type NormParts } from "./source.ts";
import { planSplits } from "./split.ts";
import {
  COLUMNS_LEAST,
  COLUMNS_ROWS,
  COLUMNS_TERMS,
  DOT_LANES,
  DOT_TERMS,
  SLICED_TERMS,
} from "../thresholds.ts";

/** A kernel and its extents. */
export type KernelChoice =
  | TileChoice
  | ({ readonly kind: "dot" } & Omit<DotTile, "vectors">)
  | ({ readonly kind: "columns" } & ColumnsTile);

/** The accesses that are four wide. */
type Access = Pick<MatMulSource, "wideA" | "wideB" | "wideC" | "skewB">;

function wideAccess({ m, n, k, transA, transB }: MatMulShape): Access {
  const filled = m > 0 && n > 0 && k > 0;
  return {
    wideA: filled && (transA ? m : k) % 4 === 0,
    wideB: filled && (transB ? k : n) % 4 === 0,
    wideC: filled && n % 4 === 0,
    // Every fourth row, every matrix and every piece of one begin at a whole four.
    skewB: filled && !transB && k % 4 === 0 ? n % 4 : 0,
  };
}

/** Returns the accesses of a kernel, which may not support all possible ones. */
function accessOf(kind: KernelChoice["kind"], shape: MatMulShape): Access {
  const wide = wideAccess(shape);
  switch (kind) {
    case "register":
      return wide;
    case "shared":
      return { ...wide, skewB: 0 };
    case "columns":
      return { ...wide, wideA: false, skewB: 0 };
    case "dot": {
      // Dots read both operands alike.
      const fours = shape.k > 0 && shape.k % 4 === 0;
      return { wideA: fours, wideB: fours, wideC: false, skewB: 0 };
    }
  }
}

/** Returns the kernel of so few rows that runs along the columns. */
function columnsKernel(m: number, k: number): KernelChoice {
  const rows = m <= 1 ? 1 : m <= 2 ? 2 : m <= 4 ? 4 : 8;
  const slices = k >= SLICED_TERMS ? 32 : k >= COLUMNS_TERMS ? 16 : 4;
  return { kind: "columns", rows, columns: 8, slices: Math.min(slices, rows === 8 ? 16 : 32) };
}

/** Returns the kernel for a product on this adapter, before any timing. */
export function chooseKernel(task: MatMulTask, profile: Profile): KernelChoice {
  return kernelCandidates(task, profile)[0];
}

/** Returns kernels for a product on this adapter, the likely best first. */
function kernelCandidates(
  { shape, epilogue }: MatMulTask,
  profile: Profile,
): readonly KernelChoice[] {
  const { m, n, k, transA, transB, batch } = shape;
  const gpu = profile.barriers;
  const alongB = transB || n === 1, alongA = !transA || m === 1;
  if (alongA && alongB && Math.min(m, n) <= 4 && k >= 8) {
    const matrixIsB = m <= n;
    if (!gpu) return [{ kind: "dot", matrixIsB, rows: 4, lanes: 1, threads: profile.lanes }];
    // The fewer rows, the more lanes share one.
    const most = Math.min(256, nextPower(DOT_LANES / (matrixIsB ? n : m)), nextPower(k / 16));
    const lanes = k >= DOT_TERMS ? Math.max(32, most) : 8;
    return [{ kind: "dot", matrixIsB, rows: 1, lanes, threads: Math.max(64, lanes) }];
  }
  if (gpu && !transB && m <= COLUMNS_ROWS && n >= COLUMNS_LEAST) return [columnsKernel(m, k)];
  const { wideA, wideB, skewB } = wideAccess(shape);
  const loads = { wideA, wideB, skewed: skewB > 0, transB, quads: transA && wideA };
  return tileCandidates(
    [m, n, k, batch],
    { ...loads, splits: k >= 1024, helpers: helpersOf(epilogue) },
    profile,
    (groups) => groups >= 4 ? 1 : splitsFor(groups, k, 256, 8),
  );
}

/** Returns the kernel for a product of rows that it normalizes: that of few rows, whatever the other extents. */
function normedKernel(task: MatMulTask, profile: Profile): KernelChoice {
  const { m, n, k, transB } = task.shape;
  if (profile.barriers) {
    const dot = { kind: "dot", matrixIsB: true, rows: 1, lanes: 32, threads: 256 } as const;
    return transB ? dot : columnsKernel(m, k);
  }
  if (transB) return { kind: "dot", matrixIsB: true, rows: 4, lanes: 1, threads: profile.lanes };
  // A lane keeps all rows.
  const { wideB, skewB } = wideAccess(task.shape);
  const loads = { wideA: k % 4 === 0, wideB, skewed: skewB > 0, transB, quads: false };
  const helpers = helpersOf(task.epilogue);
  return tileCandidates([m, n, k, 1], { ...loads, helpers }, profile, () => 1)
    .find(({ kind, tile }) => kind === "register" && tile.rows >= m && tile.across === undefined)!;
}

/** Returns the invocations that share a row to normalize. */
function normParts(choice: KernelChoice, { barriers, subgroup, lanes }: Profile): NormParts {
  const threads = choice.kind === "columns"
    ? choice.columns * choice.slices
    : choice.kind === "dot"
    ? choice.threads
    : lanes;
  if (barriers) return { add: 2, lanesOfRow: threads };
  return subgroup === threads ? { add: 1, lanesOfRow: threads } : { add: 0, lanesOfRow: 1 };
}

/** Chooses the kernel for a product on this adapter, by timing where the device does that. */
function tunedKernel(task: MatMulTask, profile: Profile): KernelChoice {
  return tunedChoice(kernelCandidates(task, profile), profile, () => {
    const { shape, dtype, dtypeB = dtype, out } = task;
    const { m, n, k, batch, transA, transB } = shape;
    const { wideA, wideB, skewB } = wideAccess(shape);
    const matrices = matrixCounts(shape);
    const dtypes = dtype === dtypeB ? dtype : `${dtype}-${dtypeB}`;
    return {
      name: ["matmul", dtypes, ...[transA, transB, wideA, wideB, skewB].map(Number)].join(" "),
      extents: [batch, m, n, k],
      flop: 2 * batch * m * n * k,
      inputs: [matrices.a * m * k * gpuBytes(dtype), matrices.b * k * n * gpuBytes(dtypeB)],
      outputs: [batch * m * n * gpuBytes(out)],
      plan: (choice) => planMatMul(bareTask(task), profile, choice),
    };
  });
}

/** Plans a product. `choice` overrides the chosen kernel. */
export function planMatMul(
  task: MatMulTask,
  profile: Profile,
  choice: KernelChoice = task.norm ? normedKernel(task, profile) : tunedKernel(task, profile),
): GpuPlan {
  const { m, n, batch } = task.shape;
  if (m * n * batch === 0) return { dispatches: [] };
  const list = pieces(task, profile.maxBinding)!;
  const wanted = "splits" in choice && list.length === 1 ? choice.splits : 1;
  const extents = { batch, size: m * n, columns: n, splits: wanted };
  return planSplits(task, extents, profile, (own, splits) =>
    list.flatMap((piece) => {
      const stored = splits > 1 ? { ...piece, c: { ref: own.c, base: 0 } } : piece;
      return dispatchPiece(own, stored, { profile, choice, splits });
    }));
}

interface Way {
  readonly profile: Profile;
  readonly choice: KernelChoice;
  readonly splits: number;
}

/** Makes dispatches of a piece; batches beyond the grid's third axis take further ones. */
function dispatchPiece(task: MatMulTask, piece: Piece, way: Way): Dispatch[] {
  const { shape } = task, { choice, profile, splits } = way;
  const { transA, transB, walk } = shape;
  const [m, n, k] = [piece.m, piece.n, piece.k].map(([from, to]) => to - from);
  const batchRank = piece.batch > 1 ? walk.dims.length : 0;
  const source: MatMulSource = {
    dtype: task.dtype,
    ...task.dtypeB && { dtypeB: task.dtypeB },
    out: task.out,
    transA,
    transB,
    ...accessOf(choice.kind, shape),
    tail: k % 4 !== 0,
    batchRank,
    accumulate: !piece.first,
    split: splits > 1,
    epilogue: piece.last ? task.epilogue : undefined,
    norm: task.norm ? normParts(choice, profile) : null,
  };
  const { wideA, wideB, wideC, skewB } = source;
  const a4 = wideA ? 4 : 1, b4 = wideB || skewB > 0 ? 4 : 1, c4 = wideC ? 4 : 1;
  const lda = (transA ? shape.m : shape.k) / a4, ldc = shape.n / c4;
  const ldb = skewB > 0 ? shape.n : (transB ? shape.k : shape.n) / b4;
  const { program, groups, fields } = kernelOf(source, { m, n, k, lda, ldb, ldc }, shape, way);
  const words = {
    m,
    n,
    k,
    kfrom: 0,
    lda,
    ldb,
    ldc,
    splits,
    kstep: splits > 1 ? Math.ceil(k / splits / 4) * 4 : k,
    abase: piece.a.base / a4,
    bbase: piece.b.base / b4,
    cbase: piece.c.base / c4,
    cz: shape.m * shape.n / c4,
    col0: piece.n[0] / c4,
    accumulate: piece.first ? 0 : 1,
    ...(task.norm && { epsilon: f32Bits(task.norm.epsilon) }),
    ...fields,
  };
  const batches = walk.dims.slice(0, batchRank).flatMap((d, i) => [
    d,
    walk.strides[0][i] * shape.m * shape.k / a4,
    walk.strides[1][i] * shape.k * shape.n / b4,
  ]);
  const operands = (source.epilogue?.operands ?? []).map((o): BufferRef =>
    o.per === "element" ? { ...o.buffer, ...rangeOf(piece.c.ref) } : o.buffer
  );
  const norm = task.norm ? [task.norm.scale, task.norm.offset] : [];
  const { write } = source.epilogue ?? {};
  const [index, into] = write ? [[write.index], [write.into]] : [[], []];
  const buffers = [piece.a.ref, piece.b.ref, ...norm, ...operands, ...index, piece.c.ref, ...into];
  return gridLayers(piece.batch * splits, profile, (zbase, depth) => ({
    program,
    buffers,
    params: wordsOf(program, { ...words, zbase }, batches),
    grid: [...foldGrid(groups, profile), depth],
  }));
}

/** Extents of a piece, and the steps from row to row. */
interface Extents {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  readonly lda: number;
  readonly ldb: number;
  readonly ldc: number;
}

/** Returns the program of a kernel, its workgroups, and its special fields. */
function kernelOf(
  source: MatMulSource,
  { m, n, k, lda, ldb, ldc }: Extents,
  shape: MatMulShape,
  { choice, profile }: Way,
): { program: Program; groups: number; fields: Readonly<Record<string, number>> } {
  switch (choice.kind) {
    case "register":
    case "shared": {
      const fields = tileFields(choice.tile, m, n, profile);
      const program = choice.kind === "register"
        ? registerProgram(source, choice.tile, profile)
        : sharedProgram(source, choice.tile);
      return { program, groups: fields.groups, fields };
    }
    case "dot": {
      const { matrixIsB, rows, lanes, threads } = choice;
      const count = matrixIsB ? n : m, vectors = matrixIsB ? m : n;
      // A matrix of one column (or row) is contiguous along `k` in either storage.
      const stepA = shape.m === 1 ? 0 : lda, stepB = shape.n === 1 ? 0 : ldb;
      const [ldx, ldv] = matrixIsB ? [stepB, stepA] : [stepA, stepB];
      const [rstep, vstep] = matrixIsB ? [1, ldc] : [ldc, 1];
      return {
        program: dotProgram(source, { ...choice, vectors }, profile),
        groups: Math.ceil(count / (threads / lanes * rows)),
        fields: { rows: count, k: k / (source.wideA ? 4 : 1), ldx, ldv, rstep, vstep },
      };
    }
    case "columns": {
      const [amstep, akstep] = source.transA ? [1, lda] : [lda, 1];
      return {
        program: columnsProgram(source, choice),
        groups: Math.ceil(n / 4 / choice.columns),
        fields: { amstep, akstep },
      };
    }
  }
}

function rangeOf({ offset, size }: BufferRef): BufferRange {
  return { ...(offset === undefined ? {} : { offset }), ...(size === undefined ? {} : { size }) };
}
