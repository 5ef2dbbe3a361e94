/**
 * Pointwise kernels for the GPU: one invocation computes four neighbours where shapes allow, eight where the adapter
 * loads them as fast, one element otherwise.
 */
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import { broadcastShapes, type Shape, sizeOf } from "../../core/shape.ts";
import type { DType } from "../../core/dtype.ts";
import {
  type BufferRange,
  type Dispatch,
  f32Bits,
  type GpuPlan,
  gridFor,
  type Profile,
  type Program,
  Programs,
} from "../../core/dispatch.ts";
import { EIGHT, GPU_DTYPES, gpuBytes, joinEight, vec, wgslType } from "../../core/gpu_storage.ts";
import { argumentsOf, type Expr, exprKey, exprType } from "../../core/scalar/expr.ts";
import { helperText, storeElement } from "../../core/scalar/wgsl.ts";
import { wgslFunctions } from "../../core/scalar/wgsl_functions.ts";
import { shaderProgram } from "../../core/shader.ts";
import { POINTWISE_FRAME, SCALAR_WGSL } from "../../../shaders_generated.ts";
import { indexNames, indexWords, type Layout, layOut, layoutKey, printElements } from "./layout.ts";
import { withParameters } from "./constants.ts";
import { ALIGN } from "../copy/pieces.ts";
import { WIDE_ELEMENTS } from "../thresholds.ts";

const WORKGROUP = 256;
/** Words that fit the uniform block, beside the number of elements and a zero. */
const MAX_WORDS = 62;
/** Characters of inlined functions above which a software adapter takes more than half a second for a kernel. */
const MOST_HELPERS = 32 * 1024;
const programs = new Programs();

/** True where the GPU can hold every dtype and bind every buffer. */
export function pointwiseFits(
  exprs: readonly Expr[],
  ins: readonly ConcreteSpec[],
  profile: Profile,
): boolean {
  const ok = (t: DType): boolean => GPU_DTYPES.includes(t);
  const dtypes = ins.map((i) => i.dtype);
  if (!dtypes.every(ok) || !exprs.every((e) => ok(exprType(e, dtypes)))) return false;
  if (ins.length + exprs.length > profile.maxBuffers) return false;
  const shape = ins.map((i) => i.shape).reduce((a: Shape, b) => broadcastShapes(a, b) as Shape, []);
  const outs = exprs.map((e) => exprType(e, dtypes));
  const layout = layOut(ins, shape, most(exprs, ins, outs, shape, profile));
  return cut(ins, outs, shape, layout, profile) !== null;
}

/**
 * Plans one dispatch, or one for each bound piece of large buffers, that computes `exprs[i]` of the inputs into output
 * i, broadcasting.
 */
export function pointwiseGpu(
  exprs: readonly Expr[],
  ins: readonly ConcreteSpec[],
  out: ConcreteSpec,
  profile: Profile,
): GpuPlan {
  const size = sizeOf(out.shape);
  if (size === 0) return { dispatches: [] };
  const buffers: Dispatch["buffers"] = [
    ...ins.map((_, input) => ({ input })),
    ...exprs.map((_, output) => ({ output })),
  ];
  const dtypes = ins.map((i) => i.dtype);
  const outs = exprs.map((e) => exprType(e, dtypes));
  const layout = layOut(ins, out.shape, most(exprs, ins, outs, out.shape, profile));
  const words = indexWords(layout);
  const bake = words.length > MAX_WORDS;
  const { exprs: printed, values } = withParameters(
    exprs,
    dtypes,
    bake ? 0 : MAX_WORDS - words.length,
  );
  // In baked programs all strides are part of the source.
  const key = `${exprKey(...printed)}|${dtypes}|${layoutKey(layout)}|${bake ? words : ""}`;
  let program = programs.get(key);
  if (!program) programs.set(key, program = print(printed, dtypes, layout, bake));
  return {
    dispatches: cut(ins, outs, out.shape, layout, profile)!.map(({ count, ranges }) => ({
      program,
      buffers: buffers.map((b, k) => ({ ...b, ...ranges[k] })),
      params: [count / layout.wide, ...(bake ? [] : words), ...values.map(f32Bits)],
      grid: gridFor(count / layout.wide, WORKGROUP, profile),
    })),
  };
}

/**
 * Returns the most neighbours that an invocation may compute at once: one where functions are long, which drivers inline for each, and whose
 * time is not that of loads.
 */
function most(
  exprs: readonly Expr[],
  ins: readonly ConcreteSpec[],
  outs: readonly DType[],
  shape: Shape,
  { words64 }: Profile,
): 1 | 4 | 8 {
  if (4 * helperText(exprs) > MOST_HELPERS) return 1;
  // Two parts are a vector already.
  if ([...ins.map((i) => i.dtype), ...outs].includes("complex64")) return 1;
  const words = [...ins.map((i) => i.dtype), ...outs].every((t) => gpuBytes(t) === 4);
  return words64 && words && sizeOf(shape) >= WIDE_ELEMENTS ? 8 : 4;
}

/** A run of elements of the results, and its part of each buffer. */
interface Piece {
  readonly count: number;
  readonly ranges: readonly BufferRange[];
}

/** Cuts the outermost axis into pieces whose parts of the buffers can be bound; null where there are none. */
function cut(
  ins: readonly ConcreteSpec[],
  outs: readonly DType[],
  shape: Shape,
  { access, dims, strides }: Layout,
  profile: Profile,
): Piece[] | null {
  const size = sizeOf(shape), rows = dims[0] ?? size, most = profile.maxBinding;
  if (size === 0) return [];
  const fixed = ins.filter((_, k) =>
    access[k] === "only" || strides[access[k] as number]?.[0] === 0
  );
  if (fixed.some((s) => sizeOf(s.shape) * gpuBytes(s.dtype) > most)) return null;
  // Bytes from one row to the next; 0 where all rows read the same.
  const rowBytes = [
    ...ins.map(({ dtype }, k) => {
      const a = access[k];
      return gpuBytes(dtype) * (a === "only" ? 0 : a === "like" ? size / rows : strides[a][0]);
    }),
    ...outs.map((dtype) => gpuBytes(dtype) * size / rows),
  ];
  const widest = Math.max(...rowBytes);
  if (rows * widest <= most) return [{ count: size, ranges: rowBytes.map(() => ({})) }];
  // Number of rows after which every buffer is at a multiple of the alignment.
  let unit = 1;
  while (rowBytes.some((bytes) => bytes * unit % ALIGN !== 0)) unit *= 2;
  const step = Math.floor(most / widest / unit) * unit;
  if (step === 0) return null;
  return Array.from({ length: Math.ceil(rows / step) }, (_, k) => {
    const first = k * step, n = Math.min(step, rows - first);
    const ranges = rowBytes.map((bytes): BufferRange =>
      bytes === 0 ? {} : { offset: first * bytes, size: Math.ceil(n * bytes / 4) * 4 }
    );
    return { count: n * size / rows, ranges };
  });
}

function print(
  exprs: readonly Expr[],
  dtypes: readonly DType[],
  layout: Layout,
  bake: boolean,
): Program {
  const { wide, access } = layout;
  const constants = Math.max(0, ...exprs.flatMap(argumentsOf).map((k) => k + 1 - access.length));
  const types = [...dtypes, ...new Array<DType>(constants).fill("float32")];
  const outs = exprs.map((e) => exprType(e, types));
  const names = indexNames(layout), words = indexWords(layout);
  const word = (name: string): string => (bake ? `${words[names.indexOf(name)]}u` : `p.${name}`);
  const printed = printElements(exprs, types, layout, word);
  const lines = [...printed.lines];
  printed.lanes.forEach((lanes, k) => {
    const texts = lanes.map((text) => storeElement(outs[k], text));
    const type = wgslType(outs[k]);
    const four = (h: number): string => `${vec(type, 4)}(${texts.slice(4 * h, 4 * h + 4)})`;
    lines.push(
      `out${k}[i] = ${
        wide === 8 ? joinEight(type, four(0), four(1)) : wide === 4 ? four(0) : texts[0]
      };`,
    );
  });
  return shaderProgram(POINTWISE_FRAME, {
    helpers: wgslFunctions(SCALAR_WGSL, printed.helpers),
    elements: lines.join("\n"),
  }, {
    name: "pointwise",
    inputs: printed.inputs,
    outputs: outs.map((t) => (wide === 8 ? EIGHT : vec(wgslType(t), wide))),
    params: [
      ...(bake ? [] : names),
      ...Array.from({ length: constants }, (_, k) => `c${k}:f32`),
    ],
  });
}
