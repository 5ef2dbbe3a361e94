/**
 * Connectionist temporal classification: the loss of labels without alignment, and decoders. Follows Graves et al., "Connectionist
 * temporal classification", 2006. On the host.
 */
import { apply, apply1, compose, type OpInput } from "../../core/apply.ts";
import { optionCheck } from "../../core/arguments.ts";
import { FailedPreconditionError, ValueError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { type Attrs, defineOp, type OpDef } from "../../core/op.ts";
import { mergeShapes, type PartialShape } from "../../core/shape.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { type BeamPath, bestPath, ctcItem, searchBeams } from "../../kernels/host/decoding/ctc.ts";
import { transpose } from "../array/move.ts";
import { expandDims, identity } from "../array/view.ts";
import { refuse, wholeArray } from "../host/arrays.ts";
import { asTensor, castInput, shapeOfInput, toFloatInput, toInput } from "../input.ts";
import { mul } from "../pointwise/arithmetic.ts";
import { cast } from "../array/cast.ts";
import { onesLike } from "../array/creation.ts";
import { gather } from "../array/gather.ts";
import { unsortedSegmentSum } from "../array/segment.ts";
import { toDense } from "../ragged/sparse_dense.ts";
import { SparseTensor } from "../ragged/sparse_tensor.ts";

/** Checks lengths against the number of steps, and returns them. */
function lengthsOf(lengths: NdArray, steps: number, name: string): number[] {
  const sizes = Array.from(lengths.data as Int32Array);
  const longest = sizes.findIndex((n) => n > steps || n < 0);
  if (longest < 0) return sizes;
  throw new FailedPreconditionError(
    `${name}(${longest}) <= ${steps} does not hold: it is ${sizes[longest]}`,
  );
}

function blankOf(classes: number, blank: number): number {
  const at = blank < 0 ? classes + blank : blank;
  if (at >= 0 && at < classes) return at;
  return refuse(
    `blank_index expected to be between ${-classes} and ${classes - 1}, received ${blank}`,
  );
}

export const CTCLoss: OpDef = defineOp({
  name: "_CTCLoss",
  portable: { never: "TensorFlow's ops of this loss take labels that are sparse" },
  inputs: ["logits: T", "labels: int32", "label_length: int32", "logit_length: int32"],
  outputs: ["loss: T", "gradient: T"],
  attrs: ["blank_index: int = 0", "_enough: bool = false", "T: {float32, float64} = float32"],
  infer: ([logits, labels, ...lengths]) => {
    const [steps, batch, classes] = mergeShapes(logits.shape, [null, null, null])!;
    const [items] = mergeShapes(labels.shape, [batch, null])!;
    const [size] = lengths.map((l) => l.shape).reduce(mergeShapes, [items])!;
    return [[size], [steps, size, classes]];
  },
  grad: {
    saves: ["gradient"],
    vjp: ({ gradient }, [dy]) => {
      const slope = apply1(CTCSlope, [gradient]);
      return [mul(slope, expandDims(expandDims(dy, 0), -1)), null, null, null];
    },
  },
  cpu: ([logits, labels, labelLength, logitLength], [loss, gradient], { attrs }) => {
    const [steps, batch, classes] = logits.shape, most = labels.shape[1];
    const blank = blankOf(classes, attrs.blank_index);
    const sizes = lengthsOf(logitLength, steps, "logit_length");
    const counts = lengthsOf(labelLength, most, "label_length");
    (gradient.data as Float32Array).fill(0);
    for (let b = 0; b < batch; b++) {
      const from = b * most, own = (labels.data as Int32Array).subarray(from, from + counts[b]);
      if (attrs._enough && own.length > sizes[b]) {
        refuse(
          `Not enough time for target transition sequence (required: ${own.length}, available: ${
            sizes[b]
          })`,
        );
      }
      const wrong = own.find((l) => l < 0 || l >= classes || l === blank);
      if (wrong !== undefined) {
        refuse(
          `labels must be classes from 0 to ${
            classes - 1
          } other than the blank ${blank}, received ${wrong}`,
        );
      }
      (loss.data as Float32Array)[b] = ctcItem({
        ...{ logits: logits.data as Float32Array, gradient: gradient.data as Float32Array },
        ...{ steps: sizes[b], batch, item: b, classes, labels: own, blank },
      });
    }
  },
});

/** The gradient of the loss, which has none itself. */
const CTCSlope: OpDef = defineOp({
  name: "_CTCSlope",
  portable: { never: "it stands behind the loss, which TensorFlow has not" },
  inputs: ["gradient: T"],
  outputs: ["slope: T"],
  attrs: ["T: {float32, float64}"],
  infer: ([x]) => [x.shape],
  grad: null,
  expand: ([x]) => [identity(x)],
});

const DECODED = ["decoded_indices: int64", "decoded_values: int64", "decoded_shape: int64"];

/** Indices, values and shape of labels, one list for each item. */
function sparse(lists: readonly (readonly number[])[]): [NdArray, NdArray, NdArray] {
  const values = lists.flat(), at = lists.flatMap((l, item) => l.flatMap((_, i) => [item, i]));
  const shape = [lists.length, Math.max(0, ...lists.map((l) => l.length))];
  return [
    wholeArray("int64", at, [values.length, 2]),
    wholeArray("int64", values),
    wholeArray("int64", shape),
  ];
}

/** Scores `[batch, paths]`. */
function scoresOf(dtype: "float32" | "float64", scores: readonly (readonly number[])[]): NdArray {
  const out = NdArray.zeros(dtype, [scores.length, scores[0]?.length ?? 1]);
  scores.flat().forEach((score, i) => (out.data as Float32Array)[i] = score);
  return out;
}

/** Extent of the batch. */
function batchOf([x, lengths]: readonly Spec[]): number | null {
  const [, batch] = mergeShapes(x.shape, [null, null, null])!;
  return mergeShapes([batch], lengths.shape)![0];
}

export const CTCGreedyDecoder: OpDef = defineOp({
  name: "CTCGreedyDecoder",
  inputs: ["inputs: T", "sequence_length: int32"],
  outputs: [...DECODED, "log_probability: T"],
  attrs: [
    "merge_repeated: bool = false",
    "blank_index: int = -1",
    "T: {float32, float64} = float32",
  ],
  infer: (specs) => [[null, 2], [null], [2], [batchOf(specs), 1]],
  grad: null,
  cpu: ([x, lengths], _, { attrs }) => {
    const [steps, batch, classes] = x.shape;
    const sizes = lengthsOf(lengths, steps, "sequence_length");
    const blank = blankOf(classes, attrs.blank_index), merges = attrs.merge_repeated as boolean;
    const logits = x.data as Float32Array;
    const paths = sizes.map((size, item) =>
      bestPath({ logits, steps: size, batch, item, classes, blank }, merges)
    );
    return [
      ...sparse(paths.map((p) => p.labels)),
      scoresOf(attrs.T, paths.map((p) => [p.score])),
    ];
  },
});

export const CTCBeamSearchDecoder: OpDef = defineOp({
  name: "CTCBeamSearchDecoder",
  inputs: ["inputs: T", "sequence_length: int32"],
  outputs: [
    ...DECODED.map((o) => o.replace(": ", ": top_paths * ")),
    "log_probability: T",
  ],
  attrs: [
    "beam_width: int >= 1",
    "top_paths: int >= 1",
    "merge_repeated: bool = true",
    "T: {float32, float64} = float32",
  ],
  infer: (specs, { top_paths }) => {
    const each = (shape: PartialShape): PartialShape[] => new Array(top_paths).fill(shape);
    return [...each([null, 2]), ...each([null]), ...each([2]), [batchOf(specs), top_paths]];
  },
  grad: null,
  cpu: ([x, lengths], _, { attrs }) => decodeBeams(x, lengths, attrs),
});

function decodeBeams(x: NdArray, lengths: NdArray, attrs: Attrs): NdArray[] {
  const [steps, batch, classes] = x.shape, count = attrs.top_paths as number;
  if (count > attrs.beam_width) {
    refuse(`top_paths must be at most beam_width ${attrs.beam_width}, received ${count}`);
  }
  const sizes = lengthsOf(lengths, steps, "sequence_length"), logits = x.data as Float32Array;
  const found = sizes.map((size, item): readonly BeamPath[] => {
    const of = { logits, steps: size, batch, item, classes, blank: classes - 1 };
    return searchBeams(of, attrs.beam_width as number).slice(0, count);
  });
  if (found.some((paths) => paths.length < count)) {
    refuse(`top_paths ${count} are more than there are paths`);
  }
  const merged = (labels: readonly number[]): readonly number[] =>
    attrs.merge_repeated ? labels.filter((l, i) => i === 0 || l !== labels[i - 1]) : labels;
  const parts = Array.from(
    { length: count },
    (_, k) => sparse(found.map((paths) => merged(paths[k].labels))),
  );
  const scores = scoresOf(attrs.T, found.map((paths) => paths.map((p) => p.score)));
  return [...[0, 1, 2].flatMap((part) => parts.map((p) => p[part])), scores];
}

/** Lengths as int32. */
function lengthInput(x: TensorLike, arg: string, fn: string): OpInput {
  return castInput(toInput(x, arg, fn), "int32");
}

/** Options of {@linkcode ctcLoss}. */
export interface CtcLossOptions {
  /** True where logits are `[time, batch, classes]`, else they are `[batch, time, classes]`. Default true. */
  readonly logitsTimeMajor?: boolean;
  /** The class that stands for no label; a negative one is counted from the end. Default 0. */
  readonly blankIndex?: number;
}

const checkLoss = optionCheck<CtcLossOptions>("ctcLoss", {
  logitsTimeMajor: true,
  blankIndex: true,
});

/** Labels `[batch, labels]` and their number for each example, of sparse ones. */
function ofSparse(labels: SparseTensor): [labels: Tensor, labelLength: Tensor] {
  const examples = gather(labels.denseShape, 0), rows = gather(labels.indices, 0, 1);
  const counts = unsortedSegmentSum(cast(onesLike(rows), "int32"), rows, cast(examples, "int32"));
  return [toDense(labels), counts];
}

/**
 * Negative logarithm of the probability that logits make the labels, summed over all alignments: `[batch]`. Labels are integers
 * `[batch, labels]`, of which an example has as many as `labelLength` says, and `logitLength` steps count; sparse labels, from the first place
 * of each row on, have their own lengths, null stands for them, and `blankIndex` must be given. Infinity, with gradients of zero,
 * where there are too few steps; `InvalidArgumentError` for sparse labels of which an example has more than steps. Computed on the host; float32 or float64. Its gradient has none. Follows TensorFlow `tf.nn.ctc_loss`.
 * Throws `ValueError` for shapes that do not fit and for sparse labels without a blank, `InvalidArgumentError` for labels that are no classes.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const loss = tf.ctcLoss([[1]], tf.zeros([2, 1, 2]), [1], [2]); // of 4 paths 3 are the label
 * console.log(Math.exp(-loss.item()).toFixed(4)); // 0.7500
 * const labels = new tf.SparseTensor([[0, 0]], tf.tensor([1], [1], "int32"), [1, 1]);
 * const same = tf.ctcLoss(labels, tf.zeros([2, 1, 2]), null, [2], { blankIndex: 0 });
 * console.log(same.item() === loss.item()); // true
 * ```
 */
export function ctcLoss(
  labels: TensorLike | SparseTensor,
  logits: TensorLike,
  labelLength: TensorLike | null,
  logitLength: TensorLike,
  options: CtcLossOptions = {},
): Tensor {
  checkLoss(options);
  if (labels instanceof SparseTensor) {
    if (options.blankIndex === undefined || labelLength !== null) {
      throw new ValueError(
        `Error in ctcLoss: sparse labels need a blankIndex, received ${options.blankIndex}, and labelLength null`,
      );
    }
    return compose(() => {
      const [dense, counts] = ofSparse(labels);
      return lossOf([dense, logits, counts, logitLength], { ...options, needsSteps: true });
    });
  }
  if (labelLength === null) {
    throw new ValueError(
      "Error in ctcLoss: labelLength null stands for that of sparse labels alone",
    );
  }
  return lossOf([labels, logits, labelLength, logitLength], options);
}

/** The loss of dense labels; `needsSteps`: throws for fewer steps than labels, as TensorFlow's op for sparse ones does. */
function lossOf(
  [labels, logits, labelLength, logitLength]: readonly TensorLike[],
  { logitsTimeMajor = true, blankIndex = 0, needsSteps = false }: CtcLossOptions & {
    readonly needsSteps?: boolean;
  },
): Tensor {
  const given = toFloatInput(logits, "logits", "ctcLoss");
  const ordered = logitsTimeMajor ? given : transpose(given, [1, 0, 2]);
  return apply(CTCLoss, [
    ordered,
    castInput(toInput(labels, "labels", "ctcLoss"), "int32"),
    lengthInput(labelLength, "labelLength", "ctcLoss"),
    lengthInput(logitLength, "logitLength", "ctcLoss"),
  ], { blank_index: blankIndex, _enough: needsSteps })[0];
}

/** Labels that a decoder found. */
export interface CtcDecoded {
  /** Labels of each path, `[batch, labels]`, best first. */
  readonly decoded: readonly SparseTensor[];
  /** Score of each path: `[batch, paths]`. */
  readonly scores: Tensor;
}

/** Options of {@linkcode ctcGreedyDecoder}. */
export interface CtcGreedyOptions {
  /** Take labels that follow each other without a blank between them as one. Default true. */
  readonly mergeRepeated?: boolean;
  /** The class that stands for no label. Default the last one. */
  readonly blankIndex?: number;
}

const checkGreedy = optionCheck<CtcGreedyOptions>("ctcGreedyDecoder", {
  mergeRepeated: true,
  blankIndex: true,
});

function wantLogits(logits: OpInput, fn: string): void {
  const shape = shapeOfInput(logits);
  if (shape === null || shape.length === 3) return;
  throw new ValueError(
    `Error in ${fn}: logits must have shape [time, batch, classes], received rank ${shape.length}`,
  );
}

/**
 * The likeliest class of each step, without blanks. Logits are `[time, batch, classes]`; the score is the negated sum of their greatest
 * ones. Throws `ValueError` for another rank. TensorFlow op `CTCGreedyDecoder`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const logits = tf.oneHot(tf.tensor([[0], [0], [2], [1]], [4, 1], "int32"), 3);
 * const { decoded: [path] } = tf.ctcGreedyDecoder(logits, [4]);
 * console.log(Array.from(path.values.dataSync(), Number)); // [0, 1]
 * ```
 */
export function ctcGreedyDecoder(
  logits: TensorLike,
  sequenceLength: TensorLike,
  options: CtcGreedyOptions = {},
): CtcDecoded {
  checkGreedy(options);
  const inputs = [
    toFloatInput(logits, "logits", "ctcGreedyDecoder"),
    lengthInput(sequenceLength, "sequenceLength", "ctcGreedyDecoder"),
  ];
  wantLogits(inputs[0], "ctcGreedyDecoder");
  const [at, values, shape, scores] = apply(CTCGreedyDecoder, inputs, {
    merge_repeated: options.mergeRepeated ?? true,
    blank_index: options.blankIndex ?? -1,
  });
  return { decoded: [new SparseTensor(at, values, shape)], scores };
}

/** Options of {@linkcode ctcBeamSearchDecoder}. */
export interface CtcBeamOptions {
  /** Number of beginnings of paths that are kept at each step. Default 100. */
  readonly beamWidth?: number;
  /** Number of paths. Default 1. */
  readonly topPaths?: number;
}

const checkBeam = optionCheck<CtcBeamOptions>("ctcBeamSearchDecoder", {
  beamWidth: true,
  topPaths: true,
});

/**
 * The labels with the greatest sums over their alignments, as a search over beginnings finds them; the last class is the blank. Logits are
 * `[time, batch, classes]`, scores logarithms of probabilities. Throws `ValueError` for another rank. TensorFlow op `CTCBeamSearchDecoder`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { decoded, scores } = tf.ctcBeamSearchDecoder(tf.zeros([2, 1, 2]), [2], { topPaths: 2 });
 * console.log(decoded.length); // 2
 * console.log((scores.arraySync() as number[][])[0].map((s) => Math.round(Math.exp(s) * 100))); // [75, 25]
 * ```
 */
export function ctcBeamSearchDecoder(
  logits: TensorLike,
  sequenceLength: TensorLike,
  options: CtcBeamOptions = {},
): CtcDecoded {
  checkBeam(options);
  const { beamWidth = 100, topPaths = 1 } = options;
  const inputs = [
    toFloatInput(logits, "logits", "ctcBeamSearchDecoder"),
    lengthInput(sequenceLength, "sequenceLength", "ctcBeamSearchDecoder"),
  ];
  wantLogits(inputs[0], "ctcBeamSearchDecoder");
  const all = apply(CTCBeamSearchDecoder, inputs, {
    ...{ beam_width: beamWidth, top_paths: topPaths, merge_repeated: false },
  });
  const part = (k: number, i: number): Tensor => asTensor(all[i * topPaths + k]);
  return {
    decoded: Array.from(
      { length: topPaths },
      (_, k) => new SparseTensor(part(k, 0), part(k, 1), part(k, 2)),
    ),
    scores: all[3 * topPaths],
  };
}
