/**
 * Ragged tensors as elements of lists, which only files have: TensorFlow's variants, here the bytes of their splits and values. On the
 * host. An element that no op wrote has no bytes.
 */
import { concatRows, spanOf } from "../../engine/core/arrays/rows.ts";
import { type DType, DTYPES } from "../../engine/core/dtype.ts";
import { type ElementValue, NdArray, setElement } from "../../engine/core/nd_array.ts";
import { type Attrs, defineOp, type OpDef } from "../../engine/core/op.ts";
import { sameShape, sizeOf } from "../../engine/core/shape.ts";
import { concatBytes, viewOf } from "../../engine/core/text.ts";
import { refuse, textsOf, wholeArray } from "../../engine/ops/host/arrays.ts";
import { hostInts, knownInts } from "../../engine/ops/array/view.ts";
import { readTensor, writeTensor } from "../../engine/kernels/host/text/tensor_message.ts";

const PORTABLE = { never: "TensorFlow's takes variants, which are bytes here" };

/** A ragged tensor: the splits of each ragged dimension, outermost first, and its values. */
interface Ragged {
  readonly splits: readonly (readonly number[])[];
  readonly values: NdArray;
}

/** The dtypes of a variant's parts. */
interface Types {
  readonly Tvalues: DType;
  readonly Tsplits: "int32" | "int64";
}

/** Joins parts, each behind its length. */
function framed(parts: readonly Uint8Array[]): Uint8Array {
  return concatBytes(
    parts.flatMap((part) => [new Uint8Array(Uint32Array.of(part.length).buffer), part]),
  );
}

/** Writes each part as a TensorProto. */
function encode({ splits, values }: Ragged, dtype: Types["Tsplits"]): Uint8Array {
  return framed([...splits.map((s) => wholeArray(dtype, s)), values].map(writeTensor));
}

/** Returns the parts of a variant, each a TensorProto. Throws `InvalidArgumentError` for bytes that no op writes. */
function partsOf(bytes: Uint8Array): Uint8Array[] {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < bytes.length;) {
    const length = at + 4 <= bytes.length ? viewOf(bytes).getUint32(at, true) : NaN;
    if (!(at + 4 + length <= bytes.length)) {
      refuse("Input Variant element doesn't hold a RaggedTensorVariant");
    }
    parts.push(bytes.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return parts;
}

/** Reads a variant; null for one that no op wrote. Throws `InvalidArgumentError` for other dtypes, and for bytes that no op writes. */
function decode(bytes: Uint8Array, { Tvalues, Tsplits }: Types): Ragged | null {
  if (bytes.length === 0) return null;
  const parts = partsOf(bytes);
  const values = readTensor(parts.pop()!, Tvalues);
  return { splits: parts.map((part) => hostInts(readTensor(part, Tsplits))), values };
}

/** Throws `InvalidArgumentError` for splits that do not begin at 0, fall, or end elsewhere than what they part. */
function check({ splits, values }: Ragged): void {
  if (values.rank === 0) refuse("Shape must be at least rank 1 but is rank 0: rt_dense_values");
  splits.forEach((ends, i) => {
    const count = i + 1 < splits.length ? splits[i + 1].length - 1 : values.shape[0];
    if (ends[0] !== 0) refuse("Invalid ragged splits: first element of splits must be 0");
    if (ends.at(-1) !== count || ends.some((v, k) => v < (ends[k - 1] ?? 0))) {
      refuse(
        `Invalid ragged splits: they must rise up to the number of rows below, ${count}, received [${ends}]`,
      );
    }
  });
}

/** Returns the rows of the outermost dimension. */
function rowsOf({ splits: [outer, ...inner], values }: Ragged): Ragged[] {
  const ends = outer ?? Array.from({ length: values.shape[0] + 1 }, (_, i) => i);
  return ends.slice(1).map((end, i) => {
    let from = ends[i], to = end;
    const splits = inner.map((whole) => {
      const part = whole.slice(from, to + 1);
      [from, to] = [whole[from], whole[to]];
      return part.map((v) => v - part[0]);
    });
    const own = spanOf(values, from, to);
    return { splits, values: outer === undefined ? own.reshape(values.shape.slice(1)) : own };
  });
}

const counted = (lengths: readonly number[]): number[] =>
  lengths.reduce<number[]>((ends, n) => [...ends, ends.at(-1)! + n], [0]);

const lengthsOf = (ends: readonly number[]): number[] =>
  ends.slice(1).map((end, i) => end - ends[i]);

const size = ({ splits: [outer], values }: Ragged): number =>
  outer === undefined ? values.shape[0] : outer.length - 1;

/** Joins ragged tensors as the rows of one with one ragged dimension more. */
function joined(rows: readonly Ragged[], rank: number): Ragged {
  const splits = [
    counted(rows.map(size)),
    ...Array.from(
      { length: rank },
      (_, k) => counted(rows.flatMap(({ splits }) => lengthsOf(splits[k]))),
    ),
  ];
  return { splits, values: concatRows(rows.map(({ values }) => values)) };
}

defineOp({
  name: "RaggedTensorToVariant",
  portable: PORTABLE,
  inputs: ["rt_nested_splits: RAGGED_RANK * Tsplits", "rt_dense_values: Tvalues"],
  outputs: ["encoded_ragged: string"],
  attrs: [
    "RAGGED_RANK: int >= 0",
    "Tvalues: type",
    "Tsplits: index = int64",
    "batched_input: bool",
  ],
  infer: (specs, { batched_input }) => {
    if (!batched_input) return [[]];
    const [first] = specs, rows = first.shape?.[0] ?? null;
    return [[specs.length > 1 && rows !== null ? rows - 1 : rows]];
  },
  grad: null,
  cpu: (inputs, _, { attrs }) => {
    const { batched_input, Tsplits } = attrs as Attrs & Types;
    const whole = { splits: inputs.slice(0, -1).map(hostInts), values: inputs.at(-1)! };
    if (whole.splits.length > 0 || batched_input) check(whole);
    const rows = batched_input ? rowsOf(whole) : [whole];
    const texts = rows.map((row) => encode(row, Tsplits));
    return [new NdArray("string", batched_input ? [texts.length] : [], texts)];
  },
});

defineOp({
  name: "RaggedTensorFromVariant",
  portable: PORTABLE,
  inputs: ["encoded_ragged: string"],
  outputs: ["output_nested_splits: output_ragged_rank * Tsplits", "output_dense_values: Tvalues"],
  attrs: [
    ...["input_ragged_rank: int", "output_ragged_rank: int >= 0"],
    ...["Tvalues: type", "Tsplits: index = int64"],
  ],
  infer: ([{ shape }], { output_ragged_rank: rank }) => [
    ...Array.from(
      { length: rank },
      (
        _,
        k,
      ) => [
        k === 0 && shape !== null && shape.length > 0 && shape[0] !== null ? shape[0] + 1 : null,
      ],
    ),
    null,
  ],
  grad: null,
  cpu: ([encoded], _, { attrs }) => {
    const { input_ragged_rank: told, output_ragged_rank: rank } = attrs;
    const types = attrs as Attrs & Types, dims = encoded.rank;
    const own = told < 0 ? rank - dims : told;
    if (own < 0) {
      refuse(
        `Inferred input_ragged_rank (output_ragged_rank - encoded_variant.dims()) must be >= 0, found output_ragged_rank: ${rank}, encoded_variant.dims(): ${dims}, inferred input_ragged_rank: ${own}`,
      );
    }
    if (rank !== own + dims) {
      refuse(
        `output_ragged_rank must be equal to input_ragged_rank + encoded_ragged.dims(): output_ragged_rank: ${rank}, input_ragged_rank: ${own}, encoded_variant.dims(): ${dims}`,
      );
    }
    const rows = textsOf(encoded).map((bytes) => decode(bytes, types));
    const odd = rows.find((row) => row !== null && row.splits.length !== own);
    if (odd) {
      refuse(
        `Encoded input RaggedTensorVariant has ragged_rank=${odd.splits.length}, expected ${own}`,
      );
    }
    const like = rows.find((row) => row !== null)?.values;
    const empty: Ragged = {
      splits: Array.from({ length: own }, () => [0]),
      values: NdArray.zeros(types.Tvalues, [0, ...like?.shape.slice(1) ?? []]),
    };
    if (dims === 0) {
      const { splits, values } = rows[0] ?? empty;
      return [...splits.map((s) => wholeArray(types.Tsplits, s)), values];
    }
    const all = rows.map((row) => row ?? empty);
    const { splits: [first, ...inner], values } = joined(all.length > 0 ? all : [empty], own);
    const splits = [all.length > 0 ? first : [0], ...inner];
    // All dimensions of the variants but the last are rows of one length.
    const outer = Array.from({ length: dims - 1 }, (_, k) => {
      const count = encoded.shape.slice(0, k + 1).reduce((n, d) => n * d, 1);
      return Array.from({ length: count + 1 }, (_, i) => i * encoded.shape[k + 1]);
    });
    return [...[...outer, ...splits].map((s) => wholeArray(types.Tsplits, s)), values];
  },
});

defineOp({
  name: "RaggedTensorToVariantGradient",
  portable: PORTABLE,
  inputs: ["encoded_ragged_grad: string", "row_splits: Tsplits", "dense_values_shape: int32"],
  outputs: ["dense_values_grad: Tvalues"],
  attrs: ["Tvalues: type", "Tsplits: index = int64"],
  infer: ([, , dims]) => [knownInts(dims) ?? null],
  grad: null,
  cpu: ([encoded, splits, shape], _, { attrs }) => {
    const types = attrs as Attrs & Types, dims = hostInts(shape), ends = hostInts(splits);
    const isPlain = splits.rank === 0 || encoded.rank === 0, inner = dims.slice(1);
    // A row that no op wrote has a gradient of zeros.
    const parts = textsOf(encoded).map((bytes, i) => {
      const row = decode(bytes, types)?.values;
      const own = encoded.rank === 0 ? dims : isPlain ? inner : [ends[i + 1] - ends[i], ...inner];
      const values = row ?? NdArray.zeros(types.Tvalues, own);
      return values.reshape([values.size]);
    });
    const out = concatRows([NdArray.zeros(types.Tvalues, [0]), ...parts]);
    if (out.size !== sizeOf(dims)) {
      refuse(`Incompatible shapes: the rows have ${out.size} elements, dense values are [${dims}]`);
    }
    return [out.reshape(dims)];
  },
});

/** Applies `work` to the values of variants with the same splits, which are those of the result. */
function overValues(
  all: readonly Uint8Array[],
  work: (...values: NdArray[]) => NdArray,
): Uint8Array {
  const parts = all.filter((bytes) => bytes.length > 0).map(partsOf);
  if (parts.length === 0) return new Uint8Array();
  const values = parts.map((own) => {
    // A TensorProto begins with its dtype.
    const last = own.at(-1)!, dtype = Object.values(DTYPES).find(({ tf }) => tf === last[1])!.name;
    return readTensor(last, dtype);
  });
  return framed([...parts[0].slice(0, -1), writeTensor(work(...values))]);
}

function added(x: NdArray, y: NdArray): NdArray {
  if (!sameShape(x.shape, y.shape)) {
    refuse(`Cannot add ragged values of shapes [${x.shape}] and [${y.shape}]`);
  }
  const out = NdArray.zeros(x.dtype, x.shape);
  for (let i = 0; i < x.size; i++) {
    const a = x.at(i), b = y.at(i);
    const sum = Array.isArray(a)
      ? a.map((v, k) => v + (b as readonly number[])[k])
      : a as number + (b as number);
    setElement(out, i, sum as ElementValue);
  }
  return out;
}

function defineOnVariants(
  name: string,
  inputs: string[],
  work: (...values: NdArray[]) => NdArray,
): OpDef {
  return defineOp({
    name,
    portable: PORTABLE,
    inputs,
    outputs: ["output: string"],
    attrs: inputs[0].includes("*") ? ["N: int >= 1"] : [],
    infer: ([{ shape }]) => [shape],
    grad: null,
    cpu: (all, [out]) => {
      const texts = all.map(textsOf);
      texts[0].forEach((_, i) => textsOf(out)[i] = overValues(texts.map((one) => one[i]), work));
    },
  });
}

/** Zeros in the place of values: TensorFlow's `ZerosLike` of variants. */
defineOnVariants("_ZerosOfVariants", ["x: string"], (x) => NdArray.zeros(x.dtype, x.shape));
/** Sums of values: TensorFlow's `AddN` of variants. */
defineOnVariants("_SumOfVariants", ["inputs: N * string"], (...all) => all.reduce(added));
