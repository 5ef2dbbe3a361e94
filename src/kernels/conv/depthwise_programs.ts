/**
 * WGSL of depthwise convolutions and their gradients. An invocation makes a few neighbouring results of four channels, or,
 * where channels do not come in fours, one result.
 */
import type { DType } from "../../core/dtype.ts";
import { flatId, makeProgram, type Program } from "../../core/dispatch.ts";
import { accType, loadText, wgslType } from "../../core/gpu_storage.ts";
import { type Epilogue, printEpilogue } from "../matmul/epilogue.ts";
import { elementType } from "../matmul/text.ts";

const each = (n: number, f: (i: number) => string): string[] =>
  Array.from({ length: n }, (_, i) => f(i));

/** What shapes {@linkcode rowsProgram}. */
export interface RowsSource {
  /** Element type. */
  readonly dtype: DType;
  /** Element type stored. */
  readonly out: DType;
  /** Taps along a row of the filter. */
  readonly taps: number;
  /** Step between places along a row. */
  readonly stride: number;
  /** Taps run backwards: the gradient of the image. */
  readonly backward: boolean;
  /** Results along a row that an invocation makes. */
  readonly pixels: number;
  /** Invocations of a workgroup. */
  readonly workgroup: number;
  /** What happens before a store. */
  readonly epilogue?: Epilogue | undefined;
}

/** Uniform fields of {@linkcode rowsProgram}, in order. */
export const ROWS_PARAMS = [
  "total",
  "c4",
  "blocks",
  "yrows",
  "xrows",
  "ylimit",
  "xlimit",
  "ytaps",
  "ymul",
  "yadd:i32",
  "ystep:i32",
  "xadd:i32",
] as const;

/** Four channels of `pixels` neighbours: each element of an image row is loaded once for all the taps that meet it. */
export function rowsProgram(s: RowsSource): Program {
  const { dtype, out, taps, stride, backward, pixels, workgroup } = s;
  const t = accType(dtype), finish = printEpilogue(s.epilogue, dtype, out, 4, 2);
  const span = (pixels - 1) * stride + taps;
  const lines = [
    `let i = ${flatId(workgroup)};`,
    "if (i >= p.total) { return; }",
    "let c = i % p.c4; let b = i / p.c4;",
    `let x0 = b % p.blocks * ${pixels}u; let l = b / p.blocks;`,
    "let y = l % p.yrows; let n = l / p.yrows;",
    `let xs = i32(x0 * ${stride}u) + p.xadd${backward ? ` - ${taps - 1}` : ""};`,
    ...each(pixels, (j) => `var s${j} = vec4<${t}>();`),
    ...each(
      span,
      (j) =>
        `let in${j}_ = u32(xs + ${j}) < p.xlimit; let xi${j} = u32(select(0, xs + ${j}, in${j}_)) * p.c4 + c;`,
    ),
    "for (var u = 0u; u < p.ytaps; u++) {",
    "let ys = i32(y * p.ymul) + p.yadd + i32(u) * p.ystep;",
    "if (u32(ys) >= p.ylimit) { continue; }",
    "let base = (n * p.ylimit + u32(ys)) * p.xlimit * p.c4;",
    ...each(
      taps,
      (f) => `let f${f} = ${loadText(dtype, `in1[(u * ${taps}u + ${f}u) * p.c4 + c]`, 4)};`,
    ),
    ...each(
      span,
      (j) =>
        `let v${j} = select(vec4<${t}>(), ${loadText(dtype, `in0[base + xi${j}]`, 4)}, in${j}_);`,
    ),
  ];
  for (let j = 0; j < pixels; j++) {
    for (let f = 0; f < taps; f++) {
      lines.push(`s${j} += v${j * stride + (backward ? taps - 1 - f : f)} * f${f};`);
    }
  }
  lines.push(
    "}",
    "let at = (l * p.xrows + x0) * p.c4 + c;",
    ...each(
      pixels,
      (j) =>
        `if (x0 + ${j}u < p.xrows) { out0[at + ${j}u * p.c4] = finish(s${j}, at + ${j}u * p.c4, c); }`,
    ),
  );
  return makeProgram({
    name: `depthwise_rows_${taps}`,
    inputs: [elementType(dtype, true), elementType(dtype, true), ...finish.inputs],
    outputs: [finish.output],
    params: ROWS_PARAMS,
    workgroup: [workgroup, 1, 1],
    prelude: finish.prelude,
    body: lines.join("\n"),
  });
}

/** What shapes the programs that make one result an invocation. */
export interface OneSource {
  /** Element type. */
  readonly dtype: DType;
  /** Element type stored. */
  readonly out: DType;
  /** Four channels at once: only where each channel has one filter. */
  readonly wide: boolean;
  /** Invocations of a workgroup. */
  readonly workgroup: number;
  /** What happens before a store. */
  readonly epilogue?: Epilogue | undefined;
}

/** Uniform fields of {@linkcode oneProgram} and {@linkcode oneInputProgram}, in order. Channels count what is moved at once. */
export const ONE_PARAMS = [
  "total",
  "channels",
  "filters",
  "yrows",
  "xrows",
  "ylimit",
  "xlimit",
  "ytaps",
  "xtaps",
  "ystride",
  "xstride",
  "ydilation",
  "xdilation",
  "ybefore",
  "xbefore",
] as const;

/** One result: any filter, any number of filters a channel. */
export function oneProgram(s: OneSource): Program {
  const { dtype, out, wide, workgroup } = s;
  const t = wide ? `vec4<${accType(dtype)}>` : accType(dtype);
  const finish = printEpilogue(s.epilogue, dtype, out, wide ? 4 : 1, 2);
  return makeProgram({
    name: "depthwise_one",
    inputs: [elementType(dtype, wide), elementType(dtype, wide), ...finish.inputs],
    outputs: [finish.output],
    params: ONE_PARAMS,
    workgroup: [workgroup, 1, 1],
    prelude: finish.prelude,
    body: `let i = ${flatId(workgroup)};
if (i >= p.total) { return; }
let width = p.channels * p.filters;
let oc = i % width; let b = i / width; let c = oc / p.filters;
let x = b % p.xrows; let l = b / p.xrows; let y = l % p.yrows; let n = l / p.yrows;
var s = ${t}();
for (var u = 0u; u < p.ytaps; u++) {
  let ys = y * p.ystride + u * p.ydilation - p.ybefore;
  if (ys >= p.ylimit) { continue; }
  for (var v = 0u; v < p.xtaps; v++) {
    let xs = x * p.xstride + v * p.xdilation - p.xbefore;
    if (xs >= p.xlimit) { continue; }
    s += ${
      loadText(dtype, "in0[((n * p.ylimit + ys) * p.xlimit + xs) * p.channels + c]", wide ? 4 : 1)
    } * ${loadText(dtype, "in1[(u * p.xtaps + v) * width + oc]", wide ? 4 : 1)};
  }
}
out0[i] = finish(s, i, oc);`,
  });
}

/** One element of the gradient of the image: any stride and dilation. Rows are those of the image, limits those of the gradient. */
export function oneInputProgram(s: OneSource): Program {
  const { dtype, out, wide, workgroup } = s;
  const t = wide ? `vec4<${accType(dtype)}>` : accType(dtype);
  const finish = printEpilogue(undefined, dtype, out, wide ? 4 : 1, 2);
  return makeProgram({
    name: "depthwise_input_one",
    inputs: [elementType(dtype, wide), elementType(dtype, wide)],
    outputs: [finish.output],
    params: ONE_PARAMS,
    workgroup: [workgroup, 1, 1],
    prelude: finish.prelude,
    body: `let i = ${flatId(workgroup)};
if (i >= p.total) { return; }
let width = p.channels * p.filters;
let c = i % p.channels; let b = i / p.channels;
let x = b % p.xrows; let l = b / p.xrows; let y = l % p.yrows; let n = l / p.yrows;
var s = ${t}();
for (var u = 0u; u < p.ytaps; u++) {
  let ya = y + p.ybefore - u * p.ydilation;
  let ys = ya / p.ystride;
  // A negative position wraps to a large one.
  if (ys >= p.ylimit || ys * p.ystride != ya) { continue; }
  for (var v = 0u; v < p.xtaps; v++) {
    let xa = x + p.xbefore - v * p.xdilation;
    let xs = xa / p.xstride;
    if (xs >= p.xlimit || xs * p.xstride != xa) { continue; }
    let g = ((n * p.ylimit + ys) * p.xlimit + xs) * width + c * p.filters;
    let f = (u * p.xtaps + v) * width + c * p.filters;
    for (var q = 0u; q < p.filters; q++) {
      s += ${loadText(dtype, "in0[g + q]", wide ? 4 : 1)} * ${
      loadText(dtype, "in1[f + q]", wide ? 4 : 1)
    };
    }
  }
}
out0[i] = finish(s, i, c);`,
  });
}

/** Uniform fields of {@linkcode filterProgram}, in order. Channels count what is moved at once. */
export const DEPTHWISE_FILTER_PARAMS = [
  "total",
  "channels",
  "filters",
  "lines",
  "step",
  "yrows",
  "xrows",
  "ylimit",
  "xlimit",
  "xtaps",
  "ystride",
  "xstride",
  "ydilation",
  "xdilation",
  "ybefore",
  "xbefore",
] as const;

/** Elements of the gradient of the filter: `taps` neighbours along a row, summed over some lines of places. `wid.z` counts parts. */
export function filterProgram(s: OneSource, taps: number): Program {
  const { dtype, out, wide, workgroup } = s;
  const t = wide ? `vec4<${accType(dtype)}>` : accType(dtype);
  const stored = wide ? `vec4<${wgslType(out)}>` : wgslType(out);
  const finish = printEpilogue(undefined, dtype, out, wide ? 4 : 1, 2);
  return makeProgram({
    name: `depthwise_filter_${taps}`,
    inputs: [elementType(dtype, wide), elementType(dtype, wide)],
    outputs: [stored],
    params: DEPTHWISE_FILTER_PARAMS,
    workgroup: [workgroup, 1, 1],
    prelude: finish.prelude,
    body: [
      `let i = ${flatId(workgroup)};`,
      "if (i >= p.total) { return; }",
      "let width = p.channels * p.filters;",
      "let oc = i % width; let b = i / width; let c = oc / p.filters;",
      `let blocks = p.xtaps / ${taps}u;`,
      `let v0 = b % blocks * ${taps}u; let u = b / blocks;`,
      ...each(taps, (f) => `var s${f} = ${t}();`),
      "for (var line = wid.z * p.step; line < min((wid.z + 1u) * p.step, p.lines); line++) {",
      "let y = line % p.yrows; let n = line / p.yrows;",
      "let ys = y * p.ystride + u * p.ydilation - p.ybefore;",
      "if (ys >= p.ylimit) { continue; }",
      "for (var x = 0u; x < p.xrows; x++) {",
      `let g = ${loadText(dtype, "in1[(line * p.xrows + x) * width + oc]", wide ? 4 : 1)};`,
      ...each(taps, (f) =>
        [
          `let x${f} = x * p.xstride + (v0 + ${f}u) * p.xdilation - p.xbefore; let in${f}_ = x${f} < p.xlimit;`,
          `s${f} += g * select(${t}(), ${
            loadText(
              dtype,
              `in0[((n * p.ylimit + ys) * p.xlimit + select(0u, x${f}, in${f}_)) * p.channels + c]`,
              wide ? 4 : 1,
            )
          }, in${f}_);`,
        ].join("\n")),
      "}",
      "}",
      `let at = wid.z * p.total * ${taps}u + (u * p.xtaps + v0) * width + oc;`,
      ...each(taps, (f) => `out0[at + ${f}u * width] = finish(s${f}, at, oc);`),
    ].join("\n"),
  });
}
