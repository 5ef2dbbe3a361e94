/**
 * The WGSL programs of reductions: an invocation per (partial) result, and a workgroup per (partial) row.
 */
import type { DType } from "../../core/dtype.ts";
import { flatId, makeProgram, type Program } from "../../core/dispatch.ts";
import {
  type AccType,
  EIGHT,
  joinEight,
  loadText,
  splitEight,
  storeText,
  vec,
} from "../../core/gpu_storage.ts";
import { wgslFunctions } from "../../core/scalar/wgsl_functions.ts";
import { SCALAR_WGSL } from "../../shaders_generated.ts";
import type { PrintedEpilogue } from "../matmul/epilogue.ts";
import { type Combine, combineHelpers, combineText, horizontal, workgroupTree } from "./wgsl.ts";

/** Which element types a program reads and writes: a dtype in tensors, an accumulator type in partial results. */
export interface Element {
  readonly storage: string;
  /** float16 in a tensor: the one storage type that is not its accumulator type. */
  readonly dtype: DType | null;
}

/** Elements that are computed on the way. */
export interface Source {
  /** Declares `load_(i)`: as many neighbours as the program takes at once, in their accumulator type. */
  readonly text: string;
  /** Names of the helper functions it calls. */
  readonly helpers: readonly string[];
  /** WGSL types of the operands' buffers. */
  readonly inputs: readonly string[];
  /** Its uniform fields. */
  readonly params: readonly string[];
}

/** One reduction of elements to elements. */
export interface Step {
  readonly combine: Combine;
  readonly type: AccType;
  /** Text of the result of nothing. */
  readonly identity: string;
  readonly from: Element;
  readonly to: Element;
  /** Divisor of the results; null for none. */
  readonly count: number | null;
  /** Where elements come from; null for one array. */
  readonly source: Source | null;
  /** What is done to each result; null for nothing. */
  readonly finish: PrintedEpilogue | null;
}

/** How elements are taken together: along the inner axis or along the reduced one, four or eight at once; or not. */
export interface Wide {
  readonly axis: "inner" | "length" | "none";
  readonly width: 1 | 4 | 8;
}

function helpersFor(step: Step, widths: readonly number[]): string {
  const { source, finish } = step;
  return [
    wgslFunctions(SCALAR_WGSL, ["inf_", ...(source?.helpers ?? []), ...(finish?.helpers ?? [])]),
    ...widths.map((w) => combineHelpers(step.combine, step.type, w)),
    source?.text ?? "",
    finish?.text ?? "",
  ].filter((t) => t !== "").join("\n");
}

/** Text of the elements at an index, in their accumulator type. */
function loaded({ from, source }: Step, width: number, index: string): string {
  if (source) return `load_(${index})`;
  return from.dtype === null ? `in0[${index}]` : loadText(from.dtype, `in0[${index}]`, width);
}

/** WGSL types of the input buffers. */
function inputTypes({ from, source, finish }: Step, width: number): string[] {
  const own = width === 8 ? EIGHT : vec(from.storage, width);
  return [...(source?.inputs ?? [own]), ...(finish?.inputs ?? [])];
}

function stored(step: Step, width: number, value: string, at: string): string {
  const divided = step.count === null ? value : `(${value}) / p.count`;
  if (step.finish) return `finish(${divided}, ${at}, 0u)`;
  return step.to.dtype === null ? divided : storeText(step.to.dtype, `(${divided})`, width);
}

/** Declares `keep_`: values, or the NaN whose bits were the greatest. */
function keepText(width: number): string {
  const f = vec("f32", width), u = vec("u32", width);
  return `fn keep_(x: ${f}, bits: ${u}) -> ${f} {
  return select(x, bitcast<${f}>(bits), bits > ${u}(0x7f800000u));
}`;
}

/** Program `strided`: inputs `[outer, rows, columns]`, results `[outer, parts, columns]`. */
export function stridedProgram(step: Step, { axis, width }: Wide, workgroup: number): Program {
  const { combine, type, to } = step;
  const four = Math.min(4, width), eights = width === 8;
  // Extremes lose NaN on the way, and what they lose is found by the greatest bits: cheaper than a look at each result.
  const loses = type === "f32" && (combine === "max" || combine === "min");
  const fold = (a: string, b: string): string =>
    loses ? `${combine}(${a}, ${b})` : combineText(combine, type, four, a, b);
  const kept = (value: string, bits: string): string => loses ? `keep_(${value}, ${bits})` : value;
  // Four accumulators go round; of eight elements the even four go to one and the odd four to the next.
  const take = (load: number, at: string): string[] => {
    const values = eights ? splitEight(type, `v${load}`) : [`v${load}`];
    return [
      `let v${load} = ${eights ? `in0[${at}]` : loaded(step, width, at)};`,
      ...values.flatMap((v, h) => {
        const n = (load * values.length + h) % 4, x = `x${load}${h}`;
        return loses
          ? [
            `let ${x} = ${v};`,
            `a${n} = ${fold(`a${n}`, x)};`,
            `b${n % 2} = max(b${n % 2}, bitcast<${bits}>(${x}) & ${bits}(0x7fffffffu));`,
          ]
          : [`a${n} = ${fold(`a${n}`, v)};`];
      }),
    ];
  };
  const bits = vec("u32", four);
  const all = kept(fold(`(${fold("a0", "a1")})`, `(${fold("a2", "a3")})`), "max(b0, b1)");
  const total = axis === "length" ? horizontal(combine, type, "all") : "all";
  const store = axis === "inner" && eights
    ? `out0[i] = ${
      joinEight(
        to.storage,
        stored(step, 4, kept(fold("a0", "a2"), "b0"), "i"),
        stored(step, 4, kept(fold("a1", "a3"), "b1"), "i"),
      )
    };`
    : `let all = ${all};
out0[i] = ${stored(step, axis === "inner" ? 4 : 1, total, "i")};`;
  return makeProgram({
    name: `reduce_${combine}_strided`,
    inputs: inputTypes(step, width),
    outputs: [axis === "inner" ? eights ? EIGHT : vec(to.storage, 4) : to.storage],
    params: [
      "n",
      "columns",
      "rows",
      "parts",
      "stripe",
      "chunk",
      "count:f32",
      ...(step.source?.params ?? []),
    ],
    workgroup: [workgroup, 1, 1],
    prelude: [
      helpersFor(step, [...(axis === "length" ? [1] : []), ...(loses ? [] : [four])]),
      loses ? keepText(four) : "",
    ].join("\n"),
    body: `let i = ${flatId(workgroup)};
if (i >= p.n) { return; }
let c = i % p.columns;
let q = i / p.columns;
let part = q % p.parts;
let o = q / p.parts;
let step = p.stripe * p.columns;
let run = part / p.stripe;
let first = run * p.chunk + part % p.stripe;
let last = min((run + 1u) * p.chunk, p.rows);
var k = (o * p.rows + first) * p.columns + c;
var left = select(0u, (last - first + p.stripe - 1u) / p.stripe, last > first);
let id = ${vec(type, four)}(${step.identity});
var a0 = id;
var a1 = id;
var a2 = id;
var a3 = id;
${loses ? `var b0 = ${bits}(0u); var b1 = b0;` : ""}
for (; left >= 4u; left -= 4u) {
  ${
      ["k", "k + step", "k + 2u * step", "k + 3u * step"].flatMap((at, load) => take(load, at))
        .join("\n  ")
    }
  k += 4u * step;
}
for (; left > 0u; left -= 1u) {
  ${take(0, "k").join("\n  ")}
  k += step;
}
${store}`,
  });
}

/** Program `rows`: inputs `[groups / parts, n]`, one result a group. */
export function rowsProgram(step: Step, width: number, workgroup: number): Program {
  const { combine, type, to } = step;
  const acc = vec(type, width);
  const load = (index: string): string => loaded(step, width, index);
  const fold = (a: string, b: string): string => combineText(combine, type, width, a, b);
  const fold1 = (a: string, b: string): string => combineText(combine, type, 1, a, b);
  return makeProgram({
    name: `reduce_${combine}_rows`,
    inputs: inputTypes(step, width),
    outputs: [to.storage],
    params: ["groups", "n", "parts", "count:f32", ...(step.source?.params ?? [])],
    workgroup: [workgroup, 1, 1],
    prelude: `${helpersFor(step, width === 4 ? [1, 4] : [1])}
var<workgroup> shared_: array<${type}, ${workgroup}>;`,
    body: `let g = wid.x + wid.y * nwg.x;
if (g >= p.groups) { return; }
let base = (g / p.parts) * p.n;
let step = p.parts * ${workgroup}u;
var k = (g % p.parts) * ${workgroup}u + lidx;
let id = ${acc}(${step.identity});
var a0 = id;
var a1 = id;
for (; k + step < p.n; k += 2u * step) {
  let v0 = ${load("base + k")};
  let v1 = ${load("base + k + step")};
  a0 = ${fold("a0", "v0")};
  a1 = ${fold("a1", "v1")};
}
if (k < p.n) {
  let v = ${load("base + k")};
  a0 = ${fold("a0", "v")};
}
a0 = ${fold("a0", "a1")};
shared_[lidx] = ${width === 4 ? horizontal(combine, type, "a0") : "a0"};
${workgroupTree("shared_", workgroup, fold1)}
if (lidx == 0u) { out0[g] = ${stored(step, 1, "shared_[0]", "g")}; }`,
  });
}
