/** Rules for draws, of which each row has its own, and for samples of classes. */
import { apply } from "../core/apply.ts";
import type { Tensor } from "../core/tensor.ts";
import { gather } from "../ops/array/gather.ts";
import { concat } from "../ops/array/join.ts";
import { slice } from "../ops/array/slice.ts";
import { shape } from "../ops/array/view.ts";
import { asTensor, castInput, intVector } from "../ops/input.ts";
import { DRAWS_OF_ROWS } from "./draw_rows.ts";
import { applyEachRow } from "./each_row.ts";
import { direct, folded } from "./rules_common.ts";
import {
  batchedOf,
  foldRows,
  knownInts,
  moveAxis,
  rowRank,
  type Rule,
  shaped,
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

/** Draws by a seed of each row. */
const ofSeeds: Rule = ({ def, attrs, inputs: [dims, seed, ...rest], rows }) => {
  if (dims.batched || !seed.batched || rest.some((v) => v.batched)) return null;
  const all = DRAWS_OF_ROWS.get(def.name)!;
  return apply(all, [withRows(dims.all, rows), seed.all, ...rest.map((v) => v.all)], attrs);
};

/** The same for rows of rows. */
const ofSeedsOfRows: Rule = (
  { def, attrs, inputs: [dims, seed, ...rest], results: [to], rows },
) => {
  if (dims.batched || rest.some((v) => v.batched)) return null;
  const seeds = foldRows(batchedOf(seed, rows), rows);
  if (seeds === null) return null;
  const inner = slice(asTensor(dims.all), [1], [-1]);
  const all = concat([castInput(slice(shape(seeds), [0], [1]), inner.dtype), inner]);
  const [y] = apply(def, [all, seeds, ...rest.map((v) => v.all)], attrs);
  if (to) shaped(y, [null, ...to.slice(1)]);
  return [unfoldRows(y, to?.[0] ?? null, rows)];
};

/** Orders of rows, and the values in them, which have gradients. */
const shuffled: Rule = ({ def, attrs, inputs: [x, ...state], results: [known], rows }) => {
  const count = known?.[0];
  if (typeof count !== "number" || !state.some((v) => v.batched)) return null;
  const isEach = state.map((v) => v.batched);
  const given = [intVector(Array.from({ length: count }, (_, i) => i)), ...state.map((v) => v.all)];
  const order = applyEachRow(def, given, {
    attrs: { ...attrs, T: "int32" },
    batched: [false, ...isEach],
    results: [{ dtype: "int32", shape: [count] }],
    rows,
  })[0];
  return [gather(batchedOf(x, rows), order, 1, 1) as Tensor];
};

/** Windows that a seed draws are those of each row; others each row draws by itself. */
const pooledByDraw: Rule = (call) => {
  const { def, attrs, inputs: [x], results: [y], rows } = call;
  if (attrs.seed === 0 && attrs.seed2 === 0) return null;
  const all = foldRows(batchedOf(x, rows), rows);
  if (all === null) return null;
  const [pooled, ...places] = apply(def, [all], attrs);
  return [
    unfoldRows(pooled, y?.[0] ?? null, rows),
    ...places.map((all) => batchedOf({ all, batched: false }, rows)),
  ];
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
  StatelessShuffle: shuffled,
  FractionalMaxPool: pooledByDraw,
  FractionalAvgPool: pooledByDraw,
  ...Object.fromEntries(
    [...DRAWS_OF_ROWS].flatMap(([name, rows]) => [[name, ofSeeds], [rows.name, ofSeedsOfRows]]),
  ),
};
