/** The FTRL optimizer of TensorFlow 1. */
import type { TensorLike } from "../../engine/core/tensor.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { optionCheck, wantNumber, wantString } from "../../engine/core/arguments.ts";
import { add, div, mul } from "../../engine/ops/pointwise/arithmetic.ts";
import { maximum } from "../../engine/ops/pointwise/select.ts";
import { checkRates, type Rate, valueOf } from "./optimizer_arguments.ts";
import { Optimizer, type Update } from "./optimizer.ts";

/** Options of {@linkcode FtrlOptimizer}. */
export interface FtrlOptions {
  /** Power of the sums that scales the learning rate, at most 0. Default -0.5; 0 for a constant rate. */
  readonly learningRatePower?: number | undefined;
  /** Initial sums of squared gradients, at least 0. Default 0.1. */
  readonly initialAccumulatorValue?: number | undefined;
  /** Strength of the L1 penalty, at least 0. Default 0. */
  readonly l1RegularizationStrength?: number | undefined;
  /** Strength of the stabilizing L2 penalty, at least 0. Default 0. */
  readonly l2RegularizationStrength?: number | undefined;
  /** Strength of an L2 penalty on the loss, of the rows alone that have a gradient; at least 0. Default 0. */
  readonly l2ShrinkageRegularizationStrength?: number | undefined;
  /** Added to the L2 penalty over twice the learning rate. Default 0. */
  readonly beta?: number | null | undefined;
  /** Changes nothing: updates of a variable never meet here. */
  readonly useLocking?: boolean | undefined;
  /** Ending of the names of the sums. Default the optimizer's name. */
  readonly accumName?: string | null | undefined;
  /** Ending of the names of the linear terms. Default the optimizer's name. */
  readonly linearName?: string | null | undefined;
  /** Name of the operations and slots. Default `"Ftrl"`. */
  readonly name?: string | undefined;
}

const checkFtrl = optionCheck<FtrlOptions>("FtrlOptimizer", {
  learningRatePower: true,
  initialAccumulatorValue: true,
  l1RegularizationStrength: true,
  l2RegularizationStrength: true,
  l2ShrinkageRegularizationStrength: true,
  beta: true,
  useLocking: true,
  accumName: true,
  linearName: true,
  name: true,
});

/** Every option that is a number. */
type Settings = Readonly<
  Record<Exclude<keyof FtrlOptions, "useLocking" | "accumName" | "linearName" | "name">, number>
>;

/** Names of the arguments after the rate, by TensorFlow's positions. */
const POSITIONS = [
  "learningRatePower",
  "initialAccumulatorValue",
  "l1RegularizationStrength",
  "l2RegularizationStrength",
  "useLocking",
  "name",
  "accumName",
  "linearName",
  "l2ShrinkageRegularizationStrength",
  "beta",
] as const satisfies readonly (keyof FtrlOptions)[];

function optionsOf(given: readonly unknown[]): FtrlOptions {
  const [first] = given;
  if (typeof first === "object" && first !== null) return first as FtrlOptions;
  return Object.fromEntries(given.map((value, i) => [POSITIONS[i], value]));
}

/** Follow-the-regularized-leader. Follows TensorFlow `tf.compat.v1.train.FtrlOptimizer`. */
export class FtrlOptimizer extends Optimizer {
  readonly #rate: Rate;
  readonly #options: Settings;
  readonly #named: Readonly<Record<string, string | null>>;

  /** The options. */
  constructor(learningRate: Rate, options?: FtrlOptions);
  /** TensorFlow's positions. */
  constructor(
    learningRate: Rate,
    learningRatePower?: number,
    initialAccumulatorValue?: number,
    l1RegularizationStrength?: number,
    l2RegularizationStrength?: number,
    useLocking?: boolean,
    name?: string,
    accumName?: string | null,
    linearName?: string | null,
    l2ShrinkageRegularizationStrength?: number,
    beta?: number | null,
  );
  /** Throws `ValueError` for a power above zero, and for a sum or a strength below it; `TypeError` for values of another kind. */
  constructor(learningRate: Rate, ...given: readonly unknown[]) {
    const options = optionsOf(given);
    checkFtrl(options);
    const { useLocking = false, name = "Ftrl" } = options;
    super(useLocking, name);
    checkRates("FtrlOptimizer", { learningRate });
    this.#rate = learningRate;
    const {
      learningRatePower = -0.5,
      initialAccumulatorValue = 0.1,
      l1RegularizationStrength = 0,
      l2RegularizationStrength = 0,
      l2ShrinkageRegularizationStrength = 0,
      accumName = null,
      linearName = null,
    } = options;
    const beta = options.beta ?? 0;
    this.#options = {
      learningRatePower,
      initialAccumulatorValue,
      l1RegularizationStrength,
      l2RegularizationStrength,
      l2ShrinkageRegularizationStrength,
      beta,
    };
    this.#named = { accum: accumName, linear: linearName };
    for (const [name, value] of Object.entries(this.#options)) {
      wantNumber(value, name, "FtrlOptimizer");
    }
    for (const [name, value] of Object.entries({ accumName, linearName })) {
      if (value !== null) wantString(value, name, "FtrlOptimizer");
    }
    if (!(learningRatePower <= 0)) {
      throw new ValueError(
        `learning_rate_power ${learningRatePower} needs to be negative or zero`,
      );
    }
    const least = {
      initial_accumulator_value: initialAccumulatorValue,
      l1_regularization_strength: l1RegularizationStrength,
      l2_regularization_strength: l2RegularizationStrength,
      l2_shrinkage_regularization_strength: l2ShrinkageRegularizationStrength,
    };
    for (const [key, value] of Object.entries(least)) {
      if (!(value >= 0)) throw new ValueError(`${key} ${value} needs to be positive or zero`);
    }
  }
  protected update(): Update {
    const {
      learningRatePower,
      initialAccumulatorValue,
      l1RegularizationStrength: l1,
      l2RegularizationStrength: l2,
      l2ShrinkageRegularizationStrength: shrinkage,
      beta,
    } = this.#options;
    const rate = valueOf(this.#rate);
    const penalty = beta === 0 ? l2 : add(l2, div(beta, mul(2, maximum(rate, 1e-36))));
    const strengths: TensorLike[] = [
      l1,
      penalty,
      ...(shrinkage > 0 ? [shrinkage] : []),
      learningRatePower,
    ];
    return {
      kind: shrinkage > 0 ? "FtrlV2" : "Ftrl",
      slots: { accum: initialAccumulatorValue, linear: 0 },
      named: this.#named,
      inputs: (g, scalar) => [g, scalar(rate), ...strengths.map(scalar)],
    };
  }
}
