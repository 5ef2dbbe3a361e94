/**
 * The rules by which ops of one row become ops of all rows, by op or by what an op means. An op without a rule runs in a loop over
 * the rows, so a rule is for speed alone.
 */
import { apply } from "../core/apply.ts";
import { lookupOp, type OpDef } from "../core/op.ts";
import { isConcrete } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { broadcastTo } from "../ops/array/repeat.ts";
import { asTensor, intVector } from "../ops/input.ts";
import { conj } from "../ops/pointwise/complex.ts";
import { ARRAY_RULES } from "./rules_arrays.ts";
import {
  along,
  alongBoth,
  direct,
  everyBatched,
  folded,
  foldedOfShape,
  onlyFirst,
} from "./rules_common.ts";
import { DRAW_RULES } from "./rules_draws.ts";
import { IMAGE_RULES } from "./rules_images.ts";
import { INDEX_RULES } from "./rules_indices.ts";
import { TEXT_RULES } from "./rules_texts.ts";
import {
  batchedOf,
  foldRows,
  moveAxis,
  rowRank,
  type Rule,
  unfoldRows,
  withRowRank,
  withRows,
} from "./values.ts";

/** Rows of a pointwise op line up behind their own axis. */
const pointwise: Rule = ({ def, attrs, inputs, rows }) => {
  const ranks = inputs.map(rowRank);
  if (ranks.includes(null)) return null;
  const most = Math.max(...ranks as number[]);
  // Some gradients want inputs of one shape.
  const isOfOneShape = def.name === "AddN" || def.name.endsWith("Grad");
  return apply(
    def,
    inputs.map((v) =>
      withRowRank(isOfOneShape ? { all: batchedOf(v, rows), batched: true } : v, most)
    ),
    attrs,
  );
};

/** The same for an op that takes scalars beside tensors of one shape. */
const ofOneShape: Rule = ({ def, attrs, inputs, results: [to], rows }) => {
  if (!to || !isConcrete(to)) return null;
  const all = withRows(intVector(to), rows);
  return apply(def, inputs.map((v) => broadcastTo(withRowRank(v, to.length), all)), attrs);
};

/** Systems of each row; the regularizer, a scalar, is the same for all. */
const solvedLs: Rule = ({ def, attrs, inputs: [a, b, l2], rows }) =>
  l2.batched ? null : apply(def, [batchedOf(a, rows), batchedOf(b, rows), l2.all], attrs);

/** A product of two matrices becomes one of batches of matrices. */
const product: Rule = ({ def, attrs, inputs }) => {
  const ranks = inputs.map(rowRank);
  if (ranks.includes(null)) return null;
  const most = Math.max(...ranks as number[]), isPlain = def.name === "MatMul";
  const named = isPlain
    ? { adj_x: attrs.transpose_a, adj_y: attrs.transpose_b }
    : { adj_x: attrs.adj_x, adj_y: attrs.adj_y };
  const all = inputs.map((v) => withRowRank(v, most));
  if (isPlain && /^complex/.test(all[0].dtype)) {
    // Products of batches conjugate what they exchange rows and columns of.
    if (named.adj_x) all[0] = conj(asTensor(all[0]));
    if (named.adj_y) all[1] = conj(asTensor(all[1]));
  }
  return apply(lookupOp("BatchMatMulV2")!, all, named);
};

/** Einstein sums name the rows by a letter of their own. */
const einsum: Rule = ({ def, attrs, inputs }) => {
  const { equation } = attrs as { equation: string };
  const [terms, result] = equation.replaceAll(" ", "").split("->");
  const letter = [..."zyxwvutsrqponmlkjihgfedcbaZYXWVUTSRQPONMLKJIHGFEDCBA"]
    .find((c) => !equation.includes(c));
  if (result === undefined || letter === undefined) return null;
  const named = terms.split(",").map((term, i) => inputs[i].batched ? letter + term : term);
  const all = `${named.join(",")}->${letter}${result}`;
  return apply(def, inputs.map((v) => v.all), { ...attrs, equation: all });
};

/** Each row becomes a channel, with a range of its own. */
const channelOfRow: Rule = ({ attrs, inputs, rows }) => {
  if (inputs.map(rowRank).includes(null)) return null;
  const [x, ...ends] = inputs.map((v) => batchedOf(v, rows)), last = x.rank - 1;
  const channels = lookupOp("FakeQuantWithMinMaxVarsPerChannel")!;
  return apply(channels, [moveAxis(x, 0, last), ...ends], attrs).map((y) => moveAxis(y, last, 0));
};

/** Each row becomes a slice along the first axis, with a range of its own. */
const sliceOfRow: Rule = ({ def, attrs, inputs, rows }) => {
  const [x, low, high, ...bits] = inputs;
  if (attrs.axis !== -1 || bits.some((v) => v.batched)) return null;
  const ranged = [x, low, high].map((v) => batchedOf(v, rows));
  return apply(def, [...ranged, ...bits.map((v) => v.all)], { ...attrs, axis: 0 });
};

/** Losses of alignments: the rows become more examples, which lie along the second axis of logits and of their gradient. */
const alignments: Rule = ({ def, attrs, inputs: [logits, ...rest], results: [loss], rows }) => {
  const x = batchedOf(logits, rows);
  if (x.staticShape?.length !== 4) return null;
  const folds = [moveAxis(x, 2, 1), ...rest.map((v) => batchedOf(v, rows))]
    .map((t) => foldRows(t, rows));
  if (folds.includes(null)) return null;
  const [given, ...others] = folds as Tensor[], first = loss?.[0] ?? null;
  const [losses, gradient] = apply(def, [moveAxis(given, 0, 1), ...others], attrs);
  const apart = unfoldRows(moveAxis(gradient, 1, 0), first, rows);
  return [unfoldRows(losses, first, rows), moveAxis(apart, 1, 2)];
};

const RULES: Readonly<Record<string, Rule>> = {
  _CTCLoss: alignments,
  ...ARRAY_RULES,
  ...INDEX_RULES,
  ...IMAGE_RULES,
  ...DRAW_RULES,
  ...TEXT_RULES,
  Einsum: einsum,
  MatMul: product,
  BatchMatMul: product,
  BatchMatMulV2: product,
  // Along the last axis, or the last two, of as many as there are.
  ...named("Softmax LogSoftmax _SoftmaxGrad _LogSoftmaxGrad", everyBatched, 1),
  ...named("_LayerNorm", onlyFirst, 1),
  ...named("FFT IFFT RFFT IRFFT _RFFTAdjoint _IRFFTAdjoint TopKV2 _WindowSum", onlyFirst, 1),
  ...named("_FFTAlong", onlyFirst, 2),
  ...named(
    "Cholesky MatrixInverse MatrixDeterminant LogMatrixDeterminant Qr Svd Eig _EigLeft",
    direct,
    2,
  ),
  ...named(
    "SelfAdjointEigV2 Lu MatrixBandPart _MatrixExponential MatrixSquareRoot MatrixLogarithm",
    onlyFirst,
    2,
  ),
  _Pick: everyBatched,
  ...named("LowerBound UpperBound", everyBatched, 1),
  ...named("MatrixTriangularSolve BandedTriangularSolve", pointwise),
  ...named("MatrixSolve TridiagonalSolve Cross", everyBatched),
  MatrixSolveLs: solvedLs,
  ...named("MatrixDiagPartV3", onlyFirst, 2),
  // Elements by themselves, with kernels of their own.
  Betainc: ofOneShape,
  ...named("Igamma Igammac IgammaGradA RandomGammaGrad Polygamma Zeta NextAfter", pointwise),
  ...named("BesselI0 BesselI0e BesselI1 BesselI1e BesselJ0 BesselJ1 BesselK0 BesselK0e", onlyFirst),
  ...named("BesselK1 BesselK1e BesselY0 BesselY1 Dawsn Expint FresnelCos FresnelSin", onlyFirst),
  ...named("Spence", onlyFirst),
  Bitcast: onlyFirst,
  FakeQuantWithMinMaxArgs: onlyFirst,
  FakeQuantWithMinMaxVars: (call) => onlyFirst(call) ?? channelOfRow(call),
  ...named("FakeQuantWithMinMaxVarsPerChannel", onlyFirst, 1),
  ...named("QuantizeAndDequantizeV2 QuantizeAndDequantizeV3 QuantizeAndDequantizeV4", sliceOfRow),
  FakeQuantWithMinMaxArgsGradient: everyBatched,
  ...named("Cumsum Cumprod CumulativeLogsumexp _Shift", along(1)),
  _LinearScan: alongBoth,
  ArgMax: along(1),
  ArgMin: along(1),
  // Images: the rows become more of them. Filters are the same for all rows, but for those of IMAGE_RULES.
  ...named("Conv3D IsotonicRegression ExtractImagePatches ExtractVolumePatches Mfcc", folded([0])),
  ...named("_ExtractImagePatchesGrad _ExtractVolumePatchesGrad", foldedOfShape([1])),
  ...named("MaxPool AvgPool MaxPool3D AvgPool3D LRN DepthToSpace SpaceToDepth", folded([0])),
  ...named("ResizeBilinear ResizeNearestNeighbor ResizeBicubic ResizeArea", folded([0])),
  ...named("ResizeNearestNeighborGrad ScaleAndTranslate RotateWithOffset RotateBack", folded([0])),
  ...named("ResizeBilinearGrad ResizeBicubicGrad ScaleAndTranslateGrad", folded([0, 1])),
  ...named("DrawBoundingBoxes DrawBoundingBoxesV2", folded([0, 1])),
  ...named("ExtractGlimpse ExtractGlimpseV2", folded([0, 2])),
  ...named("Conv3DBackpropInputV2", foldedOfShape([2])),
  ...named("_Attention LRNGrad", folded([0, 1, 2])),
  ...named("AvgPoolGrad AvgPool3DGrad", foldedOfShape([1])),
  ...named("SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits", folded([0, 1])),
  ...named("MaxPoolGrad MaxPoolGradGrad MaxPool3DGrad MaxPool3DGradGrad", folded([0, 1, 2])),
};

/** One rule for ops of these names, for rows of at least this rank. */
function named(names: string, rule: Rule, rank = 0): Record<string, Rule> {
  const checked: Rule = (call) => {
    const ranks = call.inputs.filter((v) => v.batched).map(rowRank);
    return ranks.every((r) => r !== null && r >= rank) ? rule(call) : null;
  };
  return Object.fromEntries(names.split(" ").map((name) => [name, checked]));
}

/** Returns an op's rule; undefined where it has none. */
export function ruleOf(def: OpDef): Rule | undefined {
  const own = Object.hasOwn(RULES, def.name) ? RULES[def.name] : undefined;
  if (own !== undefined) return own;
  if (def.each) return onlyFirst;
  const { kind } = def.meaning;
  if (kind === "pointwise") return pointwise;
  return kind === "reduce" ? along(1) : undefined;
}
