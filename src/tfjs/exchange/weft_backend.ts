/**
 * The backend "weft" of TensorFlow.js: applications that bundle their own TensorFlow.js run its kernels on Weft's device.
 */
import * as tfjs from "@tensorflow/tfjs-core";
import { toNdArray } from "../../engine/core/convert.ts";
import type { DType } from "../../engine/core/dtype.ts";
import { sameShape } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { scopeDevice } from "../../engine/runtime/devices/devices.ts";
import { constantTensor } from "../../engine/runtime/eager/eager.ts";
import { asEager, EagerTensor, tidy } from "../../engine/runtime/eager/tensor.ts";
import { KERNELS } from "../core/kernels/mod.ts";
import type { TfjsTensor } from "./shared_backend.ts";
import type { Kernel, KernelAttrs } from "../core/kernels/types.ts";
import { settled } from "../core/timing.ts";

const NAME = "weft";
type BackendValues = tfjs.backend_util.BackendValues;
type DataId = object;

/** A tensor of Weft under an id of TensorFlow.js, with the number of tensors over it. */
interface Held {
  readonly tensor: EagerTensor;
  refCount: number;
}

/** Stores data in tensors of Weft. */
class WeftKernelBackend extends tfjs.KernelBackend {
  readonly #held = new tfjs.DataStorage<Held>(this, tfjs.engine());

  /** Returns the tensor of a kernel's input, in TensorFlow.js's shape. */
  tensorOf({ dataId, shape }: tfjs.TensorInfo): EagerTensor {
    const { tensor } = this.#held.get(dataId);
    return sameShape(tensor.staticShape, shape) ? tensor : asEager(tensor.reshape(shape));
  }
  /** Describes a result of a kernel. A result in the memory of an input shares its id. */
  infoOf(result: Tensor, inputs: readonly tfjs.TensorInfo[]): tfjs.TensorInfo {
    const t = asEager(result), shape = [...t.staticShape], dtype = t.dtype as tfjs.DataType;
    const shared = inputs.find((input) => {
      const { tensor } = this.#held.get(input.dataId);
      return tensor.storage === t.storage && tensor.dtype === t.dtype;
    });
    if (shared === undefined) return { dataId: this.#hold(t), shape, dtype };
    this.incRef(shared.dataId);
    return { dataId: shared.dataId, shape, dtype };
  }
  /** Makes a tensor of TensorFlow.js over Weft's memory. */
  lend({ dtype, staticShape, storage }: EagerTensor): TfjsTensor {
    const dataId = this.#hold(new EagerTensor(dtype, staticShape, storage.retain()));
    const info = { dataId, shape: [...staticShape], dtype: dtype as tfjs.DataType };
    return tfjs.engine().makeTensorFromTensorInfo(info, this);
  }
  /** Returns Weft's tensor of an id, or null where the data is another backend's. */
  tensorOn(dataId: DataId): EagerTensor | null {
    return this.#held.has(dataId) ? this.#held.get(dataId).tensor : null;
  }

  #hold(t: EagerTensor, dataId: DataId = {}, refCount = 1): DataId {
    this.#held.set(dataId, { tensor: t.keep(), refCount });
    return dataId;
  }
  override write(values: BackendValues, shape: number[], dtype: tfjs.DataType): DataId {
    return this.#hold(made(values, shape, dtype));
  }
  override move(
    dataId: DataId,
    values: BackendValues,
    shape: number[],
    dtype: tfjs.DataType,
    refCount: number,
  ): void {
    this.#hold(made(values, shape, dtype), dataId, refCount);
  }
  override async read(dataId: DataId): Promise<BackendValues> {
    return (await this.#held.get(dataId).tensor.ndarray()).data as BackendValues;
  }
  override readSync(dataId: DataId): BackendValues {
    return this.#held.get(dataId).tensor.ndarraySync().data as BackendValues;
  }
  override refCount(dataId: DataId): number {
    return this.#held.has(dataId) ? this.#held.get(dataId).refCount : 0;
  }
  override incRef(dataId: DataId): void {
    this.#held.get(dataId).refCount++;
  }
  override disposeData(dataId: DataId, force = false): boolean {
    if (!this.#held.has(dataId)) return true;
    const held = this.#held.get(dataId);
    if (--held.refCount > 0 && !force) return false;
    this.#held.delete(dataId);
    held.tensor.dispose();
    return true;
  }
  override numDataIds(): number {
    return this.#held.numDataIds();
  }
  override memory(): { unreliable: boolean } {
    return { unreliable: false };
  }
  override floatPrecision(): 16 | 32 {
    return 32;
  }
  override timerAvailable(): boolean {
    return true;
  }
  /** Runs `f` at once: its callers read its results before the time. */
  override time(f: () => void): Promise<tfjs.BackendTimingInfo> {
    const start = performance.now();
    f();
    return settled().then(() => ({ kernelMs: performance.now() - start }));
  }
  /** Does nothing: TensorFlow.js has released all tensors before. */
  override dispose(): void {}
}

function made(values: BackendValues, shape: readonly number[], dtype: tfjs.DataType): EagerTensor {
  return constantTensor(toNdArray(values, { dtype: dtype as DType, shape }), scopeDevice());
}

/** Wraps a kernel of Weft for tensors of TensorFlow.js. */
function kernelFuncOf(kernel: Kernel): tfjs.KernelFunc {
  return ({ inputs, backend, attrs = {} }) => {
    const weft = backend as WeftKernelBackend;
    const given = Object.values(inputs).flat().filter((t) => t != null) as tfjs.TensorInfo[];
    const ours = (value: unknown): unknown =>
      Array.isArray(value)
        ? value.map(ours)
        : value == null
        ? value
        : weft.tensorOf(value as tfjs.TensorInfo);
    return tidy(() => {
      const named = Object.entries(inputs).map(([name, value]) => [name, ours(value)]);
      const results = kernel(Object.fromEntries(named), attrs as unknown as KernelAttrs);
      const infoOf = (t: Tensor): tfjs.TensorInfo => weft.infoOf(t, given);
      return Array.isArray(results) ? results.map(infoOf) : infoOf(results as Tensor);
    });
  };
}

/** Returns the backend "weft" where it is in use; else null. */
export function weftBackend(): WeftKernelBackend | null {
  const backend = tfjs.getBackend() === NAME ? tfjs.backend() : null;
  return backend instanceof WeftKernelBackend ? backend : null;
}

/**
 * Registers the backend "weft" with TensorFlow.js, which importing this entry does: `tfjs.setBackend("weft")` then runs
 * TensorFlow.js's kernels on the device that Weft uses (`tf.setBackend` of Weft chooses it), with the data in tensors
 * of Weft. Gradients are those of TensorFlow.js. Another call is needed only after `tfjs.engine().reset()` or
 * `tfjs.removeBackend("weft")`.
 *
 * @example
 * ```ts
 * import "@weft/weft/tfjs";
 * import * as tfjs from "@tensorflow/tfjs-core";
 * await tfjs.setBackend("weft");
 * console.log(tfjs.add(tfjs.tensor1d([1, 2]), 1).dataSync()); // Float32Array(2) [2, 3]
 * ```
 */
export function registerWeftBackend(): void {
  if (tfjs.findBackendFactory(NAME)) return;
  // The lowest priority: programs that choose no backend keep their own.
  tfjs.registerBackend(NAME, () => new WeftKernelBackend(), 0);
  for (const [kernelName, kernel] of Object.entries(KERNELS)) {
    if (tfjs.getKernel(kernelName, NAME)) continue;
    tfjs.registerKernel({ kernelName, backendName: NAME, kernelFunc: kernelFuncOf(kernel) });
  }
}
