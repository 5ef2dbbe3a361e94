/**
 * How an invocation's register tile loads the columns of B, stored by rows or transposed.
 */
import { loadText } from "../../core/gpu_storage.ts";
import type { DType } from "../../core/dtype.ts";
import { LANES, type Loads } from "./text.ts";

/** Facts about B. */
export interface ColumnSource {
  /** Element type. */
  readonly dtype: DType;
  /** Stored `[n, k]`. */
  readonly transposed: boolean;
  /** Read four at a time along its last axis. */
  readonly wide: boolean;
  /** Elements by which each row begins further from a whole four than the row before, where it is read by fours nevertheless. */
  readonly skew?: number;
  /** Text of where the matrix begins. */
  readonly base: string;
  /** Text of the first of the steps: a row of B, or a column of the transposed one. */
  readonly at: string;
  /** Text of what is added to every position, for matrices that change within the loop. */
  readonly shift?: string;
}

const each = <T>(n: number, f: (i: number) => T): T[] => Array.from({ length: n }, (_, i) => f(i));
const four = (f: (e: number) => string): string => `vec4(${each(4, f).join(", ")})`;

/** Vectors of columns `4j` to `4j + 3` from `c0` on, clamped to `p.n`; rows are `p.ldb` apart. */
export function columnLoads(source: ColumnSource, vecs: number): Loads {
  const { dtype, transposed, wide, skew = 0, base, at, shift } = source;
  const get = (text: string): string =>
    loadText(dtype, `in1[${text}${shift ? ` + ${shift}` : ""}]`, wide ? 4 : 1);
  const value = (j: number, q: number): string => `b${j}_${q}`;
  if (skew > 0) return skewedLoads(source, skew, vecs);
  if (!transposed) {
    const setup = wide
      ? each(vecs, (j) => `let bi${j} = ${base} + min(c0 + ${j}u, p.n / 4u - 1u);`)
      : each(vecs * 4, (e) => `let bi${e} = ${base} + min(c0 * 4u + ${e}u, p.n - 1u);`);
    const one = (j: number, q: number): string =>
      wide ? get(`bi${j} + bk${q}`) : four((e) => get(`bi${4 * j + e} + bk${q}`));
    return {
      setup,
      load: (count) =>
        each(count, (q) =>
          `let bk${q} = (${at} + ${q}u) * p.ldb; ` +
          each(vecs, (j) => `let b${j}_${q} = ${one(j, q)};`).join(" ")),
      value,
    };
  }
  return {
    setup: each(vecs * 4, (e) => `let bi${e} = ${base} + min(c0 * 4u + ${e}u, p.n - 1u) * p.ldb;`),
    load: (count) =>
      wide
        ? [
          ...each(vecs * 4, (e) => `let w${e} = ${get(`bi${e} + ${at} / 4u`)};`),
          ...each(4, (q) =>
            each(vecs, (j) => `let b${j}_${q} = ${four((e) => `w${4 * j + e}.${LANES[q]}`)};`).join(
              " ",
            )),
        ]
        : each(count, (q) =>
          each(vecs, (j) =>
            `let b${j}_${q} = ${
              four((e) => get(`bi${4 * j + e} + ${at} + ${q}u`))
            };`).join(" ")),
    value,
  };
}

/**
 * Rows whose length is no multiple of 4, read by fours: every fourth row begins at one, the others `skew`, twice and three times
 * that later. What is read beyond the last row belongs to columns beyond `p.n`. `p.ldb` counts elements.
 */
function skewedLoads({ dtype, base, at }: ColumnSource, skew: number, vecs: number): Loads {
  const row = (q: number): string => {
    const late = q * skew % 4;
    const fours = each(
      vecs + (late > 0 ? 1 : 0),
      (h) => `let w${q}_${h} = ${loadText(dtype, `in1[bi + bk${q} + ${h}u]`, 4)};`,
    );
    const column = (j: number): string =>
      late === 0
        ? `w${q}_${j}`
        : `vec4(w${q}_${j}.${LANES.slice(late)}, w${q}_${j + 1}.${LANES.slice(0, late)})`;
    return [
      `let bk${q} = ${at} / 4u * p.ldb + ${q}u * p.ldb / 4u;`,
      ...fours,
      ...each(vecs, (j) => `let b${j}_${q} = ${column(j)};`),
    ].join(" ");
  };
  return {
    setup: [`let bi = ${base} + c0;`],
    load: (count) => each(count, row),
    value: (j, q) => `b${j}_${q}`,
  };
}
