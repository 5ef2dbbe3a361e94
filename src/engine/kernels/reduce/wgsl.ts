/** Shared parts of reductions on the GPU: the combining of terms, and the limit of an invocation's loops. */
import type { AccType } from "../../core/gpu_storage.ts";
import { SCALAR_WGSL } from "../../../shaders_generated.ts";

/**
 * Most loop iterations of one invocation. Mesa's software rasterizer silently leaves its loops after 65 535 of them;
 * elsewhere a longer loop is no good idea either.
 */
export const LOOP_LIMIT = 60000;

/** Operations that combine two accumulators. */
export type Combine = "sum" | "prod" | "max" | "min";

/** Returns the text of the neutral value; infinities come from the helper {@linkcode INFINITY}. */
export function identityText(combine: Combine, type: AccType): string {
  if (combine === "sum") return `${type}(0)`;
  if (combine === "prod") return `${type}(1)`;
  if (type === "f32") return combine === "max" ? "-inf_()" : "inf_()";
  if (type === "u32") return combine === "max" ? "0u" : "0xffffffffu";
  return combine === "max" ? "(-0x7fffffff - 1)" : "0x7fffffff";
}

/** Declares `inf_()`: WGSL has no literal for infinity. */
export const INFINITY: string = SCALAR_WGSL.inf_.text;
export const NOT_A_NUMBER: string = SCALAR_WGSL.nan_.text;
