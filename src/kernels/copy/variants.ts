/**
 * The copy kernel of the GPU: a contiguous output gathered from an input as a CopyMap says.
 * Groups of four move as vectors where the last axis allows, else four results are stored at once.
 */
import type { AxisMap, CopyMap } from "../../core/meaning.ts";
import {
  type BufferRef,
  flatId,
  type GpuPlan,
  gridFor,
  makeProgram,
  type Profile,
  type Program,
  Programs,
} from "../../core/dispatch.ts";
import { gpuBytes, wordType } from "../../core/gpu_storage.ts";
import type { DType } from "../../core/dtype.ts";
import { groupedBy, mayFill, mergeAxes } from "./map.ts";
import { type PiecedSource, piecedSource, piecesOf } from "./pieces.ts";
import { STREAM_WORKGROUP } from "./fill.ts";

/** How many results an invocation stores, and how it finds them. */
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
const programs = new Programs();

/** What {@linkcode copyGpu} takes besides the map. */
export interface CopyOptions {
  /** Buffer of the input; default input 0. */
  readonly from?: BufferRef;
  /** Elements of the input, where it may be too large for one binding. */
  readonly fromCount?: number;
  /** Buffer of the output; default output 0. */
  readonly to?: BufferRef;
  /** Buffer of one element that fills the places read from nowhere; zero where absent. */
  readonly fill?: BufferRef;
}

/** True where the map has few enough axes for the uniform block. */
export function copyFits(map: CopyMap): boolean {
  return paramsOf(mergeAxes(map), "one", 0, 0).length <= MAX_PARAMS;
}

/** Carries out the copy: one dispatch where the result can be bound whole. */
export function copyGpu(
  map: CopyMap,
  dtype: DType,
  profile: Profile,
  options: CopyOptions = {},
): GpuPlan {
  const merged = mergeAxes(map);
  const size = merged.axes.reduce((n, a) => n * a.dim, 1);
  if (size === 0) return { dispatches: [] };
  const word = wordType(dtype);
  const grouped = groupedBy(4, merged);
  const last = merged.axes[merged.axes.length - 1];
  const form: Form = grouped
    ? "vector"
    : size % 4 !== 0
    ? "one"
    : last.dim % 4 === 0 && last.rule === "plain"
    ? "quad"
    : "four";
  const used = grouped ?? merged;
  const group = form === "one" ? 1 : 4, unit = form === "vector" ? 4 : 1;
  const fill = options.fill !== undefined && mayFill(merged);
  const type = unit === 4 ? `vec4<${word}>` : word;
  const bytes = gpuBytes(dtype);
  const from = options.from ?? { input: 0 }, to = options.to ?? { output: 0 };
  // Elements past the last whole vector are read by no group of four.
  const source = piecedSource(
    from,
    Math.floor((options.fromCount ?? 0) / unit),
    type,
    bytes * unit,
    0,
    profile,
  );
  const program = copyProgram(used.axes, word, form, fill, source);
  return {
    dispatches: piecesOf(size, bytes, profile).map(({ first, count, range }) => ({
      program,
      buffers: [...source.buffers, ...(fill ? [options.fill!] : []), { ...to, ...range }],
      params: paramsOf(used, form, count / group, first / group),
      grid: gridFor(count / group, STREAM_WORKGROUP, profile),
    })),
  };
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

function axisKey({ rule, step = 1 }: AxisMap): string {
  switch (rule) {
    case "plain":
      return "p";
    case "window":
      return `w${Math.sign(step)}${Math.abs(step) === 1 ? "" : "s"}`;
    case "mirror":
      return `m${step}`;
    case "roll":
      return "r";
  }
}

function copyProgram(
  axes: readonly AxisMap[],
  word: string,
  form: Form,
  fill: boolean,
  source: PiecedSource,
): Program {
  const key = `${word}|${form}|${fill}|${source.prelude}|${axes.map(axisKey).join()}`;
  let program = programs.get(key);
  if (!program) programs.set(key, program = printProgram(axes, word, form, fill, source));
  return program;
}

function printProgram(
  axes: readonly AxisMap[],
  word: string,
  form: Form,
  fill: boolean,
  { types, prelude: helper, read: readAt }: PiecedSource,
): Program {
  const type = types[0];
  const params = ["n", "first", "base"];
  axes.forEach((a, i) => {
    params.push(`d${i}`, `s${i}`);
    if (a.rule !== "plain") params.push(`b${i}`, `e${i}`);
    if (axisKey(a).endsWith("s")) params.push(`k${i}`);
  });
  const guarded = axes.some((a) => a.rule === "window");
  const zero = fill ? `${type}(in${types.length}[0])` : `${type}()`;
  const place = placeLines(axes, form);
  const last = axes.length - 1;
  const read = guarded
    ? `var v = ${zero};\nif (ok) { v = ${readAt("o")}; }`
    : `let v = ${readAt("o")};`;
  const main = [`let id = ${flatId(STREAM_WORKGROUP)};`, `if (id >= p.n) { return; }`];
  let prelude = helper;
  if (form === "four") {
    prelude += `\nfn at(i: u32) -> ${type} {\n${place}\n${read}\nreturn v;\n}`;
    main.push(
      `let i = (p.first + id) * 4u;`,
      `out0[id] = vec4<${word}>(at(i), at(i + 1u), at(i + 2u), at(i + 3u));`,
    );
  } else if (form === "quad") {
    main.push(`let i = p.first + id;`, place, `let s = p.s${last};`);
    const vector = `vec4<${word}>(${
      ["o", "o + s", "o + 2u * s", "o + 3u * s"].map(readAt).join(", ")
    })`;
    if (guarded) {
      main.push(`var v = vec4<${word}>(${zero});`, `if (ok) { v = ${vector}; }`, `out0[id] = v;`);
    } else main.push(`out0[id] = ${vector};`);
  } else main.push(`let i = p.first + id;`, place, read, `out0[id] = v;`);
  return makeProgram({
    name: "copy",
    inputs: fill ? [...types, word] : types,
    outputs: [form === "one" ? word : `vec4<${word}>`],
    params,
    workgroup: [STREAM_WORKGROUP, 1, 1],
    prelude,
    body: main.join("\n"),
  });
}

/** Statements that turn the output index `i` into the input place `o` (and `ok` where places may be filled). */
function placeLines(axes: readonly AxisMap[], form: Form): string {
  const lines: string[] = ["var r = i;"];
  const last = axes.length - 1;
  for (let d = last; d > 0; d--) {
    lines.push(
      `let q${d} = r / p.d${d};`,
      `let c${d} = (r - q${d} * p.d${d})${form === "quad" && d === last ? " * 4u" : ""};`,
    );
    lines.push(`r = q${d};`);
  }
  lines.push(`let c0 = r${form === "quad" && last === 0 ? " * 4u" : ""};`, "var o = p.base;");
  if (axes.some((a) => a.rule === "window")) lines.push("var ok = true;");
  axes.forEach((a, d) => lines.push(...stepLines(a, d)));
  return lines.join("\n");
}

// Coordinates are u32 and wrap: what lies before `begin` becomes huge and fails the one comparison with `extent`.
function stepLines(axis: AxisMap, d: number): string[] {
  const { rule, step = 1 } = axis;
  switch (rule) {
    case "plain":
      return [`o += c${d} * p.s${d};`];
    case "roll":
      return [
        `var t${d} = c${d} + p.b${d};`,
        `t${d} = select(t${d}, t${d} - p.e${d}, t${d} >= p.e${d});`,
        `o += t${d} * p.s${d};`,
      ];
    case "mirror":
      return [
        `var t${d} = c${d} - p.b${d};`,
        `t${d} = select(t${d}, 0u - t${d} - ${step}u, c${d} < p.b${d});`,
        `t${d} = select(t${d}, 2u * p.e${d} - ${2 - step}u - t${d}, t${d} >= p.e${d});`,
        `o += t${d} * p.s${d};`,
      ];
    case "window": {
      const distance = step > 0 ? `c${d} - p.b${d}` : `p.b${d} - c${d}`;
      if (Math.abs(step) === 1) {
        return [`let t${d} = ${distance};`, `ok &= t${d} < p.e${d};`, `o += t${d} * p.s${d};`];
      }
      return [
        `let w${d} = ${distance};`,
        `let t${d} = w${d} / p.k${d};`,
        `ok &= (t${d} < p.e${d}) & (t${d} * p.k${d} == w${d});`,
        `o += t${d} * p.s${d};`,
      ];
    }
  }
}
