/** Learning rates that follow the number of steps taken. The public name is `tf.train.schedules`. */
import { optionCheck, wantList, wantNumber } from "../../engine/core/arguments.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { showFunction } from "../../engine/core/arrays/shown.ts";
import { Tensor } from "../../engine/core/tensor.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { type Arithmetic, numberArithmetic, tensorArithmetic } from "./arithmetic.ts";
import { type Rate, rateAt, type Schedule } from "./rate.ts";

/** Makes a schedule of its formula; `step` counts the steps that are done, from 0. The call that made it is its text. */
function scheduleOf(
  name: string,
  args: readonly unknown[],
  at: <N>(step: N, a: Arithmetic<N>) => N,
): Schedule {
  const schedule = (step: number | Tensor): unknown => {
    if (!(step instanceof Tensor)) return at(step, numberArithmetic);
    const dtype = step.dtype === "float64" ? "float64" : "float32";
    return at(cast(step, dtype), tensorArithmetic(dtype));
  };
  const text = `tf.train.schedules.${name}(${
    args.map(argumentText).filter((arg) => arg !== "{}").join(", ")
  })`;
  const made = Object.assign(schedule, { formula: at }) as Schedule;
  return showFunction(made, () => text);
}

/** Formats an argument; functions other than schedules have long texts. */
function argumentText(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(argumentText).join(", ")}]`;
  if (typeof value === "function") return "formula" in value ? String(value) : "f";
  return value !== null && typeof value === "object" ? JSON.stringify(value) : String(value);
}

/** Checks that numbers are such; returns nothing. */
function checkNumbers(fn: string, numbers: Readonly<Record<string, number>>): void {
  for (const [name, value] of Object.entries(numbers)) wantNumber(value, name, fn);
}

function checkSteps(fn: string, name: string, steps: number): void {
  wantNumber(steps, name, fn);
  if (steps > 0) return;
  throw new ValueError(
    `Cannot make a schedule by ${fn}(): ${name} must be above 0, received ${steps}`,
  );
}

/** Part of a way that is done: from 0 to 1. */
function partOf<N>(step: N, steps: number, a: Arithmetic<N>): N {
  return a.div(a.min(a.max(step, a.number(0)), a.number(steps)), a.number(steps));
}

/** From 1 to 0 along half a cosine. */
function cosine<N>(part: N, a: Arithmetic<N>): N {
  const wave = a.cos(a.mul(part, a.number(Math.PI)));
  return a.mul(a.add(wave, a.number(1)), a.number(0.5));
}

/** `from + (to - from) · part`. */
function between<N>(from: number, to: number, part: N, a: Arithmetic<N>): N {
  return a.add(a.mul(part, a.number(to - from)), a.number(from));
}

/**
 * The same rate at each step.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.train.schedules.constant(0.5)(10)); // 0.5
 * ```
 */
export function constant(value: number): Schedule {
  wantNumber(value, "value", "constant");
  return scheduleOf("constant", [value], (_, a) => a.number(value));
}

/**
 * From one rate to another in equal parts; the latter holds after `steps` steps. Throws `ValueError` unless `steps` is above 0.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const rate = tf.train.schedules.linear(0, 1, 4);
 * console.log([0, 1, 4, 9].map((step) => rate(step))); // [0, 0.25, 1, 1]
 * ```
 */
export function linear(from: number, to: number, steps: number): Schedule {
  checkNumbers("linear", { from, to });
  checkSteps("linear", "steps", steps);
  return scheduleOf(
    "linear",
    [from, to, steps],
    (step, a) => between(from, to, partOf(step, steps, a), a),
  );
}

/**
 * `rate · decayRate ^ (step / decaySteps)`, in whole powers with `staircase`. Follows Keras's `ExponentialDecay`. Throws
 * `ValueError` unless `decaySteps` is above 0.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const rate = tf.train.schedules.exponentialDecay(8, 2, 0.5, { staircase: true });
 * console.log([0, 1, 2, 5].map((step) => rate(step))); // [8, 8, 4, 2]
 * ```
 */
export function exponentialDecay(
  rate: number,
  decaySteps: number,
  decayRate: number,
  options: StaircaseOptions = {},
): Schedule {
  const staircase = checkStaircase("exponentialDecay", options);
  checkNumbers("exponentialDecay", { rate, decayRate });
  checkSteps("exponentialDecay", "decaySteps", decaySteps);
  return scheduleOf("exponentialDecay", [rate, decaySteps, decayRate, options], (step, a) => {
    const turns = a.div(step, a.number(decaySteps));
    return a.mul(a.number(rate), a.pow(a.number(decayRate), staircase ? a.floor(turns) : turns));
  });
}

/**
 * `rate / (1 + decayRate · step / decaySteps)`, at whole quotients with `staircase`. Follows Keras's `InverseTimeDecay`.
 * Throws `ValueError` unless `decaySteps` is above 0.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.train.schedules.inverseTimeDecay(1, 10, 0.5)(20)); // 0.5
 * ```
 */
export function inverseTimeDecay(
  rate: number,
  decaySteps: number,
  decayRate: number,
  options: StaircaseOptions = {},
): Schedule {
  const staircase = checkStaircase("inverseTimeDecay", options);
  checkNumbers("inverseTimeDecay", { rate, decayRate });
  checkSteps("inverseTimeDecay", "decaySteps", decaySteps);
  return scheduleOf("inverseTimeDecay", [rate, decaySteps, decayRate, options], (step, a) => {
    const turns = a.div(step, a.number(decaySteps)), whole = staircase ? a.floor(turns) : turns;
    return a.div(a.number(rate), a.add(a.mul(whole, a.number(decayRate)), a.number(1)));
  });
}

/** Options of decays that may go in whole turns. */
export interface StaircaseOptions {
  /** Let the rate change at whole turns only. Default false. */
  readonly staircase?: boolean;
}

function checkStaircase(fn: string, options: StaircaseOptions): boolean {
  optionCheck<StaircaseOptions>(fn, { staircase: true })(options);
  return options.staircase ?? false;
}

/** Options of {@linkcode cosineDecay}. */
export interface CosineOptions {
  /** The last rate as part of the greatest. Default 0. */
  readonly alpha?: number;
  /** Steps in which the rate first grows in equal parts, before the decay. Default 0. */
  readonly warmupSteps?: number;
  /** The rate after these steps, from which it decays. Default the given rate, and 0 is where it begins. */
  readonly warmupTarget?: number;
}

const checkCosine = optionCheck<CosineOptions>("cosineDecay", {
  alpha: true,
  warmupSteps: true,
  warmupTarget: true,
});

/**
 * Half a cosine from a rate down to its part `alpha` in `decaySteps` steps, after `warmupSteps` in which it grows: from `rate` to
 * `warmupTarget`, or where that is not given from 0 to `rate`. Follows Keras's `CosineDecay`. Throws `ValueError` unless `decaySteps` is above 0.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const rate = tf.train.schedules.cosineDecay(1, 4, { warmupSteps: 2 });
 * console.log([0, 1, 2, 4, 6].map((step) => Math.round(rate(step) * 100) / 100)); // [0, 0.5, 1, 0.5, 0]
 * ```
 */
export function cosineDecay(
  rate: number,
  decaySteps: number,
  options: CosineOptions = {},
): Schedule {
  checkCosine(options);
  const { alpha = 0, warmupSteps = 0, warmupTarget } = options;
  checkNumbers("cosineDecay", { rate, alpha, warmupSteps });
  checkSteps("cosineDecay", "decaySteps", decaySteps);
  const from = warmupTarget === undefined ? 0 : rate, top = warmupTarget ?? rate;
  return scheduleOf("cosineDecay", [rate, decaySteps, options], (step, a) => {
    const part = partOf(a.sub(step, a.number(warmupSteps)), decaySteps, a);
    const decayed = between(alpha * top, top, cosine(part, a), a);
    if (warmupSteps <= 0) return decayed;
    const grown = between(from, top, partOf(step, warmupSteps, a), a);
    return a.ifLess(step, a.number(warmupSteps), grown, decayed);
  });
}

/** Options of {@linkcode polynomialDecay}. */
export interface PolynomialOptions {
  /** The last rate. Default 0.0001. */
  readonly endRate?: number;
  /** Power of what remains of the way. Default 1. */
  readonly power?: number;
  /** Go on after `decaySteps`, in as many steps again and again. Default false. */
  readonly cycle?: boolean;
}

const checkPolynomial = optionCheck<PolynomialOptions>("polynomialDecay", {
  endRate: true,
  power: true,
  cycle: true,
});

/**
 * From a rate to `endRate` by `(1 - step / decaySteps) ^ power`; with `cycle` over ever more steps. Follows Keras's
 * `PolynomialDecay`. Throws `ValueError` unless `decaySteps` is above 0.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const rate = tf.train.schedules.polynomialDecay(1, 4, { endRate: 0, power: 2 });
 * console.log([0, 2, 4].map((step) => rate(step))); // [1, 0.25, 0]
 * ```
 */
export function polynomialDecay(
  rate: number,
  decaySteps: number,
  options: PolynomialOptions = {},
): Schedule {
  checkPolynomial(options);
  const { endRate = 0.0001, power = 1, cycle = false } = options;
  checkNumbers("polynomialDecay", { rate, endRate, power });
  checkSteps("polynomialDecay", "decaySteps", decaySteps);
  return scheduleOf("polynomialDecay", [rate, decaySteps, options], (step, a) => {
    const one = a.number(1), steps = a.number(decaySteps);
    const turns = a.div(step, steps);
    // The least whole number of turns that is not below, at least one.
    const whole = a.max(a.sub(a.number(0), a.floor(a.sub(a.number(0), turns))), one);
    const part = cycle ? a.div(turns, whole) : partOf(step, decaySteps, a);
    const left = a.pow(a.max(a.sub(one, part), a.number(0)), a.number(power));
    return between(endRate, rate, left, a);
  });
}

/**
 * `values[0]` up to step `boundaries[0]`, that included, then `values[1]` up to `boundaries[1]`, and so on. Follows Keras's
 * `PiecewiseConstantDecay`. Throws `ValueError` unless there is one value more than boundaries.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const rate = tf.train.schedules.piecewiseConstant([2, 3], [1, 0.5, 0.25]);
 * console.log([2, 3, 4].map((step) => rate(step))); // [1, 0.5, 0.25]
 * ```
 */
export function piecewiseConstant(
  boundaries: readonly number[],
  values: readonly number[],
): Schedule {
  wantList(values, "values", "piecewiseConstant");
  values.forEach((value, i) => wantNumber(value, `values[${i}]`, "piecewiseConstant"));
  checkBoundaries("piecewiseConstant", boundaries, values.length);
  return scheduleOf("piecewiseConstant", [boundaries, values], (step, a) =>
    boundaries.reduce(
      (before, end, i) => a.ifLess(a.number(end), step, a.number(values[i + 1]), before),
      a.number(values[0]),
    ));
}

function checkBoundaries(fn: string, boundaries: readonly number[], count: number): void {
  wantList(boundaries, "boundaries", fn);
  boundaries.forEach((end, i) => wantNumber(end, `boundaries[${i}]`, fn));
  if (boundaries.length === count - 1) return;
  throw new ValueError(
    `Cannot make a schedule by ${fn}(): received ${count} parts and ${boundaries.length} boundaries, wanted one boundary less than parts`,
  );
}

/** Options of {@linkcode oneCycle}. */
export interface OneCycleOptions {
  /** Part of the steps in which the rate grows. Default 0.3. */
  readonly warmupPart?: number;
  /** The greatest rate over the first one. Default 25. */
  readonly divFactor?: number;
  /** The first rate over the last one. Default 10,000. */
  readonly finalDivFactor?: number;
}

const checkOneCycle = optionCheck<OneCycleOptions>("oneCycle", {
  warmupPart: true,
  divFactor: true,
  finalDivFactor: true,
});

/**
 * One cycle: half a cosine up to `maxRate`, and one down to almost nothing, in `steps` steps, the last of which is the end. Follows
 * `OneCycleLR` of PyTorch. Throws `ValueError` unless `steps` is above 0.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const rate = tf.train.schedules.oneCycle(1, 10, { warmupPart: 0.6, divFactor: 4 });
 * console.log([0, 5].map((step) => Math.round(rate(step) * 1000) / 1000)); // [0.25, 1]
 * ```
 */
export function oneCycle(maxRate: number, steps: number, options: OneCycleOptions = {}): Schedule {
  checkOneCycle(options);
  const { warmupPart = 0.3, divFactor = 25, finalDivFactor = 1e4 } = options;
  checkNumbers("oneCycle", { maxRate, warmupPart, divFactor, finalDivFactor });
  checkSteps("oneCycle", "steps", steps);
  const first = maxRate / divFactor, last = first / finalDivFactor;
  const top = warmupPart * steps - 1, fall = steps - 1 - top;
  return scheduleOf("oneCycle", [maxRate, steps, options], (step, a) => {
    const peak = a.number(top);
    const down = cosine(partOf(a.sub(step, peak), fall, a), a);
    const falling = between(last, maxRate, down, a);
    if (top <= 0) return falling;
    const up = cosine(partOf(step, top, a), a);
    return a.ifLess(step, peak, between(maxRate, first, up, a), falling);
  });
}

/**
 * Schedules one after the other: each begins, at its own step 0, where the boundary before it is reached. Rates may be numbers.
 * Follows `join_schedules` of optax. Throws `ValueError` unless there is one schedule more than boundaries.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { join, linear } = tf.train.schedules;
 * const rate = join([linear(0, 1, 2), 1, linear(1, 0, 2)], [2, 4]);
 * console.log([0, 1, 2, 3, 4, 5, 6].map((step) => rate(step))); // [0, 0.5, 1, 1, 1, 0.5, 0]
 * ```
 */
export function join(schedules: readonly Rate[], boundaries: readonly number[]): Schedule {
  wantList(schedules, "schedules", "join", "schedules");
  checkBoundaries("join", boundaries, schedules.length);
  return scheduleOf("join", [schedules, boundaries], (step, a) =>
    boundaries.reduce(
      (before, begin, i) => {
        const since = a.sub(step, a.number(begin));
        return a.ifLess(step, a.number(begin), before, rateAt(schedules[i + 1], since, a));
      },
      rateAt(schedules[0], step, a),
    ));
}
