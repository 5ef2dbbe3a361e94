/** Crossed features: the combinations of the values of each row of several tensors, in the namespace `tf.sparse`. */
import { apply, compose } from "../../core/apply.ts";
import { optionCheck, wantList, wrongArgument } from "../../core/arguments.ts";
import { isInteger } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { defineOp, type OpDef } from "../../core/op.ts";
import { encodeString } from "../../core/text.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { textsOf } from "../host/arrays.ts";
import { asTensor, shapeOfInput, toDenseInput } from "../input.ts";
import {
  columnsOf,
  crossed,
  featureOf,
  joined,
  joinedTexts,
  LARGEST,
} from "../host/cross_columns.ts";
import { isSparse, type SparseLike, toSparse, wideParts } from "./sparse_input.ts";
import { SparseTensor } from "./sparse_tensor.ts";

const LISTS = [
  "N: int >= 0",
  "sparse_types: list(type)",
  "dense_types: list(type)",
];
const OUTPUTS = ["output_indices: int64", "output_values: out_type", "output_shape: int64"];

const SparseCross: OpDef = defineOp({
  name: "SparseCross",
  inputs: [
    "indices: N * int64",
    "values: sparse_types",
    "shapes: N * int64",
    "dense_inputs: dense_types",
  ],
  outputs: OUTPUTS,
  attrs: [
    ...LISTS,
    "hashed_output: bool",
    "num_buckets: int >= 0",
    "hash_key: int",
    "out_type: {int64, string}",
    "internal_type: {int64, string}",
  ],
  infer: () => [[null, 2], [null], [2]],
  grad: null,
  cpu: (inputs, _, { attrs }) => {
    const columns = columnsOf(inputs, attrs.sparse_types.length);
    if (!attrs.hashed_output) return joinedTexts(columns, encodeString("_X_"));
    const buckets = BigInt(attrs.num_buckets), key = BigInt.asUintN(64, BigInt(attrs.hash_key));
    const { indices, values, shape } = crossed(columns, (at) => {
      const hash = at.reduce((sum, i, k) => joined(sum, featureOf(columns[k], i)), key);
      return hash % (buckets > 0n ? buckets : LARGEST);
    });
    return [indices, new NdArray("int64", [values.length], BigInt64Array.from(values)), shape];
  },
});

const SparseCrossV2: OpDef = defineOp({
  name: "SparseCrossV2",
  inputs: [
    ...["indices: N * int64", "values: sparse_types", "shapes: N * int64"],
    ...["dense_inputs: dense_types", "sep: string"],
  ],
  outputs: ["output_indices: int64", "output_values: string", "output_shape: int64"],
  attrs: LISTS,
  infer: () => [[null, 2], [null], [2]],
  grad: null,
  cpu: (inputs, _, { attrs }) => {
    const columns = columnsOf(inputs.slice(0, -1), attrs.sparse_types.length);
    return joinedTexts(columns, textsOf(inputs.at(-1)!)[0]);
  },
});

/** A tensor of a cross: a matrix of strings or whole numbers. */
export type CrossInput = SparseLike | TensorLike;

/** Returns the inputs of an op: sparse ones before dense ones, whole numbers as int64. */
function crossInputs(tensors: readonly CrossInput[], fn: string) {
  wantList(tensors, "inputs", `sparse.${fn}`, "tensors");
  if (tensors.length === 0) throw new ValueError(`Cannot apply sparse.${fn} to no tensors`);
  const wide = (x: Tensor, i: number): Tensor => {
    if (x.dtype === "string") return x;
    if (isInteger(x.dtype)) return cast(x, "int64");
    throw wrongArgument(x, `inputs[${i}]`, `sparse.${fn}`, "strings or whole numbers");
  };
  const sparse: [Tensor, Tensor, Tensor][] = [], dense: Tensor[] = [];
  tensors.forEach((x, i) => {
    if (isSparse(x)) {
      const [indices, values, dims] = wideParts(toSparse(x, `inputs[${i}]`, fn));
      sparse.push([indices, wide(values, i), asTensor(dims)]);
      return;
    }
    const input = toDenseInput(x, `inputs[${i}]`, `sparse.${fn}`);
    const known = shapeOfInput(input);
    if (known !== null && known.length !== 2) {
      throw new ValueError(
        `Cannot apply sparse.${fn}: inputs[${i}] must be a matrix, received shape [${known}]`,
      );
    }
    dense.push(wide(asTensor(input), i));
  });
  const attrs = {
    N: sparse.length,
    sparse_types: sparse.map(([, values]) => values.dtype),
    dense_types: dense.map((x) => x.dtype),
  };
  return { inputs: [0, 1, 2].flatMap((k) => sparse.map((x) => x[k])).concat(dense), attrs };
}

/**
 * Joins the strings or whole numbers of each row of several matrices, sparse or dense, in all combinations: sparse ones
 * first, as TensorFlow orders them. Returns a sparse matrix of strings. Throws `TypeError` for values that are no list of
 * such matrices, `ValueError` for none and other ranks, `InvalidArgumentError` for unequal numbers of rows. Follows
 * TensorFlow `tf.sparse.cross`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.sparse.cross([[["a", "b"]], [["c"]]], "-");
 * console.log(tf.sparse.toDense(x).arraySync()); // [["a-c", "b-c"]]
 * ```
 */
export function cross(inputs: readonly CrossInput[], separator = "_X_"): SparseTensor {
  if (typeof separator !== "string") {
    throw wrongArgument(separator, "separator", "sparse.cross", "a string");
  }
  return compose(() => {
    const { inputs: given, attrs } = crossInputs(inputs, "cross");
    const between = new NdArray("string", [], [encodeString(separator)]);
    const [indices, values, dims] = apply(SparseCrossV2, [...given, between], attrs);
    return new SparseTensor(indices, values, dims);
  });
}

/** Options of {@linkcode crossHashed}. */
export interface CrossHashedOptions {
  /** Number of buckets; by default hashes are any below the largest int64. */
  readonly numBuckets?: number | undefined;
  /** Number with which hashes begin; TensorFlow's by default. */
  readonly hashKey?: number | undefined;
}

const checkOptions = optionCheck<CrossHashedOptions>("sparse.crossHashed", {
  numBuckets: true,
  hashKey: true,
});

/**
 * Hashes the strings or whole numbers of each row of several matrices in all combinations, as {@linkcode cross} joins them,
 * to int64 numbers below `numBuckets`, the ones TensorFlow computes. Throws as `cross` does, and `ValueError` for a number
 * of buckets that is not whole or negative. Follows TensorFlow `tf.sparse.cross_hashed`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.sparse.crossHashed([[["a", "b"]], [["c"]]], { numBuckets: 100 });
 * console.log(tf.cast(x.values, "int32").arraySync()); // [66, 54]
 * ```
 */
export function crossHashed(
  inputs: readonly CrossInput[],
  options: CrossHashedOptions = {},
): SparseTensor {
  checkOptions(options);
  const { numBuckets = 0, hashKey = 0xDECAFCAFFE } = options;
  if (!(Number.isSafeInteger(numBuckets) && numBuckets >= 0)) {
    throw new ValueError(
      `Cannot apply sparse.crossHashed: numBuckets must be a whole number, received ${numBuckets}`,
    );
  }
  if (!Number.isSafeInteger(hashKey)) {
    throw wrongArgument(hashKey, "hashKey", "sparse.crossHashed", "a whole number");
  }
  return compose(() => {
    const { inputs: given, attrs } = crossInputs(inputs, "crossHashed");
    const [indices, values, dims] = apply(SparseCross, given, {
      ...attrs,
      hashed_output: true,
      num_buckets: numBuckets,
      hash_key: hashKey,
      out_type: "int64",
      internal_type: attrs.sparse_types.concat(attrs.dense_types).includes("string")
        ? "string"
        : "int64",
    });
    return new SparseTensor(indices, values, dims);
  });
}
