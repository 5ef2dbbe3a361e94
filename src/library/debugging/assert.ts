/** Assertions about elements, made with the op `Assert`. */
import { apply, type OpInput } from "../../engine/core/apply.ts";
import { DTYPES } from "../../engine/core/dtype.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { lookupOp } from "../../engine/core/op.ts";
import { optionCheck, wantList } from "../../engine/core/arguments.ts";
import { Tensor, type TensorLike } from "../../engine/core/tensor.ts";
import { specText } from "../../engine/core/tensor_spec.ts";
import { currentGraph } from "../../engine/graph/current_graph.ts";
import type { Operation } from "../../engine/graph/operation.ts";
import { asTensor, toInput } from "../../engine/ops/input.ts";
import { add, mul, sub } from "../../engine/ops/pointwise/arithmetic.ts";
import {
  equal,
  greater,
  greaterEqual,
  less,
  lessEqual,
  notEqual,
} from "../../engine/ops/pointwise/compare.ts";
import { abs } from "../../engine/ops/pointwise/rounding.ts";
import { all } from "../../engine/ops/reduce/reduce.ts";
import { unwatched } from "../../engine/runtime/eager/eager.ts";
import { tidy } from "../../engine/runtime/eager/tensor.ts";
import { addToGraph } from "./in_graph.ts";

/** Options of assertions. */
export interface AssertOptions {
  /** Beginning of the error text. */
  readonly message?: string;
  /** Number of elements that the error shows at either end of each axis; -1 shows all. Default 3. */
  readonly summarize?: number;
  /** Node name. */
  readonly name?: string;
}

/** Options of {@linkcode assertNear}. */
export interface AssertNearOptions extends AssertOptions {
  /** Tolerance as a part of `y`. Default ten times the dtype's precision. */
  readonly rtol?: number;
  /** Tolerance. Default ten times the dtype's precision. */
  readonly atol?: number;
}

const OPTIONS = { message: true, summarize: true, name: true } as const;
export const checkOptions: (options: AssertOptions) => void = optionCheck<AssertOptions>(
  "assertion",
  OPTIONS,
);
const checkNearOptions = optionCheck<AssertNearOptions>("assertNear", {
  ...OPTIONS,
  rtol: true,
  atol: true,
});

/** The condition of an assertion, and the data that a failure shows. */
interface Claim {
  readonly condition: TensorLike;
  /** Texts and values that a failure shows. */
  readonly data: readonly TensorLike[];
  readonly options: AssertOptions;
}

/** Adds the op to the graph, or checks at once. */
export function claim({ condition, data, options }: Claim): Operation | undefined {
  const { message, summarize = 3, name } = options;
  const shown = message === undefined || message === "" ? data : [message, ...data];
  const inputs = [condition, ...shown].map((x) => toInput(x, "data", "Assert"));
  const Assert = lookupOp("Assert")!;
  const attrs = { T: inputs.slice(1).map((x) => x.dtype), summarize };
  if (currentGraph()) return addToGraph(Assert, inputs, { attrs, name });
  apply(Assert, inputs, attrs);
  return undefined;
}

/**
 * Fails with the values of `data` where `condition` is false. Follows TensorFlow `tf.debugging.Assert`. In a graph it
 * returns the operation, which a session runs where something depends on it; functions run it by themselves, in order
 * with their other effects. Throws `InvalidArgumentError` where it fails.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([1, 2]);
 * try {
 *   tf.debugging.assert(tf.all(tf.greater(x, 1)), ["x is", x]);
 * } catch (error) {
 *   console.log((error as Error).message); // …assertion failed: [x is] [1 2]…
 * }
 * ```
 */
function assert(
  condition: TensorLike,
  data: readonly TensorLike[] = [],
  options: AssertOptions = {},
): Operation | undefined {
  checkOptions(options);
  wantList(data, "data", "assert");
  return claim({ condition, data, options });
}
export { assert };

/** Runs `fn` hidden from the output observer, and frees its eager tensors. */
function quietly<R>(fn: () => R): R {
  return currentGraph() ? fn() : unwatched(() => tidy(() => fn()));
}

function nameOf(x: OpInput, name: string): string {
  return x instanceof Tensor && x.isSymbolic ? `${name} (${x.name})` : name;
}

type Comparison = (x: Tensor, y: Tensor) => Tensor;

/** Asserts that `compare` holds for all elements, broadcast. */
function compared(
  [x, y]: readonly [TensorLike, TensorLike],
  sign: string,
  compare: Comparison,
  options: AssertOptions,
): Operation | undefined {
  checkOptions(options);
  return quietly(() => {
    const { a, b } = pair(x, y);
    const data = [
      `Condition x ${sign} y did not hold element-wise:`,
      `${nameOf(a, "x")} = `,
      a,
      `${nameOf(b, "y")} = `,
      b,
    ];
    return claim({ condition: all(compare(a, b)), data, options });
  });
}

/** Converts both to tensors; a JavaScript value takes the dtype of the other. */
function pair(x: TensorLike, y: TensorLike): { a: Tensor; b: Tensor } {
  const isValue = (v: TensorLike): boolean => !(v instanceof Tensor || v instanceof NdArray);
  const dtypeOf = (v: TensorLike) => isValue(v) ? undefined : (v as NdArray).dtype;
  const a = asTensor(toInput(x, "x", "assert", isValue(x) ? { dtype: dtypeOf(y) } : {}));
  const b = asTensor(toInput(y, "y", "assert", isValue(y) ? { dtype: dtypeOf(x) } : {}));
  return { a, b };
}

/**
 * Fails unless `x` and `y` are equal, element by element and broadcast: now, or at each run of a graph; gradients
 * ignore it. Follows TensorFlow `tf.debugging.assert_equal`. In a graph it returns the operation: see {@linkcode
 * assert}. Throws `InvalidArgumentError` with both values where it fails.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const f = tf.function((x: tf.Tensor) => {
 *   tf.debugging.assertEqual(tf.sum(x), 1, { message: "no distribution" });
 *   return tf.log(x);
 * });
 * try {
 *   f(tf.tensor([0.5, 1]));
 * } catch (error) {
 *   console.log((error as Error).message); // …[no distribution] [Condition x == y did not hold element-wise:]…
 * }
 * ```
 */
export function assertEqual(
  x: TensorLike,
  y: TensorLike,
  options: AssertOptions = {},
): Operation | undefined {
  return compared([x, y], "==", equal, options);
}

/**
 * Fails where elements of `x` and `y` are equal. See {@linkcode assertEqual}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * try {
 *   tf.debugging.assertNoneEqual([1, 2], 2);
 * } catch (error) {
 *   console.log((error as Error).message); // …x != y did not hold…
 * }
 * ```
 */
export function assertNoneEqual(
  x: TensorLike,
  y: TensorLike,
  options: AssertOptions = {},
): Operation | undefined {
  return compared([x, y], "!=", notEqual, options);
}

/**
 * Fails unless `x < y`. See {@linkcode assertEqual}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * try {
 *   tf.debugging.assertLess([1, 2], 2);
 * } catch (error) {
 *   console.log((error as Error).message); // …x < y did not hold…
 * }
 * ```
 */
export function assertLess(
  x: TensorLike,
  y: TensorLike,
  options: AssertOptions = {},
): Operation | undefined {
  return compared([x, y], "<", less, options);
}

/**
 * Fails unless `x <= y`. See {@linkcode assertEqual}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * try {
 *   tf.debugging.assertLessEqual([1, 3], 2);
 * } catch (error) {
 *   console.log((error as Error).message); // …x <= y did not hold…
 * }
 * ```
 */
export function assertLessEqual(
  x: TensorLike,
  y: TensorLike,
  options: AssertOptions = {},
): Operation | undefined {
  return compared([x, y], "<=", lessEqual, options);
}

/**
 * Fails unless `x > y`. See {@linkcode assertEqual}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * try {
 *   tf.debugging.assertGreater([3, 2], 2);
 * } catch (error) {
 *   console.log((error as Error).message); // …x > y did not hold…
 * }
 * ```
 */
export function assertGreater(
  x: TensorLike,
  y: TensorLike,
  options: AssertOptions = {},
): Operation | undefined {
  return compared([x, y], ">", greater, options);
}

/**
 * Fails unless `x >= y`. See {@linkcode assertEqual}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * try {
 *   tf.debugging.assertGreaterEqual([3, 1], 2);
 * } catch (error) {
 *   console.log((error as Error).message); // …x >= y did not hold…
 * }
 * ```
 */
export function assertGreaterEqual(
  x: TensorLike,
  y: TensorLike,
  options: AssertOptions = {},
): Operation | undefined {
  return compared([x, y], ">=", greaterEqual, options);
}

/** Asserts that `compare` holds between the elements and zero. */
function againstZero(
  x: TensorLike,
  sign: string,
  compare: Comparison,
  options: AssertOptions,
): Operation | undefined {
  checkOptions(options);
  return quietly(() => {
    const { a, b } = pair(x, 0);
    const data = [`Condition x ${sign} 0 did not hold element-wise:`, `${nameOf(a, "x")} = `, a];
    return claim({ condition: all(compare(a, b)), data, options });
  });
}

/**
 * Fails unless all elements are above zero. See {@linkcode assertEqual}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * try {
 *   tf.debugging.assertPositive([1, 0]);
 * } catch (error) {
 *   console.log((error as Error).message); // …x > 0 did not hold…
 * }
 * ```
 */
export function assertPositive(x: TensorLike, options: AssertOptions = {}): Operation | undefined {
  return againstZero(x, ">", greater, options);
}

/**
 * Fails unless all elements are below zero. See {@linkcode assertEqual}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * try {
 *   tf.debugging.assertNegative([-1, 0]);
 * } catch (error) {
 *   console.log((error as Error).message); // …x < 0 did not hold…
 * }
 * ```
 */
export function assertNegative(x: TensorLike, options: AssertOptions = {}): Operation | undefined {
  return againstZero(x, "<", less, options);
}

/**
 * Fails where an element is below zero. See {@linkcode assertEqual}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * try {
 *   tf.debugging.assertNonNegative([1, -1]);
 * } catch (error) {
 *   console.log((error as Error).message); // …x >= 0 did not hold…
 * }
 * ```
 */
export function assertNonNegative(
  x: TensorLike,
  options: AssertOptions = {},
): Operation | undefined {
  return againstZero(x, ">=", greaterEqual, options);
}

/**
 * Fails where an element is above zero. See {@linkcode assertEqual}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * try {
 *   tf.debugging.assertNonPositive([-1, 1]);
 * } catch (error) {
 *   console.log((error as Error).message); // …x <= 0 did not hold…
 * }
 * ```
 */
export function assertNonPositive(
  x: TensorLike,
  options: AssertOptions = {},
): Operation | undefined {
  return againstZero(x, "<=", lessEqual, options);
}

/**
 * Fails unless `|x - y| <= atol + rtol * |y|`. See {@linkcode assertEqual}. TensorFlow `tf.debugging.assert_near`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * tf.debugging.assertNear([1, 2], [1, 2.0000001]);
 * try {
 *   tf.debugging.assertNear([1], [1.1], { atol: 0.01 });
 * } catch (error) {
 *   console.log((error as Error).name); // InvalidArgumentError
 * }
 * ```
 */
export function assertNear(
  x: TensorLike,
  y: TensorLike,
  options: AssertNearOptions = {},
): Operation | undefined {
  checkNearOptions(options);
  return quietly(() => {
    const { a, b } = pair(x, y);
    // Ten times the spacing of numbers at 1, as in TensorFlow.
    const own = 10 * 2 ** -(DTYPES[a.dtype].float ?? DTYPES.float32.float!).fraction;
    const { rtol = own, atol = own } = options;
    const condition = all(lessEqual(abs(sub(a, b)), add(mul(abs(b), rtol), atol)));
    const data = [
      `x and y not equal to tolerance rtol = ${rtol}, atol = ${atol}`,
      `${nameOf(a, "x")} ${specText({ dtype: a.dtype, shape: a.staticShape })} = `,
      a,
      `${nameOf(b, "y")} ${specText({ dtype: b.dtype, shape: b.staticShape })} = `,
      b,
    ];
    return claim({ condition, data, options });
  });
}
