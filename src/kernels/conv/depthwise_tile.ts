/**
 * WGSL of depthwise convolutions for software adapters: an invocation makes a rectangle of results of four channels, with
 * every tap spelled out. Loops and branches cost such adapters more than the taps that fall outside.
 */
import type { DType } from "../../core/dtype.ts";
import { flatId, makeProgram, type Program } from "../../core/dispatch.ts";
import { accType, loadText } from "../../core/gpu_storage.ts";
import { type Epilogue, printEpilogue } from "../matmul/epilogue.ts";
import { elementType } from "../matmul/text.ts";

/** What shapes {@linkcode tileProgram}. Pairs are of height and width. */
export interface DepthwiseTile {
  /** Element type. */
  readonly dtype: DType;
  /** Element type stored. */
  readonly out: DType;
  /** Taps of the filter. */
  readonly taps: readonly [number, number];
  /** Steps between places. */
  readonly stride: readonly [number, number];
  /** Taps run backwards: the gradient of the image. */
  readonly backward: boolean;
  /** Results of an invocation. */
  readonly results: readonly [number, number];
  /** True where rectangles cover the result without rest. */
  readonly even: boolean;
  /** Invocations of a workgroup. */
  readonly workgroup: number;
  /** What happens before a store. */
  readonly epilogue?: Epilogue | undefined;
}

/** Uniform fields, in order. */
export const TILE_PARAMS = [
  "total",
  "c4",
  "yblocks",
  "xblocks",
  "yrows",
  "xrows",
  "ylimit",
  "xlimit",
  "yadd:i32",
  "xadd:i32",
] as const;

/** Loads and stores that a program spells out at most: each takes the adapter's compiler some milliseconds. */
const MAX_ACCESSES = 64;

/** Elements of the image, height and width, that a rectangle of results needs. */
function spanOf(
  { taps, stride, results }: Pick<DepthwiseTile, "taps" | "stride" | "results">,
): number[] {
  return [0, 1].map((d) => (results[d] - 1) * stride[d] + taps[d]);
}

/** How many results an invocation makes of so many rows and columns; null where even a few are too much to spell out. */
export function tileResults(
  { taps, stride, places }: Pick<DepthwiseTile, "taps" | "stride"> & {
    readonly places: readonly [number, number];
  },
): DepthwiseTile["results"] | null {
  for (const results of [[4, 4], [2, 4], [2, 2], [1, 4], [1, 2], [1, 1]] as const) {
    const [height, width] = spanOf({ taps, stride, results });
    const accesses = height * width + taps[0] * taps[1] + results[0] * results[1];
    const fits = results.every((n, d) => n < 2 * places[d]);
    if (fits && accesses <= MAX_ACCESSES) return results;
  }
  return null;
}

/** Four channels of a rectangle of neighbours. */
export function tileProgram(tile: DepthwiseTile): Program {
  const { dtype, out, taps, stride, backward, results, even, workgroup } = tile;
  const t = accType(dtype), finish = printEpilogue(tile.epilogue, dtype, out, 4, 2);
  const [height, width] = spanOf(tile);
  const range = (n: number): number[] => Array.from({ length: n }, (_, i) => i);
  const first = (d: number): string => (backward ? ` - ${taps[d] - 1}` : "");
  const lines = [
    `let i = ${flatId(workgroup)};`,
    "if (i >= p.total) { return; }",
    "let c = i % p.c4; let b = i / p.c4;",
    `let x0 = b % p.xblocks * ${results[1]}u; let l = b / p.xblocks;`,
    `let y0 = l % p.yblocks * ${results[0]}u; let n = l / p.yblocks;`,
    `let ys = i32(y0 * ${stride[0]}u) + p.yadd${first(0)};`,
    `let xs = i32(x0 * ${stride[1]}u) + p.xadd${first(1)};`,
    ...range(width).map((j) =>
      `let inx${j} = u32(xs + ${j}) < p.xlimit; let x_${j} = u32(select(0, xs + ${j}, inx${j})) * p.c4;`
    ),
    ...range(taps[0] * taps[1]).map((f) =>
      `let f${f} = ${loadText(dtype, `in1[${f}u * p.c4 + c]`, 4)};`
    ),
    ...range(results[0] * results[1]).map((s) => `var s${s} = vec4<${t}>();`),
  ];
  for (let r = 0; r < height; r++) {
    lines.push(
      `let iny${r} = u32(ys + ${r}) < p.ylimit;`,
      `let y_${r} = (n * p.ylimit + u32(select(0, ys + ${r}, iny${r}))) * p.xlimit * p.c4 + c;`,
      ...range(width).map((j) =>
        `let v${r}_${j} = select(vec4<${t}>(), ${
          loadText(dtype, `in0[y_${r} + x_${j}]`, 4)
        }, iny${r} & inx${j});`
      ),
      ...productsOfRow(tile, r),
    );
  }
  range(results[0]).forEach((y) =>
    range(results[1]).forEach((x) => {
      const s = y * results[1] + x;
      const store = `let at${s} = ((n * p.yrows + y0 + ${y}u) * p.xrows + x0 + ${x}u) * p.c4 + c;
out0[at${s}] = finish(s${s}, at${s}, c);`;
      lines.push(
        even ? store : `if (y0 + ${y}u < p.yrows && x0 + ${x}u < p.xrows) {\n${store}\n}`,
      );
    })
  );
  return makeProgram({
    name: `depthwise_tile_${taps[0]}x${taps[1]}`,
    inputs: [elementType(dtype, true), elementType(dtype, true), ...finish.inputs],
    outputs: [finish.output],
    params: TILE_PARAMS,
    workgroup: [workgroup, 1, 1],
    prelude: finish.prelude,
    body: lines.join("\n"),
  });
}

/** Adds what row `r` of the image gives to the results whose windows it lies in. */
function productsOfRow({ taps, stride, backward, results }: DepthwiseTile, r: number): string[] {
  const lines: string[] = [];
  const tap = (d: number, at: number): number => (backward ? taps[d] - 1 - at : at);
  for (let y = 0; y < results[0]; y++) {
    const u = r - y * stride[0];
    if (u < 0 || u >= taps[0]) continue;
    for (let x = 0; x < results[1]; x++) {
      for (let v = 0; v < taps[1]; v++) {
        const f = tap(0, u) * taps[1] + tap(1, v);
        lines.push(`s${y * results[1] + x} += v${r}_${x * stride[1] + v} * f${f};`);
      }
    }
  }
  return lines;
}
