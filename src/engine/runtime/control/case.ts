/** case and switchCase: one of several functions, by predicates or by number. */
import { currentInterpreter } from "../../core/apply.ts";
import { describe } from "../../core/convert.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { ValueError } from "../../core/errors.ts";
import type { CompositeTensor } from "../../core/composite.ts";
import type { Nest } from "../../core/nest.ts";
import { optionCheck, wantList } from "../../core/arguments.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { Assert } from "../../graph/assert.ts";
import { controlDependencies } from "../../graph/scopes.ts";
import { stack } from "../../ops/array/join.ts";
import { cast } from "../../ops/array/cast.ts";
import { asTensor, shapeOfInput, toInput } from "../../ops/input.ts";
import { equal, lessEqual } from "../../ops/pointwise/compare.ts";
import { sum } from "../../ops/reduce/reduce.ts";
import { tidy } from "../eager/tensor.ts";
import type { TensorArray } from "./tensor_array.ts";
import { runBranch, scalarOf } from "./branch.ts";
import { cond } from "./cond.ts";

/** Options of `tf.case`. */
export interface CaseOptions<T> {
  /**
   * The function that runs where no predicate is true. Default: the last one, after a check that its predicate is true.
   */
  readonly default?: (() => T) | undefined;
  /** Throw where more than one predicate is true. */
  readonly exclusive?: boolean;
}

const checkOptions = optionCheck<CaseOptions<unknown>>("case", { default: true, exclusive: true });
const checkSwitchOptions = optionCheck<Pick<CaseOptions<unknown>, "default">>("switchCase", {
  default: true,
});

/**
 * Runs the function of the first predicate that is true. All must return the same nest of tensors, ragged and sparse ones
 * included, of the same dtypes. Follows TensorFlow `tf.case`. Throws `InvalidArgumentError` where none is true and there is no default, and with `exclusive` where two are.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const sign = tf.function((x: tf.Tensor) =>
 *   tf.case([[tf.less(x, 0), () => tf.scalar(-1)], [tf.greater(x, 0), () => tf.scalar(1)]], {
 *     default: () => tf.scalar(0),
 *   })
 * );
 * console.log((sign(tf.scalar(-3)) as tf.Tensor).item()); // -1
 * ```
 */
export function caseOf<T extends Nest<Tensor | TensorArray | CompositeTensor>>(
  predFnPairs: readonly (readonly [TensorLike, () => T])[],
  options: CaseOptions<T> = {},
): T {
  checkOptions(options);
  wantList(predFnPairs, "predFnPairs", "case", "[condition, function]");
  if (predFnPairs.length === 0) {
    throw new ValueError("Argument `pred_fn_pairs` must have at least one pair: received none");
  }
  const predicates = predFnPairs.map((pair, i) => {
    wantList(pair, `predFnPairs[${i}]`, "case", "a condition and a function");
    const [p, fn] = pair;
    if (typeof fn !== "function") {
      throw new TypeError(`Each function of case must be callable: received ${describe(fn)}`);
    }
    return toInput(p, `predFnPairs[${i}]`, "case");
  });
  const checked = (check: (ps: Tensor[]) => Check): Check =>
    tidy(() => check(predicates.map(asTensor)));
  const build = (): T => {
    const last = predFnPairs.length - 1;
    const otherwise = options.default ?? (() => {
      const none = "None of the conditions evaluated as True. Conditions:";
      const check = checked((ps) => Assert(ps[last], [none, ...ps]));
      return after(check, predFnPairs[last][1]);
    });
    const pairs = options.default ? predFnPairs : predFnPairs.slice(0, -1);
    return pairs.reduceRight<() => T>(
      (rest, [, fn], i) => () => cond(predicates[i] as TensorLike, fn, rest),
      otherwise,
    )();
  };
  if (!options.exclusive) return build();
  const many = "More than one condition evaluated as True but exclusive=True. Conditions:";
  const check = checked((ps) =>
    Assert(lessEqual(sum(cast(stack(ps), "int32")), 1), [many, ...ps], ps.length)
  );
  return after(check, build);
}

/** A check in a graph; null where eager code has made it. */
type Check = ReturnType<typeof Assert>;

/** Runs `fn` under a control dependency on the check; in eager mode the check has run already. */
function after<T>(check: Check, fn: () => T): T {
  return check === null ? fn() : controlDependencies([check], fn);
}

/**
 * Runs the function of number `branchIndex`, `default` (by default the last one) for a number that none has. All must return the same nest
 * of tensors of the same dtypes. Follows TensorFlow `tf.switch_case`. Throws `ValueError` where there is no function.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const pick = (i: number) => tf.switchCase(i, [() => tf.scalar(10), () => tf.scalar(20)]).item();
 * console.log([pick(0), pick(1), pick(7), pick(-1)]); // [10, 20, 20, 20]
 * ```
 */
export function switchCase<T extends Nest<Tensor | TensorArray | CompositeTensor>>(
  branchIndex: TensorLike,
  branchFns: readonly (() => T)[],
  options: { readonly default?: (() => T) | undefined } = {},
): T {
  wantList(branchFns, "branchFns", "switchCase", "functions");
  checkSwitchOptions(options);
  if (branchFns.length === 0) {
    throw new ValueError("Argument `branch_fns` must have at least one function: received none");
  }
  for (const fn of branchFns) {
    if (typeof fn !== "function") {
      throw new TypeError(`Each function of switchCase must be callable: received ${describe(fn)}`);
    }
  }
  const index = toInput(branchIndex, "branchIndex", "switchCase", {
    dtype: typeof branchIndex === "number" ? "int32" : undefined,
  });
  const numbered = options.default ? branchFns : branchFns.slice(0, -1);
  const otherwise = options.default ?? branchFns.at(-1)!;
  const isNumber = shapeOfInput(index)?.length === 0 && index.dtype !== "string";
  if (isNumber && !currentInterpreter().symbolic) {
    return runBranch(numbered[Number(scalarOf(index))] ?? otherwise);
  }
  const at = asTensor(index);
  return numbered.reduceRight<() => T>(
    (rest, fn, i) => () => cond(equal(at, cast(i, at.dtype)), fn, rest),
    otherwise,
  )();
}
