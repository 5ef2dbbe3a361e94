/** Timing and profiling, with TensorFlow.js's fields. */
import { wantFunction } from "../../engine/core/arguments.ts";
import {
  type Application,
  currentRecorders,
  type Recorder,
  setRecorders,
} from "../../engine/core/apply.ts";
import { isPromise } from "../../engine/core/nest.ts";
import { Tensor } from "../../engine/core/tensor.ts";
import { zeros } from "../../engine/ops/array/creation.ts";
import { memory } from "../../engine/runtime/eager/memory.ts";
import { getBackend } from "../../engine/runtime/devices/devices.ts";
import { EagerTensor, tidy } from "../../engine/runtime/eager/tensor.ts";
import { kernelName } from "./kernels/names.ts";

/** The time that a function took. */
export interface TimingInfo {
  /** Milliseconds until all was done. */
  wallMs: number;
  /** Milliseconds of it that the device worked; on a GPU, all of them. */
  kernelMs: number | { error: string };
}

/** One kernel that ran. */
export interface KernelInfo {
  /** Name of the kernel, or of TensorFlow's op where TensorFlow.js has no such kernel. */
  name: string;
  /** Bytes that its results added. */
  bytesAdded: number;
  /** Bytes afterwards. */
  totalBytesSnapshot: number;
  /** Tensors that it added. */
  tensorsAdded: number;
  /** Tensors afterwards. */
  totalTensorsSnapshot: number;
  /** Shapes of the inputs. */
  inputShapes: number[][];
  /** Shapes of the outputs. */
  outputShapes: number[][];
  /** Milliseconds between this op and the one before. */
  kernelTimeMs: number;
  /** More about it. */
  extraInfo: string;
}

/** The kernels that ran during a function, and the memory they took. */
export interface ProfileInfo {
  /** Bytes that remain. */
  newBytes: number;
  /** Tensors that remain. */
  newTensors: number;
  /** Most bytes at a time. */
  peakBytes: number;
  /** Kernels in the order of their runs. */
  kernels: KernelInfo[];
  /** The function's result. */
  result: unknown;
  /** Names of the kernels, each once. */
  kernelNames: string[];
}

/** Waits until the default device has finished its work: reads a result to be sure. */
export async function settled(): Promise<void> {
  const probe = tidy(() => zeros([1]).add(1));
  await probe.data();
  probe.dispose();
}

/**
 * Times a function.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * const { wallMs } = await tf.time(() => tf.square(tf.ones([10])).dispose());
 * console.log(wallMs >= 0); // true
 * ```
 */
export async function time(f: () => void): Promise<TimingInfo> {
  wantFunction(f, "f", "time");
  await settled();
  const began = performance.now();
  f();
  // On the host kernels have run when the function returns.
  const onHost = performance.now() - began;
  await settled();
  const wallMs = performance.now() - began;
  return { wallMs, kernelMs: getBackend() === "cpu" ? onHost : wallMs };
}

/** Records each applied op. */
class KernelRecorder implements Recorder {
  readonly kernels: KernelInfo[] = [];
  #at = performance.now();
  peakBytes = 0;

  record({ def, inputs, outputs }: Application): void {
    const now = memory(), at = performance.now();
    this.peakBytes = Math.max(this.peakBytes, now.numBytes);
    const added = outputs.filter((out) => !inputs.includes(out));
    this.kernels.push({
      name: kernelName(def.name),
      bytesAdded: added.reduce((n, out) => n + bytesOf(out, inputs), 0),
      totalBytesSnapshot: now.numBytes,
      tensorsAdded: added.length,
      totalTensorsSnapshot: now.numTensors,
      inputShapes: inputs.map((x) => x instanceof Tensor ? x.shape : [...x.shape]),
      outputShapes: outputs.map((out) => out.shape),
      kernelTimeMs: at - this.#at,
      extraInfo: "",
    });
    this.#at = at;
  }
}

/** Bytes that a result owns: none where it is a view. */
function bytesOf(out: Tensor, inputs: readonly unknown[]): number {
  if (!(out instanceof EagerTensor)) return 0;
  const { storage } = out;
  const isView = inputs.some((x) => x instanceof EagerTensor && x.storage === storage);
  return isView ? 0 : storage.bytes;
}

/**
 * Runs a function, which may await, and returns the kernels that ran meanwhile.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * const { newTensors } = await tf.profile(() => tf.square(tf.scalar(3)));
 * console.log(newTensors > 0); // true
 * ```
 */
export async function profile(f: () => unknown): Promise<ProfileInfo> {
  wantFunction(f, "f", "profile");
  const recorder = new KernelRecorder();
  const start = memory(), before = currentRecorders();
  setRecorders([...before, recorder]);
  let result: unknown;
  try {
    result = f();
    if (isPromise(result)) result = await result;
  } finally {
    setRecorders(before);
  }
  const end = memory();
  const { kernels } = recorder;
  return {
    newBytes: end.numBytes - start.numBytes,
    newTensors: end.numTensors - start.numTensors,
    peakBytes: Math.max(recorder.peakBytes, end.numBytes) - start.numBytes,
    kernels,
    result,
    kernelNames: [...new Set(kernels.map(({ name }) => name))],
  };
}
