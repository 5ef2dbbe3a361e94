/**
 * The optimizers, in TensorFlow.js's numerics; AdamW in Keras's.
 */
import type { Attrs, OpDef } from "../core/op.ts";
import {
  ApplyAdadelta,
  ApplyAdagrad,
  ApplyAdam,
  ApplyAdaMax,
  ApplyAdamW,
  ApplyCenteredRmsProp,
  ApplyGradientDescent,
  ApplyMomentum,
  ApplyRmsProp,
} from "../ops/state/optimizer_updates.ts";
import type { Arithmetic } from "./arithmetic.ts";
import { Optimizer, type OptimizerConfig, type SlotInit } from "./optimizer.ts";

/** What stands under roots and in denominators where no epsilon is given. */
const EPSILON = 1e-7;

/** Plain gradient descent: `x -= lr · g`. */
export class SGDOptimizer extends Optimizer {
  /** Name of the class. */
  static override readonly className: string = "SGD";
  /** Order of the constructor's arguments. */
  static readonly configOrder: readonly string[] = ["learningRate"];
  /** Slots of the optimizer. */
  protected readonly slots: readonly SlotInit[] = [];
  /** The update op. */
  protected readonly update: OpDef = ApplyGradientDescent;

  /** Attributes of the update op. */
  protected attrs(): Attrs {
    return {};
  }
  /** Changes the learning rate. */
  setLearningRate(learningRate: number): void {
    this.learningRate = learningRate;
  }
  /** Its options. */
  getConfig(): OptimizerConfig {
    return { learningRate: this.learningRate };
  }
}

/** Gradient descent with momentum, plain or Nesterov's. */
export class MomentumOptimizer extends Optimizer {
  /** Name of the class. */
  static override readonly className: string = "Momentum";
  /** Order of the constructor's arguments. */
  static readonly configOrder: readonly string[] = ["learningRate", "momentum", "useNesterov"];
  /** Slots of the optimizer. */
  protected readonly slots: readonly SlotInit[] = [{ name: "momentum" }];
  /** The update op. */
  protected readonly update: OpDef = ApplyMomentum;
  #momentum: number;
  readonly #useNesterov: boolean;

  /** `momentum` is the part of the last step that is kept. */
  constructor(learningRate: number, momentum: number, useNesterov = false) {
    super(learningRate);
    this.#momentum = momentum;
    this.#useNesterov = useNesterov;
  }
  /** Attributes of the update op. */
  protected attrs(): Attrs {
    return { momentum: this.#momentum, use_nesterov: this.#useNesterov };
  }
  /** Changes the learning rate. */
  setLearningRate(learningRate: number): void {
    this.learningRate = learningRate;
  }
  /** Changes the momentum, for eager steps and those compiled later. */
  setMomentum(momentum: number): void {
    this.#momentum = momentum;
  }
  /** Its options. */
  getConfig(): OptimizerConfig {
    return {
      learningRate: this.learningRate,
      momentum: this.#momentum,
      useNesterov: this.#useNesterov,
    };
  }
}

/** Adagrad: steps shrink with the sum of squared gradients. */
export class AdagradOptimizer extends Optimizer {
  /** Name of the class. */
  static override readonly className: string = "Adagrad";
  /** Order of the constructor's arguments. */
  static readonly configOrder: readonly string[] = ["learningRate", "initialAccumulatorValue"];
  /** Slots of the optimizer. */
  protected readonly slots: readonly SlotInit[];
  /** The update op. */
  protected readonly update: OpDef = ApplyAdagrad;
  readonly #initial: number;

  /** `initialAccumulatorValue` is where the sums start. */
  constructor(learningRate: number, initialAccumulatorValue = 0.1) {
    super(learningRate);
    this.#initial = initialAccumulatorValue;
    this.slots = [{ name: "accumulator", initial: initialAccumulatorValue }];
  }
  /** Attributes of the update op. */
  protected attrs(): Attrs {
    return { epsilon: EPSILON };
  }
  /** Its options. */
  getConfig(): OptimizerConfig {
    return { learningRate: this.learningRate, initialAccumulatorValue: this.#initial };
  }
}

/** Adadelta: steps scaled by running averages of squared gradients and squared steps. */
export class AdadeltaOptimizer extends Optimizer {
  /** Name of the class. */
  static override readonly className: string = "Adadelta";
  /** Order of the constructor's arguments. */
  static readonly configOrder: readonly string[] = ["learningRate", "rho", "epsilon"];
  /** Slots of the optimizer. */
  protected readonly slots: readonly SlotInit[] = [{ name: "accum_grad" }, { name: "accum_var" }];
  /** The update op. */
  protected readonly update: OpDef = ApplyAdadelta;
  readonly #rho: number;
  readonly #epsilon: number;

  /** `rho` is the decay of both averages. */
  constructor(learningRate: number, rho: number, epsilon: number | null = null) {
    super(learningRate);
    this.#rho = rho;
    this.#epsilon = epsilon ?? EPSILON;
  }
  /** Attributes of the update op. */
  protected attrs(): Attrs {
    return { rho: this.#rho, epsilon: this.#epsilon, tfjs: true };
  }
  /** Its options. */
  getConfig(): OptimizerConfig {
    return { learningRate: this.learningRate, rho: this.#rho, epsilon: this.#epsilon };
  }
}

/** RMSProp, plain or centered, with momentum. */
export class RMSPropOptimizer extends Optimizer {
  /** Name of the class. */
  static override readonly className: string = "RMSProp";
  /** Order of the constructor's arguments. */
  static readonly configOrder: readonly string[] = [
    "learningRate",
    "decay",
    "momentum",
    "epsilon",
    "centered",
  ];
  /** Slots of the optimizer. */
  protected readonly slots: readonly SlotInit[];
  /** The update op. */
  protected readonly update: OpDef;
  readonly #decay: number;
  readonly #momentum: number;
  readonly #epsilon: number;
  readonly #centered: boolean;

  /** `decay` is that of the averages; `centered` subtracts the squared mean from the mean square. */
  constructor(
    learningRate: number,
    decay = 0.9,
    momentum = 0,
    epsilon: number | null = null,
    centered = false,
  ) {
    super(learningRate);
    this.#decay = decay;
    this.#momentum = momentum;
    this.#epsilon = epsilon ?? EPSILON;
    this.#centered = centered;
    this.update = centered ? ApplyCenteredRmsProp : ApplyRmsProp;
    this.slots = [...(centered ? [{ name: "mg" }] : []), { name: "rms" }, { name: "momentum" }];
  }
  /** Attributes of the update op. */
  protected attrs(): Attrs {
    return { rho: this.#decay, momentum: this.#momentum, epsilon: this.#epsilon };
  }
  /** Order in which TensorFlow.js saves the slots. */
  protected override get savedOrder(): readonly number[] {
    return this.#centered ? [1, 2, 0] : [0, 1];
  }
  /** Its options. */
  getConfig(): OptimizerConfig {
    return {
      learningRate: this.learningRate,
      decay: this.#decay,
      momentum: this.#momentum,
      epsilon: this.#epsilon,
      centered: this.#centered,
    };
  }
}

/** Adam: running means of gradients and squared gradients, corrected for their start. */
export class AdamOptimizer extends Optimizer {
  /** Name of the class. */
  static override readonly className: string = "Adam";
  /** Order of the constructor's arguments. */
  static readonly configOrder: readonly string[] = ["learningRate", "beta1", "beta2", "epsilon"];
  /** Slots of the optimizer. */
  protected readonly slots: readonly SlotInit[] = [{ name: "m" }, { name: "v" }];
  /** The update op. */
  protected readonly update: OpDef = ApplyAdam;
  readonly #beta1: number;
  readonly #beta2: number;
  readonly #epsilon: number;

  /** `beta1` and `beta2` are the decays of the two means. */
  constructor(learningRate: number, beta1: number, beta2: number, epsilon: number | null = null) {
    super(learningRate);
    this.#beta1 = beta1;
    this.#beta2 = beta2;
    this.#epsilon = epsilon ?? EPSILON;
  }
  /** Attributes of the update op. */
  protected attrs(): Attrs {
    return { beta1: this.#beta1, beta2: this.#beta2, epsilon: this.#epsilon };
  }
  /** The update op's scalars. */
  protected override scalars<N>(step: N, rate: N, a: Arithmetic<N>): readonly N[] {
    return [
      a.div(rate, missing(a, this.#beta1, step)),
      a.div(a.number(1), missing(a, this.#beta2, step)),
    ];
  }
  /** Its options. */
  getConfig(): OptimizerConfig {
    return {
      learningRate: this.learningRate,
      beta1: this.#beta1,
      beta2: this.#beta2,
      epsilon: this.#epsilon,
    };
  }
}

/** AdaMax: Adam with the largest gradient in place of the root mean square. */
export class AdamaxOptimizer extends Optimizer {
  /** Name of the class. */
  static override readonly className: string = "Adamax";
  /** Order of the constructor's arguments. */
  static readonly configOrder: readonly string[] = [
    "learningRate",
    "beta1",
    "beta2",
    "epsilon",
    "decay",
  ];
  /** Slots of the optimizer. */
  protected readonly slots: readonly SlotInit[] = [{ name: "m" }, { name: "v" }];
  /** The update op. */
  protected readonly update: OpDef = ApplyAdaMax;
  readonly #beta1: number;
  readonly #beta2: number;
  readonly #epsilon: number;
  readonly #decay: number;

  /** `decay` lowers the learning rate to `lr / (1 + decay · steps done)`. */
  constructor(
    learningRate: number,
    beta1: number,
    beta2: number,
    epsilon: number | null = null,
    decay = 0,
  ) {
    super(learningRate);
    this.#beta1 = beta1;
    this.#beta2 = beta2;
    this.#epsilon = epsilon ?? EPSILON;
    this.#decay = decay;
  }
  /** Attributes of the update op. */
  protected attrs(): Attrs {
    return { beta1: this.#beta1, beta2: this.#beta2, epsilon: this.#epsilon };
  }
  /** The update op's scalars. */
  protected override scalars<N>(step: N, rate: N, a: Arithmetic<N>): readonly N[] {
    const one = a.number(1);
    const slower = a.add(a.mul(a.sub(step, one), a.number(this.#decay)), one);
    return [a.div(a.div(rate, slower), missing(a, this.#beta1, step))];
  }
  /** Its options. */
  getConfig(): OptimizerConfig {
    return {
      learningRate: this.learningRate,
      beta1: this.#beta1,
      beta2: this.#beta2,
      epsilon: this.#epsilon,
      decay: this.#decay,
    };
  }
}

/** AdamW: Adam whose variables decay apart from the gradient, as Keras computes it. */
export class AdamWOptimizer extends Optimizer {
  /** Name of the class. */
  static override readonly className: string = "AdamW";
  /** Order of the constructor's arguments. */
  static readonly configOrder: readonly string[] = [
    "learningRate",
    "weightDecay",
    "beta1",
    "beta2",
    "epsilon",
  ];
  /** Slots of the optimizer. */
  protected readonly slots: readonly SlotInit[] = [{ name: "m" }, { name: "v" }];
  /** The update op. */
  protected readonly update: OpDef = ApplyAdamW;
  readonly #weightDecay: number;
  readonly #beta1: number;
  readonly #beta2: number;
  readonly #epsilon: number;

  /** Each step takes `learningRate · weightDecay` of every variable away. */
  constructor(
    learningRate: number,
    weightDecay: number,
    beta1: number,
    beta2: number,
    epsilon: number | null = null,
  ) {
    super(learningRate);
    this.#weightDecay = weightDecay;
    this.#beta1 = beta1;
    this.#beta2 = beta2;
    this.#epsilon = epsilon ?? EPSILON;
  }
  /** Attributes of the update op. */
  protected attrs(): Attrs {
    return { beta1: this.#beta1, beta2: this.#beta2, epsilon: this.#epsilon };
  }
  /** The update op's scalars. */
  protected override scalars<N>(step: N, rate: N, a: Arithmetic<N>): readonly N[] {
    const root = a.sqrt(missing(a, this.#beta2, step));
    return [
      a.div(a.mul(rate, root), missing(a, this.#beta1, step)),
      a.mul(rate, a.number(this.#weightDecay)),
    ];
  }
  /** Its options. */
  getConfig(): OptimizerConfig {
    return {
      learningRate: this.learningRate,
      weightDecay: this.#weightDecay,
      beta1: this.#beta1,
      beta2: this.#beta2,
      epsilon: this.#epsilon,
    };
  }
}

/** `1 - beta^step`: the weight that a running mean has gathered so far. */
function missing<N>(a: Arithmetic<N>, beta: number, step: N): N {
  return a.sub(a.number(1), a.pow(a.number(beta), step));
}
