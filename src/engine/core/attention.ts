/**
 * Attention as kernels see it: `softmax(scores(q · kᵀ)) · v` over operands that need not be contiguous, so that splits,
 * transpositions, reshapes and repeated heads before it are views.
 */
import type { Problem } from "./op.ts";
import { type Expr, exprKey } from "./scalar/expr.ts";
import type { Shape } from "./shape.ts";

/** The place of rows of `depth` neighbouring elements, in elements. */
export interface RowPlace {
  /** The first element. */
  readonly base: number;
  /** Steps along the outer axes; 0 repeats. */
  readonly outer: readonly number[];
  /** Step from a row to the next. */
  readonly row: number;
}

/** The place of a mask's elements. */
export interface MaskPlace extends RowPlace {
  /** Step from a key to the next. */
  readonly column: number;
}

/** The loops of an attention, the places of its operands, and the expressions of scores and weights. */
export interface AttentionForm {
  /** Extents of the three axes before queries. */
  readonly outer: readonly [number, number, number];
  readonly queries: number;
  readonly keys: number;
  readonly depth: number;
  /** Factor of the products. */
  readonly scale: number;
  /** True: a query sees only keys up to its own place, both counted from the end. */
  readonly causal: boolean;
  readonly query: RowPlace;
  readonly key: RowPlace;
  readonly value: RowPlace;
  readonly result: RowPlace;
  /** The further inputs. */
  readonly masks: readonly MaskPlace[];
  /** The score that goes into the softmax: of the scaled product (argument 0) and the masks. Null: that product. */
  readonly scores: Expr | null;
  /** The weight that a value gets: of its share (argument 0) and the masks. Null: that share. */
  readonly weights: Expr | null;
}

/** A wanted gradient. */
export interface GradientPlace {
  readonly of: "query" | "key" | "value";
  /** Steps of 0 along outer axes: what heads that share a key have is summed. */
  readonly place: RowPlace;
  readonly shape: Shape;
}

/** The gradient of an attention. */
export interface AttentionGradientForm {
  readonly attention: AttentionForm;
  /** Of the result's gradient. */
  readonly gradient: RowPlace;
  readonly wanted: readonly GradientPlace[];
  /** Factors of the gradients of queries and of keys: what the other operand was multiplied by on its way. */
  readonly factors: Readonly<Record<"query" | "key", number>>;
  /** The gradient of a share: of that of its weight (argument 0) and the masks. Null: the same. */
  readonly spread: Expr | null;
  /** The gradient of a product: of the scaled product (argument 0), the masks, and behind them the gradient of the score. Null: that. */
  readonly slope: Expr | null;
}

/** Returns the form of a problem: its attribute, or that of operands `[batch, time, heads, depth]`. */
export function attentionForm({ attrs, inputs: [q, k] }: Problem): AttentionForm {
  const given = (attrs.form as AttentionOf | undefined)?.form;
  if (given !== undefined) return given;
  const [batch, queries, heads, depth] = q.shape, keys = k.shape[1];
  const place = (time: number): RowPlace => ({
    base: 0,
    outer: [0, time * heads * depth, depth],
    row: heads * depth,
  });
  return {
    ...{ outer: [1, batch, heads], queries, keys, depth },
    ...{ scale: attrs.scale, causal: attrs.causal === true },
    ...{ query: place(queries), key: place(keys), value: place(keys), result: place(queries) },
    ...{ masks: [], scores: null, weights: null },
  };
}

/** A form as an attribute; equal forms are equal attributes. */
export class AttentionOf {
  readonly form: AttentionForm;
  /** Shape of the result. */
  readonly shape: Shape;
  /** True: the second result has each row's greatest score, and the inverse of its sum of exponentials: `[2, rows]`. */
  readonly keepsSums: boolean;

  constructor(form: AttentionForm, shape: Shape, keepsSums = false) {
    this.form = form;
    this.shape = shape;
    this.keepsSums = keepsSums;
  }

  /** Returns a text that is equal for equal forms. */
  mergeKey(): string {
    return JSON.stringify([keyOf(this.form), this.shape, this.keepsSums]);
  }
}

/** The form of a gradient as an attribute. */
export class AttentionGradientOf {
  readonly form: AttentionGradientForm;

  constructor(form: AttentionGradientForm) {
    this.form = form;
  }

  /** Returns a text that is equal for equal forms. */
  mergeKey(): string {
    const { attention, spread, slope, ...rest } = this.form;
    return JSON.stringify([keyOf(attention), [spread, slope].map((e) => e && exprKey(e)), rest]);
  }
}

function keyOf({ scores, weights, ...rest }: AttentionForm): unknown {
  return [rest, [scores, weights].map((e) => e && exprKey(e))];
}

/** Returns the number of rows of scores. */
export function rowsOfAttention({ outer, queries }: AttentionForm): number {
  return outer.reduce((a, b) => a * b) * queries;
}
