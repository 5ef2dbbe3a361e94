/** Splits, joins and uploads host arrays as rows of one array. */
import { groupBy } from "../../core/collections/group_by.ts";
import type { OpInput } from "../../core/apply.ts";
import type { Device } from "../../core/device.ts";
import { DTYPES, type HostData, makeData } from "../../core/dtype.ts";
import { NdArray } from "../../core/nd_array.ts";
import { lookupOp } from "../../core/op.ts";
import { sameShape, sizeOf } from "../../core/shape.ts";
import { constantTensor, executeOn } from "../eager/eager.ts";
import type { EagerTensor } from "../eager/tensor.ts";

/** Splits a host array into rows. */
export function rowsOnHost({ dtype, shape: [n, ...row], data }: NdArray): NdArray[] {
  const size = sizeOf(row) * DTYPES[dtype].slots;
  return Array.from(
    { length: n },
    (_, k) => new NdArray(dtype, row, data.slice(k * size, (k + 1) * size) as HostData),
  );
}

/** Joins host arrays of one dtype and shape as rows; null for anything else. */
export function stackOnHost(values: readonly OpInput[]): NdArray | null {
  const first = values[0];
  if (!(first instanceof NdArray) || DTYPES[first.dtype].kind === "handle") return null;
  const { dtype, shape } = first;
  const data = makeData(dtype, values.length * sizeOf(shape));
  const size = data.length / values.length;
  for (let k = 0; k < values.length; k++) {
    const v = values[k];
    if (!(v instanceof NdArray) || !sameShape(v.shape, shape)) return null;
    if (Array.isArray(data)) data.splice(k * size, size, ...v.data as Uint8Array[]);
    else (data as Float32Array).set(v.data as Float32Array, k * size);
  }
  return new NdArray(dtype, [values.length, ...shape], data);
}

/** Uploads host arrays to a device: those of one dtype and shape in one copy, split there. */
export function uploadTogether(arrays: readonly NdArray[], device: Device): EagerTensor[] {
  const tensors: EagerTensor[] = [];
  const alike = groupBy(arrays.keys(), (i) => `${arrays[i].dtype} ${arrays[i].shape}`);
  for (const places of alike.values()) {
    const rows = uploadRows(places.map((i) => arrays[i]), device);
    places.forEach((i, k) => tensors[i] = rows[k]);
  }
  return tensors;
}

function uploadRows(arrays: readonly NdArray[], device: Device): readonly EagerTensor[] {
  const all = arrays.length > 1 && arrays[0].size > 0 ? stackOnHost(arrays) : null;
  if (all === null) return arrays.map((a) => constantTensor(a, device));
  const whole = constantTensor(all, device);
  const rows = executeOn(lookupOp("Unpack")!, [whole], { num: arrays.length, axis: 0 }, { device });
  whole.dispose();
  return rows as EagerTensor[];
}
