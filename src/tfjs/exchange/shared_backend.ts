/**
 * TensorFlow.js's WebGPU backend on Weft's device: it binds Weft's buffers as they are, and releases them when it is
 * done.
 */
import * as tfjs from "@tensorflow/tfjs-core";
import type { DType } from "../../engine/core/dtype.ts";
import { sizeOf } from "../../engine/core/shape.ts";
import type { WebGpuDevice } from "../../engine/devices/webgpu/webgpu_device.ts";
import type { Storage } from "../../engine/runtime/eager/storage.ts";

/** A tensor of TensorFlow.js, of any rank. */
export type TfjsTensor = InstanceType<(typeof tfjs)["Tensor"]>;

type Values = tfjs.backend_util.BackendValues;

/** TensorFlow.js's record of a tensor's data. */
interface TensorData {
  readonly dtype: tfjs.DataType;
  readonly shape: number[];
  readonly resource?: unknown;
  readonly complexTensorInfos?: Record<"real" | "imag", tfjs.TensorInfo>;
  values: Values | null;
}

/**
 * The used part of the backend. Some of it is private there: the version of TensorFlow.js is fixed, and tests cover all
 * of it.
 */
interface WebGpuBackend {
  readonly bufferManager: { acquireBuffer(size: number, ...rest: unknown[]): GPUBuffer };
  readonly tensorMap: { has(id: object): boolean; get(id: object): TensorData };
  readonly commandEncoder: GPUCommandEncoder | null;
  createTensorFromGPUData(
    data: { buffer: GPUBuffer; zeroCopy: boolean },
    shape: number[],
    dtype: DType,
  ): TfjsTensor;
  endComputePassEncoder(): void;
  submitQueue(): void;
  incRef(id: object): void;
  read(id: object): Promise<Values>;
  readSync(id: object): Values;
  releaseResource(id: object): void;
  dispose(): void;
}

/** The class `WebGPUBackend` of `@tensorflow/tfjs-backend-webgpu`. */
// deno-lint-ignore no-explicit-any
export type WebGpuBackendClass = new (...args: any[]) => object;

/** The backend of TensorFlow.js that runs on Weft's device. */
export interface SharedBackend extends tfjs.KernelBackend {
  /** Weft's device. */
  readonly weft: WebGpuDevice;
  /** Returns the buffer of a tensor's data; null where the data is not here, or not on the GPU. */
  bufferOf(id: object): GPUBuffer | null;
  /** Returns Weft's storage, where the data is a tensor of Weft; else null. */
  lentStorage(id: object): Storage | null;
  /** Makes a tensor of TensorFlow.js over Weft's storage, which is held until its disposal. */
  lend(storage: Storage, shape: readonly number[], dtype: DType): TfjsTensor;
  /**
   * Reads the elements where that is synchronous without drawing them on a canvas, as TensorFlow.js does; else null.
   */
  readNow(id: object): Values | null;
  /** Submits the recorded commands. */
  flush(): void;
}

/**
 * Makes the backend. `Base` is the class of `@tensorflow/tfjs-backend-webgpu`, of the version that Weft's imports name.
 */
export function makeSharedBackend(Base: WebGpuBackendClass, weft: WebGpuDevice): SharedBackend {
  const { adapterInfo } = weft.gpu as GPUDevice & { readonly adapterInfo?: GPUAdapterInfo };
  const Shared = sharedBackendClass(Base as new (...args: unknown[]) => WebGpuBackend, weft);
  return new Shared(weft.gpu, adapterInfo) as unknown as SharedBackend;
}

function sharedBackendClass(
  Base: new (...args: unknown[]) => WebGpuBackend,
  weft: WebGpuDevice,
): new (...args: unknown[]) => WebGpuBackend {
  return class extends Base {
    readonly weft = weft;
    readonly #lent = new Map<object, Storage>();

    constructor(...args: unknown[]) {
      super(...args);
      const { bufferManager } = this;
      const acquire = bufferManager.acquireBuffer.bind(bufferManager);
      // Weft's kernels bind vectors of four.
      bufferManager.acquireBuffer = (size, ...rest) => acquire(Math.ceil(size / 16) * 16, ...rest);
    }

    bufferOf(id: object): GPUBuffer | null {
      const resource = this.tensorMap.has(id) ? this.tensorMap.get(id).resource : null;
      return resource instanceof GPUBuffer ? resource : null;
    }
    lentStorage(id: object): Storage | null {
      return this.#lent.get(id) ?? null;
    }
    lend(storage: Storage, shape: readonly number[], dtype: DType): TfjsTensor {
      const buffer = weft.lend(storage.buffer);
      const t = this.createTensorFromGPUData({ buffer, zeroCopy: true }, [...shape], dtype);
      this.#lent.set(t.dataId, storage.retain());
      return t;
    }
    flush(): void {
      if (this.commandEncoder === null) return;
      this.endComputePassEncoder();
      this.submitQueue();
    }

    /** Called once all readers of the data are submitted. */
    override releaseResource(id: object): void {
      super.releaseResource(id);
      this.#lent.get(id)?.release();
      this.#lent.delete(id);
    }
    override dispose(): void {
      this.flush();
      super.dispose();
      for (const storage of this.#lent.values()) storage.release();
      this.#lent.clear();
    }

    override async read(id: object): Promise<Values> {
      const data = this.tensorMap.get(id);
      return exact(data, await super.read(id));
    }
    override readSync(id: object): Values {
      return this.readNow(id) ?? exact(this.tensorMap.get(id), super.readSync(id));
    }
    readNow(id: object): Values | null {
      const data = this.tensorMap.get(id);
      if (data.values) return exact(data, data.values);
      if (data.complexTensorInfos) return this.#readComplex(data.complexTensorInfos);
      const resource = this.bufferOf(id);
      if (resource === null) return null;
      this.flush();
      const { dtype, shape } = data;
      const read = weft.readSync([{ buffer: weft.adopt(resource), spec: { dtype, shape } }]);
      return read && (data.values = read[0].data as tfjs.backend_util.TypedArray);
    }
    #readComplex({ real, imag }: NonNullable<TensorData["complexTensorInfos"]>): Values | null {
      const [re, im] = [real, imag].map(({ dataId }) =>
        this.readNow(dataId) as Float32Array | null
      );
      return re && im && tfjs.backend_util.mergeRealAndImagArrays(re, im);
    }
  };
}

/** Cuts values to the tensor's size: buffers may be longer. */
function exact(data: TensorData, values: Values): Values {
  const size = sizeOf(data.shape);
  if (data.dtype === "complex64" || Array.isArray(values) || values.length === size) return values;
  return data.values = values.slice(0, size);
}
