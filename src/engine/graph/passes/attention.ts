/**
 * Attention: products with a softmax between them become one op that never stores the scores. A mask is recognized if
 * it is a constant that hides all later keys from each query.
 */
import { NdArray } from "../../core/nd_array.ts";
import { isConcrete, type Shape, sizeOf } from "../../core/shape.ts";
import { type IrGraph, type IrNode, type IrValue, isConstant } from "../ir.ts";
import { addedNode, addedValue, constantNode } from "./added.ts";
import {
  any,
  applyRules,
  either,
  integersOf,
  type Match,
  number,
  op,
  type Pattern,
  type Rule,
} from "./patterns.ts";

/** Matches a float32 value of known shape: batches of matrices. */
const batches = (name: string): Pattern =>
  any(name, ({ dtype, shape }) => dtype === "float32" && isConcrete(shape) && shape.length >= 3);

/** Matches a value `[batch, time, heads, depth]` with heads and time exchanged. */
const exchanged = (p: Pattern): Pattern => (v, match) => {
  const perm = v.node.def.name === "Transpose" ? integersOf(v.node.inputs[1]) : null;
  return perm?.join() === "0,2,1,3" && op("Transpose", [p, () => true])(v, match);
};

function scores(q: Pattern, k: Pattern): Pattern {
  const product: Pattern = (v, match) =>
    !v.node.attrs.adj_x && v.node.attrs.adj_y === true && op("BatchMatMulV2", [q, k])(v, match);
  return either(
    op("Mul", [product, number("scale")], true),
    op("RealDiv|Div", [product, number("divisor")]),
    product,
  );
}

/** Scores this low weigh nothing: the lowest of float16. */
const HIDDEN = -65504;

/** Matches a constant of queries and keys; `wanted` tests its values where a key is seen, and where it is hidden. */
function causal(name: string, wanted: (value: number, isSeen: boolean) => boolean): Pattern {
  return any(name, ({ node }) => {
    if (!isConstant(node)) return false;
    const { shape, data, size } = node.attrs.value as NdArray;
    const [n, m] = shape.slice(-2);
    // Queries and keys are aligned at their ends; each query sees a key.
    return shape.length >= 2 && size === n * m && n <= m &&
      Array.prototype.every.call(
        data,
        (value, i) => wanted(Number(value), i % m <= Math.floor(i / m) + m - n),
      );
  });
}

/** Matches a constant of one number that is low enough to erase a score. */
const low: Pattern = ({ node, dtype }) => {
  if (!isConstant(node) || dtype !== "float32") return false;
  const { data, size } = node.attrs.value as NdArray;
  return size === 1 && (data as Float32Array)[0] <= HIDDEN;
};

const added = causal("mask", (v, isSeen) => isSeen ? v === 0 : v <= HIDDEN);
const seen = causal("mask", (v, isSeen) => (v === 1) === isSeen);
const hidden = causal("mask", (v, isSeen) => (v === 1) !== isSeen);

/** Matches scores, perhaps with a mask. */
function masked(p: Pattern): Pattern {
  return either(
    op("AddV2|Add", [p, added], true),
    op("SelectV2|Select", [seen, p, low]),
    op("SelectV2|Select", [hidden, low, p]),
    p,
  );
}

/**
 * Returns the attributes, with the `time` axis of queries and keys; null where other axes differ, or where the mask has
 * another size.
 */
function attrsOf(match: Match, [q, k]: readonly Shape[], time: number): object | null {
  const mask = match.values.get("mask")?.shape as Shape | undefined;
  if (q.some((d, i) => i !== time && d !== k[i])) return null;
  // A mask of higher rank than the scores would add axes to the result.
  const fits = mask === undefined ||
    mask.length <= q.length && mask.at(-2) === q[time] && mask.at(-1) === k[time];
  return fits ? { T: "float32", scale: scaleOf(match), causal: mask !== undefined } : null;
}

function attended(part: (name: string) => Pattern): Pattern {
  const weights = op("Softmax", [masked(scores(part("query"), part("key")))]);
  return (v, match) =>
    !v.node.attrs.adj_x && !v.node.attrs.adj_y &&
    op("BatchMatMulV2", [weights, part("value")])(v, match);
}

function scaleOf(match: Match): number {
  if (match.values.has("scale")) return match.number("scale");
  return match.values.has("divisor") ? 1 / match.number("divisor") : 1;
}

/** Returns query, key and value if no batch is broadcast and the result has the query's shape. */
function operandsOf(match: Match): readonly IrValue[] | null {
  const list = ["query", "key", "value"].map((name) => match.get(name));
  const [q, k, v] = list.map(({ shape }) => shape as Shape);
  const rank = q.length;
  const alike = k.length === rank && k.every((d, i) => d === v[i]) &&
    v.length === rank && q[rank - 1] % 4 === 0 && q[rank - 1] <= MAX_DEPTH && sizeOf(q) > 0 &&
    sizeOf(k) > 0;
  return alike ? list : null;
}

/** Other depths have no kernel: separate ops are better. */
const MAX_DEPTH = 128;

/** Matches between exchanges of heads and time: the op's own layout. */
const withHeads: Rule = {
  pattern: exchanged(attended((name) => exchanged(batches(name)))),
  replace: (match, root) => {
    const list = operandsOf(match);
    const attrs = list && attrsOf(match, list.map((v) => v.shape as Shape), 1);
    return attrs && addedNode(root, "_Attention", list!, attrs);
  },
};

/** Matches batches of matrices: each is a batch with one head. */
const withBatches: Rule = {
  pattern: attended(batches),
  replace: (match, root) => {
    const list = operandsOf(match);
    if (list === null) return null;
    const shapes = list.map((v) => v.shape as Shape), [q] = shapes, outer = q.slice(0, -2);
    const attrs = attrsOf(match, shapes, outer.length);
    if (attrs === null) return null;
    const single = list.map((v, i) =>
      reshaped(root, v, [sizeOf(outer), shapes[i].at(-2)!, 1, shapes[i].at(-1)!])
    );
    const result = addedValue(root, "_Attention", single, attrs);
    return addedNode(root, "Reshape", [result, vector(root, q)], { T: "float32", Tshape: "int32" });
  },
};

function reshaped(like: IrNode, v: IrValue, shape: Shape): IrValue {
  return addedValue(like, "Reshape", [v, vector(like, shape)]);
}

function vector(like: IrNode, values: Shape): IrValue {
  return constantNode(like, new NdArray("int32", [values.length], Int32Array.from(values)));
}

/** Returns the graph with attention ops in place of their parts. */
export function fuseAttention(ir: IrGraph): IrGraph {
  return applyRules(ir, [withHeads, withBatches]);
}
