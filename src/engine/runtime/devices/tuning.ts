/**
 * Kernels chosen by timing: off unless asked for.
 */
import { wantObject } from "../../core/arguments.ts";
import { UnavailableError } from "../../core/errors.ts";
import type { WebGpuDevice } from "../../devices/webgpu/webgpu_device.ts";
import { gpuDevice } from "./devices.ts";

/** Which kernels were fastest on an adapter: plain data, to be saved as JSON. */
export interface TunedKernels {
  /** The adapter's description. */
  readonly adapter: string;
  /** Names of kernels by the kind and size of work. */
  readonly choices: Readonly<Record<string, string>>;
}

function tunedDevice(): WebGpuDevice {
  const device = gpuDevice();
  if (device) return device;
  throw new UnavailableError(
    "Cannot tune kernels: no GPU device was found; call ready() before",
  );
}

/**
 * Says how kernels for large matrix products and convolutions are chosen on the GPU. `false`, the default: by rule, the same
 * each time. `true`: a few candidates are timed when a kind and size of work is first met, and the fastest is remembered;
 * where the end of GPU work cannot be waited for at once, as in browsers, the rule stands. What {@linkcode tunedKernels}
 * gave: as it says, and by rule for all it does not know; choices of another adapter are ignored. Work that was met before
 * keeps its kernel. Throws `UnavailableError` where there is no GPU device.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * if (await tf.setBackend("webgpu")) {
 *   tf.tuneKernels(true);
 *   tf.matMul(tf.ones([256, 256]), tf.ones([256, 256])).dispose();
 *   const saved = JSON.stringify(tf.tunedKernels());
 *   // In a later run:
 *   tf.tuneKernels(JSON.parse(saved));
 * }
 * ```
 */
export function tuneKernels(how: boolean | TunedKernels): void {
  if (typeof how !== "boolean") wantObject(how, "how", "tuneKernels", "a boolean or choices");
  const { tuner, description } = tunedDevice();
  tuner.timing = how === true;
  if (how === true) return;
  tuner.forget();
  if (how !== false && how.adapter === description) tuner.remember(how.choices);
}

/**
 * The choices made since `tuneKernels(true)`, or given to it. Throws `UnavailableError` where there is no GPU device.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * if (await tf.setBackend("webgpu")) console.log(Object.keys(tf.tunedKernels().choices).length); // 0
 * ```
 */
export function tunedKernels(): TunedKernels {
  const { tuner, description } = tunedDevice();
  return { adapter: description, choices: tuner.choices };
}
