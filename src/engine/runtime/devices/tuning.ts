/** Chooses kernels by timing; off by default. */
import { wantObject } from "../../core/arguments.ts";
import { UnavailableError } from "../../core/errors.ts";
import type { WebGpuDevice } from "../../devices/webgpu/webgpu_device.ts";
import { gpuDevice } from "./devices.ts";

/** The fastest kernels of an adapter: plain data that can be saved as JSON. */
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
 * Sets how kernels for large matrix products and convolutions are chosen on the GPU. `false`, the default: by a fixed
 * rule. `true`: candidates are timed at the first work of each kind and size, and the fastest is kept; where the end of
 * GPU work cannot be awaited synchronously, as in browsers, the rule applies. The result of {@linkcode tunedKernels}:
 * these choices, and the rule for everything else; choices of another adapter are ignored. Work that ran before keeps
 * its kernel. Throws `UnavailableError` if there is no GPU device.
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
 *   console.log(Object.keys(tf.tunedKernels().choices).length, "choices"); // … choices
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
 * Returns the choices made since `tuneKernels(true)`, or given to it. Throws `UnavailableError` if there is no GPU
 * device.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * if (await tf.setBackend("webgpu")) console.log(tf.tunedKernels().adapter);
 * ```
 */
export function tunedKernels(): TunedKernels {
  const { tuner, description } = tunedDevice();
  return { adapter: description, choices: tuner.choices };
}
