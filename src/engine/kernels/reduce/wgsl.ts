/**
 * What reductions on the GPU share: how terms are put together, and how many one invocation may take.
 */
import type { AccType } from "../../core/gpu_storage.ts";
import { SCALAR_WGSL } from "../../../shaders_generated.ts";

/**
 * Loop iterations that one invocation may take in all. Mesa's software rasterizer leaves its loops after 65 535 of them,
 * without a word; elsewhere a longer loop is no good idea either.
 */
export const LOOP_LIMIT = 60000;

/** How two accumulators become one. */
export type Combine = "sum" | "prod" | "max" | "min";

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
export const NOT_A_NUMBER: string = SCALAR_WGSL.nan_.text;
