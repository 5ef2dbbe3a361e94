/**
 * Forward-mode derivatives: jvp, linearize, ForwardAccumulator. The gradient of an op is linear in what it gets from above, so the
 * derivative of a gradient by that is the product of the Jacobian with a tangent.
 */
import { counted, showAs } from "../core/arrays/shown.ts";
import { compose, currentRecorders } from "../core/apply.ts";
import { optionCheck, wantFunction, wrongArgument } from "../core/arguments.ts";
import { describe } from "../core/convert.ts";
import { DTYPES, isFloating } from "../core/dtype.ts";
import { LookupError, ValueError } from "../core/errors.ts";
import { flatten, isNested, type Nest, packAs } from "../core/nest.ts";
import { compatible, shapeText } from "../core/shape.ts";
import { Tensor, type TensorLike } from "../core/tensor.ts";
import { TypeError } from "../core/throwing/builtin_errors.ts";
import { onesLike, zerosLike } from "../ops/array/creation.ts";
import { asTensor, toInput } from "../ops/input.ts";
import type { StepRecorder } from "./step_recorder.ts";
import { GradientTape, type UnconnectedGradients } from "./tape.ts";

/** Options of {@linkcode ForwardAccumulator.jvp}. */
export interface JvpOptions {
  /** The tangent of a result that does not depend on the primals: `"none"` (null, the default) or `"zero"`. */
  readonly unconnectedGradients?: UnconnectedGradients;
}

const checkJvpOptions = optionCheck<JvpOptions>("jvp", { unconnectedGradients: true });

/**
 * Follows how results change as inputs do: `jvp(y)` is the product of the Jacobian of `y` by the primals with the tangents. The
 * primals are tensors or variables, and computations after its making are followed. Inside of it a tape gives products of Hessians
 * with vectors. Follows TensorFlow `tf.autodiff.ForwardAccumulator`. Throws `ValueError` for tangents of other shapes, `TypeError` for other dtypes.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.tensor([1, 2]);
 * using accumulator = new tf.ForwardAccumulator(x, tf.tensor([1, 0]));
 * const y = tf.pow(x, 3);
 * console.log(await accumulator.jvp(y)!.array()); // [3, 0]
 * ```
 */
export class ForwardAccumulator implements Disposable {
  readonly #tape: ForwardTape;
  readonly #primals: readonly Tensor[];
  readonly #tangents: readonly Tensor[];

  /** Begins to follow what is computed from these primals: a tensor, or a nest of them, with tangents in the same nest. */
  constructor(primals: Nest<Tensor>, tangents: Nest<TensorLike>) {
    if (!(primals instanceof Tensor) && !isNested(primals)) {
      throw wrongArgument(primals, "primals", "ForwardAccumulator", "a tensor, or a nest of them");
    }
    this.#primals = flatten(primals);
    this.#tangents = tangentsOf(primals, tangents, "ForwardAccumulator");
    this.#tape = watching(this.#primals);
  }

  /** The tangent of a result; null where it does not depend on the primals. */
  jvp(result: Tensor, options?: JvpOptions): Tensor | null;
  /** The tangents of results, in their nest. */
  jvp(result: Nest<Tensor>, options?: JvpOptions): Nest<Tensor | null>;
  jvp(result: Nest<Tensor>, options: JvpOptions = {}): Nest<Tensor | null> {
    checkJvpOptions(options);
    const results = flatten(result);
    for (const y of results) {
      if (!(y instanceof Tensor)) throw wrongArgument(y, "result", "jvp", "tensors");
    }
    const zero = options.unconnectedGradients === "zero";
    return packAs(
      result,
      results.map((y) =>
        pushed(this.#tape, y, this.#primals, this.#tangents) ?? (zero ? zerosLike(y) : null)
      ),
    );
  }

  /** Stops following and frees the kept values. */
  dispose(): void {
    this.#tape.tape.dispose();
  }
  /** Stops at the end of a `using` block. */
  [Symbol.dispose](): void {
    this.dispose();
  }

  /** Formats it for `console.log`. */
  toString(): string {
    return `<tf.ForwardAccumulator of ${counted(this.#primals.length, "primal")}>`;
  }
}
showAs(ForwardAccumulator);

/**
 * Calls `f` at the primals, one for each of its arguments, and returns what it returns and the products of its Jacobian with the
 * tangents, in the nest of the results; results that do not depend on the primals have tangents of zeros. Of a gradient function it
 * gives products of the Hessian with a vector. Follows JAX `jvp`. Throws `ValueError` for tangents of another number or shape, `TypeError` for another dtype,
 * `LookupError` where results depend on the primals through an op without a gradient.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const f = (x: tf.Tensor) => tf.sum(tf.pow(x, 3));
 * const x = tf.tensor([1, 2]), direction = tf.tensor([1, 10]);
 * const [y, dy] = tf.jvp(f, [x], [direction]);
 * console.log(y.item(), dy.item()); // 9 123
 * const [, product] = tf.jvp(tf.grad(f), [x], [direction]);
 * console.log(await product.array()); // [6, 120]
 * ```
 */
export function jvp<R extends Nest<Tensor>>(
  f: (...args: Tensor[]) => R,
  primals: readonly TensorLike[],
  tangents: readonly TensorLike[],
): [outputs: R, tangents: R] {
  return compose(() => {
    const { outputs, push } = follow(f, primals, "jvp");
    const found = push(tangents);
    return [outputs, found];
  });
}

/**
 * Calls `f` at the primals, and returns what it returns and a function from tangents to the products of the Jacobian there with them:
 * cheaper than {@linkcode jvp} for many tangents. What it needs is kept until the function is collected. Follows JAX `linearize`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [y, push] = tf.linearize((x) => tf.square(x), [tf.tensor([1, 2])]);
 * console.log(await y.array(), await push([tf.tensor([1, 1])]).array()); // [1, 4] [2, 4]
 * ```
 */
export function linearize<R extends Nest<Tensor>>(
  f: (...args: Tensor[]) => R,
  primals: readonly TensorLike[],
): [outputs: R, push: (tangents: readonly TensorLike[]) => R] {
  const { outputs, push } = follow(f, primals, "linearize");
  return [outputs, (tangents) => compose(() => push(tangents))];
}

function follow<R extends Nest<Tensor>>(
  f: (...args: Tensor[]) => R,
  primals: readonly TensorLike[],
  fn: string,
): { readonly outputs: R; readonly push: (tangents: readonly TensorLike[]) => R } {
  wantFunction(f, "f", fn);
  if (!Array.isArray(primals)) {
    throw new TypeError(
      `Argument 'primals' passed to '${fn}' must be a list of the arguments of f, but got ${
        describe(primals)
      }`,
    );
  }
  // A tensor given twice is two arguments.
  const given = primals.map((x) => asTensor(toInput(x, "primals", fn)));
  const args = given.map((x, i) => given.indexOf(x) < i ? x.clone() : x);
  const tape = watching(args);
  const outputs = f(...args);
  const leaves: readonly unknown[] = isNested(outputs) ? flatten(outputs) : [outputs];
  const wrong = leaves.find((y) => !(y instanceof Tensor));
  if (wrong !== undefined) {
    throw new TypeError(
      `The f passed in ${fn}(f) must return tensors, but it returned ${describe(wrong)}`,
    );
  }
  const push = (tangents: readonly TensorLike[]): R => {
    const along = tangentsOf(args, tangents, fn);
    const found = leaves.map((y) =>
      pushed(tape, y as Tensor, args, along) ?? zerosLike(y as Tensor)
    );
    return packAs(outputs, found) as R;
  };
  return { outputs, push };
}

/** The values in a nest that stand where the tensors of another nest do. Throws `ValueError` where there are others. */
function alongside(primals: Nest<Tensor>, given: unknown, fn: string): unknown[] {
  if (primals instanceof Tensor) return [given];
  const keys = Object.keys(primals);
  const isLike = isNested(given) && Array.isArray(given) === Array.isArray(primals) &&
    Object.keys(given).join() === keys.join();
  if (!isLike) {
    throw new ValueError(
      `Cannot use these tangents in ${fn}: wanted one for each primal, in the same nest of ${keys.length}`,
    );
  }
  return keys.flatMap((key) =>
    alongside((primals as Record<string, Tensor>)[key], (given as Record<string, unknown>)[key], fn)
  );
}

/** The tangents of primals. Throws `ValueError` for another number or shape, `TypeError` for another dtype. */
function tangentsOf(nest: Nest<Tensor>, given: unknown, fn: string): Tensor[] {
  const primals = flatten(nest), list = alongside(nest, given, fn);
  return primals.map((x, i) => {
    const { dtype } = x;
    const tangent = asTensor(
      toInput(list[i] as TensorLike, `tangents[${i}]`, fn, hasTangents(x) ? { dtype } : {}),
    );
    if (hasTangents(x) && tangent.dtype !== dtype) {
      throw new TypeError(
        `Cannot use tangent ${i} of dtype ${tangent.dtype} in ${fn}: its primal has dtype ${dtype}`,
      );
    }
    if (compatible(tangent.staticShape, x.staticShape)) return tangent;
    throw new ValueError(
      `Cannot use tangent ${i} of shape ${
        shapeText(tangent.staticShape)
      } in ${fn}: its primal has shape ${shapeText(x.staticShape)}`,
    );
  });
}

const hasTangents = ({ dtype }: Tensor): boolean =>
  isFloating(dtype) || DTYPES[dtype].kind === "complex";

/** A tape, and its recorder, which knows the ops without a gradient. */
interface ForwardTape {
  readonly tape: GradientTape;
  readonly recorder: StepRecorder;
}

function watching(primals: readonly Tensor[]): ForwardTape {
  const tape = new GradientTape({ persistent: true, watchAccessedVariables: false });
  // A new tape's recorder is the last one.
  const recorder = currentRecorders().at(-1) as StepRecorder;
  tape.watch([...primals]);
  return { tape, recorder };
}

/**
 * The product of a result's Jacobian with tangents; null where it does not depend on the primals. Gradients of complex numbers pair by the
 * real part of `conj(a) · b`, in which products with the Jacobian and with its adjoint are each other's gradients.
 */
function pushed(
  { tape, recorder }: ForwardTape,
  y: Tensor,
  primals: readonly Tensor[],
  tangents: readonly Tensor[],
): Tensor | null {
  if (!hasTangents(y)) return null;
  const lost = recorder.lostAt(y);
  if (lost !== undefined) {
    throw new LookupError(`Cannot push tangents through ${lost}: the op has no gradient`);
  }
  return compose(() => {
    // The pulled gradients are linear in the seed. Rules that part it by its sign are so beside 0 alone.
    const seed = onesLike(y);
    using second = new GradientTape({ watchAccessedVariables: false });
    second.watch(seed);
    const pulled = tape.gradient(y, [...primals], { outputGradients: seed }) as (Tensor | null)[];
    const places = pulled.flatMap((dx, i) => dx === null ? [] : [i]);
    if (places.length === 0) return null;
    return second.gradient(places.map((i) => pulled[i]!), seed, {
      outputGradients: places.map((i) => tangents[i]),
    });
  });
}
