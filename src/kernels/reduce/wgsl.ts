/**
 * WGSL pieces that reductions share: accumulator types, identities, NaN-keeping minimum and maximum, trees over a workgroup.
 */
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import type { Profile } from "../../core/dispatch.ts";
import { type AccType, GPU_DTYPES, gpuBytes, vec } from "../../core/gpu_storage.ts";
import { sizeOf } from "../../core/shape.ts";
import { SCALAR_WGSL } from "../../shaders_generated.ts";

/**
 * Loop iterations that one invocation may take in all. Mesa's software rasterizer leaves its loops after 65 535 of them,
 * without a word; elsewhere a longer loop is no good idea either.
 */
export const LOOP_LIMIT = 60000;

/** How two accumulators become one. */
export type Combine = "sum" | "prod" | "max" | "min";

/** True where the GPU can hold and bind all of these. */
export function fitsGpu(specs: readonly ConcreteSpec[], profile: Profile): boolean {
  return specs.length <= profile.maxBuffers &&
    specs.every((s) =>
      GPU_DTYPES.includes(s.dtype) && sizeOf(s.shape) * gpuBytes(s.dtype) <= profile.maxBinding
    );
}

/** The bit tests and combiners for one accumulator type and width: `isnan4_`, `max4_`, … */
export function combineHelpers(combine: Combine, type: AccType, width: number): string {
  if (type !== "f32" || (combine !== "max" && combine !== "min")) return "";
  const f = vec("f32", width), u = vec("u32", width), b = vec("bool", width);
  const splat = (t: string): string => (width === 1 ? t : `${u}(${t})`);
  return `fn isnan${width}_(x: ${f}) -> ${b} { return (bitcast<${u}>(x) & ${
    splat("0x7fffffffu")
  }) > ${splat("0x7f800000u")}; }
fn ${combine}${width}_(a: ${f}, b: ${f}) -> ${f} {
  let m = ${combine}(a, b);
  return select(select(m, b, isnan${width}_(b)), a, isnan${width}_(a));
}`;
}

/** Text that combines two accumulators. */
export function combineText(
  combine: Combine,
  type: AccType,
  width: number,
  a: string,
  b: string,
): string {
  switch (combine) {
    case "sum":
      return `${a} + ${b}`;
    case "prod":
      return `${a} * ${b}`;
    default:
      return type === "f32" ? `${combine}${width}_(${a}, ${b})` : `${combine}(${a}, ${b})`;
  }
}

/** Text that combines the four lanes of a vector. */
export function horizontal(combine: Combine, type: AccType, v: string): string {
  const c = (a: string, b: string): string => combineText(combine, type, 1, a, b);
  return c(`(${c(`${v}.x`, `${v}.y`)})`, `(${c(`${v}.z`, `${v}.w`)})`);
}

/** Text of the value that changes nothing; infinities come from the helper {@linkcode INFINITY}. */
export function identityText(combine: Combine, type: AccType): string {
  if (combine === "sum") return `${type}(0)`;
  if (combine === "prod") return `${type}(1)`;
  if (type === "f32") return combine === "max" ? "-inf_()" : "inf_()";
  if (type === "u32") return combine === "max" ? "0u" : "0xffffffffu";
  return combine === "max" ? "(-0x7fffffff - 1)" : "0x7fffffff";
}

/** Declares `inf_()`: WGSL has no literal for infinity. */
export const INFINITY: string = SCALAR_WGSL.inf_.text;
/** Declares `nan_()`. */
export const NOT_A_NUMBER: string = SCALAR_WGSL.nan_.text;

/** Statements that combine `shared_` over the workgroup; afterwards `shared_[0]` holds the result for every invocation. */
export function workgroupTree(
  shared: string,
  workgroup: number,
  combine: (a: string, b: string) => string,
): string {
  const lines = [`workgroupBarrier();`];
  for (let half = workgroup >> 1; half > 0; half >>= 1) {
    lines.push(
      `if (lidx < ${half}u) { ${shared}[lidx] = ${
        combine(`${shared}[lidx]`, `${shared}[lidx + ${half}u]`)
      }; }`,
      `workgroupBarrier();`,
    );
  }
  return lines.join("\n");
}
