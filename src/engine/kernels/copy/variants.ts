/**
 * The copy kernel of the GPU, shaders/copy/map.wgsl: a contiguous output gathered from an input by a CopyMap. Groups of
 * four move as vectors where the last axis allows, else four results are stored at once.
 */
import type { AxisMap, CopyMap, MeaningOf } from "../../core/meaning.ts";
import type { BufferRef, GpuPlan, GpuVariant, Profile, Program } from "../../core/dispatch.ts";
import { gpuBytes, vec, wordType } from "../../core/gpu_storage.ts";
import type { DType } from "../../core/dtype.ts";
import { shaderProgram } from "../../core/shader.ts";
import { sizeOf } from "../../core/shape.ts";
import { COPY_MAP } from "../../../shaders_generated.ts";
import { partsOf, partType } from "../pointwise/complex_problem.ts";
import { groupedBy, inWords, mayFill, mergeAxes } from "./map.ts";
import { bindableInPieces, type PiecedSource, piecedSource, planPieces } from "./pieces.ts";
import { transposeVariant } from "./transpose.ts";

/** Number of results that an invocation stores, and their reads. */
type Form =
  /** One vector read, one vector stored. */
  | "vector"
  /** Four along a plain last axis, stored as a vector. */
  | "quad"
  /** Four anywhere, stored as a vector. */
  | "four"
  /** One. */
  | "one";

/** Uniform words: the block holds 64. */
const MAX_PARAMS = 64;

export interface CopyOptions {
  readonly from?: BufferRef;
  /** Elements of the input, where it may be too large for one binding. */
  readonly fromCount?: number;
  readonly to?: BufferRef;
  /** Buffer of one element that fills the places without a source; zero where absent. */
  readonly fill?: BufferRef;
}

/** The variants of an op that copies input `from`. */
export function copyVariants(meaning: MeaningOf<"copy">): readonly GpuVariant[] {
  const { from, map, fill, transposes } = meaning;
  return [...(transposes ? [transposeVariant(meaning)] : []), {
    name: "copy",
    complex: "too",
    fits: (problem, profile) =>
      bindableInPieces(problem.inputs[from], 2, profile) && copyFits(map(problem)),
    plan: (problem, profile) =>
      copyGpu(map(problem), problem.outputs[0].dtype, profile, {
        from: { input: from },
        ...(fill === undefined ? {} : { fill: { input: fill } }),
        fromCount: sizeOf(problem.inputs[from].shape),
      }),
  }];
}

/** True where the map has few enough axes for the uniform block. */
function copyFits(map: CopyMap): boolean {
  return paramsOf(mergeAxes(map), "one", 0, 0).length <= MAX_PARAMS;
}

/** Plans the copy: one dispatch where the result can be bound whole. */
export function copyGpu(
  map: CopyMap,
  dtype: DType,
  profile: Profile,
  options: CopyOptions = {},
): GpuPlan {
  const parts = partsOf(dtype), ofParts = mergeAxes(inWords(map, parts));
  // Runs of complex numbers move as vectors of four parts; one element may fill places as a whole only.
  if (parts > 1 && options.fill === undefined && groupedBy(4, ofParts)) {
    const fromCount = parts * (options.fromCount ?? 0);
    return copyGpu(ofParts, partType(dtype), profile, { ...options, fromCount });
  }
  const merged = mergeAxes(map);
  const size = merged.axes.reduce((n, a) => n * a.dim, 1);
  if (size === 0) return { dispatches: [] };
  const word = wordType(dtype);
  const grouped = parts === 1 ? groupedBy(4, merged) : null;
  const last = merged.axes[merged.axes.length - 1];
  const form: Form = grouped
    ? "vector"
    : size % 4 !== 0 || parts > 1
    ? "one"
    : last.dim % 4 === 0 && last.rule === "plain"
    ? "quad"
    : "four";
  const used = grouped ?? merged;
  const group = form === "one" ? 1 : 4, unit = form === "vector" ? 4 : 1;
  const fill = options.fill !== undefined && mayFill(merged);
  const bytes = gpuBytes(dtype);
  const { from = { input: 0 }, to = { output: 0 } } = options;
  // Groups of four never read the elements past the last whole vector.
  const count = Math.floor((options.fromCount ?? 0) / unit);
  const source = piecedSource(from, count, vec(word, unit), bytes * unit, 0, profile);
  const program = copyProgram(used.axes, word, form, fill, source);
  return planPieces(program, [size, bytes], profile, ({ first, count, range }) => ({
    buffers: [...source.buffers, ...(fill ? [options.fill!] : []), { ...to, ...range }],
    params: paramsOf(used, form, count / group, first / group),
  }));
}

function paramsOf({ axes, base }: CopyMap, form: Form, threads: number, first: number): number[] {
  const out = [threads, first, base];
  axes.forEach((a, i) => {
    out.push(form === "quad" && i === axes.length - 1 ? a.dim / 4 : a.dim, a.stride >>> 0);
    if (a.rule !== "plain") out.push(a.begin! >>> 0, a.extent!);
    if (a.rule === "window" && Math.abs(a.step ?? 1) !== 1) out.push(Math.abs(a.step!));
  });
  return out;
}

/** Returns the number of an axis's rule in shaders/copy/places.wgsl. */
function ruleOf({ rule, step = 1 }: AxisMap): number {
  switch (rule) {
    case "plain":
      return 0;
    case "window":
      return (Math.abs(step) === 1 ? 1 : 3) + (step < 0 ? 1 : 0);
    case "mirror":
      return 5 + step;
    case "roll":
      return 7;
  }
}

function copyProgram(
  axes: readonly AxisMap[],
  word: string,
  form: Form,
  fill: boolean,
  { types, prelude }: PiecedSource,
): Program {
  const pieced = types.length > 1;
  return shaderProgram(COPY_MAP, {
    word,
    element: types[0],
    stored: form === "one" ? word : `vec4<${word}>`,
    rules: axes.map(ruleOf),
    rank: axes.length,
    quad: form === "quad",
    four: form === "four",
    guarded: axes.some((a) => a.rule === "window"),
    filled: fill,
    fill: `in${types.length}`,
    pieced,
    source: prelude,
  }, { name: "copy", inputs: [...(pieced ? types : []), ...(fill ? [word] : [])] });
}
