/**
 * Convolutions by the tiled kernel: how blocks of image patches and filters are read.
 */
import type { DType } from "../../core/dtype.ts";
import type { Program } from "../../core/dispatch.ts";
import { accType, loadText } from "../../core/gpu_storage.ts";
import { axisNames, gatherParams, originText, outText, phaseText, placeText } from "./gather.ts";
import type { ConvSource } from "./register.ts";
import {
  type BlockLoader,
  SHARED_PARAMS,
  sharedProgram,
  type SharedTile,
  TRANSPOSE_BLOCK,
} from "../matmul/tiled.ts";
import { allOf, elementType } from "../matmul/text.ts";
import { plainBlocks } from "../matmul/blocks.ts";

const each = (f: (i: number) => string): string[] => [0, 1, 2, 3].map(f);

/** Uniform fields of {@linkcode convSharedProgram}, in order; those of the axes follow. */
export const CONV_SHARED_PARAMS: readonly string[] = [...SHARED_PARAMS, "channels", "ldb"];

/** Gathering convolution; `wid.z` counts phases, or parts of sums where `split`. */
export function convSharedProgram(source: ConvSource, tile: SharedTile, split: boolean): Program {
  const { dtype, out, deep, transposed, phased, wideB, wideC, epilogue } = source;
  const names = axisNames(deep);
  const filter = transposed ? turnedFilter(source) : plainBlocks({
    dtype,
    buffer: "in1",
    alongK: false,
    wide: wideB,
    base: "0u",
    stride: "p.ldb",
    extent: "p.n",
  });
  return sharedProgram({
    name: "conv_shared",
    tile,
    dtype,
    out,
    a: patchRows(source),
    b: filter,
    wideC,
    accumulate: false,
    split,
    setup: phaseText(deep, phased, "z"),
    terms: phased ? `${names.map((a) => `n${a}`).join(" * ")} * p.channels` : "p.k",
    params: ["channels", "ldb", ...gatherParams(deep)],
    epilogue,
    ...(phased
      ? {
        row: (row: string, suffix: string) => {
          const place = outText(deep, suffix);
          return {
            lines: [...placeText(deep, `min(${row}, p.m - 1u)`, suffix), ...place.lines],
            inside: place.inside,
            at: `${place.pixel} * p.ldc`,
          };
        },
      }
      : {}),
  });
}

/** Statements that split term `k` into its channel `c` and taps `uz, uy, ux`, each with `suffix`. */
function tapText(deep: boolean, k: string, suffix: string): string[] {
  const lines = [
    `let tap${suffix} = ${k} / p.channels; let c${suffix} = ${k} - tap${suffix} * p.channels;`,
  ];
  let rest = `tap${suffix}`;
  const names = axisNames(deep);
  for (const a of [...names].reverse()) {
    if (a === names[0]) lines.push(`let u${a}${suffix} = ${rest};`);
    else {
      lines.push(
        `let w${a}${suffix} = ${rest} / n${a}; let u${a}${suffix} = ${rest} - w${a}${suffix} * n${a};`,
      );
      rest = `w${a}${suffix}`;
    }
  }
  return lines;
}

/** Statements that find tap `t` of row `i`: whether it is inside (`in`) and its pixel (`px`). */
function pixelText(deep: boolean, i: number, t: string, suffix: string): string[] {
  const lines: string[] = [];
  let pixel = `i32(nA_${i})`;
  const inside: string[] = [];
  for (const a of axisNames(deep)) {
    lines.push(`let ${a}p${suffix} = ${a}0A_${i} + i32(u${a}${t}) * p.${a}step;`);
    inside.push(`u32(${a}p${suffix}) < p.${a}limit`);
    pixel = `(${pixel} * i32(p.${a}limit) + ${a}p${suffix})`;
  }
  lines.push(
    `let in${suffix} = ${allOf(inside)};`,
    `let px${suffix} = u32(select(0, ${pixel}, in${suffix}));`,
  );
  return lines;
}

/** Patches as rows: four places, four terms. */
function patchRows({ dtype, deep, wideA }: ConvSource): BlockLoader {
  const t = accType(dtype);
  const setup = [0, 1, 2, 3].flatMap((i) => [
    ...placeText(deep, `min(at0 + ${i}u, p.m - 1u)`, `A_${i}`),
    ...originText(deep, `A_${i}`),
  ]);
  const lines: string[] = [];
  if (wideA) {
    lines.push(
      ...tapText(deep, "min(k, k1 - 4u)", ""),
      ...[0, 1, 2, 3].flatMap((i) => pixelText(deep, i, "", `_${i}`)),
      ...each((i) =>
        `let w${i} = select(vec4<${t}>(), ${
          loadText(dtype, `in0[px_${i} * (p.channels / 4u) + c / 4u]`, 4)
        }, ${allOf([`in_${i}`, "k < k1"])});`
      ),
      ...TRANSPOSE_BLOCK,
    );
  } else {
    for (let q = 0; q < 4; q++) {
      lines.push(`var v${q}: vec4<${t}>;`, "{", ...tapText(deep, `min(k + ${q}u, k1 - 1u)`, ""));
      lines.push(
        ...[0, 1, 2, 3].flatMap((i) => pixelText(deep, i, "", `_${i}`)),
        ...each((i) =>
          `let e${i} = select(${t}(0), ${loadText(dtype, `in0[px_${i} * p.channels + c]`)}, ${
            allOf([`in_${i}`, `k + ${q}u < k1`])
          });`
        ),
        `v${q} = vec4(e0, e1, e2, e3);`,
        "}",
      );
    }
  }
  return { buffer: elementType(dtype, wideA), setup, block: lines };
}

/** Text of the filter's tap for the taps of a phase. */
function filterTap(deep: boolean, suffix: string): string {
  let text = "0u";
  for (const a of axisNames(deep)) {
    text = `(${text} * p.${a}taps + f${a} + u${a}${suffix} * p.${a}phases)`;
  }
  return text;
}

/** The filter `[taps, n, channels]`: four columns, four terms. */
function turnedFilter({ dtype, deep, wideB }: ConvSource): BlockLoader {
  const t = accType(dtype);
  const lines: string[] = [];
  if (wideB) {
    lines.push(
      ...tapText(deep, "min(k, k1 - 4u)", ""),
      `let ft = ${filterTap(deep, "")} * p.n;`,
      ...each((i) =>
        `let w${i} = select(vec4<${t}>(), ${
          loadText(dtype, `in1[(ft + min(at + ${i}u, p.n - 1u)) * p.ldb + c / 4u]`, 4)
        }, k < k1);`
      ),
      ...TRANSPOSE_BLOCK,
    );
  } else {
    for (let q = 0; q < 4; q++) {
      lines.push(
        ...tapText(deep, `min(k + ${q}u, k1 - 1u)`, `_${q}`),
        `let ft${q} = ${filterTap(deep, `_${q}`)} * p.n;`,
        `let v${q} = select(vec4<${t}>(), vec4(${
          each((i) => loadText(dtype, `in1[(ft${q} + min(at + ${i}u, p.n - 1u)) * p.ldb + c_${q}]`))
            .join(", ")
        }), k + ${q}u < k1);`,
      );
    }
  }
  return { buffer: elementType(dtype, wideB), setup: [], block: lines };
}

/** What shapes the program of a filter's gradient. */
export interface FilterGradSource {
  /** Element type. */
  readonly dtype: DType;
  /** Element type stored. */
  readonly out: DType;
  /** There is a depth axis. */
  readonly deep: boolean;
  /** The image is read four channels at a time. */
  readonly wideA: boolean;
  /** The gradient is read, and the result stored, four channels at a time. */
  readonly wideB: boolean;
}

/** Uniform fields of {@linkcode filterSharedProgram}, in order; those of the axes follow. */
export const FILTER_SHARED_PARAMS: readonly string[] = [...SHARED_PARAMS, "channels", "ldb"];

/** Gradient of the filter: rows are taps and channels of the image, columns channels of the gradient, terms places. */
export function filterSharedProgram(
  source: FilterGradSource,
  tile: SharedTile,
  split: boolean,
): Program {
  const { dtype, out, deep, wideB } = source;
  return sharedProgram({
    name: "conv_filter_shared",
    tile,
    dtype,
    out,
    a: patchColumns(source),
    b: plainBlocks({
      dtype,
      buffer: "in1",
      alongK: false,
      wide: wideB,
      base: "0u",
      stride: "p.ldb",
      extent: "p.n",
    }),
    wideC: wideB,
    accumulate: false,
    split,
    setup: [],
    params: ["channels", "ldb", ...gatherParams(deep)],
  });
}

/** Patches as columns: four taps and channels, four places. */
function patchColumns({ dtype, deep, wideA }: FilterGradSource): BlockLoader {
  const t = accType(dtype);
  const names = axisNames(deep);
  const tapOf = (row: string, s: string): string[] => {
    const lines = [`let tr${s} = ${row} / p.channels; let tc${s} = ${row} - tr${s} * p.channels;`];
    let rest = `tr${s}`;
    for (const a of [...names].reverse()) {
      lines.push(`let t${a}${s} = ${rest} % p.${a}taps; let tq${a}${s} = ${rest} / p.${a}taps;`);
      rest = `tq${a}${s}`;
    }
    for (const a of names) lines.push(`let ${a}off${s} = i32(t${a}${s}) * p.${a}step + p.${a}add;`);
    return lines;
  };
  const setup = wideA
    ? tapOf("min(at0, p.m - 4u)", "A")
    : [0, 1, 2, 3].flatMap((i) => tapOf(`min(at0 + ${i}u, p.m - 1u)`, `A${i}`));
  const pixel = (q: number, s: string): string[] => {
    const lines: string[] = [];
    let text = `i32(n_${q})`;
    const inside = [`k + ${q}u < k1`];
    for (const a of names) {
      lines.push(`let ${a}p${s}_${q} = i32(${a}_${q} * p.${a}mul) + ${a}off${s};`);
      inside.push(`u32(${a}p${s}_${q}) < p.${a}limit`);
      text = `(${text} * i32(p.${a}limit) + ${a}p${s}_${q})`;
    }
    lines.push(
      `let in${s}_${q} = ${allOf(inside)};`,
      `let px${s}_${q} = u32(select(0, ${text}, in${s}_${q}));`,
    );
    return lines;
  };
  const lines: string[] = [];
  for (let q = 0; q < 4; q++) {
    lines.push(...placeText(deep, `min(k + ${q}u, k1 - 1u)`, `_${q}`));
    if (wideA) {
      lines.push(
        ...pixel(q, "A"),
        `let v${q} = select(vec4<${t}>(), ${
          loadText(dtype, `in0[pxA_${q} * (p.channels / 4u) + tcA / 4u]`, 4)
        }, inA_${q});`,
      );
    } else {
      lines.push(
        ...[0, 1, 2, 3].flatMap((i) => pixel(q, `A${i}`)),
        `let v${q} = vec4(${
          each((i) =>
            `select(${t}(0), ${
              loadText(dtype, `in0[pxA${i}_${q} * p.channels + tcA${i}]`)
            }, inA${i}_${q})`
          )
            .join(", ")
        });`,
      );
    }
  }
  return { buffer: elementType(dtype, wideA), setup, block: lines };
}
