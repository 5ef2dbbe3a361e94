/** Matrix products of dense matrices, stored either way, in batches that broadcast. */
import { DTYPES } from "../../../core/dtype.ts";
import type { Epilogue } from "../../../core/fusion.ts";
import type { Problem } from "../../../core/op.ts";
import { argument, type Expr, scalar } from "../../../core/scalar/expr.ts";
import type { ConcreteSpec } from "../../../core/tensor_spec.ts";
import { type MatMulShape, matMulShape, matrixPairs } from "../../../kernels/matmul/shape.ts";
import { evenBlocks, roundUp } from "../blocks.ts";
import type { Engine, WasmCall } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { Pointer } from "../heap.ts";
import { prepareInFloat32, prepareWidened } from "../in_float32.ts";
import { preparePointwise } from "../pointwise/pointwise.ts";
import { movedOperands } from "./epilogue.ts";
import { panelArguments, panelKernel } from "./gemm_kernel.ts";
import type { LevelsOfB } from "./gemm_levels.ts";
import { packing } from "./gemm_pack.ts";
import { prepareQuads } from "./gemm_quads.ts";
import { RowTable, tablesOf } from "./gemm_rows.ts";
import { isSmall, prepareSmall, type Product } from "./gemm_small.ts";
import {
  operandsFrom,
  type PackB,
  prepareSums,
  type RowsHere,
  type SumsItem,
} from "./gemm_sums.ts";
import type { Terms } from "./gemm_terms.ts";
import { prepareWide } from "./gemm_wide.ts";
import { prepareHalfThin } from "./half_thin.ts";
import { prepareThin } from "./gemm_thin.ts";
import { BLOCK_DEPTH, BLOCK_ROWS, LAST, PANEL_BYTES, panelRows } from "./gemm_tile.ts";
import { THRESHOLDS } from "../thresholds.ts";

/** Rows that are transposed at once where A is stored transposed. */
const BLOCK_TURNED = 192;

/** Most bytes of a batch's matrices that are computed together. */
const BATCH_BYTES = 1 << 20;

/** Prepares a product: of A, B, and the operands of the epilogue, which is applied to each sum. */
export function prepareProduct(engine: Engine, product: Product, epilogue?: Epilogue): FastRun {
  const { m, n, k, transA, terms } = product;
  if (m === 0 || n === 0) return () => {};
  if (k > 0 && (!epilogue || !isDirect(product))) {
    if (m <= THRESHOLDS.thinRows && (m === 1 || !transA)) {
      // A single column has the layout of a single row.
      const thin = prepareThin(engine, { m, n, k, transB: product.transB || n === 1, terms });
      const whole = epilogue ? finished(engine, thin, { m, n, own: 2, epilogue }) : thin;
      // B is not worth packing for so few rows, but faster to read where it is packed.
      if (product.transB || n === 1 || isDirect(product)) return whole;
      return withPacked(whole, prepareBlocks(engine, product, epilogue, 1), true);
    }
    if (n === 1 && !epilogue) {
      // A matrix times a vector is that vector times the transposed matrix.
      const turned = prepareThin(engine, { m: 1, n: m, k, transB: !transA, terms });
      return (outs, [a, b]) => turned(outs, [b, a]);
    }
  }
  if (isDirect(product) && k <= BLOCK_DEPTH && m * n * k <= THRESHOLDS.sharedProduct) {
    return prepareDirect(engine, product, epilogue);
  }
  const blocks = prepareBlocks(engine, product, epilogue, 1);
  return withPacked(([c], [a, b, ...operands]) => blocks.run([{ a, b, c }], operands), blocks);
}

/** Combines a product and the blocks that compute it where B is packed. `differs`: they add in another order. */
function withPacked(
  product: FastRun,
  { run, packed, levels, ofWhole }: Blocks,
  differs = false,
): FastRun {
  if (packed === null) return product;
  const by = (how: BlocksOf): FastRun => ([c], [a, b, ...operands]) =>
    run([{ a, b, c }], operands, how);
  const ofLevels = levels &&
    { levels: { ...levels, run: ofWhole(by({ isLevels: true }), levels) } };
  const form = { ...packed, input: 1, run: by({ isPacked: true }), differs, ...ofLevels };
  return Object.assign(product, { form });
}

/** The contents of each B: panels, levels, or numbers that are packed. */
type BlocksOf = Readonly<Partial<Record<"isPacked" | "isLevels", boolean>>>;

/** Combines a product of `own` inputs and an epilogue on its stored sums. */
export function finished(
  engine: Engine,
  product: FastRun,
  { m, n, own, epilogue }: Readonly<Record<"m" | "n" | "own", number>> & {
    readonly epilogue: Epilogue;
  },
): FastRun {
  const shapes = { all: [], column: [n], element: [m, n] };
  const sums: ConcreteSpec = { dtype: "float32", shape: [m, n] };
  const further = epilogue.operands.map(({ dtype, per }) => ({ dtype, shape: shapes[per] }));
  const finish = preparePointwise(engine, [epilogue.expr], [sums, ...further], [m, n])!;
  return (outs, ins) => {
    product(outs, ins);
    finish(outs, [outs[0], ...ins.slice(own)]);
  };
}

/** True where B need not be packed. */
function isDirect({ m, n, k, transB }: Product): boolean {
  const bytes = 4 * k * n;
  return !transB &&
    (bytes <= THRESHOLDS.nearBytes ||
      (m <= THRESHOLDS.directRows && bytes <= THRESHOLDS.directBytes));
}

/** Prepares small products: one block without packing or threads, so there is little to prepare. */
function prepareDirect(engine: Engine, product: Product, epilogue?: Epilogue): FastRun {
  const { m, n, k, transA } = product;
  const { heap } = engine;
  const turn = transA ? turner(engine, m, k) : null;
  const table = new RowTable(engine, m, (i) => i * (turn?.step ?? 4 * k), (i) => 4 * n * i);
  const kernels = table.groups.map((group) => ({
    group,
    run: panelKernel(engine, group.rows, "direct", epilogue, product.terms),
  }));
  const tableBytes = roundUp(table.bytes);
  const bytes = 64 + tableBytes + (turn ? turn.listBytes + roundUp(turn.step * m) : 0);
  return ([c], [a, b, ...operands]) => {
    const segments = engine.scratch(bytes), panels = segments + 64, list = panels + tableBytes;
    heap.i32[segments >>> 2] = 0;
    table.put(heap, panels);
    let aBase = a;
    if (turn) {
      turn.putList(list);
      aBase = list + turn.listBytes;
      const [run, args] = turn.call(aBase, list, a, k, m);
      run(...args);
    }
    for (const { group: { at, count }, run } of kernels) {
      const args = panelArguments({
        panels: panels + at,
        count,
        segments,
        segmentCount: k === 0 ? 0 : 1,
        segmentBytes: 4 * k,
        aBase,
        b,
        bStep: 4 * n,
        bPanelStep: PANEL_BYTES,
        cBase: c,
        columns: n,
        mode: LAST,
        operands: operandsFrom(epilogue, operands, c),
      });
      run(...args);
    }
  };
}

/** The matrices of one product. */
type Matrices = Readonly<Record<"a" | "b" | "c", Pointer>>;

type Blocks = ReturnType<typeof prepareBlocks>;

/** Prepares blocks of up to `most` products of the same shape at once, with the packing of each B. */
function prepareBlocks(
  engine: Engine,
  { m, n, k, transA, transB, terms }: Product,
  epilogue: Epilogue | undefined,
  most: number,
) {
  const turn = transA ? turner(engine, m, k) : null;
  const blocks = evenBlocks(m, turn ? BLOCK_TURNED : BLOCK_ROWS, panelRows(engine));
  const tables = tablesOf(engine, blocks, (i) => i * (turn?.step ?? 4 * k), (i) => 4 * n * i);
  const direct = isDirect({ m, n, k, transA, transB });
  const sums = prepareSums(engine, {
    columns: n,
    segments: k === 0 ? [] : [0],
    length: k,
    tables: [...tables.values()],
    pack: direct ? null : transB ? packTransposed(engine, k) : "rows",
    epilogue,
    terms,
  });
  const more = turn ? turn.listBytes + most * turn.rowsBytes : 0;
  const run = (
    products: readonly Matrices[],
    operands: readonly Pointer[],
    how: BlocksOf = {},
  ): void => {
    const own = sums.bytes(how.isPacked ? 0 : most), work = engine.scratch(own + more);
    const at = work + own;
    turn?.putList(at);
    const items = products.map(({ a, b, c }, item): SumsItem => ({
      b,
      rows: blocks.map(({ from, size }): RowsHere => {
        const here = { table: tables.get(size)!, c: c + 4 * n * from };
        if (!turn) return { ...here, a: () => a + 4 * k * from };
        const turned = at + turn.listBytes + item * turn.rowsBytes;
        return {
          ...here,
          // Addresses are relative to the segment's first element.
          a: (depth) => turned - 4 * depth.start,
          turn: (d) => [turn.call(turned, at, a + 4 * (d.from * m + from), d.size, size)],
        };
      }),
    }));
    sums.run(work, items, operandsFrom(epilogue, operands, products[0].c), how);
  };
  const ofWhole = (otherwise: FastRun, levels: LevelsOfB): FastRun =>
    transA ? otherwise : prepareQuads(engine, { m, n, k, levels, epilogue, otherwise });
  return { run, packed: sums.packed, levels: sums.levels, ofWhole };
}

/** Transposes blocks of an A that is stored `[k, m]`. */
function turner(engine: Engine, m: number, k: number) {
  const pack = packing(engine);
  const depth = Math.min(k, 260);
  // Rows have an odd number of vectors: else they would collide in the same cache lines.
  const step = (depth | 4) * 4 + 16;
  return {
    step,
    listBytes: roundUp(4 * depth),
    rowsBytes: roundUp(step * Math.min(m, BLOCK_TURNED)),
    /** Writes the pointers of A's rows, from the first wanted element. */
    putList: (list: Pointer): void => void pack.ramp(list, depth, 0, 4 * m),
    call: (to: Pointer, list: Pointer, first: Pointer, size: number, rows: number): WasmCall => [
      pack.turn,
      [to, step, list, first, size, rows],
    ],
  };
}

/** Packs a B that is stored `[n, k]`. */
function packTransposed(engine: Engine, k: number): PackB {
  const pack = packing(engine);
  return (to, b, depth, columns, step) => {
    const from = b + 4 * (columns.from * k + depth.from);
    return [[pack.columns, [to, from, depth.size, columns.size, 4 * k, step]]];
  };
}

/** Prepares products of matrices and batches; `epilogue` reads the inputs after the first two. */
export function prepareMatMul(
  engine: Engine,
  problem: Problem,
  epilogue?: Epilogue,
): FastRun | null {
  const { inputs: [a, b], outputs: [out], attrs } = problem, terms = termsOf([a, b, out]);
  const transA = attrs.transpose_a ?? attrs.adj_x, transB = attrs.transpose_b ?? attrs.adj_y;
  const shape = matMulShape(a.shape, b.shape, out.shape, transA, transB);
  if (shape.batch === 0) return () => {};
  if (terms === null) {
    if (a.dtype === "float16") return prepareHalf(engine, shape, problem, epilogue);
    if (epilogue) return null;
    return DTYPES[a.dtype].bytes === 1
      ? prepareBytes(engine, problem)
      : prepareWide(engine, shape, problem);
  }
  if (shape.k === 1 && !epilogue) return prepareOuter(engine, [a, b, out]);
  if (shape.batch > 1) {
    // Few rows, or one column, are faster alone than with an epilogue.
    if (epilogue && (shape.m <= THRESHOLDS.thinRows || shape.n === 1)) return null;
    return prepareBatches(engine, { ...shape, terms }, epilogue);
  }
  return prepareProduct(engine, { ...shape, terms }, epilogue);
}

/** Prepares products of float16 with few rows; others are faster once their operands are float32. */
function prepareHalf(
  engine: Engine,
  shape: MatMulShape,
  { inputs: [a, b], outputs: [{ dtype: result }] }: Problem,
  epilogue: Epilogue | undefined,
): FastRun | null {
  const { m, n, k, batch, transA, transB } = shape;
  if (batch > 1 || m > THRESHOLDS.thinRows || (transA && m > 1) || m * n * k === 0) return null;
  const sums: ConcreteSpec = { dtype: "float32", shape: [m, n] };
  const attrs = { transpose_a: transA, transpose_b: transB };
  const otherwise = prepareInFloat32(
    engine,
    { inputs: [a, b], hosts: [undefined, undefined], outputs: [sums], attrs },
    (wide) => prepareMatMul(engine, wide),
    converted(engine),
  );
  return otherwise && prepareHalfThin(engine, { ...shape, epilogue, otherwise, result });
}

/** Prepares products of bytes as products of int32, whose lowest bytes are theirs. */
function prepareBytes(engine: Engine, problem: Problem): FastRun | null {
  const whole = (spec: ConcreteSpec): ConcreteSpec => ({ ...spec, dtype: "int32" });
  const { inputs, outputs } = problem;
  if (inputs.some(({ dtype }) => dtype !== "int8" && dtype !== "uint8")) return null;
  const wide = { ...problem, inputs: inputs.map(whole), outputs: outputs.map(whole) };
  return prepareWidened(engine, problem, wide, (p) => prepareMatMul(engine, p), converted(engine));
}

function converted(engine: Engine) {
  return ({ inputs, outputs: [{ shape }] }: Problem, expr: Expr): FastRun | null =>
    preparePointwise(engine, [expr], inputs, shape);
}

/** Returns the kind of elements that vector code multiplies; null for others. */
function termsOf(specs: readonly ConcreteSpec[]): Terms | null {
  if (specs.every(({ dtype }) => dtype === "float32")) return "float32";
  return specs.every(({ dtype }) => dtype === "int32" || dtype === "uint32") ? "int32" : null;
}

/** Prepares outer products: columns times rows, broadcast. */
export function prepareOuter(
  engine: Engine,
  [a, b, { shape }]: readonly ConcreteSpec[],
): FastRun | null {
  const [rows, columns] = shape.slice(-2);
  return preparePointwise(engine, [PRODUCT], [
    { ...a, shape: [...a.shape.slice(0, -2), rows, 1] },
    { ...b, shape: [...b.shape.slice(0, -2), 1, columns] },
  ], shape);
}
const PRODUCT = scalar.mul(argument(0), argument(1));

function prepareBatches(
  engine: Engine,
  shape: MatMulShape & Pick<Product, "terms">,
  epilogue?: Epilogue,
): FastRun {
  const { m, n, k } = shape;
  const pairs = matrixPairs(shape).map(({ a, b }, i): Matrices => ({
    a: 4 * a * m * k,
    b: 4 * b * k * n,
    c: 4 * i * m * n,
  }));
  if (m === 0 || n === 0) return () => {};
  if (!epilogue && isSmall(shape)) {
    return prepareSmall(engine, shape, matrixPairs(shape));
  }
  const beside = (operands: readonly Pointer[], c: number): readonly Pointer[] =>
    movedOperands(epilogue, operands, "element", c);
  // Matrices that are packed together stay in the second cache together.
  const together = Math.max(1, Math.min(64, Math.floor(BATCH_BYTES / (4 * (k * n + m * k)))));
  if (together === 1 || m <= THRESHOLDS.thinRows || n === 1) {
    const product = prepareProduct(engine, shape, epilogue);
    return ([c], [a, b, ...operands]) =>
      pairs.forEach((p) => product([c + p.c], [a + p.a, b + p.b, ...beside(operands, p.c)]));
  }
  const blocks = prepareBlocks(engine, shape, epilogue, together);
  return ([c], [a, b, ...operands]) => {
    for (let first = 0; first < pairs.length; first += together) {
      const some = pairs.slice(first, first + together);
      const matrices = some.map((p) => ({ a: a + p.a, b: b + p.b, c: c + p.c }));
      blocks.run(matrices, beside(operands, some[0].c));
    }
  };
}
