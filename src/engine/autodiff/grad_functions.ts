/** grad, grads, valueAndGrad, valueAndGrads, variableGrads: functions from functions to their gradients. */
import { apply1 } from "../core/apply.ts";
import { Tensor, type TensorLike } from "../core/tensor.ts";
import { describe } from "../core/convert.ts";
import { sameShape, shapeText } from "../core/shape.ts";
import { TypeError } from "../core/throwing/builtin_errors.ts";
import { ValueError } from "../core/errors.ts";
import { handleOf, type Resource, resourceOf } from "../core/graph_node.ts";
import { refusePromise } from "../core/nest.ts";
import { dense } from "../ops/array/indexed_slices.ts";
import { identity } from "../ops/array/view.ts";
import { asTensor, toInput } from "../ops/input.ts";
import { gradients, stepsTo } from "./gradients.ts";
import type { Differentiable } from "./composites.ts";
import { CompositeTensor } from "../core/composite.ts";
import { gradientFlow } from "./flow.ts";
import { cutNote, forgetCuts, namingCuts } from "./cuts.ts";
import { tapeMemory } from "./step_recorder.ts";
import { GradientTape } from "./tape.ts";
import { UNSEEN, UnseenGradient } from "./unseen.ts";

/** A value and the gradient of one input. */
export interface ValueAndGrad {
  /** The function's result. */
  readonly value: Tensor;
  /** Gradient with respect to its input. */
  readonly grad: Tensor;
}

/** A value and the gradients of all inputs. */
export interface ValueAndGrads {
  /** The function's result. */
  readonly value: Tensor;
  /** Gradient with respect to each input. */
  readonly grads: Tensor[];
}

/** A value and the gradients of variables, by the variables' names. */
export interface ValueAndVariableGrads {
  /** The scalar result of the function. */
  readonly value: Tensor;
  /** Gradients by variable name, without those that are not connected. */
  readonly grads: Record<string, Tensor>;
}

/** The part of a variable that gradients use: a tensor over a resource. */
interface VariableLike extends Tensor {
  readonly trainable: boolean;
  readonly resource: Resource;
}

/**
 * Returns the gradient function of `f(x)`: `grad(f)(x, dy?)` computes dy·df/dx, summed over the outputs of `f`. `dy`
 * has the shape of `f(x)` and is ones where absent. Gradient functions can be differentiated again. Follows
 * TensorFlow.js `grad`. Throws `ValueError` where the result does not depend on `x`, or `dy` has another shape.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const cube = (x: tf.Tensor) => tf.mul(x, tf.mul(x, x));
 * console.log(tf.grad(cube)(2).item()); // 12
 * console.log(tf.grad(tf.grad(cube))(2).item()); // 12
 * ```
 */
export function grad(f: (x: Tensor) => Tensor): (x: TensorLike, dy?: TensorLike) => Tensor;
/** The gradient function of a function of a ragged or sparse tensor: the gradient has the same rows or indices. */
export function grad<X extends CompositeTensor>(
  f: (x: X) => Tensor,
): (x: X, dy?: TensorLike) => X;
export function grad(f: (x: never) => Tensor): (x: never, dy?: TensorLike) => unknown {
  checkFunction(f, "grad");
  // A default, so that a signature for a function of it may name one argument.
  return (x, dy = undefined) =>
    tapeMemory().tidy(() => differentiate(f as Fn, [source(x, "x", "grad")], dy, "grad").grads[0]);
}

/**
 * Returns the gradient function of `f(x1, x2, …)`: `grads(f)([x1, x2], dy?)` computes one gradient per input. Follows
 * TensorFlow.js `grads`. Throws as {@linkcode grad} does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [da, db] = tf.grads((a, b) => tf.mul(a, b))([2, 3]);
 * console.log([da.item(), db.item()]); // [3, 2]
 * ```
 */
export function grads(
  f: (...xs: Tensor[]) => Tensor,
): (xs: readonly TensorLike[], dy?: TensorLike) => Tensor[] {
  checkFunction(f, "grads");
  return (xs, dy = undefined) => {
    checkList(xs, "grads");
    return tapeMemory().tidy(() =>
      differentiate(f as Fn, xs.map((x, i) => source(x, `xs[${i}]`, "grads")), dy, "grads").grads
    );
  };
}

/**
 * Is {@linkcode grad} with the value of `f(x)`: `{ value, grad }`. Follows TensorFlow.js `valueAndGrad`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { value, grad } = tf.valueAndGrad((x) => tf.mul(x, x))(tf.scalar(3));
 * console.log([value.item(), grad.item()]); // [9, 6]
 * ```
 */
export function valueAndGrad(
  f: (x: Tensor) => Tensor,
): (x: Tensor, dy?: Tensor) => ValueAndGrad {
  checkFunction(f, "valueAndGrad");
  return (x, dy = undefined) => {
    checkTensor(x, "x", "valueAndGrad");
    if (dy != null) checkTensor(dy, "dy", "valueAndGrad");
    return tapeMemory().tidy(() => {
      const { value, grads } = differentiate(f as Fn, [x], dy, "valueAndGrad");
      return { value, grad: grads[0] };
    });
  };
}

/**
 * Is {@linkcode grads} with the value: `{ value, grads }`. Follows TensorFlow.js `valueAndGrads`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const { value, grads } = tf.valueAndGrads((a, b) => tf.mul(a, b))([tf.scalar(2), tf.scalar(3)]);
 * console.log([value.item(), grads[0].item(), grads[1].item()]); // [6, 3, 2]
 * ```
 */
export function valueAndGrads(
  f: (...xs: Tensor[]) => Tensor,
): (xs: readonly Tensor[], dy?: Tensor) => ValueAndGrads {
  checkFunction(f, "valueAndGrads");
  return (xs, dy = undefined) => {
    checkList(xs, "valueAndGrads");
    xs.forEach((x, i) => checkTensor(x, `xs[${i}]`, "valueAndGrads"));
    if (dy != null) checkTensor(dy, "dy", "valueAndGrads");
    return tapeMemory().tidy(() => differentiate(f as Fn, [...xs], dy, "valueAndGrads"));
  };
}

/**
 * Computes the scalar `f()` and its gradients with respect to variables, by name: those of `varList`, else all
 * trainable ones that `f` reads, however deep in functions, branches, loops and scripts. A graph cannot know the
 * variables that the body of a script will read: while it is built each trainable variable has a gradient where a
 * script is behind `f()`, zeros where it is not read. A compiled function that returns the record returns the gradients
 * of variables that were read, as eager code does. Gradients of gathers are `IndexedSlices`, which optimizers apply by
 * rows and other ops take as dense tensors. Follows TensorFlow.js `variableGrads`. Throws `ValueError` where no
 * variable is trainable, none is connected to the result, or the result is not a scalar.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * using w = tf.variable(3, true, "w");
 * const { value, grads } = tf.variableGrads(() => tf.mul(w, w));
 * console.log([value.item(), grads.w.item()]); // [9, 6]
 * ```
 */
export function variableGrads(
  f: () => Tensor,
  varList?: readonly Tensor[],
): ValueAndVariableGrads {
  checkFunction(f, "variableGrads");
  const { value, resources, grads, unseen } = gradientsOfVariables(f, varList);
  const byName: Record<string, Tensor> = {};
  resources.forEach((r, i) => {
    const g = grads[i];
    if (g !== null) byName[r.sharedName] = g;
  });
  if (unseen !== null) {
    const seen = new Set(resources);
    for (const r of tapeMemory().trainable()) {
      if (!seen.has(r)) byName[r.sharedName] = gradientIn(unseen, r);
    }
  }
  return { value, grads: byName };
}

/** Returns the gradient of one variable in a map. */
function gradientIn(unseen: Tensor, resource: Resource): Tensor {
  const { dtype, shape } = resource;
  return unseen.graph.asDefault(() =>
    apply1(UnseenGradient, [unseen, handleOf(resource)!], { dtype, shape })
  );
}

/** The value of a function and its gradients with respect to variables. */
export interface VariableGradients {
  readonly value: Tensor;
  readonly resources: Resource[];
  /** Their gradients; null where not connected. */
  readonly grads: (Tensor | null)[];
  /** In a graph, where bodies of scripts may read more variables: a map of their gradients, known at run time. */
  readonly unseen: Tensor | null;
}

/** Is {@linkcode variableGrads} by the variables' resources: names need not be unique. */
export function gradientsOfVariables(
  f: () => Tensor,
  varList?: readonly Tensor[],
): VariableGradients {
  const given = varList == null ? undefined : variablesIn(varList);
  const wanted = given?.filter((v) => v.trainable).map((v) => v.resource);
  if (wanted?.length === 0) {
    throw new ValueError(
      `variableGrads() expects at least one of the input variables to be trainable, but none of the ${
        given!.length
      } variables is trainable`,
    );
  }
  return tapeMemory().tidy(() => {
    using tape = new GradientTape({ watchAccessedVariables: wanted === undefined });
    // A tape knows sources by id, and a resource has its variable's id.
    if (wanted) tape.watch(wanted as unknown as Tensor[]);
    const value = f();
    checkResult(value, "variableGrads");
    if (value.staticShape !== null && value.staticShape.length !== 0) {
      throw new ValueError(
        `The f passed in variableGrads(f) must return a scalar, but it returned a rank-${value.staticShape.length} tensor`,
      );
    }
    // Eagerly the tape has seen the reads of scripts; in a graph they have not run yet.
    const unseen = wanted === undefined && value.isSymbolic ? [UNSEEN] : [];
    tape.watch(unseen);
    let resources = wanted ?? tape.watchedVariables();
    let sources = [...resources, ...unseen] as unknown as Tensor[];
    if (sources.length === 0) forgetCuts();
    let grads = sources.length === 0
      ? []
      : namingCuts(() => tape.gradient(value, sources) as (Tensor | null)[]);
    if (value.isSymbolic && resources.every((_, i) => grads[i] === null)) {
      // The graph was built before the tape began: it is searched instead.
      resources = wanted ?? variablesBehind(value);
      sources = [...resources, ...unseen].map((r) => handleOf(r)!);
      grads = namingCuts(() => gradients(value, sources));
    }
    if (grads.every((g) => g === null)) throw notConnected();
    const n = resources.length;
    return { value, resources, grads: grads.slice(0, n), unseen: grads[n] ?? null };
  });
}

/** Makes the error of a loss without variables. */
export function notConnected(): ValueError {
  return new ValueError(
    "Cannot find a connection between any variable and the result of the loss function y=f(x): make sure that the operations that use variables are inside the function f passed to minimize()" +
      cutNote(),
  );
}

/** Returns the trainable variables that a tensor of a graph depends on. */
function variablesBehind(y: Tensor): Resource[] {
  const found = new Map<number, Resource>();
  for (const { node } of stepsTo([y])) {
    for (const t of node.inputs) {
      const resource = resourceOf(t);
      if (resource?.trainable) found.set(resource.id, resource);
    }
  }
  return [...found.values()];
}

type Fn = (...xs: Differentiable[]) => Tensor;

function differentiate(
  f: Fn,
  xs: readonly Differentiable[],
  dy: TensorLike | undefined | null,
  fn: string,
): ValueAndGrads {
  if (xs.length === 0) {
    throw new ValueError(`Cannot differentiate in ${fn}: received an empty list of inputs`);
  }
  // One tensor given twice is two arguments, each with a gradient of its own.
  const sources = xs.map((x, i) => (xs.indexOf(x) < i ? twin(x) : x));
  using tape = new GradientTape({ watchAccessedVariables: false });
  tape.watch(sources);
  const value = f(...sources);
  checkResult(value, fn);
  const dtype = gradientFlow.current.gradientOf(value.dtype) ?? value.dtype;
  const seed = dy == null ? undefined : asTensor(toInput(dy, "dy", fn, { dtype }));
  if (
    seed && seed.staticShape && value.staticShape && !sameShape(seed.staticShape, value.staticShape)
  ) {
    throw new ValueError(
      `The shape of dy passed in ${fn}(f)(x, dy) must match the shape returned by f(x): received ${
        shapeText(seed.staticShape)
      }, wanted ${shapeText(value.staticShape)}`,
    );
  }
  const options = seed ? { outputGradients: seed } : {};
  const found = namingCuts(() =>
    tape.gradient(value, sources, options) as (Differentiable | null)[]
  );
  const missing = found.findIndex((g) => g === null);
  if (missing >= 0) {
    const source = sources[missing];
    const isFlat = source instanceof Tensor &&
      gradientFlow.current.gradientOf(source.dtype) === null;
    throw new ValueError(
      `Cannot compute gradient of y=f(x) with respect to x (input ${missing} of ${fn}): ${
        isFlat
          ? `it is ${source.dtype}, wanted floating-point or complex numbers`
          : `make sure that the f you passed encloses all operations that lead from x to y, and that they are differentiable${cutNote()}`
      }`,
    );
  }
  // A composite source has a composite gradient.
  return { value, grads: found.map((g) => g instanceof Tensor ? dense(g) : g as never) };
}

/** Makes another handle of the same value. */
function twin(x: Differentiable): Differentiable {
  if (x instanceof Tensor) return identity(x);
  return x.spec.pack((x.components as readonly Tensor[]).map((t) => identity(t))) as Differentiable;
}

function source(x: TensorLike | CompositeTensor, arg: string, fn: string): Differentiable {
  if (x instanceof CompositeTensor) return x;
  // All reads of a variable count, also those beside the argument.
  if (x instanceof Tensor && "resource" in x) return x;
  return asTensor(toInput(x, arg, `tf.${fn}`));
}

function checkFunction(f: unknown, fn: string): void {
  if (typeof f !== "function") {
    throw new TypeError(`The f passed in ${fn}(f) must be a function, but got ${describe(f)}`);
  }
}

function checkList(xs: unknown, fn: string): void {
  if (!Array.isArray(xs)) {
    throw new TypeError(
      `The args passed in ${fn}(f)(args) must be an array of tensors, but got ${describe(xs)}`,
    );
  }
}

function checkTensor(x: unknown, arg: string, fn: string): void {
  if (!(x instanceof Tensor || x instanceof CompositeTensor)) {
    throw new TypeError(
      `Argument '${arg}' passed to ${fn}(f)(x) must be a tensor, but got ${describe(x)}`,
    );
  }
}

function checkResult(value: unknown, fn: string): void {
  refusePromise(
    value,
    () =>
      `The f passed in ${fn}(f) must return a tensor, but it returned a promise: what leads to a gradient is synchronous`,
  );
  if (!(value instanceof Tensor)) {
    throw new TypeError(
      `The f passed in ${fn}(f) must return a tensor, but it returned ${describe(value)}`,
    );
  }
}

function variablesIn(list: readonly Tensor[]): VariableLike[] {
  if (!Array.isArray(list) || !list.every((v) => v instanceof Tensor && "trainable" in v)) {
    throw new TypeError(
      "The varList passed in variableGrads(f, varList) must be an array of variables",
    );
  }
  return list as VariableLike[];
}
