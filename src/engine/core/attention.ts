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

  constructor(form: AttentionForm, shape: Shape) {
    this.form = form;
    this.shape = shape;
  }

  /** Returns a text that is equal for equal forms. */
  mergeKey(): string {
    const { scores, weights, ...rest } = this.form;
    const exprs = [scores, weights].map((e) => e && exprKey(e));
    return JSON.stringify([rest, exprs, this.shape]);
  }
}
