/**
 * Matrix product with a tile of sums in each invocation's registers and no workgroup memory: for adapters where the lanes
 * of a workgroup are lanes of a processor's vectors, and for small sums.
 */
import { makeProgram, type Program, Programs } from "../../core/dispatch.ts";
import { printEpilogue } from "./epilogue.ts";
import {
  addProducts,
  batchOffsets,
  batchParams,
  declareSums,
  elementType,
  storeSums,
} from "./text.ts";
import { columnLoads } from "./columns.ts";
import { laneDirectives, lanePlace, type LaneProfile, rowLoads } from "./rows.ts";
import type { RegisterTile } from "./tiles.ts";
import type { MatMulSource } from "./source.ts";

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

const programs = new Programs();

/** The program for a source and a tile. */
export function registerProgram(
  source: MatMulSource,
  tile: RegisterTile,
  profile: LaneProfile,
): Program {
  const { lanes } = profile, { rows, vecs } = tile;
  const { dtype, out, wideC, transA, transB, wideA, skewB, tail, batchRank, accumulate, split } =
    source;
  const wideB = source.wideB || skewB > 0;
  const finish = printEpilogue(source.epilogue, dtype, out, wideC ? 4 : 1, 2);
  const key = [
    rows,
    vecs,
    tile.across,
    lanes,
    profile.subgroupDirective,
    transA,
    transB,
    wideA,
    wideB,
    skewB,
    tail,
    batchRank,
    accumulate,
    split,
    finish.key,
  ].join();
  let program = programs.get(key);
  if (program) return program;
  const a = rowLoads(source, tile, lanes),
    b = columnLoads(
      { dtype, transposed: transB, wide: wideB, skew: skewB, base: "p.bbase + zb", at: "k" },
      vecs,
    );
  const lines = [
    "let g = wid.x + wid.y * nwg.x;",
    "if (g >= p.groups) { return; }",
    ...lanePlace(tile, lanes),
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
    ...addProducts(tile, 4, a, b),
    "}",
  ];
  if (tail) {
    lines.push(
      "for (var k = k0 + ((k1 - k0) & 0xfffffffcu); k < k1; k++) {",
      ...a.load(1),
      ...b.load(1),
      ...addProducts(tile, 1, a, b),
      "}",
    );
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
    enable: laneDirectives(tile, profile),
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
