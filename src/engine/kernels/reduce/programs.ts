/**
 * The programs of reductions, shaders/reduce/: an invocation per (partial) result, and a workgroup per (partial) row.
 */
import type { DType } from "../../core/dtype.ts";
import type { Program } from "../../core/dispatch.ts";
import { type AccType, EIGHT, isHalf, vec, wgslType } from "../../core/gpu_storage.ts";
import { shaderProgram } from "../../core/shader.ts";
import { wgslFunctions } from "../../core/scalar/wgsl_functions.ts";
import {
  REDUCE_ROWS,
  REDUCE_STRIDED,
  type ReduceRows,
  SCALAR_WGSL,
} from "../../../shaders_generated.ts";
import type { PrintedEpilogue } from "../matmul/epilogue.ts";
import type { Combine } from "./wgsl.ts";

/** Operations by their numbers in shaders/reduce/. */
const COMBINES: readonly Combine[] = ["sum", "prod", "max", "min"];

/** Elements that a prologue computes. */
export interface Source {
  /** Declares `load_(i)`: the neighbours that the program takes at once, in their accumulator type. */
  readonly text: string;
  readonly helpers: readonly string[];
  readonly inputs: readonly string[];
  readonly params: readonly string[];
}

/** One reduction of elements to elements. */
export interface Step {
  readonly combine: Combine;
  readonly type: AccType;
  /** Text of the result of an empty reduction. */
  readonly identity: string;
  /** Dtypes of the tensors that are read and written; null for partial results, which are of the accumulator type. */
  readonly from: DType | null;
  readonly to: DType | null;
  /** Divisor of the results; null for none. */
  readonly count: number | null;
  /** The prologue of the elements; null for one array. */
  readonly source: Source | null;
  /** The epilogue of each result; null for none. */
  readonly finish: PrintedEpilogue | null;
}

/** Elements that are taken together: along the inner axis or along the reduced one, four or eight at once; or not. */
export interface Wide {
  readonly axis: "inner" | "length" | "none";
  readonly width: 1 | 4 | 8;
}

function storageOf(dtype: DType | null, type: AccType): string {
  return dtype === null ? type : wgslType(dtype);
}

/** Returns the parameters of both shaders. */
function parametersOf(
  { combine, type, identity, from, to, count, source, finish }: Step,
): Omit<ReduceRows, "in" | "v" | "wide" | "workgroup"> {
  return {
    combine: COMBINES.indexOf(combine),
    identity,
    acc: type,
    to: storageOf(to, type),
    halfFrom: from !== null && isHalf(from),
    halfTo: to !== null && isHalf(to),
    computed: source !== null,
    divided: count !== null,
    finished: finish !== null,
    helpers: wgslFunctions(SCALAR_WGSL, [
      "inf_",
      ...(source?.helpers ?? []),
      ...(finish?.helpers ?? []),
    ]),
    source: source?.text ?? "",
    finish: finish?.text ?? "",
  };
}

/** Returns the additional bindings and uniform fields. */
function additionsOf({ source, finish }: Step): { inputs: string[]; params: readonly string[] } {
  return {
    inputs: [...(source?.inputs ?? []), ...(finish?.inputs ?? [])],
    params: source?.params ?? [],
  };
}

/** Program `strided`: inputs `[outer, rows, columns]`, results `[outer, parts, columns]`. */
export function stridedProgram(step: Step, { axis, width }: Wide, workgroup: number): Program {
  const { type, from, to } = step, four = Math.min(4, width), eights = width === 8;
  const inner = axis === "inner";
  return shaderProgram(REDUCE_STRIDED, {
    ...parametersOf(step),
    in: eights ? EIGHT : vec(storageOf(from, type), width),
    out: inner && eights ? EIGHT : vec(storageOf(to, type), inner ? 4 : 1),
    v: vec(type, four),
    bits: vec("u32", four),
    inner,
    along: axis === "length",
    eights,
    words: type === "u32",
    workgroup,
  }, { name: `reduce_${step.combine}_strided`, ...additionsOf(step) });
}

/** Program `rows`: inputs `[groups / parts, n]`, one result a group. */
export function rowsProgram(step: Step, width: number, workgroup: number): Program {
  return shaderProgram(REDUCE_ROWS, {
    ...parametersOf(step),
    in: vec(storageOf(step.from, step.type), width),
    v: vec(step.type, width),
    wide: width === 4,
    workgroup,
  }, { name: `reduce_${step.combine}_rows`, ...additionsOf(step) });
}
