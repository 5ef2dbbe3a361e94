/** foriLoop: a function repeated for each number of a range. */
import { currentInterpreter, type OpInput } from "../../core/apply.ts";
import { optionCheck, wantFunction } from "../../core/arguments.ts";
import { type DType, isInteger } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { cast } from "../../ops/array/cast.ts";
import { asTensor, shapeOfInput, toInput } from "../../ops/input.ts";
import { add } from "../../ops/pointwise/arithmetic.ts";
import { less } from "../../ops/pointwise/compare.ts";
import { tidy } from "../eager/tensor.ts";
import { scalarOf } from "./branch.ts";
import type { LoopVariable, LoopVariableOf } from "./loop_variables.ts";
import { whileLoop, type WhileOptions } from "./while_loop.ts";

/** Options of {@linkcode foriLoop}. */
export interface ForiLoopOptions {
  /** Name of the operation. */
  readonly name?: string;
}

const checkOptions = optionCheck<ForiLoopOptions>("foriLoop", { name: true });

/**
 * Calls `body(i, value)` for the whole numbers from `lower` to before `upper`, each with the value that the call before returned, and returns the last:
 * `init` where there is no number. `i` is an int32 scalar, of the wider dtype where a bound is a uint32, int64 or uint64; a value is a tensor or a nest of them, whose dtypes and shapes stay. Made of
 * {@linkcode whileLoop}, so that gradients flow. Throws `TypeError` for bounds that are no whole numbers or of dtypes of which none holds both, and where a dtype
 * changes, `ValueError` for bounds that are no scalars and where a nest or a shape changes. Follows `jax.lax.fori_loop`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const power = tf.function((x: tf.Tensor) => tf.foriLoop(0, 3, (_, y) => tf.mul(y, x), tf.onesLike(x)));
 * console.log(await (power(tf.tensor([2, 3])) as tf.Tensor).array()); // [8, 27]
 * ```
 */
export function foriLoop<const V>(
  lower: TensorLike,
  upper: TensorLike,
  body: (i: Tensor, value: LoopVariableOf<V>) => LoopVariable,
  init: V,
  options: ForiLoopOptions = {},
): LoopVariableOf<V> {
  wantFunction(body, "body", "foriLoop");
  checkOptions(options);
  const next = (i: Tensor, value: unknown): LoopVariable[] => [
    add(i, 1),
    body(i, value as LoopVariableOf<V>),
  ];
  const vars = (from: Tensor): [Tensor, LoopVariable] => [from, init as LoopVariable];
  if (currentInterpreter().symbolic) {
    const [from, to] = bounds(lower, upper);
    return repeat((i) => less(i, to), next, vars(from), options)[1] as LoopVariableOf<V>;
  }
  // Eager code knows the number of turns, so that none of them waits for a device.
  return tidy(() => {
    const [from, to] = bounds(lower, upper);
    const turns = BigInt(scalarOf(to) as bigint) - BigInt(scalarOf(from) as bigint);
    const maximumIterations = Math.max(0, Number(turns));
    const limited = { ...options, maximumIterations };
    return repeat(() => true, next, vars(from), limited)[1] as LoopVariableOf<V>;
  });
}

/** {@linkcode whileLoop} of a counter and a value, whose type is too deep for its own. */
const repeat = whileLoop as unknown as (
  condition: (i: Tensor) => TensorLike,
  body: (i: Tensor, value: unknown) => readonly LoopVariable[],
  vars: readonly [Tensor, LoopVariable],
  options: WhileOptions,
) => readonly unknown[];

/** Dtypes of counters beyond int32. */
const WIDE: readonly DType[] = ["uint32", "int64", "uint64"];

/** Returns both bounds in the dtype of the counter: one that holds both. */
function bounds(lower: TensorLike, upper: TensorLike): [Tensor, Tensor] {
  const from = bound(lower, "lower"), to = bound(upper, "upper");
  const dtypes = [[lower, from], [upper, to]] as const;
  // Numbers that are written in a program are of any dtype that has them.
  const given = dtypes.flatMap(([value, { dtype }]) =>
    typeof value === "number" && value >= 0 ? [] : [dtype]
  );
  const wide = new Set(given.filter((dtype) => WIDE.includes(dtype)));
  const [dtype = "int32"] = wide, isOne = given.every((d) => d === dtype);
  if (wide.has("uint64") && !isOne) {
    throw new TypeError(
      `Cannot apply foriLoop from ${from.dtype} to ${to.dtype}: wanted bounds of one dtype`,
    );
  }
  const counter = wide.size === 0 || isOne ? dtype : "int64";
  return [cast(asTensor(from), counter), cast(asTensor(to), counter)];
}

function bound(value: TensorLike, arg: string): OpInput {
  const dtype = typeof value === "number" ? { dtype: "int32" as const } : {};
  const input = toInput(value, arg, "foriLoop", dtype), dims = shapeOfInput(input);
  if (!isInteger(input.dtype)) {
    throw new TypeError(
      `Cannot apply foriLoop with ${arg} of dtype ${input.dtype}: wanted whole numbers`,
    );
  }
  if (dims !== null && dims.length !== 0) {
    throw new ValueError(
      `Cannot apply foriLoop with ${arg} of shape ${shapeText(dims)}: wanted a scalar`,
    );
  }
  return input;
}
