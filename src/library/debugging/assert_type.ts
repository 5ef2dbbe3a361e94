/** Assertions about dtypes and shapes: at once where they are known, at each run of a graph where they are not. */
import { wantList, wantNumber } from "../../engine/core/arguments.ts";
import { describe } from "../../engine/core/convert.ts";
import { asDType, type DType, DTYPES } from "../../engine/core/dtype.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { shapeText } from "../../engine/core/shape.ts";
import type { Tensor, TensorLike } from "../../engine/core/tensor.ts";
import type { Operation } from "../../engine/graph/operation.ts";
import { controlDependencies } from "../../engine/graph/scopes.ts";
import { shape as shapeOf, size } from "../../engine/ops/array/view.ts";
import { gather } from "../../engine/ops/array/gather.ts";
import { asTensor, toInput } from "../../engine/ops/input.ts";
import { equal, greaterEqual } from "../../engine/ops/pointwise/compare.ts";
import { logicalOr } from "../../engine/ops/pointwise/logical.ts";
import { type AssertOptions, checkOptions, claim } from "./assert.ts";

function tensorOf(x: TensorLike, fn: string): Tensor {
  return asTensor(toInput(x, "x", fn));
}

function head(options: AssertOptions): string {
  return options.message ? `${options.message} ` : "";
}

/**
 * Fails unless `x` has this dtype: at once, also while a graph is built. TensorFlow `tf.debugging.assert_type`. Throws
 * `TypeError` where it fails.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([1], [1], "int32");
 * try {
 *   tf.debugging.assertType(x, "float32");
 * } catch (error) {
 *   console.log((error as Error).message); // …must be of type float32; got int32…
 * }
 * ```
 */
export function assertType(x: TensorLike, dtype: DType, options: AssertOptions = {}): void {
  checkOptions(options);
  const t = tensorOf(x, "assertType"), wanted = asDType(dtype);
  if (t.dtype === wanted) return;
  throw new TypeError(
    `${head(options)}${nameText(t)} must be of type ${wanted}; got ${t.dtype}`,
  );
}

/**
 * Fails unless `x` has an integer dtype. Throws `TypeError`. TensorFlow `tf.debugging.assert_integer`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * try {
 *   tf.debugging.assertInteger([0.5]);
 * } catch (error) {
 *   console.log((error as Error).message); // …to be integer type. Found: tensor of dtype float32
 * }
 * ```
 */
export function assertInteger(x: TensorLike, options: AssertOptions = {}): void {
  checkOptions(options);
  const t = tensorOf(x, "assertInteger"), { kind } = DTYPES[t.dtype];
  if (kind === "int" || kind === "uint") return;
  throw new TypeError(
    `${head(options)}Expected ${nameText(t)} to be integer type. Found: tensor of dtype ${t.dtype}`,
  );
}

/**
 * Fails unless all have the same floating dtype, which it returns. Throws `ValueError`. TensorFlow
 * `tf.debugging.assert_same_float_dtype`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.debugging.assertSameFloatDtype([tf.ones([2]), tf.zeros([3])])); // float32
 * ```
 */
export function assertSameFloatDtype(tensors: readonly TensorLike[], dtype?: DType): DType {
  wantList(tensors, "tensors", "assertSameFloatDtype", "tensors");
  let wanted = dtype === undefined ? undefined : asDType(dtype);
  tensors.forEach((x, i) => {
    const t = tensorOf(x, "assertSameFloatDtype");
    if (t.dtype !== (wanted ??= t.dtype)) {
      throw new ValueError(
        `Tensor ${i} of dtype ${t.dtype} must be of the same type (${wanted}) as the others`,
      );
    }
  });
  wanted ??= "float32";
  if (DTYPES[wanted].kind === "float") return wanted;
  throw new ValueError(`Expected floating point type, got ${wanted}`);
}

function nameText(t: Tensor): string {
  return t.isSymbolic ? `tensor ${t.name}` : "tensor";
}

/** Checks a claim about a rank, now or at each run. */
function rankClaim(
  x: TensorLike,
  fn: string,
  options: AssertOptions,
  { holds, inGraph, wanted }: {
    readonly holds: (rank: number) => boolean;
    readonly inGraph: (rank: Tensor) => Tensor;
    readonly wanted: string;
  },
): Operation | undefined {
  checkOptions(options);
  const t = tensorOf(x, fn), known = t.staticShape;
  if (known !== null) {
    if (holds(known.length)) return undefined;
    throw new ValueError(
      `${head(options)}${
        nameText(t)
      } must have rank ${wanted}. Received rank ${known.length}, shape ${shapeText(known)}`,
    );
  }
  const dims = shapeOf(t);
  return claim({
    condition: inGraph(size(dims)),
    data: [`${nameText(t)} must have rank ${wanted}`, "Received shape: ", dims],
    options,
  });
}

/**
 * Fails unless `x` has this rank: at once where that is known, else at each run. TensorFlow `tf.debugging.assert_rank`.
 * Throws `ValueError`, at run time `InvalidArgumentError`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * try {
 *   tf.debugging.assertRank([1, 2], 2);
 * } catch (error) {
 *   console.log((error as Error).message); // …must have rank 2. Received rank 1, shape…
 * }
 * ```
 */
export function assertRank(
  x: TensorLike,
  rank: number,
  options: AssertOptions = {},
): Operation | undefined {
  wantNumber(rank, "rank", "assertRank");
  return assertRankIn(x, [rank], options);
}

/**
 * Fails unless `x` has at least this rank. See {@linkcode assertRank}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * try {
 *   tf.debugging.assertRankAtLeast([1, 2], 2);
 * } catch (error) {
 *   console.log((error as Error).message); // …must have rank at least 2. Received rank 1, shape…
 * }
 * ```
 */
export function assertRankAtLeast(
  x: TensorLike,
  rank: number,
  options: AssertOptions = {},
): Operation | undefined {
  wantNumber(rank, "rank", "assertRankAtLeast");
  return rankClaim(x, "assertRankAtLeast", options, {
    holds: (r) => r >= rank,
    inGraph: (r) => greaterEqual(r, rank),
    wanted: `at least ${rank}`,
  });
}

/**
 * Fails unless `x` has one of these ranks. See {@linkcode assertRank}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * try {
 *   tf.debugging.assertRankIn([1, 2], [2, 3]);
 * } catch (error) {
 *   console.log((error as Error).name); // ValueError
 * }
 * ```
 */
export function assertRankIn(
  x: TensorLike,
  ranks: readonly number[],
  options: AssertOptions = {},
): Operation | undefined {
  wantList(ranks, "ranks", "assertRankIn", "numbers");
  ranks.forEach((rank, i) => wantNumber(rank, `ranks[${i}]`, "assertRankIn"));
  return rankClaim(x, "assertRank", options, {
    holds: (r) => ranks.includes(r),
    inGraph: (r) => ranks.map((wanted) => equal(r, wanted)).reduce((a, b) => logicalOr(a, b)),
    wanted: ranks.length === 1 ? `${ranks[0]}` : `in [${ranks}]`,
  });
}

/**
 * Fails unless `x` is a scalar. Throws `ValueError`. TensorFlow `tf.debugging.assert_scalar`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * try {
 *   tf.debugging.assertScalar([1, 2]);
 * } catch (error) {
 *   console.log((error as Error).name); // ValueError
 * }
 * ```
 */
export function assertScalar(x: TensorLike, options: AssertOptions = {}): Operation | undefined {
  return assertRank(x, 0, options);
}

/** A dimension of {@linkcode assertShapes}: its size, a name for a size that is the same everywhere, null for any. */
export type NamedDimension = number | string | null;

/** A size, known or as a scalar of the graph, and the place where it was found. */
interface Met {
  readonly size: number | Tensor;
  readonly where: string;
}

/**
 * Fails unless tensors have these shapes: `[[x, ["N", 3]], [y, ["N"]]]`, where one name stands for one size, null for
 * any, and `"..."` at the beginning or the end for any number of dimensions. Known sizes are checked at once, also
 * while a graph is built, the others at each run. TensorFlow `tf.debugging.assert_shapes`. Throws `ValueError`, at run
 * time `InvalidArgumentError`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.zeros([4, 3]), y = tf.zeros([5]);
 * tf.debugging.assertShapes([[x, ["N", 3]], [x, ["...", 3]]]);
 * try {
 *   tf.debugging.assertShapes([[x, ["N", 3]], [y, ["N"]]]);
 * } catch (error) {
 *   console.log((error as Error).message); // …dimension 0 ("N") must have size 4…
 * }
 * ```
 */
export function assertShapes(
  shapes: readonly (readonly [TensorLike, readonly NamedDimension[]])[],
  options: AssertOptions = {},
): void {
  checkOptions(options);
  wantList(shapes, "shapes", "assertShapes", "[tensor, shape]");
  const met = new Map<string, Met>();
  shapes.forEach((pair, k) => {
    wantList(pair, `shapes[${k}]`, "assertShapes", "a tensor and its shape");
    const [x, wanted] = pair;
    const t = tensorOf(x, "assertShapes"), what = `tensor ${k}`;
    if (!Array.isArray(wanted)) {
      throw new TypeError(`Cannot take ${describe(wanted)} as the shape of ${what}: wanted a list`);
    }
    const rest = wanted.indexOf("...");
    if (rest > 0 && rest < wanted.length - 1 || wanted.lastIndexOf("...") !== rest) {
      throw new ValueError(
        `Cannot take the shape [${wanted}] of ${what}: "..." must stand at the beginning or the end, once`,
      );
    }
    const dims = wanted.filter((d) => d !== "...");
    const ranked = rest < 0
      ? assertRank(t, dims.length, options)
      : assertRankAtLeast(t, dims.length, options);
    const checkAll = (): void =>
      dims.forEach((dim, i) => {
        if (dim === null) return;
        const axis = rest === 0 && wanted.length > 1 ? i - dims.length : i;
        check({ t, what, axis, dim, met, options });
      });
    // An axis can be read only when the rank is known to be large enough.
    if (ranked === undefined) checkAll();
    else controlDependencies([ranked], checkAll);
  });
}

interface DimensionClaim {
  readonly t: Tensor;
  readonly what: string;
  /** Counted from the end where negative. */
  readonly axis: number;
  readonly dim: number | string;
  readonly met: Map<string, Met>;
  readonly options: AssertOptions;
}

function check({ t, what, axis, dim, met, options }: DimensionClaim): void {
  const known = t.staticShape?.at(axis) ?? null;
  const actual = known ?? atAxis(t, axis);
  const before = typeof dim === "number" ? { size: dim, where: "" } : met.get(dim);
  if (before === undefined) {
    met.set(dim as string, { size: actual, where: `dimension ${axis} of ${what}` });
    return;
  }
  const named = typeof dim === "string" ? ` (${JSON.stringify(dim)})` : "";
  const as = before.where === "" ? "" : `, as ${before.where} has`;
  if (typeof actual === "number" && typeof before.size === "number") {
    if (actual === before.size) return;
    throw new ValueError(
      `${
        head(options)
      }Shape of ${what}: dimension ${axis}${named} must have size ${before.size}${as}. Received size ${actual}, shape ${
        shapeText(t.staticShape!)
      }`,
    );
  }
  claim({
    condition: equal(actual, before.size),
    data: [
      `Dimension ${axis}${named} of ${what} must have size`,
      before.size,
      as,
      "Received",
      actual,
    ],
    options,
  });
}

/** Returns the size of an axis at run time, a scalar. */
function atAxis(t: Tensor, axis: number): Tensor {
  const dims = shapeOf(t);
  const { staticShape } = t;
  const rank = staticShape?.length;
  if (axis >= 0) return gather(dims, axis);
  return rank === undefined ? gather(dims, size(dims).add(axis)) : gather(dims, rank + axis);
}
