/**
 * Constants that choose between kernels of GPUs, for adapters with cheap barriers and for those without. The first are
 * set by hand after the times of an NVIDIA H200 (bench/RESULTS.md); the second by timing Mesa's llvmpipe. The ranking of product tiles is
 * in matmul/shared_ranking.ts, written by `deno task gpu write`.
 */
import type { Profile } from "../core/dispatch.ts";

/** Constants of one kind of adapter. */
export interface GpuThresholds {
  /** Invocations that keep it busy: with fewer results, sums are cut into parts. */
  readonly invocations: number;
  /** Lines of a scan, or results of an arg reduction, that keep it busy. */
  readonly lines: number;
  /** Least terms of a part of a sum. */
  readonly partTerms: number;
  /** Most terms that one invocation finishes before a second dispatch begins. */
  readonly oneDispatchTerms: number;
}

const HARDWARE: GpuThresholds = {
  invocations: 131072,
  lines: 4096,
  partTerms: 16,
  oneDispatchTerms: 256,
};

const PROCESSOR: GpuThresholds = {
  invocations: 64,
  lines: 64,
  partTerms: 64,
  oneDispatchTerms: 1024,
};

export function thresholdsOf({ barriers }: Pick<Profile, "barriers">): GpuThresholds {
  return barriers ? HARDWARE : PROCESSOR;
}

/** Least elements for which pointwise kernels by eights are worth programs of their own. */
export const WIDE_ELEMENTS = 16384;
/** Least elements for which several loads an iteration save row kernels more time than their compilation takes. */
export const ROW_ELEMENTS = 8192;
/** Least results of a pooling for enough invocations that make eight. */
export const POOL_RESULTS = 2048;
/** Rows or columns below which a plain copy is as good as a transpose by tiles. */
export const TRANSPOSE_SIDE = 8;
/** Most rows for which searching beats atomic additions in a scatter. */
export const SEARCH_ROWS = 32;
/** Most results for each row for which it does. */
export const SEARCH_PLACES = 16;
/** Least elements of a column reduction without cheap barriers whose rows are taken in runs. */
export const FAR_ELEMENTS: number = 2 ** 18;
/** Least results of a column reduction of which an invocation makes eight. */
export const COLUMN_RESULTS = 256;
/** Least elements for which rows are worth reductions that take eight at once. */
export const REDUCE_ELEMENTS = 16384;
/** Least terms of a dot that is summed by 32 lanes of a GPU together, and not by 8. */
export const DOT_TERMS = 256;
/** Lanes that keep a GPU busy with dots. */
export const DOT_LANES = 65536;
/** Most rows of a product on a GPU that runs along its columns. */
export const COLUMNS_ROWS = 8;
/** Least columns of such a product. */
export const COLUMNS_LEAST = 32;
/** Least terms of one that is cut into 16 slices, and not 4. */
export const COLUMNS_TERMS = 64;
/** Least terms of one that is cut into 32. */
export const SLICED_TERMS = 512;
