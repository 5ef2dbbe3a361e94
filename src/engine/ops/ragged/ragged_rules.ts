/**
 * Rules of ops on ragged tensors: an op's meaning determines its effect, in eager mode and in graphs. An op without a
 * rule is refused by name.
 */
import { apply, apply1, compose, type OpInput } from "../../core/apply.ts";
import { CompositeTensor, noRule } from "../../core/composite.ts";
import { ValueError } from "../../core/errors.ts";
import type { Attrs, OpDef } from "../../core/op.ts";
import { isConcrete, shapeText } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { gather } from "../array/gather.ts";
import { concat } from "../array/join.ts";
import { range } from "../array/ranges.ts";
import { slice } from "../array/slice.ts";
import { literalInts, reshape, shape as shapeOf } from "../array/view.ts";
import { asTensor, intScalar, shapeOfInput } from "../input.ts";
import { add, mul, sub } from "../pointwise/arithmetic.ts";
import { equal } from "../pointwise/compare.ts";
import { minimum, where } from "../pointwise/select.ts";
import { max } from "../reduce/reduce.ts";
import {
  type Input,
  isRagged,
  knownAxis,
  nestedRows,
  outerIds,
  placesIn,
  sameRows,
  setRaggedClass,
  sizeOf,
} from "./ragged_class.ts";
import { picked } from "./ragged_gather.ts";
import { joined } from "./ragged_join.ts";
import { axesOf, expandedAt, reversed, squeezed, tiled } from "./ragged_moves.ts";
import { products, runningSums, softmaxOf } from "./ragged_math.ts";
import { reduced } from "./ragged_reduce.ts";
import { splitAlong, valuesAt } from "./ragged_split.ts";
import type { RaggedTensor, RaggedValues } from "./ragged_tensor.ts";
import { at as elementAt } from "./splits.ts";

/** Elementwise ops that have another meaning for passes. */
const ELEMENTWISE =
  /^(Identity|StopGradient|Cast|ZerosLike|OnesLike|CheckNumerics|(Static)?Regex(Replace|FullMatch)|String(ToHashBucket(Fast|Strong)?|Lower|Upper|Strip|Length|ToNumber|Join)|Substr|AsString|(En|De)codeBase64|Unicode(Script|Transcode))$/;

/** Computes the result of an op; `x` is its first ragged input. */
type Rule = (def: OpDef, x: RaggedTensor, inputs: readonly Input[], attrs: Attrs) => unknown;

/** Rules of ops that move elements, by name. */
const RULES: Readonly<Record<string, Rule>> = {
  ConcatV2: (def, x, inputs) => {
    const [axis] = literalOf(def, x, inputs.at(-1)!);
    return joined(def, inputs.slice(0, -1), axis, false);
  },
  BatchMatMulV2: (def, _, inputs, { adj_x, adj_y }) => products(def, inputs, [!!adj_x, !!adj_y]),
  Cumsum: (def, x, [, axis], attrs) => runningSums(def, x, literalOf(def, x, axis)[0], attrs),
  ExpandDims: (def, x, [, axis]) => {
    const [place] = literalOf(def, x, axis);
    return expandedAt(x, knownAxis(def, x, place));
  },
  GatherV2: (def, x, [table, indices, axis], attrs) =>
    picked([table, indices], literalOf(def, x, axis)[0], attrs.batch_dims ?? 0),
  GatherNd: (def, _, [table, indices]) => valuesAt(def, table, indices),
  LogSoftmax: (def, x, _, { axis = -1 }) => softmaxOf(def, x, axis),
  MatMul: (def, _, inputs, { transpose_a, transpose_b }) =>
    products(def, inputs, [!!transpose_a, !!transpose_b]),
  OneHot: (def, x, [, ...others], attrs) => x.withFlatValues(ofLastAxes(def, x, others, attrs)),
  Pack: (def, _, inputs, attrs) => joined(def, inputs, attrs.axis ?? 0, true),
  Rank: (def, x) => add(apply1(def, [x.flatValues]), x.raggedRank),
  Reshape: (def, x, [, shape]) => apply1(def, [x.flatValues, shape as OpInput]),
  ReduceJoin: (def, x, [, axes], { keep_dims, separator }) =>
    reduced(def, x, literalOf(def, x, axes), { keep: keep_dims === true, attrs: { separator } }),
  ReverseV2: (def, x, [, axes]) => reversed(x, axesOf(def, x, literalOf(def, x, axes))),
  Size: (_, x) => sizeOf(x.flatValues),
  Softmax: (def, x, _, { axis = -1 }) => softmaxOf(def, x, axis),
  Split: (def, x, [axis], attrs) =>
    splitAlong(def, x, literalOf(def, x, axis)[0], (t, dim) => [dim, t], attrs),
  SplitV: (def, x, [, sizes, axis], attrs) =>
    splitAlong(
      def,
      x,
      literalOf(def, x, axis)[0],
      (t, dim) => [t, sizes as OpInput, dim],
      attrs,
    ),
  Squeeze: (def, x, _, attrs) => squeezed(def, x, attrs.squeeze_dims ?? []),
  Tile: (def, x, [, reps]) => tiled(def, x, reps as OpInput),
};

/** Installs the rules in the class. */
export function addRules(of: typeof RaggedTensor): void {
  setRaggedClass(of);
  of.prototype.applyOp = function (def, given, attrs): readonly unknown[] {
    const inputs = given as readonly Input[];
    const { kind } = def.meaning ?? { kind: "opaque" };
    if (kind === "pointwise" || ELEMENTWISE.test(def.name)) return pointwise(def, inputs, attrs);
    const [x, second] = inputs;
    if (kind === "reduce" && isRagged(x)) {
      const axes = attrs._all ? null : literalOf(def, x, second);
      return [compose(() => reduced(def, x, axes, { keep: attrs.keep_dims === true }))];
    }
    const rule = RULES[def.name];
    if (rule === undefined) {
      throw noRule(
        def,
        this,
        "the op takes no ragged tensors, use toTensor() or tf.ragged.mapFlatValues()",
      );
    }
    const made = compose(() => rule(def, this, inputs, attrs) as RaggedValues | RaggedValues[]);
    return Array.isArray(made) ? made : [made];
  };
}

/** Returns axes that are known. */
function literalOf(def: OpDef, x: CompositeTensor, axes: Input): readonly number[] {
  const known = literalInts(axes as OpInput);
  if (known !== undefined) return known;
  throw noRule(def, x, "its axes must be known when it is called");
}

/** Applies an op with an axis to the innermost values. Throws `ValueError` for an axis up to the last ragged one. */
function ofLastAxes(def: OpDef, x: RaggedTensor, others: readonly Input[], attrs: Attrs): Tensor {
  const { axis } = attrs;
  if (axis >= 0 && axis <= x.raggedRank) {
    throw new ValueError(
      `Cannot apply ${def.name} to ${x} along axis ${axis}: it must be greater than its ${x.raggedRank} ragged dimensions`,
    );
  }
  const own = axis < 0 ? axis : axis - x.raggedRank;
  return apply1(def, [x.flatValues, ...others as OpInput[]], { ...attrs, axis: own });
}

/** Applies an elementwise op to ragged tensors of the same rows, and to operands that broadcast to them. */
function pointwise(def: OpDef, inputs: readonly Input[], attrs: Attrs): CompositeTensor[] {
  const all = inputs.filter(isRagged);
  const like = all.reduce((a, b) => (b.raggedRank > a.raggedRank ? b : a));
  const results = compose(() => {
    let splits = like.nestedRowSplits;
    for (const x of all) {
      if (x.raggedRank !== like.raggedRank) {
        throw noRule(def, x, `it has other ragged dimensions than ${like}`);
      }
      const other = x.nestedRowSplits;
      splits = splits.map((s, k) => s === other[k] ? s : sameRows(s, other[k]));
    }
    const rows = nestedRows(like.flatValues, splits);
    const flat = inputs.map((x) =>
      isRagged(x) ? x.flatValues : besideRows(def, rows, x as OpInput)
    );
    return apply(def, flat, attrs).map((t) => rows.withFlatValues(t));
  });
  return results;
}

/** Repeats a dense operand for each of the innermost values. */
function besideRows(def: OpDef, rows: RaggedTensor, x: OpInput): OpInput {
  if ((x as unknown) instanceof CompositeTensor) {
    throw noRule(def, x as unknown as CompositeTensor, `${rows} stands beside it`);
  }
  const shape = shapeOfInput(x), { raggedRank, flatValues } = rows;
  if (shape?.length === 0) return x;
  const inner = flatValues.staticShape === null ? null : flatValues.staticShape.length - 1;
  if (shape === null || inner === null) {
    throw noRule(def, rows, "the ranks of what is broadcast to it must be known");
  }
  if (shape.length <= inner) return x;
  const missing = raggedRank + 1 + inner - shape.length;
  const outer = [...new Array<number>(Math.max(0, missing)).fill(1), ...shape];
  const [count, ...middle] = outer.slice(0, raggedRank + 1), tail = outer.slice(raggedRank + 1);
  const length = middle.pop()!;
  if (missing < 0 || middle.some((d) => d !== 1)) {
    throw noRule(def, rows, `shape ${shapeText(shape)} does not broadcast to it`);
  }
  const t = asTensor(x), dims = isConcrete(outer) ? null : shapeOf(t);
  const dense = isConcrete(outer)
    ? reshape(t, [outer[0] * outer[raggedRank], ...tail as number[]])
    : reshape(t, concat([[-1], slice(dims!, [raggedRank + 1 - missing])]));
  if (count === 1 && length === 1) return dense;
  const long = length === null
    ? elementAt(dims!, raggedRank - missing)
    : asTensor(intScalar(length));
  let at: Tensor | number = 0;
  if (count !== 1) {
    const many = count === null ? elementAt(dims!, 0) : asTensor(intScalar(count));
    const n = rows.nrows(), wanted = count === null ? where(equal(many, 1), n, many) : many;
    const same = sameRows(reshape(n, [1]), reshape(wanted, [1]));
    at = mul(minimum(outerIds(rows), sub(minimum(same, many), 1)), long);
  }
  if (length !== 1) {
    const { splits, places } = innermost(rows);
    const even = mul(range(0, sizeOf(splits), 1, "int32"), long);
    const same = sameRows(splits, length === null ? where(equal(long, 1), splits, even) : even);
    at = add(at, minimum(minimum(places, max(same)), sub(long, 1)));
  }
  return gather(dense, at as Tensor);
}

/** Splits of the innermost rows, and each value's position in its row. */
function innermost(rows: RaggedTensor): { splits: Tensor; places: Tensor } {
  let inner = rows;
  while (isRagged(inner.values)) inner = inner.values;
  return { splits: inner.rowSplits, places: placesIn(inner) };
}
