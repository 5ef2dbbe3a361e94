/** The base class of a program's own optimizers. Weft's optimizers count as instances of it. */
import { counted, showAs } from "../../engine/core/arrays/shown.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { scalar } from "../../engine/ops/array/creation.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { Variable } from "../../engine/runtime/variables/variable.ts";
import * as train from "../../library/train/mod.ts";
import { variableGrads } from "./gradients.ts";
import { dispose } from "./scopes.ts";
import { registerClass, Serializable, type SerializableConstructor } from "./serialization.ts";
import type { NamedTensor, NamedTensorMap } from "./types.ts";
import { Error } from "../../engine/core/throwing/builtin_errors.ts";

/** Changes variables so that a loss falls: subclasses implement `applyGradients`. */
export abstract class Optimizer extends Serializable {
  /** Number of steps. */
  protected iterations_: number | undefined = undefined;

  /** True for any value that can be used as an optimizer: Weft's are not of this class. */
  static override [Symbol.hasInstance](instance: unknown): boolean {
    const o = instance as Partial<Optimizer> | null | undefined;
    return typeof o?.minimize === "function" && typeof o.applyGradients === "function" &&
      typeof o.computeGradients === "function";
  }

  /** Computes `f()` and its gradients, and applies them. Returns the cost on request. */
  minimize(f: () => Tensor, returnCost = false, varList?: Variable[]): Tensor | null {
    const { value, grads } = this.computeGradients(f, varList);
    this.applyGradients(
      varList ? varList.map(({ name }) => ({ name, tensor: grads[name] })) : grads,
    );
    dispose(grads);
    if (returnCost) return value;
    value.dispose();
    return null;
  }

  /** Number of steps. */
  get iterations(): number {
    return this.iterations_ ??= 0;
  }
  /** Counts a step. */
  protected incrementIterations(): void {
    this.iterations_ = this.iterations + 1;
  }

  /** Computes the cost and its gradients, by the names of the variables. */
  computeGradients(
    f: () => Tensor,
    varList?: Variable[],
  ): { value: Tensor; grads: NamedTensorMap } {
    return variableGrads(f, varList) as { value: Tensor; grads: NamedTensorMap };
  }

  /** Changes the variables. */
  abstract applyGradients(variableGradients: NamedTensorMap | NamedTensor[]): void;

  /** Frees the optimizer's state. */
  dispose(): void {}

  /** The number of steps, the first of `getWeights()`. */
  // deno-lint-ignore require-await
  async saveIterations(): Promise<NamedTensor> {
    return { name: "iter", tensor: cast(scalar(this.iterations), "int32") };
  }
  /** Returns the optimizer's state. */
  getWeights(): Promise<NamedTensor[]> {
    return Promise.reject(
      new Error("Cannot get the weights of this optimizer: its class has no getWeights()"),
    );
  }
  /** Restores the result of `getWeights()`. */
  setWeights(_weightValues: NamedTensor[]): Promise<void> {
    return Promise.reject(
      new Error(`Cannot set the weights of ${this.getClassName()}: the class has no setWeights()`),
    );
  }
  /** Takes the number of steps from the first weight; returns the others. */
  protected async extractIterations(weightValues: NamedTensor[]): Promise<NamedTensor[]> {
    this.iterations_ = Number((await weightValues[0].tensor.data())[0]);
    return weightValues.slice(1);
  }
}
showAs(Optimizer, (o) => `<${o.getClassName()}: ${counted(o.iterations, "step")}>`);

/** Optimizers that saved models name. */
const SAVED = [
  train.AdadeltaOptimizer,
  train.AdagradOptimizer,
  train.AdamOptimizer,
  train.AdamaxOptimizer,
  train.MomentumOptimizer,
  train.RMSPropOptimizer,
  train.SGDOptimizer,
];
for (const optimizer of SAVED) {
  registerClass(optimizer as unknown as SerializableConstructor<Serializable>);
}
