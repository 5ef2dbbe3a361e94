/** The optimizers of TensorFlow 1, in its numerics. Updates never meet each other here, so that `useLocking` changes nothing. */
import { wantBoolean, wantNumber } from "../../engine/core/arguments.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { mul } from "../../engine/ops/pointwise/arithmetic.ts";
import type { Graph } from "../../engine/graph/graph.ts";
import type { Operation } from "../../engine/graph/operation.ts";
import type { Variable } from "../../engine/runtime/variables/variable.ts";
import { checkRates, type Rate, valueOf } from "./optimizer_arguments.ts";
import { Optimizer, type Update } from "./optimizer.ts";

/** Plain gradient descent. Follows TensorFlow `tf.compat.v1.train.GradientDescentOptimizer`. */
export class GradientDescentOptimizer extends Optimizer {
  readonly #rate: Rate;

  /** The rate may be a tensor. */
  constructor(learningRate: Rate, useLocking = false, name = "GradientDescent") {
    super(useLocking, name);
    checkRates("GradientDescentOptimizer", { learningRate });
    this.#rate = learningRate;
  }
  protected update(): Update {
    const rate = valueOf(this.#rate);
    return {
      kind: "GradientDescent",
      slots: {},
      inputs: (g, scalar) => [scalar(rate), g],
      rows: "scatter",
    };
  }
}

/** Gradient descent with momentum. Follows TensorFlow `tf.compat.v1.train.MomentumOptimizer`. */
export class MomentumOptimizer extends Optimizer {
  readonly #rate: Rate;
  readonly #momentum: Rate;
  readonly #useNesterov: boolean;

  /** `momentum` is the part of the last step that is kept. */
  constructor(
    learningRate: Rate,
    momentum: Rate,
    useLocking = false,
    name = "Momentum",
    useNesterov = false,
  ) {
    super(useLocking, name);
    checkRates("MomentumOptimizer", { learningRate, momentum });
    wantBoolean(useNesterov, "useNesterov", "MomentumOptimizer");
    this.#rate = learningRate;
    this.#momentum = momentum;
    this.#useNesterov = useNesterov;
  }
  protected update(): Update {
    const rate = valueOf(this.#rate), momentum = valueOf(this.#momentum);
    return {
      kind: "Momentum",
      slots: { momentum: 0 },
      inputs: (g, scalar) => [scalar(rate), g, scalar(momentum)],
      attrs: { use_nesterov: this.#useNesterov },
    };
  }
}

/** Adagrad. Follows TensorFlow `tf.compat.v1.train.AdagradOptimizer`. */
export class AdagradOptimizer extends Optimizer {
  readonly #rate: Rate;
  readonly #initial: number;

  /** Throws `ValueError` unless the initial sums are above zero. */
  constructor(
    learningRate: Rate,
    initialAccumulatorValue = 0.1,
    useLocking = false,
    name = "Adagrad",
  ) {
    super(useLocking, name);
    checkRates("AdagradOptimizer", { learningRate });
    wantNumber(initialAccumulatorValue, "initialAccumulatorValue", "AdagradOptimizer");
    if (!(initialAccumulatorValue > 0)) {
      throw new ValueError(
        `initial_accumulator_value must be positive: ${initialAccumulatorValue}`,
      );
    }
    this.#rate = learningRate;
    this.#initial = initialAccumulatorValue;
  }
  protected update(): Update {
    const rate = valueOf(this.#rate);
    return {
      kind: "Adagrad",
      slots: { accumulator: this.#initial },
      inputs: (g, scalar) => [scalar(rate), g],
    };
  }
}

/** Adadelta. Follows TensorFlow `tf.compat.v1.train.AdadeltaOptimizer`. */
export class AdadeltaOptimizer extends Optimizer {
  readonly #scalars: readonly Rate[];

  /** `rho` is the decay of both averages. */
  constructor(
    learningRate: Rate = 0.001,
    rho: Rate = 0.95,
    epsilon: Rate = 1e-8,
    useLocking = false,
    name = "Adadelta",
  ) {
    super(useLocking, name);
    checkRates("AdadeltaOptimizer", { learningRate, rho, epsilon });
    this.#scalars = [learningRate, rho, epsilon];
  }
  protected update(): Update {
    const values = this.#scalars.map(valueOf);
    return {
      kind: "Adadelta",
      slots: { accum: 0, accum_update: 0 },
      inputs: (g, scalar) => [...values.map(scalar), g],
    };
  }
}

/** RMSProp, plain or centered. Follows TensorFlow `tf.compat.v1.train.RMSPropOptimizer`: mean squares start at one. */
export class RMSPropOptimizer extends Optimizer {
  readonly #scalars: readonly Rate[];
  readonly #centered: boolean;

  /** `centered` subtracts the squared mean from the mean square. */
  constructor(
    learningRate: Rate,
    decay: Rate = 0.9,
    momentum: Rate = 0,
    epsilon: Rate = 1e-10,
    useLocking = false,
    centered = false,
    name = "RMSProp",
  ) {
    super(useLocking, name);
    checkRates("RMSPropOptimizer", { learningRate, decay, momentum, epsilon });
    wantBoolean(centered, "centered", "RMSPropOptimizer");
    this.#scalars = [learningRate, decay, momentum, epsilon];
    this.#centered = centered;
  }
  protected update(): Update {
    const values = this.#scalars.map(valueOf);
    return {
      kind: this.#centered ? "CenteredRMSProp" : "RMSProp",
      slots: this.#centered ? { mg: 0, rms: 1, momentum: 0 } : { rms: 1, momentum: 0 },
      inputs: (g, scalar) => [...values.map(scalar), g],
    };
  }
}

/** Adam. Follows TensorFlow `tf.compat.v1.train.AdamOptimizer`: epsilon stands before the correction. */
export class AdamOptimizer extends Optimizer {
  readonly #scalars: readonly [Rate, Rate, Rate, Rate];
  readonly #powers = new WeakMap<Graph, readonly [Variable, Variable]>();

  /** `beta1` and `beta2` are the decays of the two means. */
  constructor(
    learningRate: Rate = 0.001,
    beta1: Rate = 0.9,
    beta2: Rate = 0.999,
    epsilon: Rate = 1e-8,
    useLocking = false,
    name = "Adam",
  ) {
    super(useLocking, name);
    checkRates("AdamOptimizer", { learningRate, beta1, beta2, epsilon });
    this.#scalars = [learningRate, beta1, beta2, epsilon];
  }
  #powersOf(graph: Graph): readonly [Variable, Variable] {
    let powers = this.#powers.get(graph);
    if (!powers) {
      const [, beta1, beta2] = this.#scalars;
      powers = [
        this.keep(graph, valueOf(beta1), "beta1_power"),
        this.keep(graph, valueOf(beta2), "beta2_power"),
      ];
      this.#powers.set(graph, powers);
    }
    return powers;
  }
  protected update(graph: Graph): Update {
    const powers = this.#powersOf(graph).map((p) => p.readValue());
    const values = this.#scalars.map(valueOf);
    return {
      kind: "Adam",
      slots: { m: 0, v: 0 },
      inputs: (g, scalar) => [...[...powers, ...values].map(scalar), g],
      rows: "whole",
    };
  }
  /** Multiplies the powers of the decays after all variables are updated. */
  protected override finish(graph: Graph): readonly Operation[] {
    const [, beta1, beta2] = this.#scalars;
    return this.#powersOf(graph).map((p, i) =>
      p.assign(mul(p, cast(valueOf(i === 0 ? beta1 : beta2), p.dtype)))!.operation
    );
  }
}
