/** Products of small matrices in batches: one call of a kernel computes many of them. */
import { evenBlocks, roundUp } from "../blocks.ts";
import type { Engine, WasmCall } from "../engine.ts";
import type { FastRun } from "../fast.ts";
import type { I } from "../wasm/function_builder.ts";
import { f32x4, i32 } from "../wasm/instructions.ts";
import { kernel } from "../wasm/kernel.ts";
import type { F4, Simd } from "../wasm/simd.ts";
import type { Value } from "../wasm/value.ts";
import { turnPanels } from "./gemm_pack.ts";
import { TERMS, type Terms } from "./gemm_terms.ts";
import { THRESHOLDS } from "../thresholds.ts";

/** Up to so many rows, the elements of B alone decide whether a product is small. */
const FEW_ROWS = 3;

/** One product `C[m,n] = A[m,k] · B[k,n]` of dense matrices. */
export interface Product {
  readonly m: number;
  readonly n: number;
  readonly k: number;
  /** A is stored `[k, m]`. */
  readonly transA: boolean;
  /** B is stored `[n, k]`. */
  readonly transB: boolean;
  /** Default: float32. */
  readonly terms?: Terms | undefined;
}

/** True where a batch of such products is best computed here. */
export function isSmall({ m, n, k, transA, transB }: Product): boolean {
  if (k === 0) return false;
  if (n > 1 && m > FEW_ROWS) return m * n * k <= THRESHOLDS.smallProduct;
  // B, or with one column A, is read once or little more: its rows are better multiplied in place than transposed.
  const turns = n > 1 ? transB : !transA;
  return k * (n > 1 ? n : m) <= (turns ? THRESHOLDS.smallTurned : THRESHOLDS.smallRead);
}

/** Computes C from A and B; `pairs` lists the matrices that are multiplied, in the order of C. */
export function prepareSmall(
  engine: Engine,
  { m, n, k, transA, transB, terms = "float32" }: Product,
  pairs: readonly { readonly a: number; readonly b: number }[],
): FastRun {
  if (n === 1 && m > 1) {
    // A matrix times a vector is that vector times the transposed matrix.
    const turned = { m: 1, n: m, k, transA: false, transB: !transA, terms };
    const run = prepareSmall(engine, turned, pairs.map(({ a, b }) => ({ a: b, b: a })));
    return (outs, [a, b]) => run(outs, [b, a]);
  }
  const variant = { transA, transB, columns: Math.min(n, LANES), terms };
  const key = `small products ${Object.values(variant)}`;
  const run = kernel(engine, key, 9, (s, p) => writeProducts(s, variant, p));
  const list = Int32Array.from(pairs.flatMap(({ a, b }) => [4 * m * k * a, 4 * k * n * b]));
  const listBytes = roundUp(list.byteLength);
  const roomBytes = transB ? roundUp(4 * k * Math.ceil(n / LANES) * LANES) : 0;
  return ([c], [a, b]) => {
    const most = Math.ceil(pairs.length / engine.parts(2 * m * n * k * pairs.length));
    const blocks = evenBlocks(pairs.length, most, 1);
    const at = engine.scratch(listBytes + roomBytes * blocks.length);
    engine.heap.i32.set(list, at >>> 2);
    engine.callAll(blocks.map(({ from, size }, i): WasmCall => {
      const room = at + listBytes + i * roomBytes;
      return [run, [at + 8 * from, size, c + 4 * m * n * from, a, b, m, n, k, room]];
    }));
  };
}
const LANES = 4;

interface Variant {
  readonly transA: boolean;
  readonly transB: boolean;
  /** Stored columns of a vector that is the only one of its row. */
  readonly columns: number;
  readonly terms: Terms;
}

/** Parameters: the list of offsets, number of products, C, A, B, the sizes, room for a packed B. */
function writeProducts(
  s: Simd,
  { transA, transB, columns, terms }: Variant,
  [list, count, c, aBase, bBase, m, n, k, room]: readonly I[],
): void {
  const { f } = s, { madd } = TERMS[terms];
  const rowA = transA ? 4 : f.let(i32.shl(k, 2)), depthA = f.let(i32.shl(m, 2));
  const rowC = f.let(i32.shl(n, 2));
  // Rows of a transposed B are whole vectors.
  const rowB = transB ? f.let(i32.shl(i32.and(i32.add(n, LANES - 1), -LANES), 2)) : rowC;
  const a = f.local("i32"), b = f.local("i32");
  const load = (p: I, offset: number): F4 => {
    if (transB || columns === LANES) return f32x4.load(p, offset);
    if (columns === 1) return f32x4.loadFirst(p);
    const pair = f32x4.loadPair(p);
    return columns === 2 ? pair : f32x4.shuffle(pair, f32x4.loadFirst(p, 8), [0, 1, 4, 5]);
  };
  /** Writes a block of C: some rows of some vectors. */
  const block = (rows: number, vectors: number, first: Value<"i32">, to: Value<"i32">, at: I) => {
    const lefts = f.ramp(first, rowA, transA ? 1 : rows);
    const right = f.variable("i32", i32.add(b, at));
    const sums = Array.from(
      { length: rows },
      () => Array.from({ length: vectors }, () => f.variable("f32x4", s.k(0))),
    );
    const term = (offset: number): void => {
      const values = Array.from({ length: vectors }, (_, v) => f.let(load(right, 16 * v)));
      f.advance(right, rowB);
      sums.forEach((row, i) => {
        const factor: F4 = f.let(f32x4.loadSplat(lefts[transA ? 0 : i], transA ? 4 * i : offset));
        row.forEach((sum, v) => f.set(sum, madd(s, factor, values[v], sum)));
      });
    };
    const terms = f.variable("i32", k);
    const turn = (count: number): void => {
      f.countDown(terms, count, () => {
        for (let u = 0; u < count; u++) term(4 * u);
        lefts.forEach((p) => f.advance(p, transA ? depthA : 4 * count));
      });
    };
    if (!transA) turn(4);
    turn(1);
    const place = f.variable("i32", i32.add(to, at));
    for (const row of sums) {
      row.forEach((sum, v) => {
        if (columns === LANES) return f.store(place, sum, 16 * v);
        for (let lane = 0; lane < columns; lane++) f.storeLane(place, sum, 4, lane, 4 * lane);
      });
      f.advance(place, rowC);
    }
  };
  /** Writes all columns of some rows; the last vector overlaps the one before where the columns need it. */
  const across = (rows: number, first: I, to: I): void => {
    const at = f.variable("i32", 0);
    if (columns < LANES) return block(rows, 1, first, to, at);
    f.while(i32.lt(at, rowC), () => {
      f.if(i32.ge(i32.sub(rowC, at), 32), () => {
        block(rows, 2, first, to, at);
        f.advance(at, 32);
      }, () => {
        f.if(i32.gt(at, i32.sub(rowC, 16)), () => f.set(at, i32.sub(rowC, 16)));
        block(rows, 1, first, to, at);
        f.advance(at, 16);
      });
    });
  };
  f.times(count, () => {
    f.set(a, i32.add(aBase, i32.load(list)));
    f.set(b, i32.add(bBase, i32.load(list, 4)));
    f.advance(list, 8);
    if (transB) {
      const [to, rows] = [room, n].map((x) => f.variable("i32", x)), step = f.let(i32.shl(k, 2));
      const panel = { count: LANES, rowStep: rowB, panelStep: 4 * LANES };
      turnPanels(f, { to, from: b, k, n: rows, step, ...panel });
      f.set(b, room);
    }
    const left = f.variable("i32", m);
    for (const rows of [4, 1]) {
      f.countDown(left, rows, () => {
        across(rows, a, c);
        f.advance(a, i32.mul(rowA, rows));
        f.advance(c, i32.mul(rowC, rows));
      });
    }
  });
}
