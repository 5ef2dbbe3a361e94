/** The products around the gradient of a softmax, as the pass that makes one op of attention's gradient finds them. */
import type { GradientPlace } from "../../core/attention.ts";
import { type Expr, exprKey } from "../../core/scalar/expr.ts";
import type { Shape } from "../../core/shape.ts";
import type { IrNode, IrValue } from "../ir.ts";
import { halfOf, isRounding } from "./added.ts";
import { matricesOf, queriesOf, type Rows } from "./attention_form.ts";
import {
  adjointOf,
  isHeadsFirst,
  isProduct,
  isTurn,
  Match,
  type MatchOptions,
  type Scores,
} from "./attention_match.ts";
import type { Uses } from "./pointwise_nodes.ts";
import { viewsOf } from "./strides.ts";

const WHOLE = "_Attention";

/** A product that reads a value, as its first or second operand. */
export interface Reading {
  readonly node: IrNode;
  readonly operand: 0 | 1;
  readonly value: IrValue;
}

/** A product that gives a gradient. */
export interface Giving extends Reading {
  readonly of: GradientPlace["of"];
  readonly root: IrNode;
}

/** The nodes around the gradient of a softmax. */
export class GradientMatch {
  readonly match: Match;
  readonly #softmax: IrNode;
  readonly #uses: Uses;

  constructor(softmax: IrNode, uses: Uses, options: Omit<MatchOptions, "device">) {
    this.#softmax = softmax;
    this.#uses = uses;
    this.match = new Match({ ...options, device: softmax.device });
  }

  /** Returns the products that read a value through pointwise ops and views; null where others do. */
  readings(v: IrValue): Reading[] | null {
    const found: Reading[] = [], seen = new Set<IrNode>();
    const visit = (v: IrValue): boolean => {
      if (this.#uses.held.has(v.node)) return false;
      return [...new Set(this.#uses.readers.get(v.node)!)].every((node) => {
        if (node === this.#softmax) return true;
        if (!isProduct(node)) {
          return this.match.isStep(node) &&
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
  sameExpression(readings: readonly Reading[], cores: ReadonlyMap<IrValue, Expr>): Expr | null {
    const exprs = [...new Set(readings.map(({ value }) => value))].map((v) =>
      this.match.expression(v, cores)
    );
    const [first] = exprs;
    if (first == null || exprs.some((e) => e === null || exprKey(e) !== exprKey(first))) {
      return null;
    }
    return first;
  }

  /** Returns the op that attends from the same operands in one step; null where there is none. */
  whole({ product, scale, expr }: Scores): IrNode | null {
    const operands = product.node.inputs, { causal, masks } = this.match;
    const [q, k] = operands.map(({ node }) => isHeadsFirst(node) ? node.inputs[0] : null);
    if (!q || !k || expr !== null || masks.length > 0) return null;
    const own = [q, k, this.#values()].map((v) => v && halfOf(v));
    const readers = [q, halfOf(q)].flatMap(({ node }) => this.#uses.readers.get(node)!);
    return readers.find(({ def, inputs, attrs, device }) =>
      def.name === WHOLE && device === this.#softmax.device &&
      inputs.every((v, i) => halfOf(v) === own[i]) &&
      Math.fround(attrs.scale) === Math.fround(scale) && attrs.causal === causal
    ) ?? null;
  }

  /** Returns the values before their heads came first. */
  #values(): IrValue | null {
    const wide = this.match.core(this.#softmax.inputs[1], isProduct);
    const node = wide?.node.inputs[1].node;
    return node && isHeadsFirst(node) ? node.inputs[0] : null;
  }

  /** Takes a product and what {@linkcode rootOf} finds behind it. */
  takeAll(node: IrNode, root: IrNode): boolean {
    const before = root === node ? node : root.inputs[0].node;
    return [node, before, root].every((n) => this.match.take(n));
  }

  /** Returns the transposition that alone reads a product, or what a product is rounded to; else the product. */
  rootOf(node: IrNode, isRoot: (node: IrNode) => boolean = isTurn): IrNode {
    const reader = this.#onlyReader(node), rounded = reader && isRounding(reader) ? reader : node;
    const turn = rounded === node ? reader : this.#onlyReader(rounded);
    return turn && isRoot(turn) && turn.inputs[0].node === rounded ? turn : node;
  }

  #onlyReader(node: IrNode): IrNode | null {
    const [reader, ...more] = new Set(this.#uses.readers.get(node)!);
    return more.length > 0 || this.#uses.held.has(node) ? null : reader ?? null;
  }

  /** Returns the products that give gradients, with their roots; null where one is none of these. */
  givings(ofValue: readonly Reading[], sloped: readonly Reading[]): Giving[] | null {
    const given = [...sloped, ...ofValue].map((reading, i): Giving | null => {
      const { node, operand } = reading;
      const [first, second] = [adjointOf(node, 0), adjointOf(node, 1)];
      const of = i >= sloped.length ? "value" : operand === 0 && !first ? "query" : "key";
      const fits = of === "query" || (operand === 0 ? first && !second : first && !second);
      if (!fits) return null;
      // The rows of a product with a turned result become its columns.
      const root = this.rootOf(
        node,
        operand === 1 ? ({ def }) => def.name === "Transpose" : isTurn,
      );
      return this.takeAll(node, root) ? { ...reading, of, root } : null;
    });
    const names = given.map((g) => g?.of);
    return given.includes(null) || names.length === 0 || new Set(names).size < names.length
      ? null
      : given as Giving[];
  }

  /** Returns the rows of the other operand of a gradient's product. */
  otherOf({ node, operand, of, value }: Giving, depth: number): Rows | null {
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

/** Returns rows that no factor has changed. */
export function unscaled(rows: Rows | null): Rows | null {
  return rows?.scale === 1 ? rows : null;
}
