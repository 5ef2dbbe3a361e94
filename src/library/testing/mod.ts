/**
 * Checks for ops and gradients, used by Weft's own tests and made for users' ops as well: `opCheck` and `gradCheck`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { gradCheck, opCheck } from "@weft/weft/testing";
 * await opCheck("Mul", [{ inputs: [{ shape: [2, 3] }, { shape: [3] }] }]);
 * gradCheck((x) => tf.mul(x, x), [[1, 2, 3]]);
 * console.log("as defined"); // as defined
 * ```
 *
 * @module
 */
import "../../engine/runtime/install.ts";

export {
  opCheck,
  OpCheckError,
  type OpCheckFailure,
  type OpCheckOptions,
  type OpCheckReport,
  registeredOpNames,
} from "./op_check.ts";
export type { OpSample, Reference, SampleInput, SampleValues } from "./op_sample.ts";
export {
  type CheckedFunction,
  gradCheck,
  GradCheckError,
  type GradCheckOptions,
} from "./grad_check.ts";
export type * from "../../engine/types.ts";
