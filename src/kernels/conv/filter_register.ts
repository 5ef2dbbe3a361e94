/**
 * Gradient of a convolution's filter with a register tile in each invocation and no workgroup memory.
 * Rows of the tile are taps and channels of the image, columns channels of the gradient; sums run over places, line by line.
 */
import { makeProgram, type Program, Programs } from "../../core/dispatch.ts";
import { accType, loadText } from "../../core/gpu_storage.ts";
import { axisNames, gatherParams } from "./gather.ts";
import type { FilterGradSource } from "./shared.ts";
import { columnLoads } from "../matmul/columns.ts";
import { printEpilogue } from "../matmul/epilogue.ts";
import { deal, laneDirectives, lanePlace } from "../matmul/rows.ts";
import type { LaneProfile } from "../matmul/lanes.ts";
import {
  addProducts,
  allOf,
  declareSums,
  elementType,
  LANES,
  type Loads,
  storeSums,
} from "../matmul/text.ts";
import type { RegisterTile } from "../matmul/tiles.ts";

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

const programs = new Programs();

/** The program; `wid.z` counts parts of sums. */
export function filterRegisterProgram(
  source: FilterGradSource,
  tile: RegisterTile,
  profile: LaneProfile,
): Program {
  const { rows, vecs, across } = tile, { lanes, subgroupDirective } = profile;
  const { dtype, out, deep, wideA, wideB } = source;
  const finish = printEpilogue(undefined, dtype, out, wideB ? 4 : 1, 2);
  const key = [rows, vecs, across, lanes, subgroupDirective, deep, wideA, wideB, finish.key].join();
  let program = programs.get(key);
  if (program) return program;
  const names = axisNames(deep), outer = names.slice(0, -1);
  const a = imageLoads(source, tile, lanes);
  const b = columnLoads({ dtype, transposed: false, wide: wideB, base: "0u", at: "place" }, vecs);
  const lines = [
    "let g = wid.x + wid.y * nwg.x;",
    "if (g >= p.groups) { return; }",
    ...lanePlace(tile, lanes),
    "let z = wid.z + p.zbase;",
    ...a.setup,
    ...b.setup,
    ...declareSums(rows, vecs, dtype),
    "for (var line = z * p.step; line < min((z + 1u) * p.step, p.lines); line++) {",
  ];
  const places = (count: 4 | 1): string[] => [
    "let place = line * p.xrows + x;",
    ...a.load(count),
    ...b.load(count),
    ...addProducts(tile, count, a, b),
    "}",
  ];
  // Split the line into its image and outer places.
  let rest = "line";
  for (const a of [...outer].reverse()) {
    lines.push(`let ${a}l = ${rest} % p.${a}rows; let ${a}m = ${rest} / p.${a}rows;`);
    rest = `${a}m`;
  }
  lines.push(
    ...a.line(rest),
    "for (var x = 0u; x + 4u <= p.xrows; x += 4u) {",
    ...places(4),
    "for (var x = p.xrows & 0xfffffffcu; x < p.xrows; x++) {",
    ...places(1),
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
    enable: laneDirectives(tile, profile),
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

/** Loads of the image: row `i` of the tile at place `x + q` of a line. `line` is what a line of places needs first. */
function imageLoads(
  { dtype, deep, wideA }: FilterGradSource,
  { rows, across }: RegisterTile,
  lanes: number,
): Loads & { line: (image: string) => readonly string[] } {
  const names = axisNames(deep), outer = names.slice(0, -1), t = accType(dtype);
  const units = wideA ? rows / 4 : rows;
  const dealt = across === undefined ? undefined : deal(units, 4, across, lanes);
  // What an invocation loads: a unit (four channels, or one) at a place.
  const loads = (count: 4 | 1): { unit: string; step: string; name: string }[] =>
    dealt
      ? each(dealt.loads(count), (h) => ({
        unit: dealt.unit(h),
        step: dealt.step(h),
        name: `a${h}`,
      }))
      : each(
        count,
        (q) => each(units, (u) => ({ unit: `${u}u`, step: `${q}u`, name: `a${u}_${q}` })),
      ).flat();
  const held = [...new Set(loads(4).map(({ unit }) => unit))];
  const zero = wideA ? `vec4<${t}>()` : `${t}(0)`;
  const lane = (u: number): string => (wideA ? `.${LANES[u & 3]}` : "");
  const unitOf = (i: number): number => (wideA ? i >> 2 : i);
  return {
    setup: held.flatMap((unit, h) => {
      const row = wideA ? `min(r0 + 4u * (${unit}), p.m - 4u)` : `min(r0 + ${unit}, p.m - 1u)`;
      const lines = [
        `let q_${h} = ${row} / p.channels; let c_${h} = ${row} - q_${h} * p.channels;`,
      ];
      let rest = `q_${h}`;
      for (const a of [...names].reverse()) {
        lines.push(
          `let ${a}off_${h} = i32(${rest} % p.${a}taps) * p.${a}step + p.${a}add; let ${a}q_${h} = ${rest} / p.${a}taps;`,
        );
        rest = `${a}q_${h}`;
      }
      return lines;
    }),
    line: (image) =>
      held.flatMap((_, h) => {
        const text: string[] = [];
        const inside: string[] = [];
        let at = `i32(${image})`;
        for (const a of outer) {
          text.push(`let ${a}p_${h} = i32(${a}l * p.${a}mul) + ${a}off_${h};`);
          inside.push(`u32(${a}p_${h}) < p.${a}limit`);
          at = `(${at} * i32(p.${a}limit) + ${a}p_${h})`;
        }
        text.push(`let in_${h} = ${allOf(inside)}; let at_${h} = ${at} * i32(p.xlimit);`);
        return text;
      }),
    load: (count) =>
      loads(count).map(({ unit, step, name }) => {
        const h = held.indexOf(unit);
        const channel = wideA ? `(p.channels / 4u) + c_${h} / 4u` : `p.channels + c_${h}`;
        const index = `u32(select(0, at_${h} + x_${name}, ok_${name})) * ${channel}`;
        return `let x_${name} = i32((x + ${step}) * p.xmul) + xoff_${h}; ` +
          `let ok_${name} = ${allOf([`in_${h}`, `u32(x_${name}) < p.xlimit`])}; ` +
          `let ${name} = select(${zero}, ${
            loadText(dtype, `in0[${index}]`, wideA ? 4 : 1)
          }, ok_${name});`;
      }),
    row: (i, count) =>
      dealt && (!wideA || i % 4 === 0)
        ? each(count, (q) => {
          const u = unitOf(i);
          return `let v${u}_${q} = ${dealt.value(u, q, (h) => `a${h}`)};`;
        })
        : [],
    value: (i, q) => `${dealt ? "v" : "a"}${unitOf(i)}_${q}${lane(i)}`,
  };
}

function each<T>(n: number, f: (i: number) => T): T[] {
  return Array.from({ length: n }, (_, i) => f(i));
}
