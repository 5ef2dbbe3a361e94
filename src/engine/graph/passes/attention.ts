/**
 * Attention: products with a softmax between them become one op that never stores the scores. A mask is known where it is a
 * constant that hides from each query the keys after it.
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

/** A float32 value of known shape: batches of matrices. */
const batches = (name: string): Pattern =>
  any(name, ({ dtype, shape }) => dtype === "float32" && isConcrete(shape) && shape.length >= 3);

/** A value `[batch, time, heads, depth]` with heads and time exchanged. */
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

/** Scores this low weigh nothing: as low as float16 goes. */
const HIDDEN = -65504;

/** A constant whose rows and columns are queries and keys: `wanted` says what it holds where a key is seen, and where it is not. */
function causal(name: string, wanted: (value: number, isSeen: boolean) => boolean): Pattern {
  return any(name, ({ node }) => {
    if (!isConstant(node)) return false;
    const { shape, data, size } = node.attrs.value as NdArray;
    const [n, m] = shape.slice(-2);
    // Queries and keys are counted from the end; each query sees a key.
    return shape.length >= 2 && size === n * m && n <= m &&
      Array.prototype.every.call(
        data,
        (value, i) => wanted(Number(value), i % m <= Math.floor(i / m) + m - n),
      );
  });
}

/** A constant that holds one number, so low that nothing is left of a score. */
const low: Pattern = ({ node, dtype }) => {
  if (!isConstant(node) || dtype !== "float32") return false;
  const { data, size } = node.attrs.value as NdArray;
  return size === 1 && (data as Float32Array)[0] <= HIDDEN;
};

const added = causal("mask", (v, isSeen) => isSeen ? v === 0 : v <= HIDDEN);
const seen = causal("mask", (v, isSeen) => (v === 1) === isSeen);
const hidden = causal("mask", (v, isSeen) => (v === 1) !== isSeen);

/** Scores, of which a mask may leave some. */
function masked(p: Pattern): Pattern {
  return either(
    op("AddV2|Add", [p, added], true),
    op("SelectV2|Select", [seen, p, low]),
    op("SelectV2|Select", [hidden, low, p]),
    p,
  );
}

/** Attributes, with the `time` axis of queries and keys; null where they differ in another one, or the mask is made for other numbers of them. */
function attrsOf(match: Match, [q, k]: readonly Shape[], time: number): object | null {
  const mask = match.values.get("mask")?.shape as Shape | undefined;
  if (q.some((d, i) => i !== time && d !== k[i])) return null;
  // A mask of more axes than scores have would add some to the result.
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

/** Query, key and value where no batch is broadcast and the result is like the query. */
function operandsOf(match: Match): readonly IrValue[] | null {
  const list = ["query", "key", "value"].map((name) => match.get(name));
  const [q, k, v] = list.map(({ shape }) => shape as Shape);
  const rank = q.length;
  const alike = k.length === rank && k.every((d, i) => d === v[i]) &&
    v.length === rank && q[rank - 1] % 4 === 0 && q[rank - 1] <= MAX_DEPTH && sizeOf(q) > 0 &&
    sizeOf(k) > 0;
  return alike ? list : null;
}

/** Other depths have no kernel: their parts are better apart. */
const MAX_DEPTH = 128;

/** Between exchanges of heads and time: the op's own layout. */
const withHeads: Rule = {
  pattern: exchanged(attended((name) => exchanged(batches(name)))),
  replace: (match, root) => {
    const list = operandsOf(match);
    const attrs = list && attrsOf(match, list.map((v) => v.shape as Shape), 1);
    return attrs && addedNode(root, "_Attention", list!, attrs);
  },
};

/** Batches of matrices: each is a batch with one head. */
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

/** The graph with attention in place of its parts. */
export function fuseAttention(ir: IrGraph): IrGraph {
  return applyRules(ir, [withHeads, withBatches]);
}
