/** Optimizers that are chains of transformations: Lion, LAMB, Adafactor and Muon. */
import { optionCheck } from "../../engine/core/arguments.ts";
import type { Variable } from "../../engine/runtime/variables/variable.ts";
import { factoredStage, muonStage } from "./matrix_transforms.ts";
import { Optimizer } from "./optimizer.ts";
import type { Rate } from "./rate.ts";
import { ADD, partStage, type Stage } from "./stages.ts";
import {
  adamStage,
  addDecayedWeights,
  clipByBlockRms,
  scaleByLearningRate,
  scaleByLion,
  scaleByParameterRms,
  scaleByTrustRatio,
  type Transformation,
} from "./transforms.ts";

/** The stages of transformations, and the end of the step. */
function stagesOf(...parts: (Transformation | Stage)[]): { readonly before: readonly Stage[] } {
  return { before: [...parts.flatMap((p) => "stages" in p ? p.stages : [p]), ADD] };
}
const RATE = scaleByLearningRate(0);

/** Decay of weights, where there is any. */
function decayOf(weightDecay: number): Transformation[] {
  return weightDecay === 0 ? [] : [addDecayedWeights(weightDecay)];
}

/** Lion: steps by the sign of a running mean, with weight decay apart from it. */
export class LionOptimizer extends Optimizer {
  /** Name of the class. */
  static override readonly className: string = "Lion";
  /** Order of the constructor's arguments. */
  static readonly configOrder: readonly string[] = [
    ...["learningRate", "beta1", "beta2", "weightDecay"],
  ];

  /** `beta1` weighs what is kept in the step, `beta2` in what is kept for the next. */
  constructor(learningRate: Rate, beta1 = 0.9, beta2 = 0.99, weightDecay = 0) {
    super(
      learningRate,
      stagesOf(scaleByLion(beta1, beta2), ...decayOf(weightDecay), RATE),
      { beta1, beta2, weightDecay },
    );
  }
}

/** LAMB: Adam's step, as long as the variable. */
export class LambOptimizer extends Optimizer {
  /** Name of the class. */
  static override readonly className: string = "Lamb";
  /** Order of the constructor's arguments. */
  static readonly configOrder: readonly string[] = [
    ...["learningRate", "beta1", "beta2", "epsilon", "weightDecay"],
  ];

  /** The decay is part of the step whose length is set. */
  constructor(learningRate: Rate, beta1 = 0.9, beta2 = 0.999, epsilon = 1e-6, weightDecay = 0) {
    const adam = adamStage({ beta1, beta2, epsilon });
    super(
      learningRate,
      stagesOf(adam, ...decayOf(weightDecay), scaleByTrustRatio(), RATE),
      { beta1, beta2, epsilon, weightDecay },
    );
  }
}

/** Adafactor: second moments of matrices by rows and columns, so that the state is small. */
export class AdafactorOptimizer extends Optimizer {
  /** Name of the class. */
  static override readonly className: string = "Adafactor";
  /** Order of the constructor's arguments. */
  static readonly configOrder: readonly string[] = [
    ...["learningRate", "beta2Decay", "epsilon1", "epsilon2", "clipThreshold", "relativeStep"],
  ];

  /** With `relativeStep` the rate is at most one over the root of the step. */
  constructor(
    learningRate: Rate,
    beta2Decay = -0.8,
    epsilon1 = 1e-30,
    epsilon2 = 1e-3,
    clipThreshold = 1,
    relativeStep = true,
  ) {
    const rate: Stage = relativeStep
      ? partStage("rate", {}, {
        scalars: ({ rate, step, a }) => [a.min(rate, a.div(a.number(1), a.sqrt(step)))],
      })
      : RATE.stages[0];
    super(
      learningRate,
      stagesOf(
        factoredStage(beta2Decay, epsilon1),
        clipByBlockRms(clipThreshold),
        scaleByParameterRms(epsilon2),
        rate,
      ),
      { beta2Decay, epsilon1, epsilon2, clipThreshold, relativeStep },
    );
  }
}

/** Settings of {@linkcode MuonOptimizer}. */
export interface MuonOptions {
  /** Decay of the momentum. Default 0.95. */
  readonly momentum?: number;
  /** Look ahead as Nesterov's momentum does. Default true. */
  readonly nesterov?: boolean;
  /** Turns of Newton and Schulz's iteration. Default 5. */
  readonly steps?: number;
  /** Root mean square of a step before the rate; 0 for steps whose singular values are near 1. Default 0.2. */
  readonly rmsRate?: number;
  /** Decay of weights. Default 0.004. */
  readonly weightDecay?: number;
  /** Decays and epsilon of Adam, for all that is no matrix. Default 0.9, 0.999 and 1e-7. */
  readonly beta1?: number;
  /** Decay of Adam's mean of squares. */
  readonly beta2?: number;
  /** Epsilon of Adam. */
  readonly epsilon?: number;
  /** Parts of names of matrices that Adam trains. Default `["embedding"]`. */
  readonly exclude?: readonly string[];
}

const checkMuon = optionCheck<MuonOptions>("muon", {
  momentum: true,
  nesterov: true,
  steps: true,
  rmsRate: true,
  weightDecay: true,
  beta1: true,
  beta2: true,
  epsilon: true,
  exclude: true,
});

/** Muon: steps of matrices are made orthogonal; AdamW trains all else. */
export class MuonOptimizer extends Optimizer {
  /** Name of the class. */
  static override readonly className: string = "Muon";
  /** Order of the constructor's arguments: `options` are all settings but the rate. */
  static readonly configOrder: readonly string[] = ["learningRate", "options"];

  /** See {@linkcode MuonOptions}. */
  constructor(learningRate: Rate, options: MuonOptions = {}) {
    checkMuon(options);
    const all = {
      momentum: 0.95,
      nesterov: true,
      steps: 5,
      rmsRate: 0.2,
      weightDecay: 0.004,
      beta1: 0.9,
      beta2: 0.999,
      epsilon: 1e-7,
      exclude: ["embedding"] as readonly string[],
      ...options,
    };
    const { beta1, beta2, epsilon, exclude, weightDecay } = all;
    const isMatrix = (v: Variable): boolean =>
      v.rank === 2 && !exclude.some((part) => v.name.toLowerCase().includes(part));
    super(
      learningRate,
      stagesOf(
        { ...muonStage(all), only: isMatrix },
        { ...adamStage({ beta1, beta2, epsilon }), only: (v) => !isMatrix(v) },
        ...decayOf(weightDecay),
        RATE,
      ),
      all,
    );
  }
}
