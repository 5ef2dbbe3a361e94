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

/** Slots of Adam and what follows it: two running means. */
const MOMENTS: readonly SlotInit[] = [{ name: "m" }, { name: "v" }];

const momentAttrs = ({ beta1, beta2, epsilon }: OptimizerConfig): Attrs => ({
  beta1,
  beta2,
  epsilon,
});

/** `1 - beta^step`: the weight that a running mean has gathered so far. */
function missing<N>(a: Arithmetic<N>, beta: OptimizerConfig[string], step: N): N {
  return a.sub(a.number(1), a.pow(a.number(Number(beta)), step));
}

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

  /** True: it moves nothing without a gradient. */
  protected override get leavesUnnamedRows(): boolean {
    return true;
  }
  /** Changes the learning rate. */
  setLearningRate(learningRate: number): void {
    this.learningRate = learningRate;
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

  /** `momentum` is the part of the last step that is kept. */
  constructor(learningRate: number, momentum: number, useNesterov = false) {
    super(learningRate, { momentum, useNesterov });
  }
  /** Attributes of the update op. */
  protected override attrs(): Attrs {
    const { momentum, useNesterov } = this.options;
    return { momentum, use_nesterov: useNesterov };
  }
  /** Changes the learning rate. */
  setLearningRate(learningRate: number): void {
    this.learningRate = learningRate;
  }
  /** Changes the momentum, for eager steps and those compiled later. */
  setMomentum(momentum: number): void {
    this.options = { ...this.options, momentum };
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

  /** `initialAccumulatorValue` is where the sums start. */
  constructor(learningRate: number, initialAccumulatorValue = 0.1) {
    super(learningRate, { initialAccumulatorValue });
    this.slots = [{ name: "accumulator", initial: initialAccumulatorValue }];
  }
  /** Attributes of the update op. */
  protected override attrs(): Attrs {
    return { epsilon: EPSILON };
  }
  /** True: sums grow by what gradients there are. */
  protected override get leavesUnnamedRows(): boolean {
    return true;
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

  /** `rho` is the decay of both averages. */
  constructor(learningRate: number, rho: number, epsilon: number | null = null) {
    super(learningRate, { rho, epsilon: epsilon ?? EPSILON });
  }
  /** Attributes of the update op. */
  protected override attrs(): Attrs {
    return { ...this.options, tfjs: true };
  }
}

/** RMSProp, plain or centered, with momentum. */
export class RMSPropOptimizer extends Optimizer {
  /** Name of the class. */
  static override readonly className: string = "RMSProp";
  /** Order of the constructor's arguments. */
  static readonly configOrder: readonly string[] = [
    ...["learningRate", "decay", "momentum", "epsilon", "centered"],
  ];
  /** Slots of the optimizer. */
  protected readonly slots: readonly SlotInit[];
  /** The update op. */
  protected readonly update: OpDef;

  /** `decay` is that of the averages; `centered` subtracts the squared mean from the mean square. */
  constructor(
    learningRate: number,
    decay = 0.9,
    momentum = 0,
    epsilon: number | null = null,
    centered = false,
  ) {
    super(learningRate, { decay, momentum, epsilon: epsilon ?? EPSILON, centered });
    this.update = centered ? ApplyCenteredRmsProp : ApplyRmsProp;
    this.slots = [...(centered ? [{ name: "mg" }] : []), { name: "rms" }, { name: "momentum" }];
  }
  /** Attributes of the update op. */
  protected override attrs(): Attrs {
    const { decay, momentum, epsilon } = this.options;
    return { rho: decay, momentum, epsilon };
  }
  /** Order in which TensorFlow.js saves the slots. */
  protected override get savedOrder(): readonly number[] {
    return this.options.centered ? [1, 2, 0] : [0, 1];
  }
}

/** Adam: running means of gradients and squared gradients, corrected for their start. */
export class AdamOptimizer extends Optimizer {
  /** Name of the class. */
  static override readonly className: string = "Adam";
  /** Order of the constructor's arguments. */
  static readonly configOrder: readonly string[] = ["learningRate", "beta1", "beta2", "epsilon"];
  /** Slots of the optimizer. */
  protected readonly slots: readonly SlotInit[] = MOMENTS;
  /** The update op. */
  protected readonly update: OpDef = ApplyAdam;

  /** `beta1` and `beta2` are the decays of the two means. */
  constructor(learningRate: number, beta1: number, beta2: number, epsilon: number | null = null) {
    super(learningRate, { beta1, beta2, epsilon: epsilon ?? EPSILON });
  }
  /** Attributes of the update op. */
  protected override attrs(): Attrs {
    return momentAttrs(this.options);
  }
  /** The update op's scalars. */
  protected override scalars<N>(step: N, rate: N, a: Arithmetic<N>): readonly N[] {
    return [
      a.div(rate, missing(a, this.options.beta1, step)),
      a.div(a.number(1), missing(a, this.options.beta2, step)),
    ];
  }
}

/** AdaMax: Adam with the largest gradient in place of the root mean square. */
export class AdamaxOptimizer extends Optimizer {
  /** Name of the class. */
  static override readonly className: string = "Adamax";
  /** Order of the constructor's arguments. */
  static readonly configOrder: readonly string[] = [
    ...["learningRate", "beta1", "beta2", "epsilon", "decay"],
  ];
  /** Slots of the optimizer. */
  protected readonly slots: readonly SlotInit[] = MOMENTS;
  /** The update op. */
  protected readonly update: OpDef = ApplyAdaMax;

  /** `decay` lowers the learning rate to `lr / (1 + decay · steps done)`. */
  constructor(
    learningRate: number,
    beta1: number,
    beta2: number,
    epsilon: number | null = null,
    decay = 0,
  ) {
    super(learningRate, { beta1, beta2, epsilon: epsilon ?? EPSILON, decay });
  }
  /** Attributes of the update op. */
  protected override attrs(): Attrs {
    return momentAttrs(this.options);
  }
  /** The update op's scalars. */
  protected override scalars<N>(step: N, rate: N, a: Arithmetic<N>): readonly N[] {
    const one = a.number(1), decay = a.number(Number(this.options.decay));
    const slower = a.add(a.mul(a.sub(step, one), decay), one);
    return [a.div(a.div(rate, slower), missing(a, this.options.beta1, step))];
  }
}

/** AdamW: Adam whose variables decay apart from the gradient, as Keras computes it. */
export class AdamWOptimizer extends Optimizer {
  /** Name of the class. */
  static override readonly className: string = "AdamW";
  /** Order of the constructor's arguments. */
  static readonly configOrder: readonly string[] = [
    ...["learningRate", "weightDecay", "beta1", "beta2", "epsilon"],
  ];
  /** Slots of the optimizer. */
  protected readonly slots: readonly SlotInit[] = MOMENTS;
  /** The update op. */
  protected readonly update: OpDef = ApplyAdamW;

  /** Each step takes `learningRate · weightDecay` of every variable away. */
  constructor(
    learningRate: number,
    weightDecay: number,
    beta1: number,
    beta2: number,
    epsilon: number | null = null,
  ) {
    super(learningRate, { weightDecay, beta1, beta2, epsilon: epsilon ?? EPSILON });
  }
  /** Attributes of the update op. */
  protected override attrs(): Attrs {
    return momentAttrs(this.options);
  }
  /** The update op's scalars. */
  protected override scalars<N>(step: N, rate: N, a: Arithmetic<N>): readonly N[] {
    const root = a.sqrt(missing(a, this.options.beta2, step));
    return [
      a.div(a.mul(rate, root), missing(a, this.options.beta1, step)),
      a.mul(rate, a.number(Number(this.options.weightDecay))),
    ];
  }
}
