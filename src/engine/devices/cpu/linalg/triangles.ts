/** Triangular systems and the roots of symmetric matrices in vector code, with sums in float64. */
import type { Problem } from "../../../core/op.ts";
import { sizeOf } from "../../../core/shape.ts";
import { batchPairs } from "../../../kernels/matmul/shape.ts";
import type { Engine } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import { Block, type Steps } from "./block.ts";
import { WIDTH } from "./strips.ts";

/** Least rows that vector code is worth. */
const LEAST_ROWS = { substitution: 8, root: 4 };
/** Strips of columns of a symmetric matrix that are factored before those to the right follow. */
const OF_ROOT = 16;

/** Prepares the solution of triangular systems; null for small ones. */
export function prepareSubstitution(
  engine: Engine,
  { inputs: [a, b], outputs: [out], attrs: { lower, adjoint } }: Problem,
  dtype: "float32" | "float64",
): FastRun | null {
  const [n, k] = b.shape.slice(-2), bytes = dtype === "float64" ? 8 : 4;
  if (n < LEAST_ROWS.substitution) return null;
  const pairs = batchPairs(a.shape, b.shape, out.shape);
  const triangle = new Block(engine, dtype, n, n), x = new Block(engine, dtype, n, k);
  const steps: Steps = adjoint ? [bytes * n, bytes] : [bytes, bytes * n];
  const side: Steps = [bytes, bytes * k], all = [0, x.strips] as const;
  return ([to], [matrix, right]) =>
    engine.heap.lend(triangle.bytes + x.bytes, (at) => {
      triangle.moveTo(at);
      x.moveTo(at + triangle.bytes);
      let packed = -1;
      pairs.forEach((pair, i) => {
        if (packed !== pair.a) {
          packed = pair.a;
          triangle.packTriangle(matrix + packed * bytes * n * n, steps, lower !== adjoint);
          triangle.endWithOnes();
        }
        x.pack(right + pair.b * bytes * n * k, side);
        if (lower === adjoint) triangle.above(x);
        else triangle.below([0, triangle.strips], x, all, false);
        x.unpack(to + i * bytes * n * k, side);
      });
    });
}

/** Prepares the triangles L of `L · Lᵀ`; null for small matrices. */
export function prepareCholesky(
  engine: Engine,
  { inputs: [{ shape }] }: Problem,
  dtype: "float32" | "float64",
): FastRun | null {
  const n = shape[shape.length - 1], count = sizeOf(shape.slice(0, -2)), { heap } = engine;
  if (n < LEAST_ROWS.root) return null;
  const bytes = dtype === "float64" ? 8 : 4, steps = [bytes * n, bytes] as const;
  // Strips of Lᵀ.
  const block = new Block(engine, dtype, n, n);
  return ([to], [from]) =>
    heap.lend(block.bytes, (at) => {
      block.moveTo(at);
      const memory = heap.memory.buffer, size = count * n * n;
      const y = dtype === "float64"
        ? new Float64Array(memory, to, size)
        : new Float32Array(memory, to, size);
      for (let z = 0; z < count; z++) {
        const first = z * n * n * bytes;
        block.packTriangle(from + first, steps, false);
        const isThere = takeRoot(block);
        if (isThere) block.unpackTriangle(to + first, steps, false);
        for (let i = 0; i < n; i++) {
          const own = (z * n + i) * n;
          if (!isThere) y.fill(NaN, own, own + i + 1);
          y.fill(0, own + i + 1, own + n);
        }
      }
    });
}

/** Makes an upper triangle its root; false where there is none. The strips of a tile's columns are the factors of its rows. */
function takeRoot(block: Block): boolean {
  const { strips } = block;
  for (let first = 0; first < strips; first += OF_ROOT) {
    const end = Math.min(strips, first + OF_ROOT), row = WIDTH * first;
    const shared = { side: "turned", row, factors: block.place(first, row) } as const;
    for (let strip = first; strip < end; strip++) {
      block.sweep({ ...shared, first: strip, count: 1, solves: strip - first, updates: 1 });
      if (!takeRootOfTile(block, WIDTH * strip)) return false;
    }
    // The strips to the right are factors for each other: all are solved for before any is subtracted.
    const right = { ...shared, first: end, count: strips - end };
    block.sweep({ ...right, solves: end - first, updates: 0 });
    const known = WIDTH * (end - first), factors = block.place(end, row);
    block.sweep({ ...right, known, factors, solves: 0, updates: 1, more: 1 });
  }
  return true;
}

/** Makes a tile on the diagonal its root. */
function takeRootOfTile(block: Block, first: number): boolean {
  const a = block.elements, at = block.index(first, first);
  const width = Math.min(WIDTH, block.columns - first);
  for (let i = 0; i < width; i++) {
    for (let j = i; j < width; j++) {
      let rest = a[at + WIDTH * i + j];
      for (let t = 0; t < i; t++) rest -= a[at + WIDTH * t + i] * a[at + WIDTH * t + j];
      if (i < j) a[at + WIDTH * i + j] = rest / a[at + 5 * i];
      else if (!(rest > 0)) return false;
      else a[at + 5 * i] = Math.sqrt(rest);
    }
  }
  return true;
}
