/**
 * A matrix product to plan, and what decides the text of its kernel; everything else is a uniform.
 */
import type { DType } from "../../core/dtype.ts";
import type { BufferRef } from "../../core/dispatch.ts";
import type { Epilogue } from "./epilogue.ts";
import type { MatMulShape } from "./shape.ts";

/** A product to plan. */
export interface MatMulTask {
  /** Extents. */
  readonly shape: MatMulShape;
  /** Element type of A and B. */
  readonly dtype: DType;
  /** Element type of C. */
  readonly out: DType;
  /** Where A lies. */
  readonly a: BufferRef;
  /** Where B lies. */
  readonly b: BufferRef;
  /** Where C goes. */
  readonly c: BufferRef;
  /** What happens before a store. */
  readonly epilogue?: Epilogue | undefined;
}

/** Facts that shape the text. */
export interface MatMulSource {
  /** Element type of A and B. */
  readonly dtype: DType;
  /** Element type stored. */
  readonly out: DType;
  /** A is stored `[k, m]`. */
  readonly transA: boolean;
  /** B is stored `[n, k]`. */
  readonly transB: boolean;
  /** A is read four at a time along its last axis. */
  readonly wideA: boolean;
  /** B likewise. */
  readonly wideB: boolean;
  /** Elements by which each row of B begins further from a whole four than the row before: 0, or B is read by fours nevertheless. */
  readonly skewB: number;
  /** C is stored four at a time. */
  readonly wideC: boolean;
  /** `k` may not be a multiple of 4. */
  readonly tail: boolean;
  /** Axes of the loop over products; 0 for one product. */
  readonly batchRank: number;
  /** Adds to what C holds. */
  readonly accumulate: boolean;
  /** Several invocations share a sum; each stores its part. */
  readonly split: boolean;
  /** What happens before a store. */
  readonly epilogue?: Epilogue | undefined;
}
