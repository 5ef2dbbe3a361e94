/**
 * The gradient of attention: the products and pointwise ops around the gradient of a softmax become one op, which computes shares anew
 * from what the forward op keeps of each row of scores, as in FlashAttention-2. Scores are stored in neither direction.
 */
import { AttentionGradientOf, AttentionOf, rowsOfAttention } from "../../core/attention.ts";
import {
  argument,
  constant,
  type Expr,
  exprKey,
  scalar,
  substitute,
} from "../../core/scalar/expr.ts";
import { isConcrete, type Shape, sizeOf } from "../../core/shape.ts";
import type { IrGraph, IrNode, IrValue } from "../ir.ts";
import { addedNode, inFloat32, isLoaded } from "./added.ts";
import {
  attentionOf,
  countAlong,
  isUneven,
  ofHeads,
  ofRows,
  operandsOf,
  placesOf,
  queriesOf,
  resultOf,
  type Rows,
  sumsOf,
} from "./attention_form.ts";
import { GradientMatch, unscaled } from "./attention_gradient_match.ts";
import { adjointOf, isProduct, scoresOf } from "./attention_match.ts";
import type { Joined, SeparateJoins } from "./clusters.ts";
import { coefficientOf } from "./linear.ts";
import { type PassTarget, type Uses, usesOf } from "./pointwise_nodes.ts";

const ATTENTION = "_FusedAttention", GRADIENT = "_FusedAttentionGrad";
/** Most masks beside all operands and results, within WebGPU's guaranteed number of buffers. */
const MAX_MASKS = 2;

interface Options {
  readonly target: PassTarget;
  /** True where so many scores are worth an op of their own. */
  readonly isWorth: (scores: number) => boolean;
  /** The joins of the graph so far. */
  readonly separate: SeparateJoins;
}

/** Returns the joins of all attentions with gradients: two ops for each. */
export function fuseGradients(ir: IrGraph, options: Options): Joined[] {
  const softmaxes = ir.nodes.filter(({ def }) => def.name === "_SoftmaxGrad");
  if (softmaxes.length === 0 || !isLoaded(GRADIENT)) return [];
  const uses = usesOf(ir),
    taken = new Set<IrNode>(),
    order = new Map(ir.nodes.map((n, i) => [n, i]));
  return softmaxes.flatMap((softmax): Joined[] => {
    const found = new GradientFinder(softmax, uses, options, false).found() ??
      new GradientFinder(softmax, uses, options, true).found();
    if (found === null) return [];
    const { joins } = found, members = new Set(joins.flatMap((join) => [...join.members]));
    const given = joins.flatMap(({ outputs }) => outputs.filter((v) => v.node.outputs.includes(v)));
    const results = new Set(given.map(({ node }) => node));
    const isInner = (n: IrNode): boolean =>
      !taken.has(n) &&
      (results.has(n) ||
        !uses.held.has(n) && uses.readers.get(n)!.every((r) => members.has(r)));
    if (![...members].every(isInner) || needsItself(found, members, order)) return [];
    // Casts may stand between the values that they read and the nodes.
    const [first, ...others] = joins;
    const read = {
      ...first,
      node: { ...first.node, inputs: [...found.forward, ...found.backward] },
    };
    const apart = others.map((join) => ({ ...join, node: { ...join.node, inputs: [] } }));
    if (!options.separate.add([read, ...apart])) return [];
    for (const n of members) taken.add(n);
    return [...joins];
  });
}

/** The joins of an attention with its gradient. */
interface Found {
  /** The attention, its gradient, and casts to float16 of what they give. */
  readonly joins: readonly Joined[];
  /** Values of the graph that the attention reads. */
  readonly forward: readonly IrValue[];
  /** Values that its gradient reads. */
  readonly backward: readonly IrValue[];
  /** The nodes of the gradient. */
  readonly later: ReadonlySet<IrNode>;
}

/** True where an input of joined nodes depends on one of their results. */
function needsItself(
  { forward, backward, later }: Found,
  members: ReadonlySet<IrNode>,
  order: ReadonlyMap<IrNode, number>,
): boolean {
  const first = Math.min(...[...members].map((n) => order.get(n)!));
  const reaches = (from: readonly IrValue[], ends: ReadonlySet<IrNode>): boolean => {
    const seen = new Set<IrNode>(), stack = from.map(({ node }) => node);
    while (stack.length > 0) {
      const node = stack.pop()!;
      if (ends.has(node)) return true;
      if (seen.has(node) || order.get(node)! < first) continue;
      seen.add(node);
      stack.push(...node.inputs.map((v) => v.node), ...node.controls);
    }
    return false;
  };
  const outside = backward.filter((v) => !members.has(v.node) || later.has(v.node));
  return reaches(forward, members) || reaches(outside, later);
}

/** Looks for an attention around the gradient of a softmax. */
class GradientFinder {
  readonly #softmax: IrNode;
  readonly #around: GradientMatch;
  readonly #options: Options;
  readonly #halves: boolean;

  /** With `halves` its parts may be of float16: it is computed in float32, and each result rounds once. */
  constructor(softmax: IrNode, uses: Uses, options: Options, halves: boolean) {
    const { target } = options;
    this.#softmax = softmax;
    this.#options = options;
    this.#halves = halves;
    this.#around = new GradientMatch(softmax, uses, { target, mostMasks: MAX_MASKS, halves });
  }

  found(): Found | null {
    const around = this.#around,
      { match } = around,
      [shares, ofShares] = this.#softmax.inputs,
      ofScores = this.#softmax.outputs[0];
    if (shares.node.def.name !== "Softmax" || !match.take(shares.node)) return null;
    const [logits] = shares.node.inputs, scores = scoresOf(match, logits);
    if (scores === null) return null;
    const { product } = scores, size = sizeOf(product.shape as Shape);
    if (
      !this.#options.isWorth(size) ||
      product.shape!.length !== logits.shape!.length && !isConcrete(logits.shape)
    ) return null;
    const weighted = around.readings(shares), sloped = around.readings(ofScores);
    if (weighted === null || sloped === null) return null;
    // The forward product, if it is in this graph, and that of the values' gradient.
    const [last, ofValue] = [
      weighted.filter(({ node, operand }) => operand === 0 && !adjointOf(node, 0)),
      weighted.filter(({ node, operand }) =>
        operand === 0 && adjointOf(node, 0) && !adjointOf(node, 1)
      ),
    ];
    if (last.length > 1 || ofValue.length > 1 || last.length + ofValue.length !== weighted.length) {
      return null;
    }
    const weights = around.sameExpression(weighted, new Map([[shares, argument(0)]]));
    if (weights === null) return null;
    const end = last.length === 1 ? around.rootOf(last[0].node) : null;
    if (end !== null && !around.takeAll(last[0].node, end)) return null;
    const forward = new Set(match.members);
    const wide = match.core(ofShares, isProduct);
    if (wide === null || !match.take(wide.node) || adjointOf(wide.node, 0)) return null;
    const spread = match.expression(ofShares, new Map([[wide, argument(0)]]));
    if (spread === null || !match.take(this.#softmax)) return null;
    const coefficients = [weights, spread].map(coefficientOf);
    if (
      coefficients.some((c) => c === null) ||
      exprKey(coefficients[0]!) !== exprKey(coefficients[1]!)
    ) return null;
    const slope = around.sameExpression(
      sloped,
      new Map([[product, argument(0)], [ofScores, argument(MAX_MASKS + 1)]]),
    );
    const given = around.givings(ofValue, sloped);
    if (slope === null || given === null) return null;
    const [x, v] = wide.node.inputs,
      [q, k] = product.node.inputs,
      steps = [x, v, q, k, logits, product, shares, wide];
    if (!steps.every((v) => match.isFloat(v) && isConcrete(v.shape))) return null;
    if (this.#halves && (wide.dtype !== "float16" || !isLoaded("Cast"))) return null;
    const operands = operandsOf({
      ...{ q, k, v, product, last: wide.node, masks: match.masks },
      ...{ kIsTurned: adjointOf(product.node, 1), vIsTurned: !adjointOf(wide.node, 1) },
      ...{ causal: match.causal, scale: scores.scale, scores: null, weights: null },
    });
    if (operands === null) return null;
    const { depth, query, key, value, masks } = operands,
      rows = product.shape!.slice(0, -1) as Shape;
    const gradient = unscaled(queriesOf(x, wide.shape!.slice(0, -1) as Shape, depth));
    const ends = given.map(({ node, root, of, operand, value }) => {
      const out = node.outputs[0];
      return of === "query"
        ? resultOf(root, out)
        : sumsOf(root, out, value.shape!.at(-2)!, operand === 1);
    });
    const others = given.map((g) => around.otherOf(g, depth));
    const whole = end === null ? around.whole(scores) : null;
    const result = end
      ? resultOf(end, last[0].node.outputs[0])
      : whole
      ? ofHeads(whole.outputs[0])
      : ofRows(logits, depth);
    if (gradient === null || ends.includes(null) || others.includes(null)) return null;
    if (given.some(({ root, of }) => of === "query" && root.outputs[0].shape!.at(-1) !== depth)) {
      return null;
    }
    const wanted = ends as Rows[], again = others as Rows[];
    const placed = placesOf({
      all: [query, key, value, result, ...masks, gradient, ...wanted, ...again],
      lists: [product, logits, wide].map((v) => v.shape!.slice(0, -1) as Shape),
      causal: match.causal ? logits.shape!.at(-2)! : null,
    });
    if (placed === null || placed.queries * placed.outer.reduce((a, b) => a * b) !== sizeOf(rows)) {
      return null;
    }
    const at = 4 + masks.length, { places } = placed;
    // The operands of the gradients' products must be those of the attention.
    const same = given.every(({ of }, i) => {
      const [own, place] = of === "query"
        ? [key, places[1]]
        : of === "key"
        ? [query, places[0]]
        : [gradient, places[at]];
      const other = again[i], there = places[at + 1 + wanted.length + i];
      return own.base === other.base && own.scale === other.scale &&
        JSON.stringify(place) === JSON.stringify(there);
    });
    if (
      !same || given.some(({ of, root }, i) => {
        if (of === "query") return false;
        const { outer } = places[at + 1 + i], size = product.shape!.at(-1)! * depth;
        return isUneven(placed.outer, outer, [places[1].outer, places[2].outer]) ||
          size * countAlong(placed.outer, outer) !== sizeOf(root.outputs[0].shape as Shape);
      })
    ) return null;
    const attention = attentionOf(
      {
        ...{ product, causal: match.causal, scale: scores.scale },
        ...{ scores: scores.expr, weights: weights.op === "arg" ? null : weights },
      },
      operands,
      placed,
    );
    if (whole !== null) forward.add(whole);
    const shown = (end ?? whole)?.outputs[0], later = without(match.members, forward);
    const shape = (shown?.shape ?? [...logits.shape!.slice(0, -1), depth]) as Shape;
    const made = (node: IrNode, index: number, shape: Shape): IrValue => ({
      ...{ node, index, dtype: "float32", shape, promised: false },
    });
    const casts: Joined[] = [];
    /** Gives a result in float32: the value that another join rounds, if it is one of float16. */
    const exact = (v: IrValue, wide: IrValue): IrValue => {
      if (v.dtype === "float32") return v;
      const node = addedNode(v.node, "Cast", [wide], { SrcT: "float32", DstT: v.dtype });
      casts.push({ members: [v.node], node, outputs: [v] });
      return wide;
    };
    const sums = made(shares.node, 1, [2, rowsOfAttention(attention)]),
      hidden = made(shares.node, 2, shape),
      output = shown ? exact(shown, hidden) : hidden,
      outputs = given.map(({ root }, i) => {
        const [v] = root.outputs;
        return exact(v, made(this.#softmax, 1 + i, v.shape as Shape));
      });
    const bases = [query, key, value, ...masks, gradient].map(({ base }) => base);
    const all = inFloat32(shares.node, bases), slopes = all.pop()!;
    const [inputs, masked] = [all.slice(0, 3), all.slice(3)];
    const types = masked.map(({ dtype }) => dtype);
    const node = addedNode(shown?.node ?? shares.node, ATTENTION, all, {
      ...{ T: "float32", Tmasks: types, Tsums: ["float32"] },
      form: new AttentionOf(attention, shape, true),
    });
    const form = new AttentionGradientOf({
      ...{ attention, gradient: places[at], factors: { query: key.scale, key: query.scale } },
      wanted: given.map(({ of, root }, i) => ({
        ...{ of, place: places[at + 1 + i], shape: root.outputs[0].shape as Shape },
      })),
      spread: spread.op === "arg" ? null : spread,
      slope: slope.op === "arg"
        ? null
        : slopeOf(slope, masks.length, scores.expr === null ? scores.scale : 1),
    });
    const back = addedNode(
      given[0].root,
      GRADIENT,
      [...inputs, slopes, output, sums, ...masked],
      { T: "float32", Tmasks: types, Tout: given.map(() => "float32"), form },
    );
    const rounded = new Set(casts.flatMap(({ members }) => [...members]));
    return {
      joins: [
        { members: without(forward, rounded), node, outputs: [output, sums] },
        { members: without(later, rounded), node: back, outputs },
        ...casts,
      ],
      forward: bases.slice(0, -1),
      backward: shown ? [...bases, shown] : bases,
      later,
    };
  }
}

function without(nodes: ReadonlySet<IrNode>, others: ReadonlySet<IrNode>): ReadonlySet<IrNode> {
  return new Set([...nodes].filter((n) => !others.has(n)));
}

/** Returns the gradient of a product with its arguments as kernels give them: the scaled product, the masks, the score's gradient. */
function slopeOf(slope: Expr, masks: number, scale: number): Expr {
  const product = scale === 1 ? argument(0) : scalar.div(argument(0), constant(scale));
  const args = Array.from({ length: MAX_MASKS + 2 }, (_, i) => argument(i));
  args[0] = product;
  args[MAX_MASKS + 1] = argument(masks + 1);
  return substitute(slope, args);
}
