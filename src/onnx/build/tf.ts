/** Functions of the engine as rules of ops name them: not the whole library, which pages need not load. */
export { cond } from "../../engine/runtime/control/cond.ts";
export { scan } from "../../engine/runtime/control/functional_ops.ts";
export { TensorArray } from "../../engine/runtime/control/tensor_array.ts";
export { whileLoop } from "../../engine/runtime/control/while_loop.ts";
export { isolated } from "../../engine/runtime/eager/isolated.ts";
export { tidy } from "../../engine/runtime/eager/tensor.ts";
export { Tensor } from "../../engine/core/tensor.ts";
export * from "../../engine/ops/functions.ts";
export * from "../../engine/ops/of_namespaces.ts";
