/** Rules that many ops share. */
import { apply } from "../core/apply.ts";
import type { PartialShape } from "../core/shape.ts";
import type { Tensor } from "../core/tensor.ts";
import { concat } from "../ops/array/join.ts";
import { castInput, intScalar, intVector } from "../ops/input.ts";
import { mul } from "../ops/pointwise/arithmetic.ts";
import {
  batchedOf,
  foldRows,
  knownInts,
  rowRank,
  type Rule,
  shaped,
  unfoldRows,
} from "./values.ts";

/** Rule of ops that accept more leading axes, where all of their tensors differ between rows. */
export const direct: Rule = ({ def, attrs, inputs }) => apply(def, inputs.map((v) => v.all), attrs);

/** {@linkcode direct} where only the first input may differ between rows. */
export const onlyFirst: Rule = (call) =>
  call.inputs.every((v, i) => v.batched === (i === 0)) ? direct(call) : null;

/** {@linkcode direct} with values that all rows share repeated for each row. */
export const everyBatched: Rule = ({ def, attrs, inputs, rows }) =>
  apply(def, inputs.map((v) => batchedOf(v, rows)), attrs);

/** Ops along axes of their first input that input `at` names: an axis counted from the front stands one further. */
export function along(at: number): Rule {
  return ({ def, attrs, inputs }) => {
    const axes = knownInts(inputs[at]), rank = rowRank(inputs[0]);
    if (axes === null || rank === null || !inputs[0].batched) return null;
    if (inputs.some((v, i) => i > 0 && v.batched)) return null;
    const given = inputs.map((v) => v.all);
    const moved = intVector(axes.map((a) => a < 0 ? a : a + 1));
    given[at] = given[at].shape.length === 0 ? moved.reshape([]) : moved;
    return apply(def, given, attrs);
  };
}

/** Ops along an axis, input 2, of two inputs of one shape. */
export const alongBoth: Rule = ({ def, attrs, inputs: [a, b, axis], rows }) => {
  const [at] = knownInts(axis) ?? [];
  if (at === undefined) return null;
  return apply(
    def,
    [batchedOf(a, rows), batchedOf(b, rows), intScalar(at < 0 ? at : at + 1)],
    attrs,
  );
};

/** Ops on images: the rows of these inputs, and of the results, are joined with their first axis. */
export function folded(places: readonly number[], known?: PartialShape): Rule {
  return ({ def, attrs, inputs, results, rows }) => {
    if (inputs.some((v, i) => v.batched && !places.includes(i))) return null;
    const given = inputs.map((v, i) =>
      places.includes(i) ? foldRows(batchedOf(v, rows), rows) : v.all
    );
    if (given.includes(null)) return null;
    const outputs = apply(def, given as Tensor[], attrs);
    if (known) shaped(outputs[0], known);
    return unfolded(outputs, results, rows);
  };
}

/** The same for gradients of images: input 0 is their shape, whose first extent counts those of all rows. */
export function foldedOfShape(places: readonly number[]): Rule {
  return (call) => {
    const { inputs, rows: { count, vector } } = call, sizes = knownInts(inputs[0]);
    if (sizes === null) return null;
    const [first, ...rest] = sizes;
    const whole = count !== null
      ? intVector([count * first, ...rest])
      : concat([mul(vector, first), intVector(rest)]);
    const all = castInput(whole, inputs[0].all.dtype);
    const known = [count === null ? null : count * first, ...rest];
    return folded(places, known)({
      ...call,
      inputs: [{ all, batched: false }, ...inputs.slice(1)],
    });
  };
}

function unfolded(
  outputs: readonly Tensor[],
  results: readonly PartialShape[],
  rows: Parameters<Rule>[0]["rows"],
): Tensor[] {
  return outputs.map((y, i) => unfoldRows(y, results[i]?.[0] ?? null, rows));
}
