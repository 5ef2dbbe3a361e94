/** Triangular systems and the triangles of symmetric matrices in vector code, with sums in float64. */
import type { Problem } from "../../../core/op.ts";
import { sizeOf } from "../../../core/shape.ts";
import { batchPairs } from "../../../kernels/matmul/shape.ts";
import type { Engine } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { Pointer } from "../heap.ts";
import { Block, TOGETHER } from "./block.ts";
import { ROW_BYTES, WIDTH } from "./strips.ts";

/** Least rows that vector code is worth. */
const LEAST_ROWS = 12;
/** Strips of columns of a symmetric matrix that are factored before those to the right follow. */
const OF_ROOT = 16;

/** Prepares the solution of triangular systems; null for small ones. */
export function prepareSubstitution(
  engine: Engine,
  { inputs: [a, b], outputs: [out], attrs: { lower, adjoint } }: Problem,
  dtype: "float32" | "float64",
): FastRun | null {
  const [n, k] = b.shape.slice(-2), { heap } = engine;
  if (n < LEAST_ROWS) return null;
  const pairs = batchPairs(a.shape, b.shape, out.shape);
  const bytes = dtype === "float64" ? 8 : 4, isDown = lower !== adjoint, turn = isDown ? 1 : -1;
  const x = new Block(engine, dtype, n, k), groups = Math.ceil(n / WIDTH);
  const panelBytes = ROW_BYTES * WIDTH * groups * Math.min(TOGETHER, groups);
  // From row to row and column to column of the triangle, from its tip on.
  const row = turn * bytes * (adjoint ? 1 : n), column = turn * bytes * (adjoint ? n : 1);
  const tip = isDown ? 0 : bytes * (n * n - 1), top = isDown ? 0 : bytes * (n - 1) * k;
  /** Reads the factors of columns, and of the rows from there on. */
  const pack = (panels: Pointer, from: Pointer, first: number, end: number): number => {
    const depth = WIDTH * (end - first), panelStep = ROW_BYTES * depth;
    const r = WIDTH * first, terms = Math.min(n, WIDTH * end) - r;
    x.kernels.pack(panels, from + tip + r * (row + column), n - r, terms, row, column, panelStep);
    // Rows past the last have ones on the diagonal.
    if (terms < depth) {
      const at = panels + (end - first - 1) * panelStep + ROW_BYTES * (depth - WIDTH);
      const triangle = new Float64Array(heap.memory.buffer, at, WIDTH * WIDTH);
      for (let i = terms % WIDTH; i < WIDTH; i++) {
        for (let j = terms % WIDTH; j <= i; j++) triangle[WIDTH * j + i] = Number(i === j);
      }
    }
    return panelStep;
  };
  const size = bytes * n * n, sideSize = bytes * n * k;
  return ([to], [matrix, right]) =>
    heap.lend(panelBytes + x.bytes, (panels) => {
      x.moveTo(panels + panelBytes);
      let packed = -1, panelStep = 0;
      pairs.forEach((pair, i) => {
        x.pack(right + pair.b * sideSize + top, [bytes, turn * bytes * k]);
        for (let first = 0; first < groups; first += TOGETHER) {
          const end = Math.min(groups, first + TOGETHER);
          if (packed !== pair.a || groups > TOGETHER) {
            panelStep = pack(panels, matrix + pair.a * size, first, end);
            packed = pair.a;
          }
          x.sweep({
            ...{ row: WIDTH * first, first: 0, count: x.strips, panels, panelStep },
            ...{ solves: end - first, updates: groups - end },
          });
        }
        x.unpack(to + i * sideSize + top, [bytes, turn * bytes * k]);
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
  if (n < LEAST_ROWS) return null;
  const bytes = dtype === "float64" ? 8 : 4, row = bytes * n, root = new Root(engine, dtype, n);
  return ([to], [from]) =>
    heap.lend(root.block.bytes, (at) => {
      root.block.moveTo(at);
      const memory = heap.memory.buffer, size = count * n * n;
      const y = dtype === "float64"
        ? new Float64Array(memory, to, size)
        : new Float32Array(memory, to, size);
      for (let z = 0; z < count; z++) {
        const isThere = root.of(from + z * n * row, bytes);
        if (isThere) root.unpack(to + z * n * row, bytes);
        for (let i = 0; i < n; i++) {
          const own = (z * n + i) * n;
          if (!isThere) y.fill(NaN, own, own + i + 1);
          y.fill(0, own + i + 1, own + n);
        }
      }
    });
}

/** The transposed triangle Lᵀ, in strips: those of the columns of a tile are the panel of its rows. */
class Root {
  readonly block: Block;
  readonly #n: number;

  constructor(engine: Engine, dtype: "float32" | "float64", n: number) {
    this.#n = n;
    this.block = new Block(engine, dtype, n, n);
  }

  /** Computes the root of a matrix; false where there is none. */
  of(from: Pointer, bytes: number): boolean {
    const { block } = this, { strips, stripBytes } = block;
    this.#eachStrip((strip, lanes, rows) => {
      const own = from + WIDTH * strip * this.#n * bytes;
      block.kernels.pack(block.place(strip, 0), own, lanes, rows, this.#n * bytes, bytes, 0);
    });
    for (let first = 0; first < strips; first += OF_ROOT) {
      const end = Math.min(strips, first + OF_ROOT), row = WIDTH * first;
      const panels = block.place(first, row), shared = { row, panels, panelStep: stripBytes };
      for (let strip = first; strip < end; strip++) {
        block.sweep({ ...shared, first: strip, count: 1, solves: strip - first, updates: 1 });
        if (!this.#rootOfTile(WIDTH * strip)) return false;
      }
      // The strips to the right are panels for each other: all are solved for before any is subtracted.
      const right = { ...shared, first: end, count: strips - end };
      block.sweep({ ...right, solves: end - first, updates: 0 });
      block.sweep({
        ...right,
        ...{ panels: block.place(end, row), known: WIDTH * (end - first) },
        ...{ solves: 0, updates: 1, more: 1 },
      });
    }
    return true;
  }

  /** Writes L on and below the diagonal. */
  unpack(to: Pointer, bytes: number): void {
    const { block } = this;
    this.#eachStrip((strip, lanes, rows) => {
      const own = to + WIDTH * strip * this.#n * bytes;
      block.kernels.unpack(own, block.place(strip, 0), lanes, rows, this.#n * bytes, bytes, 0);
    });
  }

  /** Visits the strips with the numbers of their columns and of their rows down to the diagonal. */
  #eachStrip(visit: (strip: number, lanes: number, rows: number) => void): void {
    for (let s = 0; s < this.block.strips; s++) {
      visit(s, Math.min(WIDTH, this.#n - WIDTH * s), Math.min(this.#n, WIDTH * (s + 1)));
    }
  }

  /** Computes the root of a tile on the diagonal. */
  #rootOfTile(first: number): boolean {
    const a = this.block.elements, at = this.block.index(first, first);
    const width = Math.min(WIDTH, this.#n - first);
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
}
