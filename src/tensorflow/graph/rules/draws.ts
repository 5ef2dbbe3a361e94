/** Rules for draws: those whose generator's state lies in a variable, and those of a sequence. */
import { apply1 } from "../../../engine/core/apply.ts";
import { asDType } from "../../../engine/core/dtype.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import { cast } from "../../../engine/ops/array/cast.ts";
import { gather } from "../../../engine/ops/array/gather.ts";
import { broadcastTo } from "../../../engine/ops/array/repeat.ts";
import { reshape, shape } from "../../../engine/ops/array/view.ts";
import { asTensor } from "../../../engine/ops/input.ts";
import { argsort, drawKey, PhiloxSkip, prod, slice } from "../../../engine/ops/of_files.ts";
import { add, mul } from "../../../engine/ops/pointwise/arithmetic.ts";
import { type ImportedNode, type ImportRule, intOf, put, put1 } from "../rule.ts";
import { read } from "./variables.ts";

/** Seeds of a sequence, as the attributes have them. */
const seedsOf = ({ attr }: ImportedNode) => ({
  seed: intOf(attr.seed, 0),
  seed2: intOf(attr.seed2, 0),
});

/** Draws by an op of ours with key and counter, which lie in the variable of the first input; that moves on by as many numbers. */
export function ofState(
  op: string,
  room: (count: Tensor, parameters: readonly Tensor[]) => Tensor = (count) => count,
): ImportRule {
  return (node) => {
    const [handle, algorithm, dims] = node.inputs, { dtype } = node.attr;
    const more = node.inputs.slice(3), state = read(node, "int64");
    const count = cast(room(prod(dims), more), "uint64");
    put("AssignVariableOp", [handle, apply1(PhiloxSkip, [state, count])]);
    const words = put1("Bitcast", [state], { type: "uint64" });
    const counter = slice(words, [0], [2]), key = slice(words, [2], [1]);
    const attrs = dtype?.type === undefined ? {} : { dtype: asDType(dtype.type) };
    return put(op, [dims, key, counter, cast(algorithm, "int32"), ...more], attrs);
  };
}

/** TensorFlow op `StatefulRandomBinomial`. */
export const binomialOfState: ImportRule = (node) => {
  const [handle, algorithm, dims, counts, probs] = node.inputs;
  const wide = counts.dtype === "float64" ? "float64" : "float32";
  const places = ([n, p]: readonly Tensor[]): Tensor =>
    prod(put1("BroadcastArgs", [shape(n), shape(p)]));
  // TensorFlow leaves room by the number of distributions too.
  const draw = ofState(
    "_BinomialOfKey",
    (count, given) => mul(add(cast(count, "int32"), mul(places(given), 3)), 50),
  );
  const trials = [cast(counts, wide), cast(probs, wide)];
  return draw({ ...node, inputs: [handle, algorithm, dims, ...trials] });
};

/** TensorFlow op `ParameterizedTruncatedNormal`, of one distribution or of one for each entry of the first axis. */
export const truncatedBetween: ImportRule = (node) => {
  const [dims, ...parameters] = node.inputs, rank = dims.staticShape?.[0] ?? 1;
  const ones = new Array<number>(Math.max(0, rank - 1)).fill(1);
  const given = parameters.map((x) =>
    x.staticShape?.length === 0 ? x : broadcastTo(reshape(x, [-1, ...ones]), dims)
  );
  const key = asTensor(drawKey(seedsOf(node)));
  return put("StatelessParameterizedTruncatedNormal", [dims, key, ...given], {
    dtype: parameters[0].dtype,
  });
};

/** TensorFlow op `RandomShuffle`: the rows in the order of random numbers. */
export const shuffled: ImportRule = (node) => {
  const [x] = node.inputs, rows = slice(shape(x), [0], [1]);
  const drawn = put1("RandomUniform", [rows], { ...seedsOf(node), dtype: "float32" });
  return [gather(x, argsort(drawn))];
};
