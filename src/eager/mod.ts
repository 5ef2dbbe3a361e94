/**
 * Eager code alone, for pages that count bytes: tensors, ops, gradients, variables, optimizers and devices, under the names that
 * `@weft/weft` has for them and over the same tensors. Bundlers take from it what is imported by name, and nothing else.
 *
 * What `@weft/weft` sets up for everybody is not here: graphs, functions and sessions, scripts, files, and the methods of tensors
 * (`add(x, y)` for `x.add(y)`), although TypeScript knows those. Kernels come with `await ready()` or `setBackend()`, those of the CPU
 * also soon after its first op; before that, ops run there in plain loops.
 *
 * @example
 * ```ts
 * import { add, scalar, square, sub, tidy, train, variable } from "@weft/weft/eager";
 * import { assert } from "@std/assert";
 * const w = variable(0), optimizer = train.sgd(0.25);
 * for (let i = 0; i < 20; i++) optimizer.minimize(() => square(sub(w, 3)));
 * assert(Math.abs(w.item() - 3) < 1e-3);
 * assert(tidy(() => add(scalar(1), 1).item()) === 2);
 * ```
 *
 * @module
 */
import "../devices/cpu/lazy_families.ts";
import "../runtime/install_eager.ts";

/** Error classes of TensorFlow. */
export * as errors from "../core/errors.ts";
export { ValueError } from "../core/errors.ts";
export type { DType, TypedArray } from "../core/dtype.ts";
export { NdArray } from "../core/nd_array.ts";
export { Tensor, type TensorLike } from "../core/tensor.ts";
export { Rank } from "../core/ranks.ts";

export { device, getBackend, listDevices, ready, setBackend } from "../runtime/devices.ts";
export { nextFrame } from "../runtime/environment.ts";
export { dispose, keep, scope, tidy } from "../runtime/eager/tensor.ts";
export { memory } from "../runtime/eager/memory.ts";
export { disposeVariables } from "../runtime/variables/known_variables.ts";
export { Variable, variable } from "../runtime/variables/variable.ts";

export { customGrad } from "../autodiff/custom_grad.ts";
export {
  grad,
  grads,
  valueAndGrad,
  valueAndGrads,
  variableGrads,
} from "../autodiff/grad_functions.ts";
export { GradientTape } from "../autodiff/tape.ts";
/** Optimizers. */
export * as train from "../train/functions.ts";

export * from "../ops/functions.ts";
