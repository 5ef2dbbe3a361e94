/** Conversion between arrays and the contents of GPU buffers, and the reads that it needs. */
import type { BufferRead } from "../../core/device.ts";
import { DTYPES, type HostData, type TypedArray } from "../../core/dtype.ts";
import { gpuBytes } from "../../core/gpu_storage.ts";
import { NdArray, passingData } from "../../core/nd_array.ts";
import { sizeOf } from "../../core/shape.ts";
import type { ConcreteSpec } from "../../core/tensor_spec.ts";
import type { Span } from "../../core/trace.ts";
import type { PooledBuffer } from "./buffer_pool.ts";
import type { ReadRange } from "./readback.ts";

/** Reads, of which the GPU serves only those that the host has not written itself. */
export interface SplitReads {
  readonly ranges: readonly ReadRange[];
  /** Makes the arrays from known and from read bytes. */
  readonly arraysOf: (raw: readonly ArrayBuffer[]) => NdArray[];
}

export function splitReads(reads: readonly BufferRead[]): SplitReads {
  const known = reads.map(({ buffer }) => (buffer as PooledBuffer).given?.slice().buffer);
  const ranges = reads.filter((_, i) => known[i] === undefined).map(({ buffer, spec }) => ({
    buffer: (buffer as PooledBuffer).gpu,
    bytes: storageBytes(spec),
  }));
  const arraysOf = (raw: readonly ArrayBuffer[]): NdArray[] => {
    let at = 0;
    return reads.map(({ spec }, i) => fromDeviceBytes(known[i] ?? raw[at++], spec));
  };
  return { ranges, arraysOf };
}

/** Names a read in a trace. */
export function readbackSpan(
  ranges: readonly ReadRange[],
): Pick<Span, "name" | "category" | "details"> {
  const bytes = ranges.reduce((n, r) => n + r.bytes, 0);
  return { name: "readback", category: "readback", details: { buffers: ranges.length, bytes } };
}

/** Returns the bytes of a buffer of this spec on the GPU: at least one word, whole words. */
export function storageBytes(spec: ConcreteSpec): number {
  return Math.max(4, Math.ceil(sizeOf(spec.shape) * gpuBytes(spec.dtype) / 4) * 4);
}

/** Returns the bytes of an array in the form of buffers, whole words. */
export function toDeviceBytes(array: NdArray): Uint8Array<ArrayBuffer> {
  const data = array.dtype === "bool"
    ? Uint32Array.from(array.data as Uint8Array)
    : passingData(array) as TypedArray;
  const view = new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
  if (view.byteLength % 4 === 0) return view;
  const padded = new Uint8Array(Math.ceil(view.byteLength / 4) * 4);
  padded.set(view);
  return padded;
}

function fromDeviceBytes(bytes: ArrayBuffer, spec: ConcreteSpec): NdArray {
  const size = sizeOf(spec.shape);
  const shape = [...spec.shape];
  if (spec.dtype === "bool") {
    return new NdArray("bool", shape, Uint8Array.from(new Uint32Array(bytes, 0, size)));
  }
  const { array, slots } = DTYPES[spec.dtype];
  return new NdArray(spec.dtype, shape, new array!(bytes, 0, size * slots) as HostData);
}
