/**
 * Pointwise kernels for the GPU: one invocation computes four neighbours where shapes allow, one element otherwise.
 * May import core.
 */
import type { ConcreteSpec } from "../core/tensor_spec.ts";
import { broadcastShapes, type Shape, sizeOf } from "../core/shape.ts";
import type { DType } from "../core/dtype.ts";
import {
  type BufferRange,
  type Dispatch,
  flatId,
  GPU_DTYPES,
  gpuBytes,
  type GpuPlan,
  gridFor,
  makeProgram,
  type Profile,
  type Program,
  wgslType,
} from "../core/dispatch.ts";
import { type Expr, exprKey, exprType } from "../core/scalar.ts";
import { loadElement, printWgsl, storeElement } from "../core/scalar_wgsl.ts";
import { collapseBroadcast } from "./broadcast.ts";

const WORKGROUP = 256;
/** Words that fit the uniform block. */
const MAX_PARAMS = 64;
/** Alignment of the parts of buffers that are bound, in bytes. */
const ALIGN = 256;
const programs = new Map<string, Program>();

/** How an operand is indexed: like the output, always its only element, or by one of the stride sets. */
type Access = "like" | "only" | number;

/** Where the operands of one problem are. */
interface Layout {
  /** Elements an invocation computes. */
  readonly wide: 1 | 4;
  /** How each operand is indexed. */
  readonly access: readonly Access[];
  /** Extents of the loop nest, in elements; empty where no operand is strided. */
  readonly dims: readonly number[];
  /** Distinct stride sets, in elements. */
  readonly strides: readonly (readonly number[])[];
}

/** True where the GPU can hold every dtype and bind every buffer. */
export function pointwiseFits(
  exprs: readonly Expr[],
  ins: readonly ConcreteSpec[],
  profile: Profile,
): boolean {
  const ok = (t: DType): boolean => GPU_DTYPES.includes(t) || (t === "float16" && profile.f16);
  const dtypes = ins.map((i) => i.dtype);
  if (!dtypes.every(ok) || !exprs.every((e) => ok(exprType(e, dtypes)))) return false;
  if (ins.length + exprs.length > profile.maxBuffers) return false;
  const shape = ins.map((i) => i.shape).reduce((a: Shape, b) => broadcastShapes(a, b) as Shape, []);
  const outs = exprs.map((e) => exprType(e, dtypes));
  return cut(ins, outs, shape, layOut(ins, shape), profile) !== null;
}

/** One dispatch, or as many as large buffers are bound in pieces, that computes `exprs[i]` of the inputs into output i, broadcasting. */
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
  const layout = layOut(ins, out.shape);
  const dtypes = ins.map((i) => i.dtype);
  const outs = exprs.map((e) => exprType(e, dtypes));
  const words = indexWords(layout);
  const bake = words.length >= MAX_PARAMS;
  // Which strides are 1, and in baked programs all of them, are part of the source.
  const shape = bake ? words.join() : layout.strides.map((s) => s[s.length - 1] === 1).join();
  const key = `${
    exprKey(...exprs)
  }|${dtypes}|${layout.access}|${layout.wide}|${layout.dims.length}|${shape}`;
  let program = programs.get(key);
  if (!program) programs.set(key, program = print(exprs, dtypes, layout, bake));
  return {
    dispatches: cut(ins, outs, out.shape, layout, profile)!.map(({ count, ranges }) => ({
      program,
      buffers: buffers.map((b, k) => ({ ...b, ...ranges[k] })),
      params: [count / layout.wide, ...(bake ? [] : words)],
      grid: gridFor(count / layout.wide, WORKGROUP, profile),
    })),
  };
}

/** Neighbouring elements of the results, and the part of each buffer that they take. */
interface Piece {
  readonly count: number;
  readonly ranges: readonly BufferRange[];
}

/** Pieces along the outermost axis whose parts of the buffers can be bound; null where there are none. */
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
  // Rows between which every buffer is cut at a multiple of the alignment.
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

function layOut(ins: readonly ConcreteSpec[], out: Shape): Layout {
  const size = sizeOf(out);
  const sizes = ins.map((i) => sizeOf(i.shape));
  if (sizes.every((n) => n === size || n === 1)) {
    const access = sizes.map((n): Access => (n === size ? "like" : "only"));
    const wide = size % 4 === 0 && access.includes("like") ? 4 : 1;
    return { wide, access, dims: [], strides: [] };
  }
  const walk = collapseBroadcast(out, ins.map((i) => i.shape));
  const inner = walk.dims.length - 1;
  const strides: (readonly number[])[] = [];
  const access = walk.strides.map((s, k): Access => {
    if (sizes[k] === size) return "like";
    if (sizes[k] === 1) return "only";
    const text = s.join();
    const known = strides.findIndex((t) => t.join() === text);
    return known >= 0 ? known : strides.push(s) - 1;
  });
  const rows = (s: readonly number[]): boolean =>
    s[inner] === 0 || (s[inner] === 1 && s.every((n, d) => d === inner || n % 4 === 0));
  const wide = walk.dims[inner] % 4 === 0 && strides.every(rows) ? 4 : 1;
  return { wide, access, dims: walk.dims, strides };
}

/** Extents and strides in the units of the kernel: in fours where neighbours go together. */
function indexWords({ wide, dims, strides }: Layout): number[] {
  const inner = dims.length - 1;
  return [
    ...dims.slice(1).map((d, i) => (i + 1 === inner ? d / wide : d)),
    ...strides.flatMap((s) => s.map((n, d) => (s[inner] === 1 && d !== inner ? n / wide : n))),
  ];
}

function print(
  exprs: readonly Expr[],
  dtypes: readonly DType[],
  layout: Layout,
  bake: boolean,
): Program {
  const { wide, access, dims, strides } = layout;
  const rank = dims.length, inner = rank - 1;
  const outs = exprs.map((e) => exprType(e, dtypes));
  const names = [
    ...dims.slice(1).map((_, i) => `d${i + 1}`),
    ...strides.flatMap((_, g) => dims.map((_, d) => `s${g}_${d}`)),
  ];
  const words = indexWords(layout);
  const word = (name: string): string => (bake ? `${words[names.indexOf(name)]}u` : `p.${name}`);

  const lines = [`let i = ${flatId(WORKGROUP)};`, `if (i >= p.n) { return; }`];
  if (rank > 0) {
    // A dimension of extent 1 never gets here, so the innermost coordinate always needs the remainder.
    if (rank > 1) lines.push(`var r = i;`);
    for (let d = inner; d > 0; d--) {
      lines.push(`let x${d} = r % ${word(`d${d}`)}; r = r / ${word(`d${d}`)};`);
    }
    lines.push(`let x0 = ${rank > 1 ? "r" : "i"};`);
  }
  strides.forEach((_, g) => {
    const terms = dims.map((_, d) => `x${d} * ${word(`s${g}_${d}`)}`);
    lines.push(`let at${g} = ${terms.join(" + ")};`);
  });
  /** Whether an operand brings four neighbours at once. */
  const isVector = access.map((a) =>
    wide === 4 && (a === "like" || (typeof a === "number" && strides[a][inner] === 1))
  );
  access.forEach((a, k) => {
    const index = a === "like" ? "i" : a === "only" ? "0" : `at${a}`;
    const text = `in${k}[${index}]`;
    lines.push(`let v${k} = ${isVector[k] ? text : loadElement(dtypes[k], text)};`);
  });

  let prelude = "";
  const lanes: string[][] = exprs.map(() => []);
  for (let c = 0; c < wide; c++) {
    const args = dtypes.map((t, k) => isVector[k] ? loadElement(t, `v${k}.${"xyzw"[c]}`) : `v${k}`);
    const printed = printWgsl(exprs, dtypes, args);
    const own = (text: string): string =>
      wide === 1 ? text : text.replace(/\bt(\d+)\b/g, `t$1_${c}`);
    prelude = printed.prelude;
    lines.push(...printed.lines.map(own));
    printed.results.forEach((r, k) => lanes[k].push(storeElement(outs[k], own(r))));
  }
  const vec = (t: DType): string => (wide === 4 ? `vec4<${wgslType(t)}>` : wgslType(t));
  lanes.forEach((texts, k) => {
    lines.push(`out${k}[i] = ${wide === 4 ? `${vec(outs[k])}(${texts.join(", ")})` : texts[0]};`);
  });
  return makeProgram({
    name: "pointwise",
    enable: [...dtypes, ...outs].includes("float16") ? ["enable f16;"] : [],
    inputs: dtypes.map((t, k) => (isVector[k] ? vec(t) : wgslType(t))),
    outputs: outs.map(vec),
    params: bake ? ["n"] : ["n", ...names],
    workgroup: [WORKGROUP, 1, 1],
    prelude,
    body: lines.join("\n"),
  });
}
