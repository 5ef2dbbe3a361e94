/** numpyFunction, pyFunc and contrib.framework.pyFunc: scripts whose bodies take host arrays. */
import type { CompositeSpec, CompositeTensor } from "../core/composite.ts";
import { describe } from "../core/convert.ts";
import { isPlainObject, type Nest } from "../core/nest.ts";
import { optionCheck, type OptionKeys } from "../core/arguments.ts";
import type { PartialShape } from "../core/shape.ts";
import type { NdArray } from "../core/nd_array.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Operation } from "../graph/operation.ts";
import type { TensorSpec } from "../core/tensor_spec.ts";
import { callAsync, callOrDecorate, callScript, readArguments, type ScriptKind } from "./call.ts";
import { checkCallable, makeScript, type ScriptVjp, type ShapeFunction } from "./script.ts";
import type { ArrayBody, BodyArguments, ScriptInput } from "./body_types.ts";
import type { WorkerOption } from "./workers/worker_body.ts";
import { PyFunc, PyFuncStateless } from "./script_ops.ts";
import { outputsOf, parseTout, type Tout } from "./tout.ts";
import type { Decorated, DecoratorOptions } from "./decorator.ts";
import { runNumpyStyleAsync } from "./run_numpy_style.ts";
import { TypeError } from "../core/throwing/builtin_errors.ts";

/** Options of {@linkcode pyFunc}. */
export interface PyFuncOptions {
  /** False for a pure body, which may be folded, merged or dropped. Default true. */
  readonly stateful?: boolean;
  /** False lets awaiting calls overlap; the body still runs each time. Default true. */
  readonly ordered?: boolean;
  /** Make it an error to differentiate through a body without `vjp`, even if other paths carry a gradient. */
  readonly strictGradients?: boolean;
  /** Node name. */
  readonly name?: string;
  /**
   * True: the body takes and returns batches, so that one call does for many. Every array it gets, and every result, has a leading axis;
   * `Tout`, `shapeFn` and the op are of one row. Calls in the rows of `mapFn`, and in a dataset's `map` before `batch`, become one, as
   * long as nothing in the function has effects in an order; any other call is a batch of one. What is the same for all rows is repeated.
   * `vjp` gets batches too.
   */
  readonly vectorized?: boolean;
}

/** Options of {@linkcode numpyFunction}. */
export interface NumpyFunctionOptions extends PyFuncOptions {
  /** Output shapes from input specs. */
  readonly shapeFn?: ShapeFunction;
  /** Gradient. */
  readonly vjp?: ScriptVjp;
  /** Time limit of one call in milliseconds. */
  readonly timeoutMs?: number;
  /**
   * Run the body in another thread of a pool. `true` sends its source, which has `NdArray` and tf's errors and must not
   * need other names from around it; `{ module, export }` names a function of a module, which may import. The memory of
   * arrays is transferred, also that of the result, which the body must not keep. A call can be ended while it runs;
   * `ctx.signal` tells the body first.
   */
  readonly worker?: WorkerOption;
}

const COMMON: OptionKeys<PyFuncOptions> = {
  stateful: true,
  name: true,
  ordered: true,
  strictGradients: true,
  vectorized: true,
};
const checkOptions = optionCheck<NumpyFunctionOptions>("numpyFunction", {
  ...COMMON,
  shapeFn: true,
  vjp: true,
  timeoutMs: true,
  worker: true,
});

/**
 * The outputs in the nest of `Tout`: a tensor, a list or an object; an operation if there is none. Any nest for an
 * undecided `Tout`.
 */
export type ScriptResult<T> = [Tout] extends [T] ? Nest<Tensor>
  : T extends string ? Tensor
  : T extends readonly [] ? Operation
  : T extends TensorSpec ? Tensor
  : T extends CompositeSpec ? Extract<ReturnType<T["pack"]>, CompositeTensor>
  : { [K in keyof T]: ScriptResult<T[K]> };

const NUMPY_FUNCTION: ScriptKind<NumpyFunctionOptions> = {
  name: "numpyFunction",
  check: checkOptions,
  opOf: ({ stateful }) => (stateful === false ? PyFuncStateless : PyFunc),
  runAsync: runNumpyStyleAsync,
};

/**
 * Makes an op from a function of host arrays. `func(...args, ctx)` gets one `NdArray` per element of `inp` (nests keep
 * their nesting) and returns the outputs that `Tout` declares; it may be async inside graphs. All inputs of one
 * boundary come in one readback. A result may also be `{ shape, data }`, a flat typed array if the declared shape is
 * complete, or `ctx.array(shape, data)`; `x.text()` and `x.strings()` read strings, and JavaScript strings are returned
 * as UTF-8. `ctx.seed` is unique to the call and repeats with `tf.setRandomSeed`. A body without `vjp` cuts gradients;
 * errors and a warning name it. Follows TensorFlow `tf.numpy_function`. Called with options alone it is a decorator:
 * `numpyFunction({ Tout })(func)`. Throws `ValueError` if `func` is not callable, or if a worker's body uses names from
 * around it, `TypeError` for a bad `inp` or `Tout`; in eager mode the body's error as an `OpError`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const sinh = (x: tf.NdArray) => x.map((v) => Math.sinh(Number(v)));
 * const y = tf.numpyFunction(sinh, [tf.scalar(1)], "float32");
 * console.log(y.item().toFixed(4)); // 1.1752
 * ```
 *
 * @example In another thread
 * ```ts
 * import * as tf from "@weft/weft";
 * const primes = (n: tf.NdArray, ctx: tf.ScriptContext) => {
 *   let count = 0;
 *   for (let i = 2; i <= Number(n); i++) {
 *     let k = 2;
 *     while (k * k <= i && i % k !== 0) k++;
 *     if (k * k > i) count++;
 *   }
 *   return ctx.array([], [count], "int32");
 * };
 * using y = await tf.numpyFunctionAsync(primes, [1000], "int32", { worker: true });
 * console.log(y.item()); // 168
 * ```
 *
 * @example Noise that repeats, for elements that are computed at once
 * ```ts
 * import * as tf from "@weft/weft";
 * const noisy = (x: tf.NdArray, ctx: tf.ScriptContext) => Number(x) + Number(ctx.seed >> 40n) / 2 ** 24;
 * const augmented = () =>
 *   tf.data.range(4).map(
 *     (x) => tf.numpyFunction(noisy, [tf.cast(x, "float32")], "float32", { ordered: false }),
 *     { numParallelCalls: 4 },
 *   );
 * const pass = () => Array.fromAsync(augmented().asNumpyIterator(), (x) => x.item());
 * tf.setRandomSeed(1);
 * const first = await pass();
 * tf.setRandomSeed(1);
 * console.log(String(await pass()) === String(first)); // true
 * tf.setRandomSeed(null);
 * ```
 */
export function numpyFunction<const T extends Tout, const I extends readonly ScriptInput[]>(
  func: NoInfer<ArrayBody<I>>,
  inp: I,
  Tout: T,
  options?: NumpyFunctionOptions,
): ScriptResult<T>;
/** The decorator form: `numpyFunction({ Tout })(func)`. */
export function numpyFunction<const T extends Tout>(
  options: DecoratorOptions<T> & NumpyFunctionOptions,
): Decorated<T, NdArray>;
export function numpyFunction(
  func: unknown,
  inp?: unknown,
  tout?: unknown,
  options: NumpyFunctionOptions = {},
): unknown {
  return callOrDecorate(NUMPY_FUNCTION, { func, inp, tout, options });
}

/**
 * Runs {@linkcode numpyFunction} in eager code with an async body, or with inputs that can only be read asynchronously.
 * In a graph it adds the node.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const y = await tf.numpyFunctionAsync(async (x: tf.NdArray) => await Promise.resolve(x), [tf.scalar(2)], "float32");
 * console.log((y as tf.Tensor).item()); // 2
 * ```
 */
export function numpyFunctionAsync<const T extends Tout, const I extends readonly ScriptInput[]>(
  func: NoInfer<ArrayBody<I>>,
  inp: I,
  Tout: T,
  options: NumpyFunctionOptions = {},
): Promise<ScriptResult<T>> {
  const call = { func, inp, tout: Tout, options };
  return callAsync(NUMPY_FUNCTION, call) as Promise<ScriptResult<T>>;
}

/** The forms of {@linkcode pyFunc}, whose bodies get arrays of kind `Leaf`. */
export interface PyFuncForms<Leaf> {
  /** The arguments, then options. */
  <const T extends Tout, const I extends readonly ScriptInput[]>(
    func: NoInfer<(...args: BodyArguments<I, Leaf>) => unknown>,
    inp: I,
    Tout: T,
    options?: PyFuncOptions,
  ): ScriptResult<T>;
  /** The arguments in TensorFlow's order. */
  <const T extends Tout, const I extends readonly ScriptInput[]>(
    func: NoInfer<(...args: BodyArguments<I, Leaf>) => unknown>,
    inp: I,
    Tout: T,
    stateful?: boolean,
    name?: string,
  ): ScriptResult<T>;
}

const checkPyFuncOptions = optionCheck<PyFuncOptions>("pyFunc", COMMON);

/** Returns the `pyFunc` of a `numpyFunction`. */
export function pyFuncOf<Leaf>(
  numpyFunction: (func: never, inp: never, tout: never, options: PyFuncOptions) => unknown,
): PyFuncForms<Leaf> {
  const pyFunc = (
    func: unknown,
    inp: unknown,
    tout: unknown,
    options: PyFuncOptions | boolean = {},
    name?: string,
  ): unknown => {
    const given = typeof options === "boolean" ? { stateful: options } : options;
    checkPyFuncOptions(given);
    const all = name === undefined ? given : { ...given, name };
    return numpyFunction(func as never, inp as never, tout as never, all);
  };
  return pyFunc as PyFuncForms<Leaf>;
}

/**
 * Makes a script op as {@linkcode numpyFunction} does, in TensorFlow 1's spelling; the last arguments may also come in
 * TensorFlow's order: `pyFunc(func, inp, Tout, stateful, name)`. Follows `tf.compat.v1.py_func`. Throws as {@linkcode
 * numpyFunction} does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [a, b] = tf.pyFunc((x: tf.NdArray) => [x, x.map((v) => Number(v) + 1)], [tf.scalar(1)], ["float32", "float32"]);
 * console.log([a.item(), b.item()]); // [1, 2]
 * ```
 */
export const pyFunc: PyFuncForms<"array"> = pyFuncOf(numpyFunction);

/** Options of {@linkcode contribPyFunc}. */
export interface ContribPyFuncOptions extends PyFuncOptions {
  /** Positional arguments, in any nest. */
  readonly args?: readonly ScriptInput[];
  /** Keyword arguments: the body gets them as one object after the positional ones. */
  readonly kwargs?: { readonly [key: string]: ScriptInput };
  /** Output dtypes, in any nest, or a function of the arguments that returns them. */
  // deno-lint-ignore no-explicit-any
  readonly outputTypes?: Tout | ((...args: any[]) => Tout);
  /** Output shapes: as `outputTypes` with shapes for dtypes, or a function of the arguments. */
  // deno-lint-ignore no-explicit-any
  readonly outputShapes?: unknown | ((...args: any[]) => unknown);
}

const checkContribOptions = optionCheck<ContribPyFuncOptions>("contrib.framework.pyFunc", {
  args: true,
  kwargs: true,
  outputTypes: true,
  outputShapes: true,
  ...COMMON,
});

/**
 * `tf.contrib.framework.py_func` of TensorFlow 1: {@linkcode pyFunc} with keyword arguments, nested outputs and output shapes.
 * Throws `TypeError` where `args` is no list or `kwargs` no object.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const y = tf.contrib.framework.pyFunc((x: tf.NdArray, { by }: { by: tf.NdArray }) => x.map((v) => Number(v) * Number(by.item())), {
 *   args: [tf.tensor([1, 2])],
 *   kwargs: { by: tf.scalar(3) },
 *   outputTypes: "float32",
 *   outputShapes: [2],
 * }) as tf.Tensor;
 * console.log(y.arraySync()); // [3, 6]
 * ```
 */
export function contribPyFunc<
  const A extends readonly ScriptInput[] = [],
  const K extends NonNullable<ContribPyFuncOptions["kwargs"]> | undefined = undefined,
>(
  func: NoInfer<ArrayBody<[...A, ...(undefined extends K ? [] : [K])]>>,
  options: ContribPyFuncOptions & { readonly args?: A; readonly kwargs?: K } = {},
): unknown {
  checkContribOptions(options);
  const { args = [], kwargs, outputTypes, outputShapes, stateful = true } = options;
  const refused = (what: string, value: unknown): TypeError =>
    new TypeError(`${what} and not ${describe(value)}. args: ${describe(value)}`);
  if (!Array.isArray(args)) throw refused("args must be list", args);
  if (kwargs !== undefined && !isPlainObject(kwargs)) throw refused("kwargs must be dict", kwargs);
  checkCallable(func);
  const all = kwargs === undefined ? args : [...args, kwargs];
  const types = typeof outputTypes === "function" ? outputTypes(...all) : outputTypes;
  const shapes = typeof outputShapes === "function" ? outputShapes(...all) : outputShapes;
  const outputs = parseTout(types);
  if (outputs.specs.length === 0) {
    throw new TypeError("outputTypes of contrib.framework.pyFunc must name at least one output");
  }
  const def = stateful ? PyFunc : PyFuncStateless;
  const { args: nest, inputs } = readArguments(all, def.name);
  const { specs, structure } = outputs;
  const declared = shapes === undefined || shapes === null ? outputs : outputsOf(
    flattenShapes(structure, shapes).map((shape, i) => ({ dtype: specs[i].dtype, shape })),
    structure,
  );
  const script = makeScript(func, nest, declared, options);
  return callScript(def, script, inputs, options);
}

/**
 * Returns the shapes in the order of the outputs; a shape is itself an array, so the outputs' nest tells where each
 * begins.
 */
function flattenShapes(structure: unknown, shapes: unknown): PartialShape[] {
  if (structure === 0) return [shapes as PartialShape];
  if (Array.isArray(structure)) {
    return structure.flatMap((s, i) => flattenShapes(s, (shapes as unknown[])[i]));
  }
  const record = structure as Record<string, unknown>;
  return Object.keys(record).sort().flatMap((k) =>
    flattenShapes(record[k], (shapes as Record<string, unknown>)[k])
  );
}
