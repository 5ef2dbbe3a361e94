/**
 * Eager code alone, for small pages: tensors, ops, gradients, variables, optimizers and devices, under the names of
 * `@weft/weft` and over the same tensors. Bundlers include only the imported names.
 *
 * The full library `@weft/weft` also has graphs, functions, sessions, scripts and files, and the methods of tensors: call
 * `add(x, y)` here, although TypeScript also accepts `x.add(y)`. `await ready()` and `setBackend()` load the kernels, those
 * of the CPU also soon after its first op; until then, ops run there in plain loops.
 *
 * @example
 * ```ts
 * import { add, scalar, square, sub, tidy, train, variable } from "@weft/weft/eager";
 * const w = variable(0), optimizer = train.sgd(0.25);
 * for (let i = 0; i < 20; i++) optimizer.minimize(() => square(sub(w, 3)));
 * console.log(w.item().toFixed(3), tidy(() => add(scalar(1), 1).item())); // 3.000 2
 * ```
 *
 * @module
 */
import "../../engine/devices/cpu/lazy_kernels.ts";
import "../../engine/runtime/install_eager.ts";

/** Error classes of TensorFlow. */
export * as errors from "../../engine/core/errors.ts";
export { ValueError } from "../../engine/core/errors.ts";
export type { DType, TypedArray } from "../../engine/core/dtype.ts";
export { NdArray } from "../../engine/core/nd_array.ts";
export { Tensor, type TensorLike } from "../../engine/core/tensor.ts";
export type { CompositeSpec, CompositeTensor, RowPart } from "../../engine/core/composite.ts";
export type {
  CompositeOf,
  Dequantized,
  Joined,
  Like,
  Operand,
  Picked,
  Reduced,
} from "../../engine/core/composite.ts";
export { Rank } from "../../engine/core/ranks.ts";

export {
  device,
  getBackend,
  listDevices,
  ready,
  setBackend,
} from "../../engine/runtime/devices/devices.ts";
export { nextFrame } from "../../engine/runtime/devices/environment.ts";
export { dispose, keep, scope, tidy } from "../../engine/runtime/eager/tensor.ts";
export { memory } from "../../engine/runtime/eager/memory.ts";
export { disposeVariables } from "../../engine/runtime/variables/known_variables.ts";
export { Variable, variable } from "../../engine/runtime/variables/variable.ts";

export { customGrad } from "../../engine/autodiff/custom_grad.ts";
export {
  grad,
  grads,
  valueAndGrad,
  valueAndGrads,
  variableGrads,
} from "../../engine/autodiff/grad_functions.ts";
export { GradientTape } from "../../engine/autodiff/tape.ts";
/** Optimizers. */
export * as train from "../../library/train/functions.ts";
/** Optimizers made of transformations, Lion, LAMB, Adafactor and Muon: `tf.train` of the whole library has them too. */
export * as chains from "../../library/train/chained_functions.ts";
/** Transformations of updates, of which `chains.chain` makes optimizers: `tf.train.transforms`. */
export * as transforms from "../../library/train/transforms.ts";
/** Learning rates that follow the number of steps: `tf.train.schedules`. */
export * as schedules from "../../library/train/schedules.ts";
export {
  ExponentialMovingAverage,
  type MovingAverageOptions,
} from "../../library/train/weight_average.ts";
export type { StepOperation } from "../../library/train/step_graph.ts";

export * from "../../engine/ops/functions.ts";
// Behind the functions: what both name stays a value.
export type * from "../../engine/types.ts";
