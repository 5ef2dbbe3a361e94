/** The programs of matrix products, shaders/matmul/, and the parts that they share with convolutions. */
import type { DType } from "../../core/dtype.ts";
import type { Profile, Program } from "../../core/dispatch.ts";
import { type AccType, accType, isHalf, vec, wgslType } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import {
  MATMUL_COLUMNS_FEW,
  MATMUL_DOT,
  MATMUL_REGISTER,
  MATMUL_TILED,
} from "../../../shaders_generated.ts";
import { printEpilogue } from "./epilogue.ts";
import type { MatMulSource, ProductSource } from "./source.ts";
import type { SharedTile } from "./tiled.ts";
import type { RegisterTile } from "./tiles.ts";

/** Returns the WGSL type of a buffer of this dtype read one or four at a time. */
export function elementType(dtype: DType, wide: boolean): string {
  return vec(wgslType(dtype), wide ? 4 : 1);
}

/**
 * Returns the common parameters of products' texts, for operands, sums and results, and the types of an epilogue's
 * operands.
 */
export function printProduct(
  { dtype, dtypeB = dtype, out, wideA, wideB, wideC, epilogue }: ProductSource,
  first = 2,
): {
  readonly texts: {
    readonly a: string;
    readonly b: string;
    readonly c: string;
    readonly acc: AccType;
    readonly half: boolean;
    readonly halfB: boolean;
    readonly finish: string;
  };
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
} {
  const finish = printEpilogue(epilogue, dtype, out, wideC ? 4 : 1, first);
  return {
    texts: {
      a: elementType(dtype, wideA),
      b: elementType(dtypeB, wideB),
      c: finish.output,
      acc: accType(dtype),
      half: isHalf(dtype),
      halfB: isHalf(dtypeB),
      finish: finish.prelude,
    },
    inputs: finish.inputs,
    outputs: finish.outputs,
  };
}

/** Returns the parameters of kernels with register tiles: the lanes of a workgroup may load rows together. */
export function registerParameters(
  { rows, vecs, across = 0 }: RegisterTile,
  { lanes }: Profile,
): Required<RegisterTile> & Pick<Profile, "lanes"> {
  return { rows, vecs, across, lanes };
}

/** Returns the additions to such a kernel's text: name, inputs and directives. */
export function registerAdditions(
  family: string,
  inputs: readonly string[],
  { rows, vecs, across }: RegisterTile,
  { subgroupDirective }: Profile,
): { name: string; inputs: readonly string[]; enable: string[] } {
  const enable = across !== undefined && subgroupDirective ? ["enable subgroups;"] : [];
  return { name: `${family}_register_${rows}x${vecs * 4}`, inputs, enable };
}

/**
 * Makes a program with a tile of sums in each invocation's registers: the lanes of a workgroup are lanes of a
 * processor's vectors.
 */
export function registerProgram(
  source: MatMulSource,
  tile: RegisterTile,
  profile: Profile,
): Program {
  const own = { ...source, wideB: source.wideB || source.skewB > 0 };
  const { texts, inputs, outputs, norm } = printMatMul(own);
  const additions = registerAdditions("matmul", inputs, tile, profile);
  const enable = norm.add === 1 && profile.subgroupDirective ? ["enable subgroups;"] : [];
  return shaderProgram(
    MATMUL_REGISTER,
    { ...own, ...registerParameters(tile, profile), ...texts, ...norm },
    { ...additions, outputs, enable: [...new Set([...additions.enable, ...enable])] },
  );
}

/** Returns the same of a matrix product, whose rows may be normalized. */
function printMatMul(source: MatMulSource) {
  const { norm, dtype, wideA } = source, own = norm ? [dtype, dtype] : [];
  const { texts, inputs, outputs } = printProduct(source, 2 + own.length);
  return {
    texts,
    outputs,
    inputs: [...own.map((t) => elementType(t, wideA)), ...inputs],
    norm: { norm: norm !== null, add: norm?.add ?? 0, lanesOfRow: norm?.lanesOfRow ?? 1 },
  };
}

/** Makes a program whose workgroups stage blocks of both operands in their memory. */
export function sharedProgram(source: MatMulSource, tile: SharedTile): Program {
  const { texts, inputs, outputs } = printProduct(source);
  return shaderProgram(MATMUL_TILED, { ...source, ...tile, ...texts }, {
    name: `matmul_shared_${tile.bm}x${tile.bn}`,
    inputs,
    outputs,
  });
}

export interface DotTile {
  /** True where the matrix is B, whose rows are columns of the result; else it is A. */
  readonly matrixIsB: boolean;
  /** Number of vectors, at most 4. */
  readonly vectors: number;
  /** Matrix rows that an invocation sums. */
  readonly rows: number;
  /** Invocations that share a row. */
  readonly lanes: number;
  /** Invocations of a workgroup; a multiple of `lanes`. */
  readonly threads: number;
}

/**
 * Makes a program of rows of one operand times vectors, all contiguous along `k`. Both operands are read four at a
 * time, or neither.
 */
export function dotProgram(
  source: MatMulSource,
  tile: DotTile,
  { subgroupDirective: directive }: Profile,
): Program {
  const { wideA: wide } = source, { texts, inputs, outputs, norm } = printMatMul(source);
  return shaderProgram(MATMUL_DOT, {
    ...source,
    ...tile,
    ...texts,
    sum: vec(texts.acc, wide ? 4 : 1),
    wide,
    ...norm,
  }, {
    name: `matmul_dot_${tile.matrixIsB ? "b" : "a"}${tile.vectors}`,
    inputs,
    outputs,
    enable: norm.add === 1 && directive ? ["enable subgroups;"] : [],
  });
}

export interface ColumnsTile {
  readonly rows: number;
  /** Vectors of 4 columns in a workgroup. */
  readonly columns: number;
  /** Invocations that share a column. */
  readonly slices: number;
}

/**
 * Makes a program of few rows times a matrix `[k, n]` read four columns at a time; the workgroup's slices of `k` are
 * summed at the end.
 */
export function columnsProgram(source: MatMulSource, tile: ColumnsTile): Program {
  const { texts, inputs, outputs, norm } = printMatMul(source);
  return shaderProgram(MATMUL_COLUMNS_FEW, { ...source, ...tile, ...texts, ...norm }, {
    name: `matmul_columns_${tile.rows}`,
    inputs,
    outputs,
  });
}
