/**
 * Gathering convolution with a register tile in each invocation and no workgroup memory, for software adapters.
 */
import type { DType } from "../../core/dtype.ts";
import { makeProgram, type Program, Programs } from "../../core/dispatch.ts";
import { accType, loadText } from "../../core/gpu_storage.ts";
import { axisNames, gatherParams, originText, outText, phaseText, placeText } from "./gather.ts";
import { columnLoads } from "../matmul/columns.ts";
import { deal, laneDirectives, lanePlace } from "../matmul/rows.ts";
import type { LaneProfile } from "../matmul/lanes.ts";
import { type Epilogue, printEpilogue } from "../matmul/epilogue.ts";
import { addProducts, allOf, declareSums, elementType, LANES, storeSums } from "../matmul/text.ts";
import type { RegisterTile } from "../matmul/tiles.ts";

/** What shapes the text. */
export interface ConvSource {
  /** Element type of image and filter. */
  readonly dtype: DType;
  /** Element type stored. */
  readonly out: DType;
  /** There is a depth axis. */
  readonly deep: boolean;
  /** The filter is read transposed. */
  readonly transposed: boolean;
  /** There is more than one phase. */
  readonly phased: boolean;
  /** The image is read four channels at a time. */
  readonly wideA: boolean;
  /** The filter is read four at a time. */
  readonly wideB: boolean;
  /** Four channels are stored at once. */
  readonly wideC: boolean;
  /** What happens before a store. */
  readonly epilogue?: Epilogue | undefined;
}

/** Uniform fields, in order; those of the axes follow. */
export const CONV_REGISTER_PARAMS = [
  "m",
  "n",
  "channels",
  "ldb",
  "ldc",
  "col0",
  "zbase",
  "groups",
  "rowgroups",
  "lanemask",
  "laneshift",
] as const;

const programs = new Programs();

/** The program for a source and a tile. */
export function convRegisterProgram(
  source: ConvSource,
  tile: RegisterTile,
  profile: LaneProfile,
): Program {
  const { rows, vecs, across } = tile, { lanes, subgroupDirective } = profile;
  const { dtype, out, deep, transposed, phased, wideA, wideB, wideC } = source;
  const finish = printEpilogue(source.epilogue, dtype, out, wideC ? 4 : 1, 2);
  const key = [
    rows,
    vecs,
    across,
    lanes,
    subgroupDirective,
    deep,
    transposed,
    phased,
    wideA,
    wideB,
    wideC,
    finish.key,
  ].join();
  let program = programs.get(key);
  if (program) return program;
  const names = axisNames(deep);
  // The rows whose image an invocation loads: its own, or its share of those of its row of lanes.
  const dealt = across === undefined ? undefined : deal(rows, 1, across, lanes);
  const each = (f: (h: number) => string | string[]): string[] =>
    Array.from({ length: dealt?.loads(1) ?? rows }, (_, h) => f(h)).flat();
  const rowOf = (h: number): string => (dealt ? dealt.unit(h) : `${h}u`);
  const t = accType(dtype);
  const b = columnLoads({
    dtype,
    transposed,
    wide: wideB,
    base: "0u",
    at: transposed ? "k" : "(kb + k)",
    ...(transposed ? { shift: "kb" } : {}),
  }, vecs);
  const zero = wideA ? `vec4<${t}>()` : `${t}(0)`;
  const step = wideA ? 4 : 1;
  const lines = [
    "let g = wid.x + wid.y * nwg.x;",
    "if (g >= p.groups) { return; }",
    ...lanePlace(tile, lanes),
    ...phaseText(deep, phased, "(wid.z + p.zbase)"),
    ...each((h) => [
      ...placeText(deep, `min(r0 + ${rowOf(h)}, p.m - 1u)`, `_${h}`),
      ...originText(deep, `_${h}`),
    ]),
    ...b.setup,
    ...declareSums(rows, vecs, dtype),
  ];
  // One loop per axis; the position of each row is narrowed axis by axis.
  let before = (i: number): string => `i32(n_${i})`;
  let inside = (_: number): string[] => [];
  let tap = "0u";
  for (const a of names) {
    const last = inside, base = before;
    lines.push(
      `for (var u${a} = 0u; u${a} < n${a}; u${a}++) {`,
      ...each((i) => [
        `let ${a}p_${i} = ${a}0_${i} + i32(u${a}) * p.${a}step;`,
        `let ${a}in_${i} = ${allOf([...last(i), `u32(${a}p_${i}) < p.${a}limit`])};`,
        `let ${a}b_${i} = ${base(i)} * i32(p.${a}limit) + ${a}p_${i};`,
      ]),
      `let t${a} = ${tap} * p.${a}taps + f${a} + u${a} * p.${a}phases;`,
    );
    before = (i) => `${a}b_${i}`;
    inside = (i) => [`${a}in_${i}`];
    tap = `t${a}`;
  }
  lines.push(
    transposed ? `let kb = ${tap} * p.n * p.ldb;` : `let kb = ${tap} * p.channels;`,
    ...each((i) =>
      `let ai${i} = u32(select(0, ${before(i)}, ${inside(i)})) * ${
        wideA ? "(p.channels / 4u)" : "p.channels"
      };`
    ),
    `for (var k = 0u; k < p.channels; k += ${step}u) {`,
    ...each((i) =>
      `let a${i} = select(${zero}, ${
        loadText(dtype, `in0[ai${i} + ${wideA ? "k / 4u" : "k"}]`, wideA ? 4 : 1)
      }, ${inside(i)});`
    ),
    ...b.load(step),
    ...addProducts(tile, step, {
      row: (i) => (dealt ? [`let x${i} = ${dealt.value(i, 0, (h) => `a${h}`)};`] : []),
      value: (i, q) => (dealt ? "x" : "a") + i + (wideA ? `.${LANES[q]}` : ""),
    }, b),
    "}",
    ...names.map(() => "}"),
  );
  if (phased) {
    // Where the result of each row goes; the largest number is nowhere.
    lines.push(...each((h) => {
      const { lines: places, inside, pixel } = outText(deep, `_${h}`);
      return [
        ...places,
        `let o${h} = select(0xffffffffu, ${pixel}, ${allOf([`r0 + ${rowOf(h)} < p.m`, inside])});`,
      ];
    }));
    for (let i = 0; i < rows; i++) {
      lines.push(`let to${i} = ${dealt ? dealt.value(i, 0, (h) => `o${h}`) : `o${i}`};`);
    }
  }
  lines.push(...storeSums(rows, vecs, {
    wide: wideC,
    dtype,
    accumulate: false,
    rowAt: (i) => `${phased ? `to${i}` : `(r0 + ${i}u)`} * p.ldc`,
    rowIn: (i) => (phased ? `to${i} != 0xffffffffu` : `r0 + ${i}u < p.m`),
    column: (j) => `(c0 + ${j}u)`,
  }));
  program = makeProgram({
    name: `conv_register_${rows}x${vecs * 4}`,
    enable: laneDirectives(tile, profile),
    inputs: [elementType(dtype, wideA), elementType(dtype, wideB), ...finish.inputs],
    outputs: [finish.output],
    params: [...CONV_REGISTER_PARAMS, ...gatherParams(deep)],
    workgroup: [lanes, 1, 1],
    prelude: finish.prelude,
    body: lines.join("\n"),
  });
  programs.set(key, program);
  return program;
}
