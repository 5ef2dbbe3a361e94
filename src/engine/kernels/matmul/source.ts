/** A matrix product to plan, and the parts that its kernel's text depends on; everything else is a uniform. */
import { accDType, type DType } from "../../core/dtype.ts";
import type { BufferRef } from "../../core/dispatch.ts";
import type { Epilogue } from "./epilogue.ts";
import type { MatMulShape } from "./shape.ts";

export interface Stored {
  /** Element type of the operands. */
  readonly dtype: DType;
  /** Element type of the second operand, where it is another: float16 beside float32. */
  readonly dtypeB?: DType;
  /** Element type of the result. */
  readonly out: DType;
  readonly epilogue?: Epilogue | undefined;
}

/** A product, convolution or gradient of one: sums of products of elements of two operands, written to `c`. */
export interface ProductTask extends Stored {
  readonly a: BufferRef;
  readonly b: BufferRef;
  readonly c: BufferRef;
}

export interface MatMulTask extends ProductTask {
  readonly shape: MatMulShape;
  /** The normalization of A's rows, at most {@linkcode MOST_NORMED}. */
  readonly norm?: Normalization | undefined;
}

/** Most rows that a product normalizes itself: each workgroup does so for all of them. */
export const MOST_NORMED = 4;

/** A layer normalization, with an element of scale and offset for each column. */
interface Normalization {
  readonly scale: BufferRef;
  readonly offset: BufferRef;
  readonly epsilon: number;
}

/** Returns the task with its operands only. */
export function bareTask<T extends ProductTask>(task: T): T {
  const bare = { a: { input: 0 }, b: { input: 1 }, c: { output: 0 }, norm: undefined };
  return { ...task, ...bare, epilogue: undefined };
}

/** Returns the task of parts of its sums, which are stored raw in temporary 0. */
export function partOf<T extends ProductTask>(task: T): T {
  return { ...task, c: { temp: 0 }, out: accDType(task.dtype), epilogue: undefined };
}

/** Returns the buffers of a task in the order of their bindings. */
export function buffersOf({ a, b, c, epilogue }: ProductTask): BufferRef[] {
  const { operands = [], write } = epilogue ?? {};
  const own = [a, b, ...operands.map((o) => o.buffer)];
  return write ? [...own, write.index, c, write.into] : [...own, c];
}

/** The accesses of a product that are four wide. */
export interface ProductSource extends Stored {
  /** The first operand is read four at a time along its last axis. */
  readonly wideA: boolean;
  /** The second one likewise. */
  readonly wideB: boolean;
  /** Results are stored four at a time. */
  readonly wideC: boolean;
}

/** Properties that the text of a matrix product depends on. */
export interface MatMulSource extends ProductSource, Pick<MatMulShape, "transA" | "transB"> {
  /** Offset of each row of B from a whole four, relative to the row before: 0, or B is read by fours nevertheless. */
  readonly skewB: number;
  /** `k` may not be a multiple of 4. */
  readonly tail: boolean;
  /** Axes of the loop over products; 0 for one product. */
  readonly batchRank: number;
  /** True: adds to the contents of C. */
  readonly accumulate: boolean;
  /** True: several invocations share a sum; each stores its part. */
  readonly split: boolean;
  /** Adds the parts of rows that are normalized; null where none are. */
  readonly norm: NormParts | null;
}

/** The invocations that share a row to normalize. */
export interface NormParts {
  /** 0: each has all of it; 1: they add their parts in a subgroup; 2: in a workgroup. */
  readonly add: 0 | 1 | 2;
  readonly lanesOfRow: number;
}
