/**
 * Rewriting: softmax, log-softmax, cross entropy and layer normalisation written out in basic ops become single ops.
 */
import { NdArray } from "../../core/nd_array.ts";
import { isConcrete, sameShape } from "../../core/shape.ts";
import type { IrGraph, IrNode, IrValue } from "../ir.ts";
import { addedNode, constantNode } from "./added.ts";
import {
  any,
  applyRules,
  either,
  type Match,
  named,
  number,
  op,
  type Pattern,
  reduceLast,
  type Rule,
} from "./patterns.ts";

const isFloat = ({ dtype, shape }: IrValue): boolean =>
  dtype === "float32" && shape !== null && shape.length > 0;
const x: Pattern = any("x", isFloat);

/** Matches a value behind ops that only stop gradients. */
const still = (p: Pattern): Pattern => either(op("StopGradient|Identity", [p]), p);

const shifted = named("shifted", op("Sub", [x, still(reduceLast("Max", x))]));
const powers = named("powers", op("Exp", [shifted]));

const mean = named("mean", reduceLast("Mean", x));
const centred = named("centred", op("Sub", [x, mean]));
const variance = reduceLast(
  "Mean",
  either(
    op("Square", [centred]),
    op("Mul", [centred, centred]),
    op("Pow", [centred, number(2)]),
    op("SquaredDifference", [x, still(mean)], true),
  ),
);
const epsilon = number("epsilon");
const spread = op("AddV2|Add", [variance, epsilon], true);
const deviation = either(op("Rsqrt", [spread]), op("Reciprocal|Inv", [op("Sqrt", [spread])]));
const standard = either(
  op("Mul", [centred, deviation], true),
  op("RealDiv|Div", [centred, op("Sqrt", [spread])]),
);
/** Matches a vector over the last axis, or one with leading axes of one. */
const row = (name: string): Pattern =>
  any(
    name,
    ({ dtype, shape }) =>
      dtype === "float32" && shape !== null && shape.length === 1 && shape[0] !== null,
  );
const scale = row("scale"), offset = row("offset");
const factor = named("factor", op("Mul", [deviation, scale], true));

const LAYER_NORM = "_LayerNorm", CROSS_ENTROPY = "SoftmaxCrossEntropyWithLogits";

/** Replaces a match by one op of these inputs; attributes that the inputs imply are left out. */
function by(
  name: string,
  inputs: (match: Match, root: IrNode) => IrValue[] | null,
  attrs: (match: Match) => object = () => ({}),
): Rule["replace"] {
  return (match, root) => {
    const list = inputs(match, root);
    return list && addedNode(root, name, list, { T: "float32", ...attrs(match) });
  };
}

const layerNorm = by(LAYER_NORM, (match, root) => {
  const x = match.get("x"), columns = x.shape!.at(-1);
  if (columns === null || columns === undefined) return null;
  const vector = (name: string, otherwise: number): IrValue | null => {
    const v = match.values.get(name);
    if (v === undefined) {
      const ones = new Float32Array(columns).fill(otherwise);
      return constantNode(root, new NdArray("float32", [columns], ones));
    }
    return v.shape![0] === columns ? v : null;
  };
  const list = [x, vector("scale", 1), vector("offset", 0)];
  return list.includes(null) ? null : list as IrValue[];
}, (match) => ({ epsilon: match.number("epsilon") }));

const matrix = (name: string): Pattern =>
  any(name, (v) => isFloat(v) && v.shape!.length === 2 && v.shape![1] !== 0);

const crossEntropy: Rule["replace"] = (match, root) => {
  const logits = match.get("logits"), labels = match.get("labels");
  // With unknown extents, either may be broadcast to the other: the op refuses that.
  if (!isConcrete(logits.shape) || !sameShape(logits.shape, labels.shape)) return null;
  const node = by(CROSS_ENTROPY, () => [logits, labels])(match, root)!;
  return { ...node, outputs: [{ ...logits, node, index: 1, promised: false }] };
};

const RULES: readonly Rule[] = [
  {
    makes: "Softmax",
    pattern: op("RealDiv|Div", [powers, reduceLast("Sum", powers)]),
    replace: by("Softmax", (m) => [m.get("x")]),
  },
  {
    makes: "LogSoftmax",
    pattern: op("Sub", [shifted, op("Log", [reduceLast("Sum", powers)])]),
    replace: by("LogSoftmax", (m) => [m.get("x")]),
  },
  {
    // As tf.nn.batch_normalization of tf.nn.moments is written.
    makes: LAYER_NORM,
    pattern: op("AddV2|Add", [
      op("Mul", [x, factor], true),
      op("Sub", [offset, op("Mul", [mean, factor], true)]),
    ], true),
    replace: layerNorm,
  },
  {
    makes: LAYER_NORM,
    pattern: op("AddV2|Add", [op("Mul", [standard, scale], true), offset], true),
    replace: layerNorm,
  },
  {
    makes: LAYER_NORM,
    pattern: op("AddV2|Add", [op("Mul", [centred, factor], true), offset], true),
    replace: layerNorm,
  },
  { makes: LAYER_NORM, pattern: standard, replace: layerNorm },
];

/** The loss from log-probabilities. */
const LOSSES: readonly Rule[] = [{
  makes: CROSS_ENTROPY,
  pattern: op("Neg", [
    reduceLast(
      "Sum",
      op("Mul", [matrix("labels"), op("LogSoftmax", [matrix("logits")])], true),
      false,
    ),
  ]),
  replace: crossEntropy,
}];

/** Returns the graph with written-out ops replaced by single ops. */
export function rewrite(ir: IrGraph): IrGraph {
  return applyRules(applyRules(ir, RULES), LOSSES);
}
