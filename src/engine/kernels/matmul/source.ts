/**
 * A matrix product to plan, and what decides the text of its kernel; everything else is a uniform.
 */
import type { DType } from "../../core/dtype.ts";
import type { BufferRef } from "../../core/dispatch.ts";
import { accDType } from "../../core/gpu_storage.ts";
import type { Epilogue } from "./epilogue.ts";
import type { MatMulShape } from "./shape.ts";

export interface Stored {
  /** Element type of both operands. */
  readonly dtype: DType;
  /** Element type of the result. */
  readonly out: DType;
  readonly epilogue?: Epilogue | undefined;
}

/** A product, convolution or gradient of one: sums of products of elements of two operands, which go to `c`. */
export interface ProductTask extends Stored {
  readonly a: BufferRef;
  readonly b: BufferRef;
  readonly c: BufferRef;
}

export interface MatMulTask extends ProductTask {
  readonly shape: MatMulShape;
}

/** The task with nothing but its operands. */
export function bareTask<T extends ProductTask>(task: T): T {
  return { ...task, a: { input: 0 }, b: { input: 1 }, c: { output: 0 }, epilogue: undefined };
}

/** The task of parts of its sums, which go to temporary 0 as they are. */
export function partOf<T extends ProductTask>(task: T): T {
  return { ...task, c: { temp: 0 }, out: accDType(task.dtype), epilogue: undefined };
}

/** The buffers of a task in the order of their bindings. */
export function buffersOf({ a, b, c, epilogue }: ProductTask): BufferRef[] {
  return [a, b, ...(epilogue?.operands ?? []).map((o) => o.buffer), c];
}

/** Which accesses of a product are four wide. */
export interface ProductSource extends Stored {
  /** The first operand is read four at a time along its last axis. */
  readonly wideA: boolean;
  /** The second one likewise. */
  readonly wideB: boolean;
  /** Results are stored four at a time. */
  readonly wideC: boolean;
}

/** Facts that shape the text of a matrix product. */
export interface MatMulSource extends ProductSource, Pick<MatMulShape, "transA" | "transB"> {
  /** Elements by which each row of B begins further from a whole four than the row before: 0, or B is read by fours nevertheless. */
  readonly skewB: number;
  /** `k` may not be a multiple of 4. */
  readonly tail: boolean;
  /** Axes of the loop over products; 0 for one product. */
  readonly batchRank: number;
  /** Adds to what C holds. */
  readonly accumulate: boolean;
  /** Several invocations share a sum; each stores its part. */
  readonly split: boolean;
}
