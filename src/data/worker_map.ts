/**
 * `map` with `workers`: functions of host arrays that run in other threads.
 */
import { ValueError } from "../core/errors.ts";
import { numpyFunction, type ScriptInput } from "../script/numpy_function.ts";
import type { ScriptFunction } from "../script/script.ts";
import type { Tout } from "../script/tout.ts";
import type { WorkerOption } from "../script/workers/worker_body.ts";
import type { MapOptions } from "./map.ts";
import type { ElementFunction } from "./trace.ts";

/** Options of {@linkcode Dataset.map} for a function that runs in workers. */
export interface WorkerMapOptions<T extends Tout = Tout> extends MapOptions {
  /**
   * Runs the function in the threads that script bodies with `worker` share, as many as the machine has use for: `true` sends its
   * source, `{ module, export }` names it. It gets host arrays and the call's context, as `tf.numpyFunction`'s bodies do.
   */
  readonly workers: WorkerOption;
  /** What the function returns: dtypes or `TensorSpec`s, in any nest. */
  readonly Tout: T;
}

/** The function of tensors that runs a function of arrays in a worker. Throws `ValueError` without `Tout`. */
export function inWorkers(
  fn: ElementFunction,
  { workers = true, Tout }: Partial<WorkerMapOptions>,
): ElementFunction {
  if (Tout === undefined) {
    throw new ValueError(
      "Cannot map in workers: Tout must say what the function returns, such as tf.TensorSpec([224, 224, 3])",
    );
  }
  return (...element: ScriptInput[]) =>
    numpyFunction(fn as ScriptFunction, element, Tout as "float32", {
      worker: workers,
      ordered: false,
    });
}
