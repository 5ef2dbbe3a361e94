/** Shapes of products of (batches of) matrices, for kernels. */
import { type Shape, sizeOf } from "../../core/shape.ts";
import { collapseBroadcast, type Walk } from "../pointwise/broadcast.ts";

/** A batched product `C[m,n] = A[m,k] · B[k,n]`, either operand stored transposed. */
export interface MatMulShape {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** True: A is stored `[k, m]`. */
  readonly transA: boolean;
  /** True: B is stored `[n, k]`. */
  readonly transB: boolean;
  readonly batch: number;
  /** Loop over the products; strides of A and B count matrices. */
  readonly walk: Walk;
}

/**
 * Returns the product of two arrays of rank 2 or more; the axes before the last two broadcast. Rows of A are joined
 * over the batches where all of them meet the same B.
 */
export function matMulShape(
  a: Shape,
  b: Shape,
  out: Shape,
  transA: boolean,
  transB: boolean,
): MatMulShape {
  const m = a[a.length - (transA ? 1 : 2)];
  const k = a[a.length - (transA ? 2 : 1)];
  const n = b[b.length - (transB ? 2 : 1)];
  const batches = out.slice(0, -2), batch = sizeOf(batches);
  const ofA = a.slice(0, -2), ofB = b.slice(0, -2);
  if (batch > 1 && !transA && sizeOf(ofB) === 1 && sizeOf(ofA) === batch) {
    return flatShape([m * batch, n, k], transA, transB);
  }
  return { m, n, k, transA, transB, batch, walk: collapseBroadcast(batches, [ofA, ofB]) };
}

export function flatShape(
  [m, n, k]: readonly [number, number, number],
  transA: boolean,
  transB: boolean,
): MatMulShape {
  return { m, n, k, transA, transB, batch: 1, walk: { dims: [1], strides: [[0], [0]] } };
}

/** Returns the numbers of the matrices of A and B of each product. */
export function matrixPairs(
  { batch, walk }: Pick<MatMulShape, "batch" | "walk">,
): { a: number; b: number }[] {
  const { dims, strides } = walk;
  return Array.from({ length: batch }, (_, i) => {
    let a = 0, b = 0, rest = i;
    for (let d = dims.length - 1; d >= 0; d--) {
      const x = rest % dims[d];
      rest = Math.floor(rest / dims[d]);
      a += x * strides[0][d];
      b += x * strides[1][d];
    }
    return { a, b };
  });
}

/** Returns the numbers of the matrices of A and B that meet where their batches broadcast. */
export function batchPairs(a: Shape, b: Shape, out: Shape): { a: number; b: number }[] {
  const batches = out.slice(0, -2);
  const walk = collapseBroadcast(batches, [a.slice(0, -2), b.slice(0, -2)]);
  return matrixPairs({ batch: sizeOf(batches), walk });
}

/** Returns the numbers of matrices of A and of B. */
export function matrixCounts(shape: MatMulShape): { a: number; b: number } {
  const pairs = matrixPairs(shape);
  const largest = (of: "a" | "b"): number => pairs.reduce((most, p) => Math.max(most, p[of]), 0);
  return { a: 1 + largest("a"), b: 1 + largest("b") };
}
