/** Optimizers of plain values. */
import { wantList, wantObject } from "../../engine/core/arguments.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { describe } from "../../engine/core/text.ts";
import { accumulate, chain } from "./chain.ts";
import * as chained from "./chained_optimizers.ts";
import {
  Optimizer,
  type OptimizerClass,
  type SavedOptimizer,
  type SavedPart,
} from "./optimizer.ts";
import * as plain from "./optimizers.ts";
import * as transforms from "./transforms.ts";
import type { Transformation } from "./transforms.ts";

type Made = Optimizer | Transformation;

/** Makes a transformation of its function's name and arguments. */
function transformOf(name: unknown, args: unknown, fn: string): Transformation {
  const known = Object.hasOwn(transforms, name as string)
    ? transforms[name as keyof typeof transforms]
    : undefined;
  if (typeof known !== "function") {
    throw new ValueError(`Cannot make an optimizer: no transformation ${describe(name)} is known`);
  }
  wantList(args, "args", fn);
  const made = (args as unknown[]).map((arg) =>
    typeof arg === "object" && arg !== null && "transform" in arg ? partOf(arg as SavedPart) : arg
  );
  return (known as (...args: unknown[]) => Transformation)(...made);
}

function partOf(part: SavedPart): Made {
  wantObject(part, "parts", "deserialize", "a list of objects");
  return "transform" in part
    ? transformOf(part.transform, part.args, "deserialize")
    : deserialize(part);
}

/**
 * Makes an optimizer of the class and settings that `tf.train.serialize` returns. Its state begins anew. Follows Keras
 * `keras.optimizers.deserialize`. Throws `TypeError` where `saved` is no object of `className` and `config`, `ValueError` for a class or a
 * transformation that is not known.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { clipByGlobalNorm, trace, scaleByLearningRate } = tf.train.transforms;
 * const first = tf.train.chain(clipByGlobalNorm(1), trace(0.9), scaleByLearningRate(0.1));
 * const text = JSON.stringify(tf.train.serialize(first));
 * const second = tf.train.deserialize(JSON.parse(text));
 * console.log(second.learningRate); // 0.1
 * ```
 */
export function deserialize(saved: SavedOptimizer): Optimizer {
  wantObject(saved, "saved", "deserialize", "an object of className and config");
  const { className, config } = saved;
  wantObject(config, "config", "deserialize");
  if (className === "Chain") {
    const { parts, optimizer, steps, learningRate } = config;
    if (parts === undefined) {
      return accumulate(deserialize(optimizer as SavedOptimizer), steps as number);
    }
    wantList(parts, "parts", "deserialize");
    const made = chain(...(parts as readonly SavedPart[]).map(partOf));
    // A rate that was set after the chain was made.
    if (typeof learningRate === "number") made.learningRate = learningRate;
    return made;
  }
  const classes = Object.values({ ...plain, ...chained }) as unknown[];
  const found = classes.find((c) =>
    typeof c === "function" && c.prototype instanceof Optimizer &&
    (c as unknown as typeof Optimizer).className === className
  );
  if (found !== undefined) return Optimizer.fromConfig(found as OptimizerClass<Optimizer>, config);
  throw new ValueError(`Cannot make an optimizer: no class ${describe(className)} is known`);
}
