/**
 * Pieces of WGSL that matrix products and convolutions share: batches, tiles of sums, stores.
 */
import { accType, wgslType } from "../../core/gpu_storage.ts";
import type { DType } from "../../core/dtype.ts";

/** Lanes of a vector, as WGSL spells them. */
export const LANES = "xyzw";

/** WGSL type of a buffer of this dtype read one or four at a time. */
export function elementType(dtype: DType, wide: boolean): string {
  return wide ? `vec4<${wgslType(dtype)}>` : wgslType(dtype);
}

/**
 * The text of a value that is true where all conditions are. `&&` would branch, which a chain of loads need not, and which
 * SwiftShader takes exponential time and memory to compile in a loop.
 */
export function allOf(conditions: readonly string[]): string {
  return conditions.map((c) => (/^\w+$/.test(c) ? c : `(${c})`)).join(" & ");
}

/** Names of the uniform fields that {@linkcode batchOffsets} reads. */
export function batchParams(rank: number): string[] {
  const names: string[] = [];
  for (let d = 0; d < rank; d++) names.push(`bd${d}`, `ba${d}`, `bb${d}`);
  return names;
}

/** Statements that declare `za` and `zb`, the offsets of the matrices of product `z`; offsets are premultiplied. */
export function batchOffsets(rank: number): string[] {
  if (rank === 0) return ["let za = 0u; let zb = 0u;"];
  const lines: string[] = [];
  const a: string[] = [], b: string[] = [];
  let rest = "z";
  for (let d = rank - 1; d >= 0; d--) {
    if (d > 0) {
      lines.push(`let zx${d} = ${rest} % p.bd${d}; let zr${d} = ${rest} / p.bd${d};`);
      rest = `zr${d}`;
    }
    const x = d > 0 ? `zx${d}` : rest;
    a.push(`${x} * p.ba${d}`);
    b.push(`${x} * p.bb${d}`);
  }
  lines.push(`let za = ${a.join(" + ")}; let zb = ${b.join(" + ")};`);
  return lines;
}

/** Declares the sums of a tile, `s{row}_{vector}`. */
export function declareSums(rows: number, vecs: number, dtype: DType): string[] {
  const lines: string[] = [];
  for (let i = 0; i < rows; i++) {
    for (let j = 0; j < vecs; j++) lines.push(`var s${i}_${j} = vec4<${accType(dtype)}>();`);
  }
  return lines;
}

/** Texts that load one operand and name its values. */
export interface Loads {
  /** Statements before the loop. */
  readonly setup: readonly string[];
  /** Loads for `count` (4 or 1) steps of `k`. */
  readonly load: (count: 4 | 1) => readonly string[];
  /** Statements before the products of row `index` in each of `count` steps. */
  readonly row?: (index: number, count: 4 | 1) => readonly string[];
  /** The scalar (of A) or vector (of B) for step `q`. */
  readonly value: (index: number, q: number) => string;
}

/** Adds the products of `count` steps to every sum of a tile, row by row. */
export function addProducts(
  { rows, vecs }: { rows: number; vecs: number },
  count: 4 | 1,
  a: Pick<Loads, "row" | "value">,
  b: Pick<Loads, "value">,
): string[] {
  const lines: string[] = [];
  for (let i = 0; i < rows; i++) {
    lines.push(...(a.row?.(i, count) ?? []));
    for (let q = 0; q < count; q++) {
      for (let j = 0; j < vecs; j++) {
        lines.push(`s${i}_${j} += ${a.value(i, q)} * ${b.value(j, q)};`);
      }
    }
  }
  return lines;
}

/** How a tile is stored. */
export interface StoreText {
  /** Four columns at once. */
  readonly wide: boolean;
  /** Type of the sums. */
  readonly dtype: DType;
  /** Adds to what is there. */
  readonly accumulate: boolean;
  /** Text of the flat position of the first column of a row, in the units stored. */
  readonly rowAt: (row: number) => string;
  /** Text of the condition that a row exists; null where it always does. */
  readonly rowIn: (row: number) => string;
  /** Text of the vector column. */
  readonly column: (vec: number) => string;
}

/** Stores a tile through `finish`; columns beyond `p.n` (in elements) are left out. */
export function storeSums(rows: number, vecs: number, store: StoreText): string[] {
  const { wide, dtype, accumulate } = store;
  const t = accType(dtype);
  const lines: string[] = [];
  for (let i = 0; i < rows; i++) {
    lines.push(`if (${store.rowIn(i)}) {`, `let at = ${store.rowAt(i)};`);
    for (let j = 0; j < vecs; j++) {
      const c = store.column(j);
      if (wide) {
        const sum = accumulate ? `s${i}_${j} + vec4<${t}>(out0[at + ${c}])` : `s${i}_${j}`;
        lines.push(
          `if (${c} * 4u < p.n) { out0[at + ${c}] = finish(${sum}, at + ${c}, p.col0 + ${c}); }`,
        );
        continue;
      }
      for (let e = 0; e < 4; e++) {
        const x = `(${c} * 4u + ${e}u)`;
        const sum = `s${i}_${j}.${LANES[e]}`;
        const value = accumulate ? `${sum} + ${t}(out0[at + ${x}])` : sum;
        lines.push(
          `if (${x} < p.n) { out0[at + ${x}] = finish(${value}, at + ${x}, p.col0 + ${x}); }`,
        );
      }
    }
    lines.push("}");
  }
  return lines;
}
