/** Ops that older versions of TensorFlow and its tools wrote into files. */
import { UnimplementedError } from "../../../engine/core/errors.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import { cast } from "../../../engine/ops/array/cast.ts";
import { gather } from "../../../engine/ops/array/gather.ts";
import { broadcastTo } from "../../../engine/ops/array/repeat.ts";
import { tensorScatterAdd, tensorScatterUpdate } from "../../../engine/ops/array/scatter.ts";
import { expandDims, literalInts, reshape, shape, size } from "../../../engine/ops/array/view.ts";
import {
  angle,
  concat,
  conj,
  cumprod,
  raggedFillEmptyRows,
  range,
  slice,
  stft,
  transpose,
} from "../../../engine/ops/of_files.ts";
import { floatScalar, intScalar, intVector } from "../../../engine/ops/input.ts";
import { add, floorDiv, mod, mul, neg, sub } from "../../../engine/ops/pointwise/arithmetic.ts";
import { abs } from "../../../engine/ops/pointwise/rounding.ts";
import { less } from "../../../engine/ops/pointwise/compare.ts";
import { rsqrt, square } from "../../../engine/ops/pointwise/power.ts";
import { where } from "../../../engine/ops/pointwise/select.ts";
import { callFunction } from "../../../engine/runtime/functions/concrete_function.ts";
import type { SymbolicTensor } from "../../../engine/graph/operation.ts";
import {
  as,
  type ImportedNode,
  type ImportRule,
  intOf,
  type OpEntry,
  put,
  put1,
  rule,
  same,
  textOf,
} from "../rule.ts";
import { read } from "./variables.ts";

/** Lists of numbers of an attribute. */
const listOf = (value: ImportedNode["attr"][string] | undefined): number[] =>
  (value?.list?.i ?? []).map(Number);

/** A normalization by given moments. */
const normalized: ImportRule = ({ inputs: [x, mean, variance, beta, gamma], attr }) => {
  const slope = rsqrt(add(variance, Number(attr.variance_epsilon?.f ?? 0)));
  const isScaled = attr.scale_after_normalization?.b === true;
  return [add(mul(sub(x, mean), isScaled ? mul(slope, gamma) : slope), beta)];
};

/** A convolution of an image that is padded with its own pixels, and resized before. */
function paddedConv(hasSize: boolean): ImportRule {
  return ({ inputs, attr }) => {
    const [paddings, filter] = inputs.slice(hasSize ? 2 : 1);
    const x = hasSize
      ? put1("ResizeBilinear", [inputs[0], inputs[1]], {
        align_corners: attr.resize_align_corners?.b ?? false,
      })
      : inputs[0];
    const padded = put1("MirrorPad", [x, paddings], { mode: textOf(attr.mode, "REFLECT") });
    return put("Conv2D", [padded, filter], {
      strides: listOf(attr.strides),
      padding: textOf(attr.padding, "VALID"),
    });
  };
}

/** Places of the letters of one format in another. */
function lettersOf({ attr }: ImportedNode): [source: string, target: string] {
  return [textOf(attr.src_format, "NHWC"), textOf(attr.dst_format, "NCHW")];
}

/** A vector, or pairs, with a number for each axis, in another format's order. */
const permuted: ImportRule = (node) => {
  const [x] = node.inputs, count = x.staticShape?.[0];
  let [source, target] = lettersOf(node);
  // Vectors of fewer numbers have those of images' extents alone.
  if (count === source.length - 2) {
    [source, target] = [source, target].map((f) => f.replace(/[NC]/g, ""));
  }
  return [gather(x, intVector([...target].map((letter) => source.indexOf(letter))))];
};

/** Numbers of axes in another format. */
const axisIn: ImportRule = (node) => {
  const [x] = node.inputs, [source, target] = lettersOf(node);
  const places = intVector([...source].map((letter) => target.indexOf(letter)));
  return [cast(gather(places, mod(x, source.length)), x.dtype)];
};

/** Indices along each axis of the places of a tensor's elements. */
const unraveled: ImportRule = ({ inputs: [places, dims] }) => {
  const column = (v: Tensor): Tensor => reshape(v, [-1, 1]);
  const strides = cumprod(dims, 0, true, true), flat = reshape(places, [1, -1]);
  const all = mod(floorDiv(flat, column(strides)), column(dims));
  return [places.staticShape?.length === 0 ? reshape(all, [-1]) : all];
};

/** Replaces the part of a tensor that a strided slice takes. */
function assigned(
  x: Tensor,
  [begin, end, strides, value]: readonly Tensor[],
  { attr }: ImportedNode,
): Tensor {
  const masks = Object.fromEntries(
    ["begin_mask", "end_mask", "ellipsis_mask", "new_axis_mask", "shrink_axis_mask"]
      .map((mask) => [mask, intOf(attr[mask], 0)]),
  );
  const dims = shape(x), numbers = reshape(range(0, size(x), 1, "int32"), dims);
  const places = put1("StridedSlice", [numbers, begin, end, strides], masks);
  const updates = broadcastTo(value, shape(places));
  const flat = tensorScatterUpdate(
    reshape(x, [-1]),
    reshape(places, [-1, 1]),
    reshape(updates, [-1]),
  );
  return reshape(flat, dims);
}

const assignedVariable: ImportRule = (node) => {
  const [handle, ...parts] = node.inputs;
  put("AssignVariableOp", [handle, assigned(read(node), parts, node)]);
  return [];
};

/** The pooling op with the window and its steps, constants after so many inputs, as attributes. */
const pooledBy = (op: string, count: number): ImportRule => ({ inputs, attr }) => {
  const [ksize, strides] = inputs.slice(count, count + 2).map((list) => {
    const known = literalInts(list);
    if (known !== undefined) return known;
    throw new UnimplementedError(
      `Cannot import ${op}V2: its ksize and strides must be constants`,
    );
  });
  return put(op, inputs.slice(0, count), {
    ksize,
    strides,
    padding: textOf(attr.padding, "VALID"),
    data_format: textOf(attr.data_format, "NHWC"),
  });
};

/** Counts of each number in the rows of a sparse matrix, or in a sparse vector. */
const sparseCounts: ImportRule = ({ inputs: [indices, values, dims, count, weights], attr }) => {
  const isMatrix = (dims.staticShape?.[0] ?? indices.staticShape?.[1]) === 2;
  const binary = { binary_output: attr.binary_output?.b ?? false };
  if (!isMatrix) return put("DenseBincount", [values, count, weights], binary);
  // Numbers from the count on are left out.
  const isIn = less(values, count), row = cast(gather(indices, 0, 1), values.dtype);
  const place = where(isIn, add(mul(row, count), values), cast(neg(1), values.dtype));
  const rows = cast(gather(dims, 0), values.dtype), dtype = weights.dtype;
  const isWeighted = weights.staticShape?.[0] !== 0 && !binary.binary_output;
  const ones = put1("OnesLike", [cast(values, dtype)]), each = isWeighted ? weights : ones;
  const op = binary.binary_output ? "UnsortedSegmentMax" : "UnsortedSegmentSum";
  const flat = put1(op, [each, place, mul(rows, count)]);
  const counts = binary.binary_output ? put1("Maximum", [flat, cast(0, dtype)]) : flat;
  return [reshape(counts, put1("Pack", [cast(rows, "int32"), cast(count, "int32")]))];
};

/** Magnitudes of short-time spectra of sounds `[samples, channels]`. */
const spectrogram: ImportRule = ({ inputs: [x], attr }) => {
  const window = intOf(attr.window_size, 0);
  const frames = stft(transpose(x), window, intOf(attr.stride, 1), null, (n) => {
    const at = mul(range(0, n as number), 2 * Math.PI / (n as number));
    return mul(sub(1, put1("Cos", [at])), 0.5);
  });
  const size = abs(frames);
  return [attr.magnitude_squared?.b === true ? square(size) : size];
};

/** Part of a picture. */
const croppedJpeg: ImportRule = ({ inputs: [contents, window], attr }) => {
  const channels = intOf(attr.channels, 0), ratio = intOf(attr.ratio, 1);
  const picture = put1("DecodeJpeg", [contents], { channels, ratio });
  const part = (from: number, rest: number): Tensor =>
    concat([slice(window, [from], [2]), intVector([rest])]);
  return [slice(picture, part(0, 0), part(2, -1))];
};

/** A batch as it comes: its function is called at once. */
const called: ImportRule = ({ inputs, attr, functions }) => {
  const given = inputs as readonly SymbolicTensor[];
  const specs = given.map(({ dtype, staticShape }) => ({ dtype, shape: staticShape }));
  return callFunction(functions.get(attr.f?.func?.name ?? "", specs), given);
};

const rowOf = (places: Tensor): Tensor => expandDims(reshape(places, [-1]), 1);
const inRows = (update: typeof tensorScatterUpdate): OpEntry =>
  rule(({ inputs: [x, at, rows] }) => [update(x, rowOf(at), rows)], 3);

/** Ops of batches of matrices and transforms, which the ops without that word take as well. */
const OF_BATCHES = Object.fromEntries(
  [
    ...["Cholesky", "MatrixInverse", "MatrixDeterminant", "MatrixSolve", "MatrixTriangularSolve"],
    ...["MatrixBandPart", "SelfAdjointEigV2", "Svd", "FFT", "IFFT"],
  ].map((op) => [`Batch${op}`, same(op)]),
);

/** The entries of these ops. */
export const OLDER_RULES: Readonly<Record<string, OpEntry>> = {
  ...OF_BATCHES,
  AccumulateNV2: same("AddN"),
  Angle: rule(({ inputs: [x] }) => [angle(x)]),
  ApproxTopK: rule(
    ({ inputs: [x], attr }) => {
      const isMost = attr.is_max_k?.b ?? true;
      const [values, at] = put("TopKV2", [isMost ? x : neg(x), intScalar(intOf(attr.k, 1))]);
      return [isMost ? values : neg(values), at];
    },
    1,
    { outputs: ["values", "indices"] },
  ),
  AudioSpectrogram: rule(spectrogram),
  BatchFunction: rule(called, 0),
  BatchNormWithGlobalNormalization: rule(normalized, 5),
  CheckNumericsV2: rule(as("CheckNumerics", (attr) => ({ message: textOf(attr.message, "") }))),
  ConjugateTranspose: rule(({ inputs: [x, perm] }) => [conj(put1("Transpose", [x, perm]))], 2),
  DataFormatDimMap: rule(axisIn),
  DataFormatVecPermute: rule(permuted),
  DecodeAndCropJpeg: rule(croppedJpeg, 2),
  FusedPadConv2D: rule(paddedConv(false), 3),
  FusedResizeAndPadConv2D: rule(paddedConv(true), 4),
  ImageProjectiveTransformV2: rule(
    ({ inputs, attr }) =>
      put("ImageProjectiveTransformV3", [...inputs, floatScalar(0)], {
        interpolation: textOf(attr.interpolation, "NEAREST"),
        fill_mode: textOf(attr.fill_mode, "CONSTANT"),
      }),
    3,
  ),
  InplaceUpdate: inRows(tensorScatterUpdate),
  InplaceAdd: inRows(tensorScatterAdd),
  InplaceSub: inRows((x, at, rows) => tensorScatterAdd(x, at, neg(rows))),
  LookupTableExport: same("LookupTableExportV2"),
  LookupTableInsert: same("LookupTableInsertV2"),
  MaxPoolV2: rule(pooledBy("MaxPool", 1), 3),
  MaxPoolGradV2: rule(pooledBy("MaxPoolGrad", 3), 5),
  MaxPoolGradGradV2: rule(pooledBy("MaxPoolGradGrad", 3), 5),
  NonMaxSuppression: rule(
    ({ inputs, attr }) =>
      put("NonMaxSuppressionV3", [
        ...inputs,
        floatScalar(Number(attr.iou_threshold?.f ?? 0.5)),
        floatScalar(-Infinity),
      ]),
    3,
  ),
  ParallelConcat: rule(({ inputs }) => [concat([...inputs])], 1),
  RaggedFillEmptyRows: rule(
    ({ inputs: [rowids, values, count, start] }) =>
      raggedFillEmptyRows(rowids, values, count, start),
    4,
    {
      outputs: [
        ...["output_value_rowids", "output_values", "empty_row_indicator", "reverse_index_map"],
      ],
    },
  ),
  ResourceStridedSliceAssign: rule(assignedVariable, 5),
  SparseBincount: rule(sparseCounts, 5),
  TensorStridedSliceUpdate: rule(
    (node) => [assigned(node.inputs[0], node.inputs.slice(1), node)],
    5,
  ),
  UnravelIndex: rule(unraveled, 2),
};
