/** Sparse tensors of ONNX's files, as dense ones. */
import { type DType, makeData, type TypedArray } from "../../engine/core/dtype.ts";
import { DataLossError, ResourceExhaustedError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import type { SparseTensor } from "../proto/onnx_pb.ts";
import { readTensor, TensorData } from "./tensor_data.ts";

/** Maximum elements of a dense form: few bytes may say many zeros. */
const MOST_DENSE = 2 ** 22;
/** Maximum elements for each that is not zero. */
const MOST_ZEROS = 256;

/** Reads a sparse tensor. Throws `DataLossError` for indices outside of it, `ResourceExhaustedError` where it is too large to be dense. */
export function readSparse({ values, indices, dims }: SparseTensor): TensorData {
  if (values === undefined) {
    throw new DataLossError("Cannot read a sparse tensor: it has no values");
  }
  const shape = dims.map(Number), size = shape.reduce((n, d) => n * d, 1);
  const bad = (why: string) =>
    new DataLossError(`Cannot read the sparse tensor "${values.name}" of shape [${dims}]: ${why}`);
  if (shape.some((d) => !Number.isSafeInteger(d) || d < 0)) throw bad("that is no shape");
  const data = readTensor(values), dtype: DType = data.dtype;
  if (dtype === "string") throw bad("strings cannot be sparse");
  const count = data.array.size, most = Math.max(MOST_DENSE, MOST_ZEROS * count);
  if (size > most) {
    throw new ResourceExhaustedError(
      `Cannot read the sparse tensor "${values.name}": it has ${size} elements, at most ${most} are made dense`,
    );
  }
  const out = makeData(dtype, size) as TypedArray;
  const at = indices === undefined ? null : readTensor(indices).array;
  const flat = Array.from((at?.data ?? []) as ArrayLike<number | bigint>, Number);
  const rank = at?.shape.length === 2 ? shape.length : 1;
  if (flat.length !== count * rank) throw bad(`${count} values have ${flat.length} indices`);
  for (let i = 0; i < count; i++) {
    let place = 0;
    for (let axis = 0; axis < rank; axis++) {
      const index = flat[i * rank + axis],
        extent = rank === 1 && at?.shape.length !== 2 ? size : shape[axis];
      if (!(index >= 0 && index < extent)) throw bad(`the index ${index} is outside of it`);
      place = place * extent + index;
    }
    out[place] = (data.array.data as TypedArray)[i];
  }
  return new TensorData(data.type, shape, new NdArray(dtype, shape, out));
}
