/** `map` with `workers`: functions of host arrays that run in other threads. */
import { wantObject } from "../../engine/core/arguments.ts";
import { ValueError } from "../../engine/core/errors.ts";
import type { ScriptInput } from "../../engine/script/body_types.ts";
import { numpyFunction } from "../../engine/script/numpy_function.ts";
import type { Tout } from "../../engine/script/tout.ts";
import type { WorkerOption } from "../../engine/script/workers/worker_body.ts";
import { AUTOTUNE, callCount, type MapOptions } from "./map.ts";
import type { ElementFunction } from "./trace.ts";

/** Options of {@linkcode Dataset.map} for a function that runs in workers. */
export interface WorkerMapOptions<T extends Tout = Tout> extends MapOptions {
  /**
   * Runs the function in the threads that script bodies with `worker` share: `true` sends its source,
   * `{ module, export }` names it, `false` runs it here, one call after another. It gets host arrays and the call's
   * context, as `tf.numpyFunction`'s bodies do.
   */
  readonly workers: WorkerOption;
  /** Dtypes or `TensorSpec`s of the function's results, in any nest. */
  readonly Tout: T;
  /**
   * True: the function takes and returns batches, as a script's body with `vectorized` does; `Tout` is of one element. Before `batch`
   * it is called once for a batch, else with batches of one.
   */
  readonly vectorized?: boolean;
}

/** Twice as many elements as workers: so no worker waits for the one with the oldest element. */
const AHEAD = 2;

/**
 * Returns the arguments of `map`: with `workers` a function of tensors that calls `fn` in a worker. Throws `ValueError`
 * for one of `workers` and `Tout` without the other.
 */
export function mapArguments(
  fn: ElementFunction,
  options: MapOptions | WorkerMapOptions,
): [fn: ElementFunction, options: MapOptions] {
  wantObject(options, "options", "map");
  if (!("workers" in options)) {
    const alone = ["Tout", "vectorized"].find((key) => key in options);
    if (alone !== undefined) {
      throw new ValueError(
        `Cannot map: ${alone} is for functions of arrays that run in workers, pass workers: true beside it`,
      );
    }
    return [fn, options];
  }
  const { workers, Tout, vectorized = false, ...rest } = options;
  if (Tout === undefined) {
    throw new ValueError(
      "Cannot map in workers: Tout must say what the function returns, such as tf.TensorSpec([224, 224, 3])",
    );
  }
  const call = (...element: ScriptInput[]): unknown =>
    numpyFunction(fn, element, Tout as "float32", { worker: workers, ordered: false, vectorized });
  return [call, { numParallelCalls: workers ? AHEAD * callCount(AUTOTUNE) : 1, ...rest }];
}
