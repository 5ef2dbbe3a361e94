/** Einsum: sums of products written with index letters, computed by matrix products. */
import { apply1 } from "../../core/apply.ts";
import { promote } from "../../core/dtype.ts";
import { defineOp, type GradContext, lookupOp } from "../../core/op.ts";
import { isConcrete, type PartialShape, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { ValueError } from "../../core/errors.ts";
import { transpose } from "../array/move.ts";
import { broadcastTo } from "../array/repeat.ts";
import { slice } from "../array/slice.ts";
import { stridedSlice } from "../array/strided_slice.ts";
import { expandDims, reshape, shape as shapeOf } from "../array/view.ts";
import { cast } from "../array/cast.ts";
import { asTensor, castInput, intScalar, shapeOfInput, toInputs } from "../input.ts";
import {
  DOTS,
  type EinsumEquation,
  type EinsumTerms,
  parseEinsum,
  resolveEllipses,
} from "./einsum_equation.ts";
import { matMul } from "./matmul.ts";
import { eye } from "../array/ranges.ts";
import { conjugate, mul } from "../pointwise/arithmetic.ts";
import { equal } from "../pointwise/compare.ts";
import { sum } from "../reduce/reduce.ts";

/** A tensor and the letter of each axis. */
interface Labelled {
  readonly x: Tensor;
  readonly labels: readonly string[];
}

const Einsum = defineOp({
  name: "Einsum",
  inputs: ["inputs: N * T"],
  outputs: ["output: T"],
  attrs: ["equation: string", "N: int >= 1", "T: type"],
  portable: { mostInputs: 2 },
  infer: (inputs, { equation }) => [einsumShape(equation, inputs.map((i) => i.shape))],
  expand: (inputs, { equation }) => {
    const terms = resolveEllipses(
      parseEinsum(equation),
      inputs.map((x) => rankOf(shapeOfInput(x))),
    );
    return [contractAll(terms, inputs.map(asTensor))];
  },
  grad: {
    saves: ["inputs"],
    vjp: (saved, [dy], ctx) => {
      const xs = ctx.inputs.map((_, i) => asTensor(saved[`inputs:${i}`]));
      const equation = parseEinsum(ctx.attrs.equation);
      const open = equation.inputs.some((labels, i) =>
        labels.includes(DOTS) && xs[i].staticShape === null
      );
      if (open) {
        return xs.map((_, i) => (ctx.needs[i] ? openGradient(equation, xs, i, dy, ctx) : null));
      }
      // Without an ellipsis the equation determines the ranks.
      const ranks = equation.inputs.map((labels, i) =>
        labels.includes(DOTS) ? xs[i].staticShape!.length : labels.length
      );
      const terms = resolveEllipses(equation, ranks);
      return xs.map((_, i) => (ctx.needs[i] ? operandGradient(terms, xs, i, dy, ctx) : null));
    },
  },
});

function rankOf(shape: PartialShape): number {
  if (shape === null) {
    throw new ValueError("Cannot compute einsum: the rank of every input must be known");
  }
  return shape.length;
}

/** Returns the extent of each letter; null if unknown. Throws `ValueError` where extents of a letter differ. */
function extentsOf(
  terms: EinsumTerms,
  shapes: readonly (readonly (number | null)[])[],
): Map<string, number | null> {
  const extents = new Map<string, number | null>();
  terms.inputs.forEach((labels, i) =>
    labels.forEach((label, axis) => {
      const d = shapes[i][axis], known = extents.get(label);
      // Axes of an ellipsis broadcast, where 1 fits all; the others must agree.
      const isSpread = terms.dots.has(label);
      if (known === undefined || (isSpread && known === 1)) extents.set(label, d);
      else if (d === null || d === known || (isSpread && d === 1)) return;
      else if (known === null) extents.set(label, d);
      else {
        throw new ValueError(
          `Cannot compute einsum: expected dimension ${known} at axis ${axis} of input shaped ${
            shapeText(shapes[i])
          }, received ${d}`,
        );
      }
    })
  );
  return extents;
}

function einsumShape(equation: string, shapes: readonly PartialShape[]): PartialShape {
  const parsed = parseEinsum(equation);
  if (parsed.inputs.length !== shapes.length) {
    throw new ValueError(
      `Cannot compute einsum: Expected ${parsed.inputs.length} input tensors, received ${shapes.length}`,
    );
  }
  if (shapes.includes(null)) return null;
  const known = shapes as (readonly (number | null)[])[];
  const terms = resolveEllipses(parsed, known.map((s) => s.length));
  const extents = extentsOf(terms, known);
  return terms.output.map((label) => extents.get(label)!);
}

function contractAll(terms: EinsumTerms, xs: readonly Tensor[]): Tensor {
  let result: Labelled | null = null;
  xs.forEach((x, i) => {
    const later = new Set([...terms.output, ...terms.inputs.slice(i + 1).flat()]);
    const others = new Set([...later, ...terms.inputs.slice(0, i).flat()]);
    const single = sumAway(diagonals({ x, labels: terms.inputs[i] }), others);
    result = result === null ? sumAway(single, later) : contract(result, single, later);
  });
  return arrange(result!, terms.output);
}

/** Takes the diagonal of axes with the same letter. */
function diagonals({ x, labels }: Labelled): Labelled {
  const second = labels.findIndex((label, i) => labels.indexOf(label) < i);
  if (second < 0) return { x, labels };
  const first = labels.indexOf(labels[second]);
  const rest = labels.map((_, i) => i).filter((i) => i !== first && i !== second);
  const n = x.shape[first], kept = rest.map((i) => x.shape[i]);
  const square = reshape(transpose(x, [...rest, first, second]), [...kept, n * n]);
  const begin = [...rest.map(() => 0), 0],
    end = [...kept, n * n],
    steps = [...rest.map(() => 1), n + 1];
  return diagonals({
    x: stridedSlice(square, begin, end, steps),
    labels: [...rest.map((i) => labels[i]), labels[first]],
  });
}

/** Sums over the axes whose letters are not kept. */
function sumAway({ x, labels }: Labelled, keep: ReadonlySet<string>): Labelled {
  const axes = labels.flatMap((label, i) => (keep.has(label) ? [] : [i]));
  if (axes.length === 0) return { x, labels };
  return { x: sum(x, axes), labels: labels.filter((label) => keep.has(label)) };
}

/** Transposes axes to this order; missing letters become axes of extent 1. */
function arrange({ x, labels }: Labelled, order: readonly string[]): Tensor {
  const present = order.filter((label) => labels.includes(label));
  const perm = present.map((label) => labels.indexOf(label));
  const moved = perm.every((p, i) => p === i) ? x : transpose(x, perm);
  return order.reduce(
    (y, label, axis) => (labels.includes(label) ? y : expandDims(y, axis)),
    moved,
  );
}

/** Reshapes to extents, one of which may be unknown. */
function reshapePartly(x: Tensor, extents: readonly (number | null)[]): Tensor {
  if (extents.filter((d) => d === null).length > 1) {
    throw new ValueError(
      "Cannot compute einsum: axes that are joined may have only one unknown dimension",
    );
  }
  return reshape(x, extents.map((d) => d ?? -1));
}

/** Multiplies two operands and sums over their common letters that are not needed later. */
function contract(a: Labelled, b: Labelled, keep: ReadonlySet<string>): Labelled {
  const shared = a.labels.filter((label) => b.labels.includes(label));
  const batch = shared.filter((label) => keep.has(label));
  const inner = shared.filter((label) => !keep.has(label));
  const freeA = a.labels.filter((label) => !shared.includes(label));
  const freeB = b.labels.filter((label) => !shared.includes(label));
  const labels = [...batch, ...freeA, ...freeB];
  if (inner.length === 0) return { x: mul(arrange(a, labels), arrange(b, labels)), labels };
  const left = matrix(a, batch, freeA, inner), right = matrix(b, batch, inner, freeB);
  const product = matMul(left.x, right.x, left.transposed, right.transposed);
  const dims = product.staticShape!.slice(0, batch.length);
  const sizes = (from: Labelled, list: readonly string[]): (number | null)[] =>
    list.map((label) => from.x.staticShape![from.labels.indexOf(label)]);
  if (freeA.length === 1 && freeB.length === 1) return { x: product, labels };
  return { x: reshapePartly(product, [...dims, ...sizes(a, freeA), ...sizes(b, freeB)]), labels };
}

/** Returns an operand as (batches of) a matrix, stored transposed if that saves a move. */
function matrix(
  { x, labels }: Labelled,
  batch: readonly string[],
  rows: readonly string[],
  columns: readonly string[],
): { x: Tensor; transposed: boolean } {
  const natural = (list: readonly string[]): boolean =>
    list.every((label, i) => labels[i] === label);
  const transposed = !natural([...batch, ...rows, ...columns]) &&
    natural([...batch, ...columns, ...rows]);
  const [first, second] = transposed ? [columns, rows] : [rows, columns];
  const order = [...batch, ...first, ...second];
  const moved = arrange({ x, labels }, order);
  if (first.length === 1 && second.length === 1) return { x: moved, transposed };
  const shape = moved.staticShape!;
  const join = (from: number, count: number): number | null =>
    shape.slice(from, from + count).reduce(
      (p: number | null, d) => (p === null || d === null ? null : p * d),
      1,
    );
  const at = batch.length;
  return {
    x: reshapePartly(moved, [
      ...shape.slice(0, at),
      join(at, first.length),
      join(at + first.length, second.length),
    ]),
    transposed,
  };
}

/** Returns the gradient of one operand: the result's gradient contracted with the other operands. */
function operandGradient(
  terms: EinsumTerms,
  xs: readonly Tensor[],
  i: number,
  dy: Tensor,
  ctx: GradContext,
): Tensor {
  const labels = terms.inputs[i];
  const unique = [...new Set(labels)];
  const others = xs.filter((_, k) => k !== i).map(conjugate);
  const from = [terms.output, ...terms.inputs.filter((_, k) => k !== i)];
  const reached = new Set(from.flat());
  // The letters of this operand that dy and the other operands have; the rest was summed and is spread again.
  const known = unique.filter((label) => reached.has(label));
  const dots = [...terms.dots].filter((label) => reached.has(label));
  const first = known.findIndex((label) => terms.dots.has(label));
  const letters = known.filter((label) => !terms.dots.has(label));
  const target = first < 0
    ? letters
    : [...letters.slice(0, first), ...dots, ...letters.slice(first)];
  let grad: Labelled = { x: einsumOf([dy, ...others], from, target, terms.dots), labels: target };
  grad = sumAway(grad, new Set(known));
  const shape = xs[i].staticShape;
  const stretched = grad.labels.flatMap((label, axis) =>
    terms.dots.has(label) && shape![labels.indexOf(label)] === 1 ? [axis] : []
  );
  if (stretched.length > 0) grad = { x: sum(grad.x, stretched, true), labels: grad.labels };
  if (known.length < unique.length) {
    grad = { x: spread(arrange(grad, unique), xs[i], labels, ctx.shapeOf(i)), labels: unique };
  }
  return spreadDiagonals(grad, labels, xs[i]);
}

/** Returns the gradient of an operand of unknown rank: the ellipsis stays one label, and must come first. */
function openGradient(
  { inputs, output }: EinsumEquation,
  xs: readonly Tensor[],
  i: number,
  dy: Tensor,
  ctx: GradContext,
): Tensor {
  const labels = inputs[i];
  if (new Set(labels).size < labels.length || labels.indexOf(DOTS) > 0) {
    throw new ValueError(
      "Cannot differentiate einsum: the rank of every input must be known, but for ellipses that come first",
    );
  }
  const others = inputs.filter((_, k) => k !== i);
  const reached = new Set([output, ...others].flat());
  const target = labels.filter((label) => reached.has(label));
  const left = [output, ...others].map((l) => l.join("")).join(",");
  const operands = [dy, ...xs.filter((_, k) => k !== i).map(conjugate)];
  const grad = apply1(Einsum, operands, { equation: `${left}->${target.join("")}` });
  if (target.length === labels.length) return ctx.sumLike(grad, i);
  // Axes that were summed alone, counted from the end, then repeated.
  const missing = labels.flatMap((label, at) => (reached.has(label) ? [] : [at - labels.length]));
  return broadcastTo(missing.reverse().reduce((y, at) => expandDims(y, at), grad), ctx.shapeOf(i));
}

/** Repeats a gradient along the axes that were summed alone. */
function spread(grad: Tensor, x: Tensor, labels: readonly string[], dynamic: TensorLike): Tensor {
  const unique = [...new Set(labels)], shape = x.staticShape;
  if (isConcrete(shape)) {
    return broadcastTo(
      grad,
      unique.map((label) => shape[labels.indexOf(label)]),
    );
  }
  if (unique.length < labels.length) {
    throw new ValueError(
      "Cannot differentiate einsum: the shape of an operand with a repeated letter must be known",
    );
  }
  return broadcastTo(grad, dynamic);
}

/** Returns ones on the diagonal, with the extent of the axis of `x`. */
function diagonalMask(x: Tensor, axis: number): Tensor {
  const n = x.staticShape?.[axis];
  if (n !== null && n !== undefined) return eye(n, undefined, null, x.dtype);
  const length = reshape(slice(shapeOf(x), [axis], [1]), []);
  const index = apply1(lookupOp("Range")!, [intScalar(0), length, intScalar(1)]);
  return cast(equal(expandDims(index, 1), expandDims(index, 0)), x.dtype);
}

/** Undoes {@linkcode diagonals}: adds zeros off the diagonal of axes with the same letter. */
function spreadDiagonals(grad: Labelled, labels: readonly string[], like: Tensor): Tensor {
  let { x, labels: have } = grad;
  const named = labels.map((label, i) => (labels.indexOf(label) < i ? `${label}@${i}` : label));
  labels.forEach((label, i) => {
    if (named[i] === label) return;
    const order = [...have, named[i]];
    const mask = { x: diagonalMask(like, labels.indexOf(label)), labels: [label, named[i]] };
    x = mul(arrange({ x, labels: have }, order), arrange(mask, order));
    have = order;
  });
  return arrange({ x, labels: have }, named);
}

/** Applies Einsum to labelled operands; the axes of ellipses are joined again. */
function einsumOf(
  xs: readonly Tensor[],
  from: readonly (readonly string[])[],
  to: readonly string[],
  dots: ReadonlySet<string>,
): Tensor {
  const letters = new Map<string, string>();
  const text = (labels: readonly string[]): string => {
    let t = "";
    for (const label of labels) {
      if (dots.has(label)) {
        if (!t.includes("...")) t += "...";
        continue;
      }
      if (!letters.has(label)) letters.set(label, LETTERS[letters.size]);
      t += letters.get(label);
    }
    return t;
  };
  return apply1(Einsum, xs, { equation: `${from.map(text).join(",")}->${text(to)}` });
}
const LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

/**
 * Sums products over index letters: `"ij,jk->ik"` is a matrix product. Takes any number of operands, `...` for axes
 * that broadcast, a repeated letter in one operand for its diagonal, no `->` for letters that occur once. TensorFlow op
 * `Einsum`. Throws `ValueError` for an equation that does not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([[1, 2], [3, 4]]);
 * console.log(tf.einsum("ij,jk->ik", x, x).arraySync()); // [[7, 10], [15, 22]]
 * console.log(tf.einsum("ii->", x).item()); // 5
 * ```
 */
export function einsum(equation: string, ...tensors: TensorLike[]): Tensor {
  const inputs = toInputs(tensors, "tensors", "einsum");
  const parsed = parseEinsum(equation);
  if (inputs.length === 0) {
    throw new ValueError(`Cannot compute einsum "${equation}" of no tensors`);
  }
  const dtype = inputs.map((x) => x.dtype).reduce(promote);
  return apply1(Einsum, inputs.map((x) => castInput(x, dtype)), { equation: parsed.text });
}
