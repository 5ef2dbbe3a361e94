/** Optimizers made of transformations of updates. */
import { wantMade, wrongArgument } from "../../engine/core/arguments.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { accumulationOf } from "./accumulation.ts";
import {
  Optimizer,
  type OptimizerConfig,
  type OptimizerParts,
  type SavedPart,
} from "./optimizer.ts";
import { serialize } from "./serialize.ts";
import { ADD, type PartStage, type Stage } from "./stages.ts";
import type { Transformation } from "./transforms.ts";

/** Settings of a chain besides its rate: its parts, or the optimizer whose gradients are accumulated. */
type Made =
  | { readonly parts: readonly (Transformation | Optimizer)[] }
  | { readonly optimizer: Optimizer; readonly steps: number };

/** An optimizer made by `tf.train.chain` or `tf.train.accumulate`. */
export class ChainOptimizer extends Optimizer {
  /** Name of the class. */
  static override readonly className: string = "Chain";
  readonly #made: Made;

  /** Made of a rule and a rate; `made` are the arguments of the function that makes it. */
  constructor(parts: OptimizerParts, made: Made) {
    wantMade(parts, "rule", {
      arg: "parts",
      fn: "new ChainOptimizer()",
      wanted: "made by tf.train.chain()",
    });
    const { rate, rule, options } = parts;
    super(rate, rule, options);
    this.#made = made;
  }

  /**
   * Returns the learning rate and the parts, by names and arguments, from which `tf.train.deserialize` makes an equal optimizer. Functions
   * among the arguments stay functions.
   */
  override getConfig(): OptimizerConfig {
    const { learningRate } = super.getConfig(), made = this.#made;
    return "parts" in made
      ? { learningRate, parts: made.parts.map(savedPart) }
      : { learningRate, steps: made.steps, optimizer: serialize(made.optimizer) };
  }
}

function isTransformation(x: unknown): x is Transformation {
  return Array.isArray((x as Partial<Transformation> | null)?.stages);
}

function savedPart(part: Transformation | Optimizer): SavedPart {
  if (part instanceof Optimizer) return serialize(part);
  const args = part.args.map((arg) => isTransformation(arg) ? savedPart(arg) : arg);
  return { transform: part.name, args };
}

const ofVariable = (stage: Stage): boolean => (stage as Partial<PartStage>).ofVariable === true;

/**
 * Makes an optimizer of transformations of `tf.train.transforms`, in their order: gradients go in, what comes out is added to the variables.
 * The learning rate is that of `scaleByLearningRate`, or of an optimizer that stands in the place of the last ones and lends its rule.
 * Pointwise transformations that follow each other are one op. Follows `chain` of optax. Throws `ValueError` where a second
 * one has a learning rate, or one stands after the learning rate that must not.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { addDecayedWeights, clipByGlobalNorm, scaleByAdam, scaleByLearningRate } = tf.train.transforms;
 * using optimizer = tf.train.chain(
 *   clipByGlobalNorm(1),
 *   scaleByAdam({ beta2: 0.95 }),
 *   addDecayedWeights(0.1),
 *   scaleByLearningRate(tf.train.schedules.cosineDecay(3e-4, 1000, { warmupSteps: 100 })),
 * );
 * using w = tf.variable([1, 2]);
 * optimizer.minimize(() => tf.sum(tf.square(w)));
 * console.log(w.arraySync()); // [1, 2]
 * ```
 */
export function chain(...parts: (Transformation | Optimizer)[]): ChainOptimizer {
  const before: Stage[] = [], after: Stage[] = [];
  let end: OptimizerParts | null = null, rate: OptimizerParts["rate"] | null = null;
  parts.forEach((part, i) => {
    const given = part instanceof Optimizer ? part.parts : part;
    if (!(part instanceof Optimizer) && !isTransformation(part)) {
      throw wrongArgument(part, `parts[${i}]`, "chain", "a transformation or an optimizer");
    }
    if (given.rate !== undefined) {
      if (rate !== null) {
        throw new ValueError(
          `Cannot chain: parts[${i}] has a learning rate, and one before it has one already; scaleBySchedule() may be there many times`,
        );
      }
      rate = given.rate;
    }
    if ("rule" in given) {
      end = given;
      return;
    }
    for (const stage of given.stages) {
      if (ofVariable(stage)) after.push(stage);
      else if (end === null && after.length === 0) before.push(stage);
      else {
        throw new ValueError(
          `Cannot chain: ${given.name}() at parts[${i}] changes updates, and stands after what changes variables`,
        );
      }
    }
  });
  const first = parts[0] as unknown;
  if (first === undefined) throw new TypeError("Cannot chain: received no transformation");
  const last = end as OptimizerParts | null;
  return new ChainOptimizer({
    rate: rate ?? 1,
    options: last?.options ?? {},
    rule: last
      ? {
        ...last.rule,
        before: [...before, ...last.rule.before ?? []],
        after: [...last.rule.after ?? [], ...after],
      }
      : { before: [...before, ADD], after },
  }, { parts });
}

/**
 * Makes an optimizer with the rule of another that adds gradients up over so many steps: the last one changes the variables, by their mean.
 * Keras's `gradient_accumulation_steps`. Throws `ValueError` unless `steps` is a whole number above 0.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using w = tf.variable(0);
 * using optimizer = tf.train.accumulate(tf.train.sgd(1), 2);
 * const seen = [2, 4].map((slope) => {
 *   optimizer.minimize(() => tf.mul(w, slope));
 *   return w.item();
 * });
 * console.log(seen); // [0, -3]
 * ```
 */
export function accumulate(optimizer: Optimizer, steps: number): ChainOptimizer {
  if (!(optimizer instanceof Optimizer)) {
    throw wrongArgument(optimizer, "optimizer", "accumulate", "an optimizer");
  }
  if (!Number.isInteger(steps) || steps < 1) {
    throw new ValueError(
      `Cannot accumulate gradients: steps must be a whole number above 0, received ${steps}`,
    );
  }
  const { rule, ...parts } = optimizer.parts;
  const accumulates = accumulationOf(steps);
  return new ChainOptimizer({ ...parts, rule: { ...rule, accumulates } }, { optimizer, steps });
}
