/** Tensors of onnxruntime as Weft's, and back; those on the GPU without a copy. */
import { readNow } from "../engine/core/device.ts";
import type { DType } from "../engine/core/dtype.ts";
import { Error } from "../engine/core/throwing/builtin_errors.ts";
import { NdArray } from "../engine/core/nd_array.ts";
import type { Device } from "../engine/core/device.ts";
import { gpuDevice } from "../engine/runtime/devices/devices.ts";
import { constantTensor } from "../engine/runtime/eager/eager.ts";
import { tensorOfGpuData } from "../engine/runtime/eager/gpu_memory.ts";
import type { EagerTensor } from "../engine/runtime/eager/tensor.ts";
import { dtypeOfType, hostDataOf, tensorDataOf } from "./element_types.ts";
import { Tensor } from "./tensor_class.ts";
import type { ElementType, TensorData } from "./tensor_types.ts";

/** Weft's tensors behind tensors that sessions left on the GPU. */
const memories = new WeakMap<object, EagerTensor>();

/** Element types that a GPU buffer holds as onnxruntime does; of bool and of small integers Weft makes words. */
const SAME_ON_GPU: readonly string[] = ["float32", "float16", "int32", "uint32"];

/** The used fields of a tensor, also of other packages' classes. */
export type AnyTensor = Pick<Tensor, "type" | "dims" | "data"> & Partial<Tensor>;

/** Returns a tensor of Weft's with the elements, and of this shape. The caller disposes it. */
export function toWeft(given: AnyTensor, shape: readonly number[], device: Device): EagerTensor {
  const { type, location = "cpu" } = given;
  if (location === "cpu" || location === "cpu-pinned") {
    const size = shape.reduce((n, d) => n * d, 1);
    const data = hostDataOf(type, given.data, size);
    return constantTensor(new NdArray(dtypeOfType(type), shape, data), device);
  }
  if (location !== "gpu-buffer") {
    throw new Error(
      `Cannot feed a tensor at the location "${location}": Weft takes "cpu" and "gpu-buffer"`,
    );
  }
  const memory = memories.get(given);
  if (memory !== undefined && `${memory.staticShape}` === `${shape}`) return memory.alias();
  if (!SAME_ON_GPU.includes(type)) {
    throw new Error(`Cannot feed ${type} of a GPU buffer: read it to the CPU first`);
  }
  const buffer = given.gpuBuffer!;
  const zeroCopy = buffer.size % 16 === 0 && (buffer.usage & GPUBufferUsage.STORAGE) !== 0;
  return tensorOfGpuData({ buffer, zeroCopy }, shape, type as DType);
}

/** Returns results as onnxruntime's tensors: on the GPU where `staysOnGpu`, all others read in one copy. Disposes them. */
export async function toOrt(
  results: readonly EagerTensor[],
  staysOnGpu: (index: number) => boolean,
): Promise<Tensor[]> {
  const out: Tensor[] = [], reads: number[] = [];
  try {
    results.forEach((t, i) => {
      const here = staysOnGpu(i) ? onGpu(t) : null;
      if (here !== null) out[i] = here;
      else if (t.storage.device.type === "GPU") reads.push(i);
      else out[i] = tensorOf(t.ndarraySync());
    });
    if (reads.length > 0) {
      const { device } = results[reads[0]].storage;
      if (device.pending) await device.pending;
      const arrays = await readNow(device, reads.map((i) => results[i].memory));
      reads.forEach((i, k) => out[i] = tensorOf(arrays[k]));
    }
    return out;
  } finally {
    for (const t of new Set(results)) t.dispose();
  }
}

function tensorOf({ dtype, shape, data }: NdArray): Tensor {
  return new Tensor(dtype, tensorDataOf(data), [...shape]);
}

/** Returns a tensor over the memory on the GPU, which it owns; null for types of another layout there. */
function onGpu(t: EagerTensor): Tensor | null {
  const gpu = gpuDevice();
  if (gpu === null || !SAME_ON_GPU.includes(t.dtype)) return null;
  const held = t.storage.device === gpu ? t.alias() : constantTensor(t.ndarraySync(), gpu);
  const { buffer, tensorRef } = held.dataToGPU();
  tensorRef.dispose();
  const tensor = new Tensor({
    location: "gpu-buffer",
    type: t.dtype as ElementType,
    dims: [...t.staticShape],
    gpuBuffer: buffer,
    download: async (): Promise<TensorData> => tensorDataOf((await held.ndarray()).data),
    dispose: () => held.dispose(),
  });
  memories.set(tensor, held);
  return tensor;
}

/** Writes a result into a tensor that the caller allocated. Throws `Error` if the shapes differ. */
export async function writeInto(target: AnyTensor, result: Tensor, name: string): Promise<void> {
  if (target.type !== result.type || `${target.dims}` !== `${result.dims}`) {
    throw new Error(
      `Cannot write the output "${name}" into a tensor of ${target.type}[${target.dims}]: it is ${result.type}[${result.dims}]`,
    );
  }
  const data = await result.getData();
  if (target.location === "gpu-buffer") {
    const bytes = data as Exclude<TensorData, string[]>;
    gpuDevice()!.gpu.queue.writeBuffer(target.gpuBuffer!, 0, bytes as BufferSource);
    return;
  }
  if (Array.isArray(data)) (target.data as string[]).splice(0, data.length, ...data);
  else (target.data as Uint8Array).set(data as Uint8Array);
}
