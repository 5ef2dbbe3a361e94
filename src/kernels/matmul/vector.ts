/**
 * Products of a matrix and a few vectors, which are bound by reading the matrix once.
 * `dotProgram` reads it along `k`, `columnsProgram` across.
 */
import type { Program } from "../../core/dispatch.ts";
import { accType, isHalf, vec } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import { MATMUL_COLUMNS_FEW, MATMUL_DOT } from "../../shaders_generated.ts";
import { printEpilogue } from "./epilogue.ts";
import { elementType } from "./text.ts";
import type { MatMulSource } from "./source.ts";

/** What shapes a dot kernel besides its source. */
export interface DotTile {
  /** The matrix is B, its rows are columns of the result; else it is A. */
  readonly matrixIsB: boolean;
  /** Number of vectors, at most 4. */
  readonly vectors: number;
  /** Matrix rows an invocation sums. */
  readonly rows: number;
  /** Invocations that share a row. */
  readonly lanes: number;
  /** Invocations of a workgroup; a multiple of `lanes`. */
  readonly threads: number;
}

/** Rows of one operand times vectors, all contiguous along `k`. Both operands are read four at a time, or neither. */
export function dotProgram(source: MatMulSource, tile: DotTile): Program {
  const { dtype, out, wideA: wide, batchRank } = source;
  const acc = accType(dtype), finish = printEpilogue(source.epilogue, dtype, out, 1, 2);
  return shaderProgram(MATMUL_DOT, {
    ...tile,
    element: elementType(dtype, wide),
    c: finish.output,
    acc,
    sum: vec(acc, wide ? 4 : 1),
    wide,
    half: isHalf(dtype),
    batchRank,
    finish: finish.prelude,
  }, {
    name: `matmul_dot_${tile.matrixIsB ? "b" : "a"}${tile.vectors}`,
    inputs: finish.inputs,
  });
}

/** What shapes a columns kernel besides its source. */
export interface ColumnsTile {
  /** Rows of the result. */
  readonly rows: number;
  /** Vectors of 4 columns in a workgroup. */
  readonly columns: number;
  /** Invocations that share a column. */
  readonly slices: number;
}

/** Few rows times a matrix `[k, n]` read four columns at a time; the workgroup's slices of `k` are summed at the end. */
export function columnsProgram(source: MatMulSource, tile: ColumnsTile): Program {
  const { dtype, out, wideB, wideC, batchRank } = source;
  const finish = printEpilogue(source.epilogue, dtype, out, wideC ? 4 : 1, 2);
  return shaderProgram(MATMUL_COLUMNS_FEW, {
    ...tile,
    a: elementType(dtype, false),
    b: elementType(dtype, wideB),
    c: finish.output,
    acc: accType(dtype),
    wideB,
    wideC,
    half: isHalf(dtype),
    batchRank,
    finish: finish.prelude,
  }, { name: `matmul_columns_${tile.rows}`, inputs: finish.inputs });
}
