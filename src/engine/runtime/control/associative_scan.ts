/** associativeScan: all partial results of an associative function in steps as many as the logarithm of their number. */
import { optionCheck, wantFunction } from "../../core/arguments.ts";
import { ValueError } from "../../core/errors.ts";
import { flatten, type Nest, packAs, structureText } from "../../core/nest.ts";
import { compatible, normalizeAxis, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { nameScope } from "../../graph/scopes.ts";
import { gather } from "../../ops/array/gather.ts";
import { concat, stack } from "../../ops/array/join.ts";
import { reverse } from "../../ops/array/move.ts";
import { stridedSlice } from "../../ops/array/strided_slice.ts";
import { identity, reshape, shape } from "../../ops/array/view.ts";
import { asTensor, intScalar } from "../../ops/input.ts";
import { add, neg } from "../../ops/pointwise/arithmetic.ts";
import { less } from "../../ops/pointwise/compare.ts";
import { tidy } from "../eager/tensor.ts";
import { resultTensor } from "./branch.ts";
import { nestOf } from "./elems.ts";
import type { TensorsOf } from "./functional_ops.ts";
import { whileLoop } from "./while_loop.ts";

/** Options of {@linkcode associativeScan}. */
export interface AssociativeScanOptions {
  /** The axis along which elements are combined. Default 0. */
  readonly axis?: number;
  /** Combine from the last element to the first; each result stands at its element. */
  readonly reverse?: boolean;
  /** Name scope of the operations. Default `"associative_scan"`. */
  readonly name?: string;
}

const FN = "associativeScan";
const checkOptions = optionCheck<AssociativeScanOptions>(FN, {
  axis: true,
  reverse: true,
  name: true,
});

/** Combines as many elements of each tensor with as many others. */
type Combine = (a: readonly Tensor[], b: readonly Tensor[]) => Tensor[];

/**
 * Combines all elements up to each place along an axis: at place `i` stands `fn(… fn(fn(x[0], x[1]), x[2]) …, x[i])`, and with `reverse` that of
 * `x[n - 1]` down to `x[i]`. `fn` must be associative; it gets two tensors, or two nests as `elems` is one, with many elements along the axis,
 * combines them pairwise and keeps shapes and dtypes. It is called about twice the logarithm of the extent times, on fewer than twice as
 * many elements as there are. Where a graph does not know the extent, a loop takes that logarithm of turns over all elements. Throws
 * `ValueError` where extents, nests or shapes differ and for an axis out of range, `TypeError` for a result of another dtype. Follows
 * `jax.lax.associative_scan`; see Blelloch, "Prefix Sums and Their Applications" (1990).
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.associativeScan((a, b) => tf.maximum(a, b), tf.tensor([3, 1, 4, 1, 5])).array()); // [3, 3, 4, 4, 5]
 *
 * // The states of h[i] = a[i] * h[i - 1] + b[i].
 * const linear = ([a, b]: tf.Tensor[], [c, d]: tf.Tensor[]) => [tf.mul(a, c), tf.add(tf.mul(c, b), d)];
 * const [, h] = tf.associativeScan(linear, [tf.tensor([2, 2, 2]), tf.tensor([1, 1, 1])]);
 * console.log(await h.array()); // [1, 3, 7]
 * ```
 */
export function associativeScan<const E>(
  fn: (a: NoInfer<TensorsOf<E>>, b: NoInfer<TensorsOf<E>>) => Nest<Tensor>,
  elems: E,
  options: AssociativeScanOptions = {},
): TensorsOf<E> {
  wantFunction(fn, "fn", FN);
  checkOptions(options);
  const { axis = 0, reverse: isReversed = false, name = "associative_scan" } = options;
  return nameScope(name, () =>
    tidy(() => {
      const { like, tensors } = nestOf(elems, "elems", FN);
      const { at, extent } = axisOf(tensors, axis);
      const scan = new AssociativeScan((a, b) => {
        const result = fn(packAs(like, a) as TensorsOf<E>, packAs(like, b) as TensorsOf<E>);
        return checked(result, like, a);
      }, at);
      const turned = (ts: readonly Tensor[]): readonly Tensor[] =>
        isReversed ? ts.map((t) => reverse(t, at)) : ts;
      const ordered = turned(tensors);
      const all = extent === null ? scan.byDoubling(ordered) : scan.ofPairs(ordered, extent);
      return packAs(like, turned(all).map((t) => identity(t))) as TensorsOf<E>;
    }));
}

/** Returns the axis, counted from the front of the first tensor, and its extent: null where no tensor knows it. */
function axisOf(
  tensors: readonly Tensor[],
  axis: number,
): { readonly at: number; readonly extent: number | null } {
  const shapes = tensors.map(({ staticShape }) => {
    if (staticShape === null) throw new ValueError(`Cannot apply ${FN}: ranks must be known`);
    return staticShape;
  });
  if (shapes.length === 0) throw new ValueError(`Cannot apply ${FN}: elems has no tensors`);
  const at = normalizeAxis(axis, shapes[0].length);
  const extents = shapes.map((shape) => shape[at]);
  const known = extents.find((n) => typeof n === "number") ?? null;
  if (extents.some((n) => n === undefined || (n !== null && n !== known))) {
    throw new ValueError(
      `Cannot apply ${FN} along axis ${axis} of shapes ${
        shapes.map(shapeText).join(", ")
      }: wanted one extent`,
    );
  }
  return { at, extent: known };
}

/** Returns what the function gave, in order. Throws where it is no nest like its arguments. */
function checked(result: Nest<Tensor>, like: unknown, a: readonly Tensor[]): Tensor[] {
  if (structureText(result) !== structureText(like)) {
    throw new ValueError(
      `Cannot use what the function of ${FN} returned: wanted ${structureText(like)}, received ${
        structureText(result)
      }`,
    );
  }
  return flatten<unknown>(result).map((value, i) => {
    const t = resultTensor(value, "result", FN), wanted = a[i];
    const text = (x: Tensor): string => `${x.dtype} ${shapeText(x.staticShape)}`;
    const refusal = (): string =>
      `Cannot use what the function of ${FN} returned: it combined ${text(wanted)} to ${text(t)}`;
    if (t.dtype !== wanted.dtype) throw new TypeError(refusal());
    if (!compatible(t.staticShape, wanted.staticShape)) throw new ValueError(refusal());
    return t;
  });
}

/** Scans along an axis by a function that combines many elements at once. */
class AssociativeScan {
  readonly #combine: Combine;
  readonly #axis: number;

  constructor(combine: Combine, axis: number) {
    this.#combine = combine;
    this.#axis = axis;
  }

  /** Combines neighbours, scans these pairs, and combines the elements between them with the pairs before. */
  ofPairs(x: readonly Tensor[], n: number): Tensor[] {
    if (n < 2) return [...x];
    const even = n % 2 === 0;
    const pairs = this.#combine(this.#every(x, 0, n - 1), this.#every(x, 1, n));
    const odd = this.ofPairs(pairs, n >> 1);
    if (n === 2) return this.#joined([this.#part(x, 0, 1), odd]);
    const before = even ? this.#part(odd, 0, (n >> 1) - 1) : odd;
    const rest = this.#combine(before, this.#every(x, 2, n));
    const evens = this.#joined([this.#part(x, 0, 1), rest]);
    const mixed = (even ? evens : this.#part(evens, 0, n >> 1)).map((t, i) => {
      const pair = stack([t, odd[i]], this.#axis + 1), dims = x[i].staticShape!;
      const extents = dims.map((d, k) =>
        k === this.#axis ? n - n % 2 : d ?? gather(shape(x[i]), k)
      );
      return reshape(pair, extents as number[]);
    });
    return even ? mixed : this.#joined([mixed, this.#part(evens, n >> 1, (n >> 1) + 1)]);
  }

  /** Combines each element with that 1, 2, 4 … places before it: for extents that are not known (Hillis and Steele, 1986). */
  byDoubling(x: readonly Tensor[]): Tensor[] {
    const n = gather(shape(x[0]), this.#axis);
    const [, ...all] = whileLoop(
      (step) => less(step, n),
      (step, ...parts) => {
        const first = this.#part(parts, 0, step);
        const before = this.#part(parts, 0, neg(step)), rest = this.#part(parts, step, null);
        return [add(step, step), ...this.#joined([first, this.#combine(before, rest)])];
      },
      [asTensor(intScalar(1)), ...x] as [Tensor, ...Tensor[]],
    );
    return all;
  }

  #every(x: readonly Tensor[], from: number, to: number): Tensor[] {
    return this.#part(x, from, to, 2);
  }

  /** Takes elements along the axis, to the end for null. */
  #part(
    x: readonly Tensor[],
    from: number | Tensor,
    to: number | Tensor | null,
    step = 1,
  ): Tensor[] {
    const at = this.#axis, others = (1 << at) - 1;
    const place = (v: number | Tensor, rest: number): TensorLike =>
      [...new Array(at).fill(rest), v] as TensorLike;
    const endMask = to === null ? others | (1 << at) : others;
    return x.map((t) =>
      stridedSlice(t, place(from, 0), place(to ?? 0, 0), place(step, 1), others, endMask)
    );
  }

  #joined(lists: readonly (readonly Tensor[])[]): Tensor[] {
    return lists[0].map((_, i) => concat(lists.map((list) => list[i]), this.#axis));
  }
}
