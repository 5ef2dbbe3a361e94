/**
 * Constants that choose between kernels of GPUs, for adapters with cheap barriers and for those without. The first were set by hand,
 * as no GPU has been measured yet; the second by timing Mesa's llvmpipe. What ranks tiles of products is matmul/shared_ranking.ts,
 * written by `deno task gpu write`.
 */
import type { Profile } from "../core/dispatch.ts";

/** Constants of one kind of adapter. */
export interface GpuThresholds {
  /** Invocations that keep it busy: fewer results than that have their sums cut into parts. */
  readonly invocations: number;
  /** Lines of a scan, or results of an arg reduction, that keep it busy. */
  readonly lines: number;
  /** Terms that a part of a sum has at least. */
  readonly partTerms: number;
  /** Terms up to which one invocation is done before a second dispatch begins. */
  readonly oneDispatchTerms: number;
}

const HARDWARE: GpuThresholds = {
  invocations: 16384,
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

/** Elements from which pointwise kernels that go by eights are worth programs of their own. */
export const WIDE_ELEMENTS = 16384;
/** Elements from which several loads an iteration save row kernels more time than their text takes to compile. */
export const ROW_ELEMENTS = 8192;
/** Results of a pooling from which there are enough invocations that make eight. */
export const POOL_RESULTS = 2048;
/** Rows or columns below which a plain copy is as good as a transpose by tiles. */
export const TRANSPOSE_SIDE = 8;
/** Rows up to which searching beats atomic additions in a scatter. */
export const SEARCH_ROWS = 32;
/** Results for each row up to which it does. */
export const SEARCH_PLACES = 16;
/** Elements of a column reduction without cheap barriers from which its rows are taken in runs. */
export const FAR_ELEMENTS: number = 2 ** 18;
/** Results of a column reduction from which an invocation makes eight. */
export const COLUMN_RESULTS = 256;
/** Elements from which rows are worth reductions that take eight at once. */
export const REDUCE_ELEMENTS = 16384;
/** Terms from which a dot is summed by 32 lanes of a GPU together, and not by 8. */
export const DOT_TERMS = 256;
/** Rows up to which a product on a GPU goes along its columns. */
export const COLUMNS_ROWS = 8;
/** Columns that such a product has at least. */
export const COLUMNS_LEAST = 32;
/** Terms from which it is cut into 16 slices, and not 4. */
export const COLUMNS_TERMS = 64;
