/** toTfjs and fromTfjs: tensors from one library to the other, without a copy where both run on one GPU device. */
import { apply1 } from "../../engine/core/apply.ts";
import { wrongArgument } from "../../engine/core/arguments.ts";
import * as tfjs from "@tensorflow/tfjs-core";
import { toNdArray } from "../../engine/core/convert.ts";
import { type DType, isDType } from "../../engine/core/dtype.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { FailedPreconditionError, RuntimeError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { lookupOp } from "../../engine/core/op.ts";
import { shortText, Tensor } from "../../engine/core/tensor.ts";
import { scopeDevice } from "../../engine/runtime/devices/devices.ts";
import { constantTensor } from "../../engine/runtime/eager/eager.ts";
import { AdoptedStorage } from "../../engine/runtime/eager/gpu_memory.ts";
import { asEager, EagerTensor } from "../../engine/runtime/eager/tensor.ts";
import { sharedBackend } from "./share_device.ts";
import type { SharedBackend, TfjsTensor } from "./shared_backend.ts";
import { weftBackend } from "./weft_backend.ts";

/** The dtypes of TensorFlow.js. */
const TFJS_DTYPES: readonly DType[] = ["float32", "int32", "bool", "string", "complex64"];

/**
 * Memory of TensorFlow.js that Weft uses. Its `tidy` searches the results of functions for tensors, so the fields are
 * private to hide them.
 */
class TfjsStorage extends AdoptedStorage {
  readonly #held: TfjsTensor;
  readonly #backend: SharedBackend;

  /** `held` keeps the memory alive. */
  constructor(backend: SharedBackend, buffer: GPUBuffer, held: TfjsTensor) {
    super(backend.weft, buffer, { dtype: held.dtype, shape: [...held.shape] });
    this.#backend = backend;
    this.#held = held;
  }

  /** Returns TensorFlow.js's id of the memory; null where it belongs to another backend. */
  dataIdOn(backend: SharedBackend): object | null {
    return this.#backend === backend ? this.#held.dataId : null;
  }

  protected override free(): void {
    super.free();
    this.#held.dispose();
  }
}

/**
 * An eager tensor as a tensor of TensorFlow.js, of the same dtype and shape, on its current backend. On a GPU device
 * that both share (see `shareDevice`) it is the same memory, which lives until both tensors are disposed; else one copy
 * is made. Neither library writes to memory that it shared. Dispose it as other tensors of TensorFlow.js, whose tapes
 * see it as a constant. Throws `TypeError` for symbolic tensors and for dtypes that TensorFlow.js does not have, and
 * `FailedPreconditionError` where the value can only be read asynchronously: then await `toTfjsAsync`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { toTfjs } from "@weft/weft/tfjs";
 * import "@tensorflow/tfjs-backend-cpu";
 * const t = toTfjs(tf.tensor([[1, 2], [3, 4]]));
 * console.log([t.dtype, t.arraySync()]); // ["float32", [[1, 2], [3, 4]]]
 * ```
 */
export function toTfjs(t: Tensor): TfjsTensor {
  const x = readable(t, "toTfjs");
  return lend(x) ?? fromHost(x.size === 0 ? NdArray.zeros(x.dtype, x.shape) : x.ndarraySync());
}

/**
 * Is {@linkcode toTfjs} for tensors whose value may have to be awaited.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { toTfjsAsync } from "@weft/weft/tfjs";
 * import "@tensorflow/tfjs-backend-cpu";
 * const t = await toTfjsAsync(tf.scalar(2));
 * console.log(await t.data()); // Float32Array(1) [2]
 * ```
 */
export async function toTfjsAsync(t: Tensor): Promise<TfjsTensor> {
  const x = readable(t, "toTfjsAsync");
  return lend(x) ?? fromHost(await x.ndarray());
}

function readable(t: Tensor, fn: string): EagerTensor {
  if (!(t instanceof Tensor)) throw wrongArgument(t, "t", fn, "a tensor of Weft");
  const x = asEager(t.asOpInput());
  if (!TFJS_DTYPES.includes(x.dtype)) {
    throw new TypeError(
      `Cannot give ${shortText(x)} to TensorFlow.js: it has the dtypes ${
        TFJS_DTYPES.join(", ")
      }, cast the tensor first`,
    );
  }
  return x;
}

/** Shares the memory where TensorFlow.js can use it, else returns null. */
function lend(x: EagerTensor): TfjsTensor | null {
  const weft = weftBackend();
  if (weft !== null) return weft.lend(x);
  const backend = sharedBackend();
  const { storage, dtype, staticShape } = x;
  if (backend === null || tfjs.backend() !== backend || x.size === 0) return null;
  const dataId = storage instanceof TfjsStorage ? storage.dataIdOn(backend) : null;
  if (dataId !== null) return handleOn(backend, dataId, staticShape, dtype);
  if (storage.device !== backend.weft) return null;
  return dtype === "complex64" ? lendParts(x, backend) : backend.lend(storage, staticShape, dtype);
}

/** Shares the parts of complex numbers: TensorFlow.js keeps them apart. */
function lendParts(x: EagerTensor, backend: SharedBackend): TfjsTensor {
  const parts = ["Real", "Imag"].map((op) => apply1(lookupOp(op)!, [x]) as EagerTensor);
  try {
    return tfjs.tidy(() => {
      const [re, im] = parts.map((p) => backend.lend(p.storage, p.staticShape, p.dtype));
      return tfjs.complex(re, im);
    });
  } finally {
    for (const part of parts) part.dispose();
  }
}

/** Makes one more tensor of TensorFlow.js on data it has. */
function handleOn(
  backend: SharedBackend,
  dataId: object,
  shape: readonly number[],
  dtype: DType,
): TfjsTensor {
  backend.incRef(dataId);
  const info = { dataId, shape: [...shape], dtype: dtype as tfjs.DataType };
  return tfjs.engine().makeTensorFromTensorInfo(info, backend);
}

function fromHost(array: NdArray): TfjsTensor {
  const data = array.data as tfjs.backend_util.TypedArray, shape = [...array.shape];
  if (array.dtype !== "complex64") {
    return tfjs.engine().makeTensor(data, shape, array.dtype as tfjs.DataType);
  }
  const { real, imag } = tfjs.backend_util.splitRealAndImagArrays(data as Float32Array);
  return tfjs.tidy(() => tfjs.complex(tfjs.tensor(real, shape), tfjs.tensor(imag, shape)));
}

/**
 * A tensor of TensorFlow.js as an eager tensor of the same dtype and shape, owned by the current scope. Where it lives
 * on a GPU device that both share (see `shareDevice`) it is the same memory, which TensorFlow.js gets back when the
 * result is disposed: the argument may be disposed at once. Else one copy is made, on the current device. Throws
 * `RuntimeError` for a disposed tensor, and `FailedPreconditionError` where its value can only be read asynchronously:
 * then await `fromTfjsAsync`.
 *
 * @example
 * ```ts
 * import { fromTfjs } from "@weft/weft/tfjs";
 * import * as tfjs from "@tensorflow/tfjs-core";
 * import "@tensorflow/tfjs-backend-cpu";
 * const t = fromTfjs(tfjs.tensor([true, false]));
 * console.log(t.dtype, t.arraySync()); // bool [true, false]
 * ```
 */
export function fromTfjs(t: TfjsTensor): EagerTensor {
  return adopt(t) ?? fromValues(t, readNow(t));
}

/**
 * Is {@linkcode fromTfjs} for tensors whose value may have to be awaited.
 *
 * @example
 * ```ts
 * import { fromTfjsAsync } from "@weft/weft/tfjs";
 * import * as tfjs from "@tensorflow/tfjs-core";
 * import "@tensorflow/tfjs-backend-cpu";
 * const t = await fromTfjsAsync(tfjs.scalar(2));
 * console.log(t.item()); // 2
 * ```
 */
export async function fromTfjsAsync(t: TfjsTensor): Promise<EagerTensor> {
  return adopt(t) ?? fromValues(t, await tfjs.engine().read(t.dataId));
}

/** Takes over the memory where it is on Weft's device. Throws for a value that is no tensor, and for a disposed one. */
function adopt(t: TfjsTensor): EagerTensor | null {
  // TensorFlow.js takes whatever has its fields for a tensor of its own.
  if (!(t instanceof tfjs.Tensor) || (t as unknown) instanceof Tensor) {
    throw new TypeError("Cannot take over a tensor of TensorFlow.js: the argument is none");
  }
  if (t.isDisposed) {
    throw new RuntimeError(
      `Cannot take over a tensor of TensorFlow.js of shape [${t.shape}]: it is disposed`,
    );
  }
  const ours = weftBackend()?.tensorOn(t.dataId);
  if (ours) return new EagerTensor(ours.dtype, [...t.shape], ours.storage.retain());
  const backend = sharedBackend();
  if (backend === null || t.size === 0) return null;
  const lent = backend.lentStorage(t.dataId);
  if (lent !== null) return new EagerTensor(dtypeOf(t), [...t.shape], lent.retain());
  const buffer = backend.bufferOf(t.dataId);
  if (buffer === null) return null;
  backend.flush();
  const held = tfjs.keep(handleOn(backend, t.dataId, t.shape, dtypeOf(t)));
  return new EagerTensor(dtypeOf(t), [...t.shape], new TfjsStorage(backend, buffer, held));
}

function fromValues(t: TfjsTensor, values: tfjs.backend_util.BackendValues): EagerTensor {
  const spec = { dtype: dtypeOf(t), shape: t.shape };
  return constantTensor(toNdArray(values, spec), scopeDevice());
}

function readNow(t: TfjsTensor): tfjs.backend_util.BackendValues {
  const backend = sharedBackend();
  if (backend !== null && backend.refCount(t.dataId) > 0) {
    const values = backend.readNow(t.dataId);
    if (values === null) throw notNow();
    return values;
  }
  try {
    return tfjs.engine().readSync(t.dataId);
  } catch (cause) {
    throw notNow(cause);
  }
}

function notNow(cause?: unknown): FailedPreconditionError {
  return new FailedPreconditionError(
    `Cannot read a tensor of TensorFlow.js synchronously: its backend "${tfjs.getBackend()}" reads only asynchronously here, await fromTfjsAsync instead`,
    { cause },
  );
}

function dtypeOf(t: TfjsTensor): DType {
  if (!isDType(t.dtype)) {
    throw new TypeError(`Cannot take over a tensor of TensorFlow.js of dtype ${t.dtype}`);
  }
  return t.dtype;
}
