/** Sparse tensors as strings, three of TensorFlow's TensorProtos for each: indices, values and dense shape. On the host. */
import type { DType } from "../../core/dtype.ts";
import { NdArray, setElement } from "../../core/nd_array.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { readTensor, writeTensor } from "../../kernels/host/text/tensor_message.ts";
import { refuse, textsOf } from "./arrays.ts";

/** Indices, values and dense shape. */
type Parts = readonly NdArray[];

const INPUTS = ["sparse_indices: int64", "sparse_values: T", "sparse_shape: int64"];
const OUTPUTS = ["sparse_indices: int64", "sparse_values: dtype", "sparse_shape: int64"];

const longs = (shape: readonly number[], values: readonly bigint[]): NdArray =>
  new NdArray("int64", shape, BigInt64Array.from(values));

function check([indices, values, dims]: Parts): void {
  if (indices.rank !== 2 || values.rank !== 1 || dims.rank !== 1) {
    refuse(
      `Input indices should be a matrix, values and shape vectors: received shapes [${indices.shape}], [${values.shape}], [${dims.shape}]`,
    );
  }
  if (indices.shape[0] !== values.shape[0] || indices.shape[1] !== dims.shape[0]) {
    refuse(
      `Indices of shape [${indices.shape}] do not fit ${
        values.shape[0]
      } values and a dense shape of rank ${dims.shape[0]}`,
    );
  }
}

export const SerializeSparse: OpDef = defineOp({
  name: "SerializeSparse",
  inputs: INPUTS,
  outputs: ["serialized_sparse: out_type"],
  attrs: ["T: type", "out_type: type = string"],
  infer: () => [[3]],
  grad: null,
  cpu: (parts, [out]) => {
    check(parts);
    parts.forEach((part, i) => textsOf(out)[i] = writeTensor(part));
  },
});

export const SerializeManySparse: OpDef = defineOp({
  name: "SerializeManySparse",
  inputs: INPUTS,
  outputs: ["serialized_sparse: out_type"],
  attrs: ["T: type", "out_type: type = string"],
  infer: () => [[null, 3]],
  grad: null,
  cpu: (parts) => {
    check(parts);
    const [indices, values, dims] = parts, rank = dims.size;
    if (rank < 2) refuse(`Rank of input SparseTensor should be > 1, but saw rank: ${rank}`);
    const rows = Number(dims.at(0)), at = indices.data as BigInt64Array;
    const own: number[][] = Array.from({ length: rows }, () => []);
    for (let i = 0; i < values.size; i++) {
      const row = Number(at[i * rank]);
      if (!(row >= 0 && row < rows)) refuse(`Index ${row} is out of range of ${rows} rows`);
      own[row].push(i);
    }
    const inner = longs([rank - 1], [...dims.data as BigInt64Array].slice(1));
    const out = own.flatMap((list) => {
      const places = list.flatMap((i) => [...at.subarray(i * rank + 1, (i + 1) * rank)]);
      const picked = NdArray.zeros(values.dtype, [list.length]);
      list.forEach((i, k) => setElement(picked, k, values.at(i)));
      return [longs([list.length, rank - 1], places), picked, inner].map(writeTensor);
    });
    return [new NdArray("string", [rows, 3], out)];
  },
});

/** Reads sparse tensors, a batch of them as one with axes before. */
function read(serialized: NdArray, dtype: DType): [NdArray, NdArray, NdArray] {
  if (serialized.rank === 0 || serialized.shape.at(-1) !== 3) {
    refuse(
      `Serialized sparse should have 3 as the last dimension, received shape [${serialized.shape}]`,
    );
  }
  const outer = serialized.shape.slice(0, -1), texts = textsOf(serialized);
  const places: bigint[] = [], values: unknown[] = [], dims: bigint[] = [];
  let rank: number | null = null;
  for (let row = 0; row < texts.length / 3; row++) {
    const parts = [0, 1, 2].map((k) => readTensor(texts[3 * row + k], k === 1 ? dtype : "int64"));
    check(parts);
    const [at, own, extents] = parts;
    if (rank !== null && extents.size !== rank) {
      refuse(
        `Inconsistent shape across SparseTensors: rank prior to SparseTensor[${row}] was ${rank} but rank of SparseTensor[${row}] is ${extents.size}`,
      );
    }
    rank = extents.size;
    const before: bigint[] = [];
    for (let left = row, axis = outer.length - 1; axis >= 0; axis--) {
      before.unshift(BigInt(left % outer[axis]));
      left = Math.floor(left / outer[axis]);
    }
    for (let i = 0; i < own.size; i++) {
      places.push(...before, ...(at.data as BigInt64Array).subarray(i * rank, (i + 1) * rank));
      values.push(own.at(i));
    }
    for (let axis = 0; axis < rank; axis++) {
      const extent = extents.at(axis) as bigint;
      if (dims[axis] === undefined || extent > dims[axis]) dims[axis] = extent;
    }
  }
  const out = NdArray.zeros(dtype, [values.length]);
  values.forEach((v, i) => setElement(out, i, v as number));
  const all = outer.length + (rank ?? 0);
  return [
    longs([values.length, all], places),
    out,
    longs([all], [...outer.map(BigInt), ...dims]),
  ];
}

export const DeserializeManySparse: OpDef = defineOp({
  name: "DeserializeManySparse",
  inputs: ["serialized_sparse: string"],
  outputs: OUTPUTS,
  attrs: ["dtype: type"],
  infer: () => [[null, null], [null], [null]],
  grad: null,
  cpu: ([serialized], _, { attrs }) => {
    if (serialized.rank !== 2) {
      refuse(`Serialized sparse should be a matrix, received shape [${serialized.shape}]`);
    }
    return read(serialized, attrs.dtype as DType);
  },
});

export const DeserializeSparse: OpDef = defineOp({
  name: "DeserializeSparse",
  inputs: ["serialized_sparse: Tserialized"],
  outputs: OUTPUTS,
  attrs: ["dtype: type", "Tserialized: type = string"],
  infer: () => [[null, null], [null], [null]],
  grad: null,
  cpu: ([serialized], _, { attrs }) => read(serialized, attrs.dtype as DType),
});
