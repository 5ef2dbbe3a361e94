/** Script: the user's function with its declarations, and the registry of named scripts. */
import { scriptCount } from "../runtime/eager/memory.ts";
import { counter, objectNumbers } from "../core/collections/counter.ts";
import type { Tensor } from "../core/tensor.ts";
import type { Spec } from "../core/tensor_spec.ts";
import { isPartialShape, mergeShapes, type PartialShape } from "../core/shape.ts";
import { AlreadyExistsError, InvalidArgumentError, ValueError } from "../core/errors.ts";
import { CompositeSpec } from "../core/composite.ts";
import { describe } from "../core/convert.ts";
import type { DType } from "../core/dtype.ts";
import type { NdArray } from "../core/nd_array.ts";
import type { OpSeeds } from "../ops/random/state.ts";
import { optionCheck, wantFunction } from "../core/arguments.ts";
import { checkTimeout } from "../runtime/run/timers.ts";
import { flatten, isNested, type Nest, structureText } from "../core/nest.ts";
import { type Outputs, parseTout, type Tout } from "./tout.ts";
import { workerBody, type WorkerOption } from "./workers/worker_body.ts";
import type { WorkerBody } from "./workers/worker_wire.ts";

/** The last argument of a body. */
export interface ScriptContext {
  /** Aborts when the run is cancelled or times out, or its session closes. */
  readonly signal: AbortSignal;
  /** Name of the node, or of the op in eager mode. */
  readonly node: string;
  /** Number of the run; 0 in eager mode. */
  readonly run: number;
  /**
   * A 64-bit seed of the call, from `tf.setRandomSeed(seed)`, the node, the element and the run: it is the same in each
   * execution of the program, also with overlapping calls. Arbitrary without a seed.
   */
  readonly seed: bigint;
  /**
   * Makes a result of this shape. Its dtype is a typed array's, `"string"` for strings, `"bool"` for booleans; for
   * numbers `dtype`, or the common dtype of all outputs. Throws `ValueError` for another size.
   */
  array(shape: readonly number[], data: ArrayLike<unknown>, dtype?: DType): NdArray;
}

/** A script body. */
// deno-lint-ignore no-explicit-any
export type ScriptFunction = (...args: any[]) => unknown;

/** Computes output specs or shapes from the (partial) input specs. */
export type ShapeFunction = (...inputs: Spec[]) => unknown;

/** Gradient of a numpy-style body: one gradient (or null) per input, written with ordinary ops. */
export type ScriptVjp = (
  saved: { inputs: Tensor[]; outputs: Tensor[] },
  ...dys: Tensor[]
) => readonly (Tensor | null)[] | Tensor | null;

/** Options of a body beside its arguments and outputs. */
export interface ScriptOptions extends Pick<RegisteredScript, "shapeFn" | "vjp"> {
  /** Time limit of one call in milliseconds. */
  readonly timeoutMs?: number | undefined;
  /** The thread that runs the body. */
  readonly worker?: WorkerOption | undefined;
  /** Make an input that the body cut from the tape an error. */
  readonly strictGradients?: boolean | undefined;
  /** True: the body takes and returns batches. Default: what was registered. */
  readonly vectorized?: boolean | undefined;
}

/** A script as its node holds it. */
export interface Script extends Omit<ScriptOptions, "worker" | "vectorized"> {
  readonly func: ScriptFunction;
  /** Number of parameters that it declares: reading it of a function takes longer than a call. */
  readonly parameters: number;
  /** Name in the GraphDef. */
  readonly token: string;
  /** Nest of the arguments; leaves are numbered inputs. */
  readonly args: unknown;
  readonly outputs: Outputs;
  /** The source of its calls' seeds; absent in eager mode. */
  readonly seeds?: OpSeeds | undefined;
  /** The worker's body; null for a body that runs in this thread. */
  readonly worker: WorkerBody | null;
  /** False for a body that never reads its tensors synchronously; undefined if not declared. */
  readonly reads?: boolean | undefined;
  /** True for a body registered as pure: it may be called again. */
  readonly pure?: boolean | undefined;
  /** True for a body that takes and returns batches: arrays with a leading axis for the calls that became one. */
  readonly vectorized: boolean;
  /** True for registered scripts, which a GraphDef may name. */
  readonly registered: boolean;
  /** True where the arguments are a plain list of inputs. */
  readonly flat: boolean;
  /** Returns a key that is equal for equal scripts: one function with equal options. */
  mergeKey(this: Script): string;
}

/** A registered script. */
export interface RegisteredScript {
  /** The body. */
  readonly func: ScriptFunction;
  /** Declared outputs. */
  readonly Tout?: Tout | undefined;
  /** Output shapes from input specs. */
  readonly shapeFn?: ShapeFunction | undefined;
  /** Gradient. */
  readonly vjp?: ScriptVjp | undefined;
  /** False for a pure body. */
  readonly stateful?: boolean | undefined;
  /**
   * False for a body of tensors that never reads them synchronously: it stays on the GPU where reads must be awaited.
   */
  readonly reads?: boolean | undefined;
  /** True: the body takes and returns batches, see {@linkcode numpyFunction}. */
  readonly vectorized?: boolean | undefined;
}

const checkRegisterOptions = optionCheck<Omit<RegisteredScript, "func">>("registerScript", {
  Tout: true,
  shapeFn: true,
  vjp: true,
  stateful: true,
  reads: true,
  vectorized: true,
});
const byToken = new Map<string, RegisteredScript>();
const tokenOf = new WeakMap<ScriptFunction, string>();
const nextAnonymous = counter();
const TOKEN = /^[A-Za-z0-9_.\-/]+@\d+$/;

/**
 * Registers a body under a stable name: graphs that use it can be saved, and loaded by programs with the same
 * registration. Returns the body. Throws `ValueError` for a bad name, `AlreadyExistsError` for the name of another
 * body.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const double = tf.registerScript("example.double@1", (x: tf.NdArray) => x.map((v) => 2 * Number(v)));
 * console.log(tf.numpyFunction(double, [tf.scalar(2)], "float32").item()); // 4
 * ```
 */
export function registerScript<F extends ScriptFunction>(
  token: string,
  func: F,
  options: Omit<RegisteredScript, "func"> = {},
): F {
  checkCallable(func);
  checkRegisterOptions(options);
  checkFunctions(options, "registerScript");
  if (!TOKEN.test(token)) {
    throw new ValueError(
      `Cannot register script "${token}": wanted a name and a version, as in "acme.nms@1"`,
    );
  }
  if ((byToken.get(token)?.func ?? func) !== func) {
    throw new AlreadyExistsError(
      `Cannot register script "${token}": another function has that name`,
    );
  }
  if (options.Tout !== undefined) parseTout(options.Tout);
  byToken.set(token, { ...options, func });
  scriptCount.registered = byToken.size;
  tokenOf.set(func, token);
  return func;
}

/**
 * Forgets a registered script: graphs that name it can no longer be loaded. True if there was one.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * tf.registerScript("example.temporary@1", (x: tf.NdArray) => x);
 * console.log(tf.unregisterScript("example.temporary@1")); // true
 * ```
 */
export function unregisterScript(token: string): boolean {
  const func = byToken.get(token)?.func;
  if (func === undefined) return false;
  byToken.delete(token);
  scriptCount.registered = byToken.size;
  if (tokenOf.get(func) === token) {
    // A body of several names goes on under the latest of the others.
    const other = [...byToken].findLast(([, script]) => script.func === func);
    if (other) tokenOf.set(func, other[0]);
    else tokenOf.delete(func);
  }
  return true;
}

export function findScript(token: string): RegisteredScript | undefined {
  return byToken.get(token);
}

/** Name of a script for messages: the body's, else its token. */
export function scriptName({ func, token }: Script): string {
  return func.name || token;
}

const numberOf = objectNumbers();

/** Returns a text that is equal for the same function, object or plain value. */
function identityText(v: unknown): string {
  if (v === null || (typeof v !== "object" && typeof v !== "function")) return String(v);
  return `#${numberOf(v)}`;
}

/** Returns the token of a body: its registered name, or a fresh `pyfunc_N`. */
export function makeScript(
  func: ScriptFunction,
  args: unknown,
  outputs: Outputs,
  { shapeFn, vjp, timeoutMs, worker, strictGradients, vectorized: batches }: ScriptOptions = {},
): Script {
  checkCallable(func);
  // The name of a function is found by a call into the engine, which takes as long as all the rest.
  if (timeoutMs !== undefined) checkTimeout(func.name || "a script", timeoutMs);
  if (shapeFn ?? vjp) checkFunctions({ shapeFn, vjp }, func.name || "a script");
  const token = tokenOf.get(func);
  const known = token === undefined ? undefined : byToken.get(token);
  const own = token ?? `pyfunc_${nextAnonymous()}`;
  const vectorized = batches ?? known?.vectorized ?? false;
  if (vectorized) checkVectorized(func, args, outputs);
  return {
    func,
    parameters: func.length,
    args,
    outputs,
    shapeFn: shapeFn ?? known?.shapeFn,
    vjp: vjp ?? known?.vjp,
    timeoutMs,
    worker: worker ? workerBody(func, worker) : null,
    strictGradients,
    reads: known?.reads,
    pure: known?.stateful === false,
    vectorized,
    token: own,
    registered: token !== undefined,
    flat: isFlat(args),
    mergeKey,
  };
}

/** Returns the key of {@linkcode Script.mergeKey}; a function of all scripts, since each call of eager code makes one. */
function mergeKey(this: Script): string {
  const { func, shapeFn, worker, args, outputs, timeoutMs, vectorized } = this;
  return [
    ...[func, shapeFn].map(identityText),
    ...[args, outputs.structure].map(structureText),
    JSON.stringify([outputs.shapes, worker]),
    timeoutMs,
    vectorized,
  ].join(";");
}

/** True where the arguments are a plain list of inputs. */
export function isFlat(args: unknown): boolean {
  const list = args as readonly unknown[];
  for (let i = 0; i < list.length; i++) {
    if (list[i] !== 0 && (isNested(list[i]) || list[i] instanceof CompositeSpec)) return false;
  }
  return true;
}

/** Throws `TypeError` for a shape function or gradient that cannot be called. */
function checkFunctions(
  { shapeFn, vjp }: Pick<RegisteredScript, "shapeFn" | "vjp">,
  of: string,
): void {
  if (shapeFn !== undefined) wantFunction(shapeFn, "shapeFn", of);
  if (vjp !== undefined) wantFunction(vjp, "vjp", of);
}

/** Throws `ValueError` for a script that has nothing to batch, or composite values, whose components have no common first axis. */
function checkVectorized(func: ScriptFunction, args: unknown, { structure }: Outputs): void {
  const leaves = flatten(args as Nest<unknown>);
  const why = leaves.length === 0
    ? "it has no inputs"
    : [...leaves, ...flatten(structure as Nest<unknown>)].some((v) => v instanceof CompositeSpec)
    ? "it takes or returns ragged or sparse tensors"
    : null;
  if (why === null) return;
  throw new ValueError(
    `Cannot vectorize script '${func.name || "(anonymous)"}': ${why}, wanted tensors to batch`,
  );
}

/** Throws `ValueError` with TensorFlow's phrase if `func` cannot be called. */
export function checkCallable(func: unknown): asserts func is ScriptFunction {
  if (typeof func !== "function") {
    throw new ValueError(`Expected func to be callable. Received func=${describe(func)}`);
  }
}

/** Returns the static shapes of a script's outputs: the declared ones, refined by `shapeFn`. */
export function outputShapes(script: Script, inputs: readonly Spec[]): PartialShape[] {
  const declared = [...script.outputs.shapes];
  if (!script.shapeFn) return declared;
  const given = script.shapeFn(...inputs);
  const list = declared.length === 1 && !isListOfShapes(given) ? [given] : given as unknown[];
  if (!Array.isArray(list) || list.length !== declared.length) {
    throw new ValueError(
      `shapeFn of ${script.token} returned ${
        Array.isArray(list) ? `${list.length} shapes` : describe(given)
      }, wanted ${declared.length}`,
    );
  }
  return list.map((given, i) => {
    const wanted = script.outputs.specs[i].dtype;
    const { shape, dtype = wanted } =
      (given instanceof Object && !Array.isArray(given) ? given : { shape: given }) as Spec;
    if (!isPartialShape(shape)) {
      throw new ValueError(
        `shapeFn of ${script.token} returned ${
          describe(given)
        } for output ${i}, wanted a TensorSpec, or a list of dimensions that are integers or null`,
      );
    }
    if (dtype === wanted) return mergeShapes(declared[i], shape);
    throw new ValueError(
      `shapeFn of ${script.token} returned dtype ${dtype} for output ${i}, which Tout declares ${wanted}`,
    );
  });
}

function isListOfShapes(v: unknown): boolean {
  return Array.isArray(v) && v.length === 1 && v[0] !== null && typeof v[0] === "object";
}

export function unknownToken(token: string, node?: string): InvalidArgumentError {
  return new InvalidArgumentError(
    `ValueError: Could not find callback with key=${token} in the registry.`,
    { op: "PyFunc", node },
  );
}
