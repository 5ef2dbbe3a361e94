/**
 * Matrix product with a tile of sums in each invocation's registers and no workgroup memory: for adapters where the lanes
 * of a workgroup are lanes of a processor's vectors, and for small sums.
 * May import core.
 */
import { makeProgram, type Program } from "../core/dispatch.ts";
import { printEpilogue } from "./gemm_epilogue.ts";
import {
  addProducts,
  batchOffsets,
  batchParams,
  declareSums,
  elementType,
  LANES,
  loaded,
  storeSums,
} from "./gemm_text.ts";
import { columnLoads, type Loads } from "./gemm_columns.ts";
import type { RegisterTile } from "./gemm_tiles.ts";
import type { MatMulSource } from "./matmul_source.ts";

/** Uniform fields, in order; the batch fields follow. */
export const REGISTER_PARAMS = [
  "m",
  "n",
  "k",
  "kfrom",
  "kstep",
  "lda",
  "ldb",
  "ldc",
  "abase",
  "bbase",
  "cbase",
  "cz",
  "col0",
  "zbase",
  "splits",
  "groups",
  "rowgroups",
  "lanemask",
  "laneshift",
] as const;

const programs = new Map<string, Program>();

/** The program for a source and a tile; `lanes` invocations form a workgroup. */
export function registerProgram(source: MatMulSource, tile: RegisterTile, lanes: number): Program {
  const { dtype, out, wideC, transA, transB, wideA, wideB, tail, batchRank, accumulate, split } =
    source;
  const finish = printEpilogue(source.epilogue, dtype, out, wideC ? 4 : 1, 2);
  const key = [
    tile.rows,
    tile.vecs,
    lanes,
    transA,
    transB,
    wideA,
    wideB,
    tail,
    batchRank,
    accumulate,
    split,
    finish.key,
  ].join();
  let program = programs.get(key);
  if (program) return program;
  const a = rowLoads(source, tile.rows),
    b = columnLoads(
      { dtype, transposed: transB, wide: wideB, base: "p.bbase + zb", at: "k" },
      tile.vecs,
    );
  const { rows, vecs } = tile;
  const lines = [
    "let g = wid.x + wid.y * nwg.x;",
    "if (g >= p.groups) { return; }",
    "let gm = g % p.rowgroups; let gn = g / p.rowgroups;",
    "let ln = lidx & p.lanemask; let lm = lidx >> p.laneshift;",
    `let r0 = (gm * (${lanes}u >> p.laneshift) + lm) * ${rows}u;`,
    `let c0 = (gn * (p.lanemask + 1u) + ln) * ${vecs}u;`,
    "if (r0 >= p.m || c0 * 4u >= p.n) { return; }",
    split
      ? "let zs = wid.z + p.zbase; let z = zs / p.splits; let zk = zs % p.splits;"
      : "let z = wid.z + p.zbase;",
    split
      ? "let k0 = p.kfrom + zk * p.kstep; let k1 = min(k0 + p.kstep, p.k);"
      : "let k0 = p.kfrom; let k1 = p.k;",
    ...batchOffsets(batchRank),
    ...a.setup,
    ...b.setup,
    ...declareSums(rows, vecs, dtype),
    `for (var k = k0; k + 4u <= k1; k += 4u) {`,
    ...a.load(4),
    ...b.load(4),
  ];
  for (let q = 0; q < 4; q++) {
    lines.push(...addProducts(rows, vecs, (i) => a.value(i, q), (j) => b.value(j, q)));
  }
  lines.push("}");
  if (tail) {
    lines.push(
      "for (var k = k0 + ((k1 - k0) & 0xfffffffcu); k < k1; k++) {",
      ...a.load(1),
      ...b.load(1),
    );
    lines.push(...addProducts(rows, vecs, (i) => a.value(i, 0), (j) => b.value(j, 0)), "}");
  }
  lines.push(...storeSums(rows, vecs, {
    wide: wideC,
    dtype,
    accumulate,
    rowAt: (i) => `p.cbase + ${split ? "zs" : "z"} * p.cz + (r0 + ${i}u) * p.ldc`,
    rowIn: (i) => `r0 + ${i}u < p.m`,
    column: (j) => `(c0 + ${j}u)`,
  }));
  program = makeProgram({
    name: `matmul_register_${rows}x${vecs * 4}`,
    enable: finish.enable,
    inputs: [elementType(dtype, wideA), elementType(dtype, wideB), ...finish.inputs],
    outputs: [finish.output],
    params: [...REGISTER_PARAMS, ...batchParams(batchRank)],
    workgroup: [lanes, 1, 1],
    prelude: finish.prelude,
    body: lines.join("\n"),
  });
  programs.set(key, program);
  return program;
}

/** Scalars of A: row `i`, step `q`. */
function rowLoads({ dtype, transA, wideA }: MatMulSource, rows: number): Loads {
  const get = (text: string): string => loaded(dtype, wideA, `in0[${text}]`);
  const setup: string[] = [];
  if (!transA) {
    for (let i = 0; i < rows; i++) {
      setup.push(`let ai${i} = p.abase + za + min(r0 + ${i}u, p.m - 1u) * p.lda;`);
    }
    return {
      setup,
      load: (count) =>
        Array.from(
          { length: rows },
          (_, i) =>
            wideA ? `let a${i} = ${get(`ai${i} + k / 4u`)};` : Array.from(
              { length: count },
              (_, q) => `let a${i}_${q} = ${get(`ai${i} + k + ${q}u`)};`,
            ).join(" "),
        ),
      value: (i, q) => (wideA ? `a${i}.${LANES[q]}` : `a${i}_${q}`),
    };
  }
  const columns = wideA ? rows / 4 : rows;
  for (let h = 0; h < columns; h++) {
    setup.push(
      wideA
        ? `let ai${h} = p.abase + za + min(r0 / 4u + ${h}u, p.m / 4u - 1u);`
        : `let ai${h} = p.abase + za + min(r0 + ${h}u, p.m - 1u);`,
    );
  }
  return {
    setup,
    load: (count) =>
      Array.from(
        { length: count },
        (_, q) =>
          Array.from({ length: columns }, (_, h) =>
            `let a${h}_${q} = ${get(`ai${h} + (k + ${q}u) * p.lda`)};`).join(" "),
      ),
    value: (i, q) => (wideA ? `a${i >> 2}_${q}.${LANES[i & 3]}` : `a${i}_${q}`),
  };
}
