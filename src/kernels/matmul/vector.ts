/**
 * Products of a matrix and a few vectors, which are bound by reading the matrix once.
 * `dotProgram` reads it along `k`, `columnsProgram` across.
 */
import { makeProgram, type Program } from "../../core/dispatch.ts";
import { accType, loadText } from "../../core/gpu_storage.ts";
import { printEpilogue } from "./epilogue.ts";
import { batchOffsets, batchParams, elementType, LANES } from "./text.ts";
import type { MatMulSource } from "./source.ts";

const each = (n: number, f: (i: number) => string): string[] =>
  Array.from({ length: n }, (_, i) => f(i));

/** What shapes a dot kernel besides its source. */
export interface DotTile {
  /** The matrix is B, its rows are columns of the result; else it is A. */
  readonly matrixIsB: boolean;
  /** Number of vectors, at most 4. */
  readonly vectors: number;
  /** Matrix rows an invocation sums. */
  readonly rows: number;
  /** Invocations that share a row. */
  readonly lanes: number;
  /** Invocations of a workgroup; a multiple of `lanes`. */
  readonly threads: number;
}

/** Uniform fields of {@linkcode dotProgram}, in order; the batch fields follow. */
export const DOT_PARAMS = [
  "rows",
  "k",
  "ldx",
  "ldv",
  "abase",
  "bbase",
  "cbase",
  "cz",
  "rstep",
  "vstep",
  "col0",
  "zbase",
  "accumulate",
] as const;

/** Rows of one operand times vectors, all contiguous along `k`. Both operands are read four at a time, or neither. */
export function dotProgram(source: MatMulSource, tile: DotTile): Program {
  const { dtype, out, wideA: wide, batchRank } = source;
  const { matrixIsB, vectors, rows, lanes, threads } = tile;
  const t = accType(dtype), sum = wide ? `vec4<${t}>` : t;
  const finish = printEpilogue(source.epilogue, dtype, out, 1, 2);
  const [x, v] = matrixIsB ? ["in1", "in0"] : ["in0", "in1"];
  const [xbase, vbase] = matrixIsB
    ? ["p.bbase + zb", "p.abase + za"]
    : ["p.abase + za", "p.bbase + zb"];
  const perGroup = threads / lanes * rows;
  const lines = [
    `let row0 = (wid.x + wid.y * nwg.x) * ${perGroup}u + lidx / ${lanes}u * ${rows}u;`,
    `let lane = lidx % ${lanes}u;`,
    "let z = wid.z + p.zbase;",
    ...batchOffsets(batchRank),
    ...each(rows, (i) => `let x${i} = ${xbase} + min(row0 + ${i}u, p.rows - 1u) * p.ldx;`),
    ...each(vectors, (j) => `let v${j} = ${vbase} + ${j}u * p.ldv;`),
  ];
  for (let i = 0; i < rows; i++) lines.push(...each(vectors, (j) => `var s${i}_${j} = ${sum}();`));
  lines.push(
    `for (var k = lane; k < p.k; k += ${lanes}u) {`,
    ...each(rows, (i) => `let m${i} = ${loadText(dtype, `${x}[x${i} + k]`, wide ? 4 : 1)};`),
    ...each(vectors, (j) => `let w${j} = ${loadText(dtype, `${v}[v${j} + k]`, wide ? 4 : 1)};`),
  );
  for (let i = 0; i < rows; i++) {
    lines.push(...each(vectors, (j) => `s${i}_${j} += m${i} * w${j};`));
  }
  lines.push("}");
  const total = (name: string): string =>
    wide ? `(${each(4, (q) => `${name}.${LANES[q]}`).join(" + ")})` : name;
  const store = (i: number, j: number, value: string): string => {
    const at = `p.cbase + z * p.cz + (row0 + ${i}u) * p.rstep + ${j}u * p.vstep`;
    const column = matrixIsB ? `p.col0 + row0 + ${i}u` : `p.col0 + ${j}u`;
    return `{ let at = ${at}; var r = ${value}; if (p.accumulate != 0u) { r += ${t}(out0[at]); } out0[at] = finish(r, at, ${column}); }`;
  };
  if (lanes === 1) {
    for (let i = 0; i < rows; i++) {
      lines.push(
        `if (row0 + ${i}u < p.rows) {`,
        ...each(vectors, (j) => store(i, j, total(`s${i}_${j}`))),
        "}",
      );
    }
  } else {
    const parts = rows * vectors;
    for (let i = 0; i < rows; i++) {
      lines.push(
        ...each(
          vectors,
          (j) => `part[${(i * vectors + j) * threads}u + lidx] = ${total(`s${i}_${j}`)};`,
        ),
      );
    }
    lines.push("workgroupBarrier();");
    for (let half = lanes / 2; half >= 1; half /= 2) {
      lines.push(
        `if (lane < ${half}u) {`,
        ...each(
          parts,
          (s) => `part[${s * threads}u + lidx] += part[${s * threads + half}u + lidx];`,
        ),
        "}",
        "workgroupBarrier();",
      );
    }
    for (let i = 0; i < rows; i++) {
      lines.push(
        `if (lane == 0u && row0 + ${i}u < p.rows) {`,
        ...each(vectors, (j) => store(i, j, `part[${(i * vectors + j) * threads}u + lidx]`)),
        "}",
      );
    }
  }
  return makeProgram({
    name: `matmul_dot_${matrixIsB ? "b" : "a"}${vectors}`,
    inputs: [elementType(dtype, wide), elementType(dtype, wide), ...finish.inputs],
    outputs: [finish.output],
    params: [...DOT_PARAMS, ...batchParams(batchRank)],
    workgroup: [threads, 1, 1],
    prelude: [
      lanes === 1 ? "" : `var<workgroup> part: array<${t}, ${threads * rows * vectors}>;`,
      finish.prelude,
    ].filter((s) => s !== "").join("\n"),
    body: lines.join("\n"),
  });
}

/** What shapes a columns kernel besides its source. */
export interface ColumnsTile {
  /** Rows of A and C, at most 8. */
  readonly rows: number;
  /** Vectors of 4 columns in a workgroup. */
  readonly columns: number;
  /** Invocations that share a column. */
  readonly slices: number;
}

/** Uniform fields of {@linkcode columnsProgram}, in order; the batch fields follow. */
export const COLUMNS_PARAMS = [
  "m",
  "n",
  "k",
  "amstep",
  "akstep",
  "ldb",
  "ldc",
  "abase",
  "bbase",
  "cbase",
  "cz",
  "col0",
  "zbase",
  "accumulate",
] as const;

/** Few rows times a matrix `[k, n]` read four columns at a time; the workgroup's slices of `k` are summed at the end. */
export function columnsProgram(source: MatMulSource, tile: ColumnsTile): Program {
  const { dtype, out, wideB, wideC, batchRank } = source;
  const { rows, columns, slices } = tile;
  const t = accType(dtype), threads = columns * slices;
  const finish = printEpilogue(source.epilogue, dtype, out, wideC ? 4 : 1, 2);
  const b = wideB
    ? loadText(dtype, "in1[bi + k * p.ldb]", 4)
    : `vec4(${each(4, (e) => loadText(dtype, `in1[bi${e} + k * p.ldb]`)).join(", ")})`;
  const lines = [
    `let tx = lidx % ${columns}u; let slice = lidx / ${columns}u;`,
    `let c = (wid.x + wid.y * nwg.x) * ${columns}u + tx;`,
    "let z = wid.z + p.zbase;",
    ...batchOffsets(batchRank),
    ...(wideB
      ? ["let bi = p.bbase + zb + min(c, p.n / 4u - 1u);"]
      : each(4, (e) => `let bi${e} = p.bbase + zb + min(c * 4u + ${e}u, p.n - 1u);`)),
    ...each(rows, (i) => `let ai${i} = p.abase + za + min(${i}u, p.m - 1u) * p.amstep;`),
    ...each(rows, (i) => `var s${i} = vec4<${t}>();`),
    `for (var k = slice; k < p.k; k += ${slices}u) {`,
    `let b = ${b};`,
    ...each(rows, (i) => `s${i} += ${loadText(dtype, `in0[ai${i} + k * p.akstep]`)} * b;`),
    "}",
    ...each(rows, (i) => `part[${i * threads}u + lidx] = s${i};`),
    "workgroupBarrier();",
  ];
  for (let half = slices / 2; half >= 1; half /= 2) {
    lines.push(
      `if (slice < ${half}u) {`,
      ...each(
        rows,
        (i) => `part[${i * threads}u + lidx] += part[${i * threads + half * columns}u + lidx];`,
      ),
      "}",
      "workgroupBarrier();",
    );
  }
  lines.push("if (slice == 0u && c * 4u < p.n) {");
  for (let i = 0; i < rows; i++) {
    lines.push(
      `if (${i}u < p.m) {`,
      `let at = p.cbase + z * p.cz + ${i}u * p.ldc; var r = part[${i * threads}u + lidx];`,
    );
    if (wideC) {
      lines.push(
        `if (p.accumulate != 0u) { r += vec4<${t}>(out0[at + c]); }`,
        "out0[at + c] = finish(r, at + c, p.col0 + c);",
      );
    } else {
      for (let e = 0; e < 4; e++) {
        lines.push(
          `if (c * 4u + ${e}u < p.n) { let x = c * 4u + ${e}u; var y = r.${LANES[e]}; ` +
            `if (p.accumulate != 0u) { y += ${t}(out0[at + x]); } out0[at + x] = finish(y, at + x, p.col0 + x); }`,
        );
      }
    }
    lines.push("}");
  }
  lines.push("}");
  return makeProgram({
    name: `matmul_columns_${rows}`,
    inputs: [elementType(dtype, false), elementType(dtype, wideB), ...finish.inputs],
    outputs: [finish.output],
    params: [...COLUMNS_PARAMS, ...batchParams(batchRank)],
    workgroup: [threads, 1, 1],
    prelude: [`var<workgroup> part: array<vec4<${t}>, ${threads * rows}>;`, finish.prelude].join(
      "\n",
    ),
    body: lines.join("\n"),
  });
}
