/** Rules for draws, of which each row has its own, and for samples of classes. */
import { apply } from "../core/apply.ts";
import type { Tensor } from "../core/tensor.ts";
import { direct, folded } from "./rules_common.ts";
import {
  batchedOf,
  foldRows,
  knownInts,
  moveAxis,
  rowRank,
  type Rule,
  unfoldRows,
  withRows,
} from "./values.ts";

/** Draws of a shape by parameters that all rows share: the rows lead the shape. */
export const drawn: Rule = ({ def, attrs, inputs: [dims, ...rest], rows }) => {
  if (dims.batched || rest.some((v) => v.batched)) return null;
  return apply(def, [withRows(dims.all, rows), ...rest.map((v) => v.all)], attrs);
};

/** Draws of a shape for each of some parameters, whose own shape stands behind it; parameters of rows have theirs there. */
const drawnOfEach: Rule = (call) => {
  const { def, attrs, inputs: [dims, parameters] } = call, front = knownInts(dims);
  if (!parameters.batched) return drawn(call);
  if (front === null || rowRank(parameters) === null) return null;
  return apply(def, [dims.all, parameters.all], attrs).map((y) => moveAxis(y, front.length, 0));
};

/** All classes are the sample of each row. */
const allClasses: Rule = ({ def, attrs, inputs: [truth], results: [, of], rows }) => {
  const all = foldRows(batchedOf(truth, rows), rows);
  if (all === null) return null;
  const [ids, ofTrue, ofDrawn] = apply(def, [all], attrs);
  const each = (x: Tensor): Tensor => batchedOf({ all: x, batched: false }, rows);
  return [each(ids), unfoldRows(ofTrue, of?.[0] ?? null, rows), each(ofDrawn)];
};

/** Places in one order; orders of rows are others. */
const inOneOrder: Rule = (call) => {
  const [, seed, most] = call.inputs;
  return seed.batched || most.batched || rowRank(seed) !== 1 ? null : direct(call);
};

/** Rules by op. */
export const DRAW_RULES: Readonly<Record<string, Rule>> = {
  RandomUniform: drawn,
  RandomStandardNormal: drawn,
  TruncatedNormal: drawn,
  RandomUniformInt: drawn,
  RandomPoissonV2: drawnOfEach,
  RandomGamma: drawnOfEach,
  Multinomial: folded([0]),
  AllCandidateSampler: allClasses,
  RandomIndexShuffle: inOneOrder,
};
