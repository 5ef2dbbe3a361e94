/**
 * Gradient of a convolution's filter with a register tile in each invocation and no workgroup memory.
 * Rows of the tile are taps and channels of the image, columns channels of the gradient; sums run over places, line by line.
 * May import core.
 */
import { makeProgram, type Program } from "../core/dispatch.ts";
import { axisNames, gatherParams } from "./conv_gather.ts";
import type { FilterGradSource } from "./conv_shared.ts";
import { columnLoads } from "./gemm_columns.ts";
import { printEpilogue, sumType } from "./gemm_epilogue.ts";
import { addProducts, declareSums, elementType, LANES, loaded, storeSums } from "./gemm_text.ts";
import type { RegisterTile } from "./gemm_tiles.ts";

/** Uniform fields, in order; those of the axes follow. `lines` of places are summed, `step` of them by one invocation. */
export const FILTER_REGISTER_PARAMS = [
  "m",
  "n",
  "lines",
  "step",
  "channels",
  "ldb",
  "ldc",
  "cz",
  "col0",
  "zbase",
  "groups",
  "rowgroups",
  "lanemask",
  "laneshift",
] as const;

const programs = new Map<string, Program>();

/** The program; `wid.z` counts parts of sums. */
export function filterRegisterProgram(
  source: FilterGradSource,
  { rows, vecs }: RegisterTile,
  lanes: number,
): Program {
  const { dtype, out, deep, wideA, wideB } = source;
  const finish = printEpilogue(undefined, dtype, out, wideB ? 4 : 1, 2);
  const key = [rows, vecs, lanes, deep, wideA, wideB, finish.key].join();
  let program = programs.get(key);
  if (program) return program;
  const names = axisNames(deep), t = sumType(dtype);
  const groups = wideA ? rows / 4 : rows;
  const each = (f: (h: number) => string | string[]): string[] =>
    Array.from({ length: groups }, (_, h) => f(h)).flat();
  const b = columnLoads({ dtype, transposed: false, wide: wideB, base: "0u", at: "place" }, vecs);
  const tapOf = (h: number): string[] => {
    const row = wideA ? `min(r0 + ${4 * h}u, p.m - 4u)` : `min(r0 + ${h}u, p.m - 1u)`;
    const lines = [`let q_${h} = ${row} / p.channels; let c_${h} = ${row} - q_${h} * p.channels;`];
    let rest = `q_${h}`;
    for (const a of [...names].reverse()) {
      lines.push(
        `let ${a}off_${h} = i32(${rest} % p.${a}taps) * p.${a}step + p.${a}add; let ${a}q_${h} = ${rest} / p.${a}taps;`,
      );
      rest = `${a}q_${h}`;
    }
    return lines;
  };
  const zero = wideA ? `vec4<${t}>()` : `${t}(0)`;
  const outer = names.slice(0, -1);
  const lines = [
    "let g = wid.x + wid.y * nwg.x;",
    "if (g >= p.groups) { return; }",
    "let gm = g % p.rowgroups; let gn = g / p.rowgroups;",
    "let ln = lidx & p.lanemask; let lm = lidx >> p.laneshift;",
    `let r0 = (gm * (${lanes}u >> p.laneshift) + lm) * ${rows}u;`,
    `let c0 = (gn * (p.lanemask + 1u) + ln) * ${vecs}u;`,
    "if (r0 >= p.m || c0 * 4u >= p.n) { return; }",
    "let z = wid.z + p.zbase;",
    ...each(tapOf),
    ...b.setup,
    ...declareSums(rows, vecs, dtype),
    "for (var line = z * p.step; line < min((z + 1u) * p.step, p.lines); line++) {",
  ];
  // Split the line into its image and outer places.
  let rest = "line";
  for (const a of [...outer].reverse()) {
    lines.push(`let ${a}l = ${rest} % p.${a}rows; let ${a}m = ${rest} / p.${a}rows;`);
    rest = `${a}m`;
  }
  lines.push(...each((h) => {
    const text: string[] = [];
    let at = `i32(${rest})`, inside = "true";
    for (const a of outer) {
      text.push(`let ${a}p_${h} = i32(${a}l * p.${a}mul) + ${a}off_${h};`);
      inside += ` && u32(${a}p_${h}) < p.${a}limit`;
      at = `(${at} * i32(p.${a}limit) + ${a}p_${h})`;
    }
    text.push(`let in_${h} = ${inside}; let at_${h} = ${at} * i32(p.xlimit);`);
    return text;
  }));
  const channel = wideA ? "p.channels / 4u" : "p.channels";
  lines.push(
    "for (var x = 0u; x < p.xrows; x++) {",
    "let place = line * p.xrows + x;",
    ...each((h) => [
      `let x_${h} = i32(x * p.xmul) + xoff_${h}; let ok_${h} = in_${h} && u32(x_${h}) < p.xlimit;`,
      `let a${h} = select(${zero}, ${
        loaded(
          dtype,
          wideA,
          `in0[u32(select(0, at_${h} + x_${h}, ok_${h})) * (${channel}) + c_${h}${
            wideA ? " / 4u" : ""
          }]`,
        )
      }, ok_${h});`,
    ]),
    ...b.load(1),
    ...addProducts(
      rows,
      vecs,
      (i) => (wideA ? `a${i >> 2}.${LANES[i & 3]}` : `a${i}`),
      (j) => b.value(j, 0),
    ),
    "}",
    "}",
    ...storeSums(rows, vecs, {
      wide: wideB,
      dtype,
      accumulate: false,
      rowAt: (i) => `z * p.cz + (r0 + ${i}u) * p.ldc`,
      rowIn: (i) => `r0 + ${i}u < p.m`,
      column: (j) => `(c0 + ${j}u)`,
    }),
  );
  program = makeProgram({
    name: `conv_filter_register_${rows}x${vecs * 4}`,
    enable: finish.enable,
    inputs: [elementType(dtype, wideA), elementType(dtype, wideB)],
    outputs: [finish.output],
    params: [...FILTER_REGISTER_PARAMS, ...gatherParams(deep)],
    workgroup: [lanes, 1, 1],
    prelude: finish.prelude,
    body: lines.join("\n"),
  });
  programs.set(key, program);
  return program;
}
