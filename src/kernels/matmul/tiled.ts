/**
 * The tiled kernel for hardware GPUs: a workgroup stages blocks of both operands in its memory and each invocation sums a
 * register tile. Operands are whatever their block loaders say: matrices, transposed ones, patches of an image.
 */
import type { DType } from "../../core/dtype.ts";
import { makeProgram, type Program } from "../../core/dispatch.ts";
import { accType } from "../../core/gpu_storage.ts";
import { type Epilogue, printEpilogue } from "./epilogue.ts";
import { addProducts, allOf, declareSums, LANES, storeSums } from "./text.ts";

/** Extents of a tile, all multiples of 4. */
export interface SharedTile {
  /** Rows of a workgroup's tile. */
  readonly bm: number;
  /** Columns of a workgroup's tile. */
  readonly bn: number;
  /** Steps of `k` staged at once. */
  readonly bk: number;
  /** Rows of an invocation's tile. */
  readonly tm: number;
  /** Columns of an invocation's tile. */
  readonly tn: number;
}

/** Rows of workgroups that are passed through together. */
const BAND = 8;

/** Invocations of a workgroup. */
export function sharedThreads({ bm, bn, tm, tn }: SharedTile): number {
  return (bm / tm) * (bn / tn);
}

/** Bytes of workgroup memory. */
export function sharedBytes({ bm, bn, bk }: SharedTile): number {
  return (bm + bn) * bk * 4;
}

/** How one operand is read. */
export interface BlockLoader {
  /** WGSL type of its buffer. */
  readonly buffer: string;
  /** Statements before the loop. In scope: `z`, and `at0`, the `at` of the invocation's first block. */
  readonly setup: readonly string[];
  /**
   * Statements that declare `v0 … v3`, one vector for each of `k … k + 3`, over elements `at … at + 3` of the other axis
   * (both multiples of 4, names in scope). Zero where `k >= k1`; anything where `at` is outside.
   */
  readonly block: readonly string[];
}

/** What shapes the text. */
export interface SharedSource {
  /** Name for messages and profiles. */
  readonly name: string;
  /** Extents. */
  readonly tile: SharedTile;
  /** Element type of the operands. */
  readonly dtype: DType;
  /** Element type stored. */
  readonly out: DType;
  /** Rows. */
  readonly a: BlockLoader;
  /** Columns. */
  readonly b: BlockLoader;
  /** Four columns are stored at once. */
  readonly wideC: boolean;
  /** Adds to what C holds. */
  readonly accumulate: boolean;
  /** Several workgroups share a sum; each stores its part. */
  readonly split: boolean;
  /** Where rows go, where not into a matrix: statements, the condition that it exists, its first column's position. */
  readonly row?: (
    row: string,
    suffix: string,
  ) => { lines: readonly string[]; inside: string; at: string };
  /** Text of the number of terms of the sums; default `p.k`. */
  readonly terms?: string;
  /** Statements after the batch offsets. */
  readonly setup: readonly string[];
  /** Further uniform fields. */
  readonly params: readonly string[];
  /** Further declarations. */
  readonly prelude?: string;
  /** What happens before a store. */
  readonly epilogue?: Epilogue | undefined;
}

/** Uniform fields that every tiled kernel has, in order. */
export const SHARED_PARAMS = [
  "m",
  "n",
  "k",
  "kfrom",
  "kstep",
  "ldc",
  "cbase",
  "cz",
  "col0",
  "zbase",
  "splits",
  "groups",
  "rowgroups",
] as const;

/** Builds the program. `p.k` is the end of the sums; rows and columns beyond `p.m` and `p.n` are not stored. */
export function sharedProgram(source: SharedSource): Program {
  const { tile, dtype, out, a, b, wideC, accumulate, split } = source;
  const { bm, bn, bk, tm, tn } = tile;
  const threads = sharedThreads(tile), acc = accType(dtype);
  const finish = printEpilogue(source.epilogue, dtype, out, wideC ? 4 : 1, 2);
  const across = bn / tn, down = bm / tm;
  const lines = [
    "let g = wid.x + wid.y * nwg.x;",
    "if (g >= p.groups) { return; }",
    // Bands of rows, column by column: workgroups that run together read few blocks, so that these stay in the cache.
    `let band = ${BAND}u * (p.groups / p.rowgroups); let top = g / band * ${BAND}u; let inBand = g % band;`,
    `let height = min(${BAND}u, p.rowgroups - top);`,
    "let gm = top + inBand % height; let gn = inBand / height;",
    `let r0 = gm * ${bm}u; let c0 = gn * ${bn}u;`,
    `let tx = lidx % ${across}u; let ty = lidx / ${across}u;`,
    split
      ? "let zs = wid.z + p.zbase; let z = zs / p.splits; let zk = zs % p.splits;"
      : "let z = wid.z + p.zbase;",
    ...source.setup,
    split
      ? "let k0 = p.kfrom + zk * p.kstep; let k1 = min(k0 + p.kstep, p.k);"
      : `let k0 = p.kfrom; let k1 = ${source.terms ?? "p.k"};`,
    ...begin("r0", bm, a),
    ...begin("c0", bn, b),
    ...declareSums(tm, tn / 4, dtype),
    `for (var kt = k0; kt < k1; kt += ${bk}u) {`,
    ...stage("sa", "r0", bm, bk, threads, a),
    ...stage("sb", "c0", bn, bk, threads, b),
    "workgroupBarrier();",
  ];
  for (let q = 0; q < bk; q++) {
    lines.push("{");
    for (let h = 0; h < tm / 4; h++) {
      lines.push(`let a${h} = sa[${q * bm / 4}u + ty + ${h * down}u];`);
    }
    for (let j = 0; j < tn / 4; j++) {
      lines.push(`let b${j} = sb[${q * bn / 4}u + tx + ${j * across}u];`);
    }
    lines.push(
      ...addProducts({ rows: tm, vecs: tn / 4 }, 1, {
        value: (i) => `a${i >> 2}.${LANES[i & 3]}`,
      }, { value: (j) => `b${j}` }),
      "}",
    );
  }
  lines.push("workgroupBarrier();", "}");
  const row = (i: number): string => `(r0 + (ty + ${(i >> 2) * down}u) * 4u + ${i & 3}u)`;
  const placed = Array.from({ length: tm }, (_, i) => source.row?.(row(i), `_${i}`));
  for (const place of placed) if (place) lines.push(...place.lines);
  lines.push(...storeSums(tm, tn / 4, {
    wide: wideC,
    dtype,
    accumulate,
    rowAt: (i) => placed[i]?.at ?? `p.cbase + ${split ? "zs" : "z"} * p.cz + ${row(i)} * p.ldc`,
    rowIn: (i) => allOf([`${row(i)} < p.m`, ...placed[i] ? [placed[i]!.inside] : []]),
    column: (j) => `(c0 / 4u + tx + ${j * across}u)`,
  }));
  return makeProgram({
    name: `${source.name}_${bm}x${bn}`,
    inputs: [a.buffer, b.buffer, ...finish.inputs],
    outputs: [finish.output],
    params: [...SHARED_PARAMS, ...source.params],
    workgroup: [threads, 1, 1],
    prelude: [
      source.prelude ?? "",
      `var<workgroup> sa: array<vec4<${acc}>, ${bm * bk / 4}>;`,
      `var<workgroup> sb: array<vec4<${acc}>, ${bn * bk / 4}>;`,
      finish.prelude,
    ].filter((t) => t !== "").join("\n"),
    body: lines.join("\n"),
  });
}

/** A loader's setup, with the place of its first block in scope. */
function begin(origin: string, extent: number, { setup }: BlockLoader): string[] {
  if (setup.length === 0) return [];
  return [`let at0 = ${origin} + lidx % ${extent / 4}u * 4u;`, ...setup];
}

/** Copies one operand's block into workgroup memory, 4 × 4 elements an invocation at a time. */
function stage(
  name: string,
  origin: string,
  extent: number,
  bk: number,
  threads: number,
  loader: BlockLoader,
): string[] {
  const blocks = extent * bk / 16;
  const lines: string[] = [];
  for (let first = 0; first < blocks; first += threads) {
    const guarded = first + threads > blocks;
    lines.push(
      guarded ? `if (lidx < ${blocks - first}u) {` : "{",
      `let t = lidx + ${first}u; let bi = t % ${extent / 4}u; let bq = t / ${extent / 4}u;`,
      `let at = ${origin} + bi * 4u; let k = kt + bq * 4u;`,
      ...loader.block,
    );
    for (let q = 0; q < 4; q++) {
      lines.push(`${name}[(bq * 4u + ${q}u) * ${extent / 4}u + bi] = v${q};`);
    }
    lines.push("}");
  }
  return lines;
}

/** Declares `v0 … v3` as the columns of the rows `w0 … w3`. */
export const TRANSPOSE_BLOCK: readonly string[] = Array.from(
  { length: 4 },
  (_, q) => `let v${q} = vec4(w0.${LANES[q]}, w1.${LANES[q]}, w2.${LANES[q]}, w3.${LANES[q]});`,
);
