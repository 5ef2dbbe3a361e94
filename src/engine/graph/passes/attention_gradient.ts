/**
 * The gradient of attention: the products and pointwise ops around the gradient of a softmax become one op, which computes shares anew
 * from what the forward op keeps of each row of scores, as in FlashAttention-2. Scores are stored in neither direction.
 */
import {
  AttentionGradientOf,
  AttentionOf,
  type GradientPlace,
  rowsOfAttention,
} from "../../core/attention.ts";
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
import { addedNode, isLoaded } from "./added.ts";
import {
  attentionOf,
  countAlong,
  isUneven,
  matricesOf,
  ofHeads,
  ofRows,
  operandsOf,
  placesOf,
  queriesOf,
  resultOf,
  type Rows,
  sumsOf,
} from "./attention_form.ts";
import {
  adjointOf,
  isHeadsFirst,
  isProduct,
  isTurn,
  Match,
  type Scores,
  scoresOf,
} from "./attention_match.ts";
import type { Joined, SeparateJoins } from "./clusters.ts";
import { coefficientOf } from "./linear.ts";
import { type PassTarget, type Uses, usesOf } from "./pointwise_nodes.ts";
import { viewsOf } from "./strides.ts";

const ATTENTION = "_FusedAttention", GRADIENT = "_FusedAttentionGrad", WHOLE = "_Attention";
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
    const joins = new GradientFinder(softmax, uses, options).found();
    if (joins === null) return [];
    const members = new Set(joins.flatMap((join) => [...join.members]));
    const results = new Set(joins.flatMap(({ outputs }) => outputs.map(({ node }) => node)));
    const isInner = (n: IrNode): boolean =>
      !taken.has(n) && (results.has(n) && n.def.name !== "Softmax" ||
        !uses.held.has(n) && uses.readers.get(n)!.every((r) => members.has(r)));
    if (![...members].every(isInner) || needsItself(joins, members, order)) return [];
    if (!options.separate.add(joins)) return [];
    for (const n of members) taken.add(n);
    return joins;
  });
}

/** True where an input of joined nodes depends on one of their results. */
function needsItself(
  joins: readonly Joined[],
  members: ReadonlySet<IrNode>,
  order: ReadonlyMap<IrNode, number>,
): boolean {
  const [forward, backward] = joins,
    own = new Set(forward.members),
    later = new Set(backward.members);
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
  const outside = backward.node.inputs.filter((v) => !own.has(v.node));
  return reaches(forward.node.inputs, members) || reaches(outside, later);
}

/** A product that reads a value, as its first or second operand. */
interface Reading {
  readonly node: IrNode;
  readonly operand: 0 | 1;
  readonly value: IrValue;
}

/** A product that gives a gradient. */
interface Giving extends Reading {
  readonly of: GradientPlace["of"];
  readonly root: IrNode;
}

/** Looks for an attention around the gradient of a softmax. */
class GradientFinder {
  readonly #softmax: IrNode;
  readonly #uses: Uses;
  readonly #options: Options;
  readonly #match: Match;

  constructor(softmax: IrNode, uses: Uses, options: Options) {
    this.#softmax = softmax;
    this.#uses = uses;
    this.#options = options;
    const { target } = options;
    this.#match = new Match({ target, device: softmax.device, mostMasks: MAX_MASKS });
  }

  found(): [forward: Joined, backward: Joined] | null {
    const match = this.#match,
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
    const weighted = this.#readings(shares), sloped = this.#readings(ofScores);
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
    const weights = this.#sameExpression(weighted, new Map([[shares, argument(0)]]));
    if (weights === null || last.length === 1 && !this.#takeAll(last[0])) return null;
    const end = last.length === 1 ? this.#rootOf(last[0].node) : null;
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
    const slope = this.#sameExpression(
      sloped,
      new Map([[product, argument(0)], [ofScores, argument(MAX_MASKS + 1)]]),
    );
    const given = this.#givings(ofValue, sloped);
    if (slope === null || given === null) return null;
    const [x, v] = wide.node.inputs,
      [q, k] = product.node.inputs,
      steps = [x, v, q, k, logits, product, shares, wide];
    if (!steps.every((v) => v.dtype === "float32" && isConcrete(v.shape))) return null;
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
    const others = given.map((g) => this.#otherOf(g, depth));
    const whole = end === null ? this.#whole(scores) : null;
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
    const masked = masks.map(({ base }) => base), types = masked.map(({ dtype }) => dtype);
    if (whole !== null) forward.add(whole);
    const shown = (end ?? whole)?.outputs[0];
    const shape = (shown?.shape ?? [...logits.shape!.slice(0, -1), depth]) as Shape;
    const made = (index: number, shape: Shape): IrValue => ({
      node: shares.node,
      index,
      dtype: "float32",
      shape,
      promised: false,
    });
    const sums = made(1, [2, rowsOfAttention(attention)]), output = shown ?? made(2, shape);
    const inputs = [query.base, key.base, value.base];
    const node = addedNode(shown?.node ?? shares.node, ATTENTION, [...inputs, ...masked], {
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
    const back = addedNode(given[0].root, GRADIENT, [
      ...inputs,
      gradient.base,
      output,
      sums,
      ...masked,
    ], {
      ...{ T: "float32", Tmasks: types, Tout: given.map(() => "float32"), form },
    });
    const members = [...match.members].filter((n) => !forward.has(n));
    const outputs = given.map(({ root }) => root.outputs[0]);
    return [
      { members: forward, node, outputs: [output, sums] },
      { members, node: back, outputs },
    ];
  }

  /** Returns the products that read a value through pointwise ops and views; null where others do. */
  #readings(v: IrValue): Reading[] | null {
    const found: Reading[] = [], seen = new Set<IrNode>();
    const visit = (v: IrValue): boolean => {
      if (this.#uses.held.has(v.node)) return false;
      return [...new Set(this.#uses.readers.get(v.node)!)].every((node) => {
        if (node === this.#softmax) return true;
        if (!isProduct(node)) {
          return this.#match.isStep(node) &&
            (seen.has(node) || (seen.add(node), visit(node.outputs[0])));
        }
        const operand = node.inputs[0] === v ? 0 : 1;
        found.push({ node, operand, value: v });
        return node.inputs[0] !== node.inputs[1];
      });
    };
    return visit(v) ? found : null;
  }

  /** Returns the expression that all products read; null where they differ. */
  #sameExpression(readings: readonly Reading[], cores: ReadonlyMap<IrValue, Expr>): Expr | null {
    const exprs = [...new Set(readings.map(({ value }) => value))].map((v) =>
      this.#match.expression(v, cores)
    );
    const [first] = exprs;
    if (first == null || exprs.some((e) => e === null || exprKey(e) !== exprKey(first))) {
      return null;
    }
    return first;
  }

  /** Returns the op that attends from the same operands in one step; null where there is none. */
  #whole({ product, scale, expr }: Scores): IrNode | null {
    const operands = product.node.inputs, { causal, masks } = this.#match;
    const [q, k] = operands.map(({ node }) => isHeadsFirst(node) ? node.inputs[0] : null);
    if (!q || !k || expr !== null || masks.length > 0) return null;
    const { readers } = this.#uses;
    return readers.get(q.node)!.find(({ def, inputs, attrs, device }) =>
      def.name === WHOLE && device === this.#softmax.device && inputs[0] === q && inputs[1] === k &&
      inputs[2] === this.#values() && Math.fround(attrs.scale) === Math.fround(scale) &&
      attrs.causal === causal
    ) ?? null;
  }

  /** Returns the values before their heads came first. */
  #values(): IrValue | null {
    const wide = this.#match.core(this.#softmax.inputs[1], isProduct);
    const node = wide?.node.inputs[1].node;
    return node && isHeadsFirst(node) ? node.inputs[0] : null;
  }

  #takeAll({ node }: Reading): boolean {
    return this.#match.take(node) && this.#match.take(this.#rootOf(node));
  }

  /** Returns the transposition that alone reads a product, or the product. */
  #rootOf(node: IrNode, isRoot = isTurn): IrNode {
    const [reader, ...more] = new Set(this.#uses.readers.get(node)!);
    const isTaken = more.length === 0 && reader !== undefined && !this.#uses.held.has(node);
    return isTaken && isRoot(reader) && reader.inputs[0].node === node ? reader : node;
  }

  /** Returns the products that give gradients, with their roots; null where one is none of these. */
  #givings(ofValue: readonly Reading[], sloped: readonly Reading[]): Giving[] | null {
    const given = [...sloped, ...ofValue].map((reading, i): Giving | null => {
      const { node, operand } = reading;
      const [first, second] = [adjointOf(node, 0), adjointOf(node, 1)];
      const of = i >= sloped.length ? "value" : operand === 0 && !first ? "query" : "key";
      const fits = of === "query" || (operand === 0 ? first && !second : first && !second);
      if (!fits) return null;
      // The rows of a product with a turned result become its columns.
      const root = this.#rootOf(
        node,
        operand === 1 ? ({ def }) => def.name === "Transpose" : isTurn,
      );
      return this.#match.take(node) && this.#match.take(root) ? { ...reading, of, root } : null;
    });
    const names = given.map((g) => g?.of);
    return given.includes(null) || names.length === 0 || new Set(names).size < names.length
      ? null
      : given as Giving[];
  }

  /** Returns the rows of the other operand of a gradient's product. */
  #otherOf({ node, operand, of, value }: Giving, depth: number): Rows | null {
    const other = node.inputs[1 - operand], out = node.outputs[0].shape as Shape;
    const batch = out.slice(0, -2);
    if (of === "query") {
      const way = [!adjointOf(node, 1), depth] as const;
      return matricesOf(viewsOf(other), other, out.slice(0, -1), way);
    }
    const rows = queriesOf(other, [...batch, value.shape!.at(-2)!], depth);
    return of === "value" ? unscaled(rows) : rows;
  }
}

function unscaled(rows: Rows | null): Rows | null {
  return rows?.scale === 1 ? rows : null;
}

/** Returns the gradient of a product with its arguments as kernels give them: the scaled product, the masks, the score's gradient. */
function slopeOf(slope: Expr, masks: number, scale: number): Expr {
  const product = scale === 1 ? argument(0) : scalar.div(argument(0), constant(scale));
  const args = Array.from({ length: MAX_MASKS + 2 }, (_, i) => argument(i));
  args[0] = product;
  args[MAX_MASKS + 1] = argument(masks + 1);
  return substitute(slope, args);
}
