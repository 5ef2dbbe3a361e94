/** tf.Module: objects of variables, whose variables are found by going through their attributes. */
import { wantString } from "../../core/arguments.ts";
import { showAs } from "../../core/arrays/shown.ts";
import { flatten, isPlainObject, type Nest, NestWalk } from "../../core/nest.ts";
import { isTrackable, Tensor, type TrackedParts, type VariableLike } from "../../core/tensor.ts";
import { Variable } from "./variable.ts";

/** The parts of an attribute that have a state: variables, optimizers, other objects that are saved, and lists of these. */
function statesIn(value: unknown): unknown {
  const walk = new NestWalk();
  const visit = (inner: unknown, depth: number): unknown => {
    if (inner instanceof Tensor) return "assign" in inner ? inner as VariableLike : undefined;
    if (isTrackable(inner)) return inner;
    if (Array.isArray(inner) || isPlainObject(inner)) {
      walk.enter(depth, 0);
      return Object.fromEntries(
        Object.entries(inner).flatMap(([key, part]) => {
          const found = visit(part, depth + 1);
          return found === undefined ? [] : [[key, found]];
        }),
      );
    }
    const isStateful = typeof (inner as { getWeights?: unknown } | null)?.getWeights === "function";
    return isStateful ? inner : undefined;
  };
  return visit(value, 0);
}

/**
 * The base of objects that hold variables, in attributes, in arrays and objects in attributes and in other modules there: it lists them,
 * and `tf.train.Checkpoint` saves them under the names of the attributes. Private attributes (`#w`) are not seen. Follows TensorFlow
 * `tf.Module`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * class Dense extends tf.Module {
 *   w = tf.variable(tf.ones([2, 3]));
 *   b = tf.variable(tf.zeros([3]));
 *   call = (x: tf.Tensor) => tf.add(tf.matMul(x, this.w), this.b);
 * }
 * class Model extends tf.Module {
 *   layers = [new Dense(), new Dense()];
 * }
 * const model = new Model();
 * console.log(model.trainableVariables.length, model.submodules.length); // 4 2
 * ```
 */
export class Module {
  readonly #name: string;

  /** The name is by default that of the class, in snake case. */
  constructor(name?: string) {
    if (name !== undefined) wantString(name, "name", "Module");
    this.#name = name ??
      this.constructor.name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, "_").toLowerCase();
  }

  /** Its name. */
  get name(): string {
    return this.#name;
  }

  /** Its variables, each once: those of attributes in the order of their names, then those of modules in them. */
  get variables(): Variable[] {
    return this.#all().filter((leaf) => leaf instanceof Variable);
  }

  /** Those of its variables that are trained. */
  get trainableVariables(): Variable[] {
    return this.variables.filter(({ trainable }) => trainable);
  }

  /** Those of its variables that are not trained. */
  get nonTrainableVariables(): Variable[] {
    return this.variables.filter(({ trainable }) => !trainable);
  }

  /** All modules in it, at any depth. */
  get submodules(): Module[] {
    return this.#all().filter((leaf) => leaf instanceof Module);
  }

  /** The leaves of its attributes and then of those of the modules among them, each once. */
  #all(): unknown[] {
    const seen = new Set<unknown>([this]);
    const from = (module: Module): unknown[] => {
      const own = flatten({ ...module } as Nest<unknown>).filter((leaf) => {
        const isNew = !seen.has(leaf);
        seen.add(leaf);
        return isNew;
      });
      return [...own, ...own.flatMap((leaf) => leaf instanceof Module ? from(leaf) : [])];
    };
    return from(this);
  }

  /** @internal */
  trackedParts(): TrackedParts {
    const children = statesIn({ ...this }) as Record<string, unknown>;
    return { children };
  }

  /** Frees the variables of it and of the modules in it. */
  dispose(): void {
    for (const v of this.variables) v.dispose();
  }

  /** {@linkcode dispose} at the end of a block. */
  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Formats it for `console.log`. */
  toString(): string {
    return `<tf.Module ${this.name}: ${this.variables.map((v) => v.name).join(", ")}>`;
  }
}
showAs(Module);
