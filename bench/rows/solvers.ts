// Linear algebra: triangular systems, roots, factors, determinants and inverses, large ones and batches of small ones. jax-js compiles no
// triangular systems, nor what it makes of them.

import type { Tensor } from "@tensorflow/tfjs-core";
import { type OpRow, opRow, type Values } from "../op_row.ts";
import type { Tf } from "../peers/tfjs.ts";
import { normals, spread } from "../random.ts";
import { matmul64 } from "../reference.ts";
import type { Row, Sample } from "../row.ts";

const SIDE = 512, BATCH = 32, SMALL = 64;

/** The functions of Weft's `tf.linalg`, which TensorFlow.js lacks. */
interface Solvers {
  triangularSolve(a: Tensor, b: Tensor): Tensor;
  cholesky(a: Tensor): Tensor;
  solve(a: Tensor, b: Tensor): Tensor;
  inv(a: Tensor): Tensor;
  det(a: Tensor): Tensor;
  lu(a: Tensor): [Tensor, Tensor];
}
const linalg = (tf: Tf): Solvers => tf.linalg as unknown as Solvers;

/** A lower triangle that divides by about 1. */
function triangle(n: number): Float32Array<ArrayBuffer> {
  const x = normals(n * n, 1, 0.5 / Math.sqrt(n));
  for (let i = 0; i < n; i++) x.fill(0, i * n + i, (i + 1) * n)[i * n + i] = 1 + i % 7 / 1000;
  return x;
}

/** The product of a triangle and its transpose. */
function symmetric(root: Float32Array, n: number): Float32Array<ArrayBuffer> {
  const turned = root.map((_, i) => root[i % n * n + Math.floor(i / n)]!);
  return Float32Array.from(matmul64(root, turned, [n, n, n]));
}

/** Matrices with solutions and the right sides of these. */
function systems(
  count: number,
  n: number,
  make: (z: number) => Float32Array,
): { values: Values; solution: Float32Array } {
  const solution = normals(count * n * n, 2), a = new Float32Array(count * n * n);
  const b = new Float32Array(count * n * n);
  for (let z = 0; z < count; z++) {
    const at = z * n * n, own = make(z);
    a.set(own, at);
    b.set(matmul64(own, solution.subarray(at, at + n * n), [n, n, n]), at);
  }
  return { values: [a, b], solution };
}

/** A row without a column of TensorFlow.js, which solves nothing. */
function rowOf(op: OpRow): Row {
  const { tfjs: _, ...row } = opRow(op);
  return row;
}

const some = (of: ArrayLike<number>): Sample[] =>
  spread(of.length).map((index) => ({ index, value: of[index]! }));

/** A row of systems; what they are solved by is a triangle, or its product with its transpose. */
function solved(
  id: string,
  [count, n]: readonly [number, number],
  isTriangular: boolean,
  flop: number,
): Row {
  const shape = count === 1 ? [n, n] : [count, n, n];
  const make = () => isTriangular ? triangle(n) : symmetric(triangle(n), n);
  let made: ReturnType<typeof systems> | undefined;
  const all = () => made ??= systems(count, n, make);
  return rowOf({
    id,
    what: `${isTriangular ? "triangular systems" : "systems"} [${shape}] of [${shape}]`,
    flop,
    devices: ["cpu"],
    inputs: [shape, shape],
    makeInputs: () => all().values,
    tf: (tf, a, b) => linalg(tf)[isTriangular ? "triangularSolve" : "solve"](a!, b!),
    expected: () => some(all().solution),
    tolerance: 1e-3,
  });
}

/** A row of one symmetric matrix. */
function ofMatrix(
  id: string,
  what: string,
  flop: number,
  rest: Pick<OpRow, "tf" | "jax"> & { readonly expected?: (root: Float32Array) => Sample[] },
): Row {
  const { expected, ...op } = rest;
  const row = rowOf({
    ...op,
    id,
    what: `${what} [${SIDE}, ${SIDE}]`,
    flop,
    devices: ["cpu"],
    inputs: [[SIDE, SIDE]],
    makeInputs: () => [symmetric(triangle(SIDE), SIDE)],
    expected: () => expected?.(triangle(SIDE)) ?? [],
    tolerance: 1e-3,
  });
  return expected ? row : { ...row, check: { ...row.check!, agrees: true } };
}

const CUBE = SIDE ** 3;

/** Rows of this file. */
export const SOLVER_ROWS: readonly Row[] = [
  solved("triangular512", [1, SIDE], true, CUBE),
  solved("triangular64_batch", [BATCH, SMALL], true, BATCH * SMALL ** 3),
  solved("solve512", [1, SIDE], false, 8 / 3 * CUBE),
  solved("solve64_batch", [BATCH, SMALL], false, 8 / 3 * BATCH * SMALL ** 3),
  ofMatrix("cholesky512", "root", CUBE / 3, {
    tf: (tf, x) => linalg(tf).cholesky(x!),
    jax: ({ lax }, x) => lax.linalg.cholesky(x!),
    expected: some,
  }),
  ofMatrix("lu512", "triangular factors", 2 / 3 * CUBE, {
    tf: (tf, x) => linalg(tf).lu(x!)[0],
    jax({ lax }, x) {
      const [lu, ...places] = lax.linalg.lu(x!);
      places.forEach((p) => p.dispose());
      return lu;
    },
  }),
  ofMatrix("det512", "determinant", 2 / 3 * CUBE, {
    tf: (tf, x) => linalg(tf).det(x!),
    jax: ({ numpy }, x) => numpy.linalg.det(x!),
    expected(root) {
      let value = 1;
      for (let i = 0; i < SIDE; i++) value *= root[i * SIDE + i]! ** 2;
      return [{ index: 0, value }];
    },
  }),
  ofMatrix("inv512", "inverse", 2 * CUBE, {
    tf: (tf, x) => linalg(tf).inv(x!),
  }),
];
