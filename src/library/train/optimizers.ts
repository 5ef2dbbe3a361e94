/** The optimizers, in TensorFlow.js's numerics; AdamW in Keras's. */
import type { Attrs } from "../../engine/core/op.ts";
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
} from "../../engine/ops/state/optimizer_updates.ts";
import { Optimizer, type OptimizerConfig, type StepNumbers } from "./optimizer.ts";
import type { Rate } from "./rate.ts";

/** Default epsilon under roots and in denominators. */
const EPSILON = 1e-7;

/** The rule of Adam and its variants, which keep two running means. */
const OF_MOMENTS = {
  slots: [{ name: "m" }, { name: "v" }],
  attrs: ({ beta1, beta2, epsilon }: OptimizerConfig): Attrs => ({ beta1, beta2, epsilon }),
};

/** `1 - beta^step`: the weight that a running mean has gathered so far. */
function missing<N>({ step, a, options }: StepNumbers<N>, beta: "beta1" | "beta2"): N {
  return a.sub(a.number(1), a.pow(a.number(Number(options[beta])), step));
}

/** Plain gradient descent: `x -= lr · g`. */
export class SGDOptimizer extends Optimizer {
  /** Name of the class. */
  static override readonly className: string = "SGD";
  /** Order of the constructor's arguments. */
  static readonly configOrder: readonly string[] = ["learningRate"];

  /** `learningRate` scales the subtracted gradient. */
  constructor(learningRate: Rate) {
    super(learningRate, { update: ApplyGradientDescent, leavesUnnamedRows: true });
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

  /** `momentum` is the part of the last step that is kept. */
  constructor(learningRate: Rate, momentum: number, useNesterov = false) {
    super(learningRate, {
      update: ApplyMomentum,
      slots: [{ name: "momentum" }],
      attrs: ({ momentum, useNesterov }) => ({ momentum, use_nesterov: useNesterov }),
    }, { momentum, useNesterov });
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

  /** `initialAccumulatorValue` is the initial sum. */
  constructor(learningRate: Rate, initialAccumulatorValue = 0.1) {
    super(learningRate, {
      update: ApplyAdagrad,
      slots: [{ name: "accumulator", initial: initialAccumulatorValue }],
      attrs: () => ({ epsilon: EPSILON }),
      leavesUnnamedRows: true,
    }, { initialAccumulatorValue });
  }
}

/** Adadelta: steps scaled by running averages of squared gradients and squared steps. */
export class AdadeltaOptimizer extends Optimizer {
  /** Name of the class. */
  static override readonly className: string = "Adadelta";
  /** Order of the constructor's arguments. */
  static readonly configOrder: readonly string[] = ["learningRate", "rho", "epsilon"];

  /** `rho` is the decay of both averages. */
  constructor(learningRate: Rate, rho: number, epsilon: number | null = null) {
    super(learningRate, {
      update: ApplyAdadelta,
      slots: [{ name: "accum_grad" }, { name: "accum_var" }],
      attrs: (options) => ({ ...options, tfjs: true }),
    }, { rho, epsilon: epsilon ?? EPSILON });
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

  /** `decay` is that of the averages; `centered` subtracts the squared mean from the mean square. */
  constructor(
    learningRate: Rate,
    decay = 0.9,
    momentum = 0,
    epsilon: number | null = null,
    centered = false,
  ) {
    super(learningRate, {
      update: centered ? ApplyCenteredRmsProp : ApplyRmsProp,
      slots: [...(centered ? [{ name: "mg" }] : []), { name: "rms" }, { name: "momentum" }],
      // TensorFlow.js's order of saving.
      savedOrder: centered ? [1, 2, 0] : [0, 1],
      attrs: ({ decay, momentum, epsilon }) => ({ rho: decay, momentum, epsilon }),
    }, { decay, momentum, epsilon: epsilon ?? EPSILON, centered });
  }
}

/** Adam: running means of gradients and squared gradients, corrected for their start. */
export class AdamOptimizer extends Optimizer {
  /** Name of the class. */
  static override readonly className: string = "Adam";
  /** Order of the constructor's arguments. */
  static readonly configOrder: readonly string[] = ["learningRate", "beta1", "beta2", "epsilon"];

  /** `beta1` and `beta2` are the decays of the two means. */
  constructor(learningRate: Rate, beta1: number, beta2: number, epsilon: number | null = null) {
    super(learningRate, {
      ...OF_MOMENTS,
      update: ApplyAdam,
      scalars: (now) => [
        now.a.div(now.rate, missing(now, "beta1")),
        now.a.div(now.a.number(1), missing(now, "beta2")),
      ],
    }, { beta1, beta2, epsilon: epsilon ?? EPSILON });
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

  /** `decay` lowers the learning rate to `lr / (1 + decay · steps done)`. */
  constructor(
    learningRate: Rate,
    beta1: number,
    beta2: number,
    epsilon: number | null = null,
    decay = 0,
  ) {
    super(learningRate, {
      ...OF_MOMENTS,
      update: ApplyAdaMax,
      scalars: (now) => {
        const { a } = now, one = a.number(1), decay = a.number(Number(now.options.decay));
        const slower = a.add(a.mul(a.sub(now.step, one), decay), one);
        return [a.div(a.div(now.rate, slower), missing(now, "beta1"))];
      },
    }, { beta1, beta2, epsilon: epsilon ?? EPSILON, decay });
  }
}

/** AdamW: Adam with weight decay apart from the gradient, as Keras computes it. */
export class AdamWOptimizer extends Optimizer {
  /** Name of the class. */
  static override readonly className: string = "AdamW";
  /** Order of the constructor's arguments. */
  static readonly configOrder: readonly string[] = [
    ...["learningRate", "weightDecay", "beta1", "beta2", "epsilon"],
  ];

  /** Each step subtracts `learningRate · weightDecay` of every variable. */
  constructor(
    learningRate: Rate,
    weightDecay: number,
    beta1: number,
    beta2: number,
    epsilon: number | null = null,
  ) {
    super(learningRate, {
      ...OF_MOMENTS,
      update: ApplyAdamW,
      scalars: (now) => {
        const { a, rate, options } = now, root = a.sqrt(missing(now, "beta2"));
        return [
          a.div(a.mul(rate, root), missing(now, "beta1")),
          a.mul(rate, a.number(Number(options.weightDecay))),
        ];
      },
    }, { weightDecay, beta1, beta2, epsilon: epsilon ?? EPSILON });
  }
}
