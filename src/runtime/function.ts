/**
 * tf.function: traces a JavaScript function once per input signature and runs the graph after that.
 * May import core, ops, graph and runtime files.
 */
import { currentInterpreter, type OpInput, withRecorders } from "../core/apply.ts";
import { describe } from "../core/convert.ts";
import { dtypeOfArray } from "../core/dtype.ts";
import { flatten, isNested, mapNest, type Nest, packAs, structureText } from "../core/nest.ts";
import { NdArray } from "../core/nd_array.ts";
import { compatible, relaxShapes } from "../core/shape.ts";
import { Tensor, type TensorLike } from "../core/tensor.ts";
import { type Spec, specText, TensorSpecClass } from "../core/tensor_spec.ts";
import type { TensorSpec } from "../core/tensor_spec.ts";
import { ValueError } from "../core/errors.ts";
import { toInput } from "../ops/input.ts";
import { asTensor } from "../ops/input.ts";
import { FuncGraph } from "../graph/func_graph.ts";
import { Operation, type SymbolicTensor } from "../graph/operation.ts";
import { callFunction, callFunctionAsync, ConcreteFunction } from "./concrete_function.ts";
import { Variable } from "./variable.ts";
import type { EagerTensor } from "./tensor.ts";

/** Options of {@linkcode tfFunction}. */
export interface FunctionOptions {
  /** One spec (or nest of specs) per argument: traces once for all that fits. */
  readonly inputSignature?: readonly Nest<TensorSpec>[];
  /** Name of the function. */
  readonly name?: string;
  /** True: shapes that vary become unknown dimensions instead of new traces. */
  readonly reduceRetracing?: boolean;
}

/** A body for one signature, callable with tensors. */
export interface ConcreteFunctionHandle {
  /** Calls it with one tensor per placeholder. */
  (...tensors: TensorLike[]): unknown;
  /** The traced graph. */
  readonly graph: FuncGraph;
  /** Specs of its inputs. */
  readonly inputs: readonly Spec[];
  /** Specs of its outputs. */
  readonly outputs: readonly Spec[];
}

/** A function that is traced into graphs. */
// deno-lint-ignore no-explicit-any
export interface TracedFunction<A extends any[], R> {
  /** Runs it: at once where no body must be awaited. Throws `FailedPreconditionError` naming `async` otherwise. */
  (...args: A): R;
  /** Runs it, awaiting what must be. */
  async(...args: A): Promise<R>;
  /** The body for these arguments, or for specs in their place. */
  getConcreteFunction(...args: unknown[]): ConcreteFunctionHandle;
  /** How often it was traced. */
  readonly traceCount: number;
}

interface Trace {
  readonly concrete: ConcreteFunction;
  /** Nest of the result: numbers are outputs, null is null. */
  readonly result: unknown;
}

interface Binding {
  readonly key: string;
  readonly structure: string;
  /** Values of tensor arguments. */
  readonly inputs: OpInput[];
  /** Spec of each tensor argument. */
  readonly specs: Spec[];
  /** Puts placeholders in the places of tensors. */
  readonly rebuild: (placeholders: readonly Tensor[]) => unknown[];
}

let functionCount = 0;

/**
 * Traces `fn` into a graph for each new input signature and runs that. Tensors and typed arrays are inputs by dtype and shape,
 * other JavaScript values are constants of the trace: primitives by type and value, objects and variables by identity. Variables may
 * be made on the first trace only. Script ops inside run at every call. Follows TensorFlow `tf.function`.
 * Exported as `tf.function`. Throws `TypeError` for arguments that do not fit `inputSignature`, or results that are no tensors.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertEquals } from "@std/assert";
 * const f = tf.function((x: tf.Tensor) => tf.add(tf.square(x), 1));
 * assertEquals(f(tf.scalar(3)).item(), 10);
 * f(tf.scalar(4));
 * assertEquals(f.traceCount, 1);
 * ```
 */
// deno-lint-ignore no-explicit-any
export function tfFunction<A extends any[], R>(
  fn: (...args: A) => R,
  options: FunctionOptions = {},
): TracedFunction<A, R> {
  if (typeof fn !== "function") {
    throw new ValueError(`Expected func to be callable. Received func=${describe(fn)}`);
  }
  const { inputSignature } = options;
  if (inputSignature && fn.length > inputSignature.length) {
    throw new TypeError(
      `input_signature missing type constraint for argument ${inputSignature.length}: the function has ${fn.length}`,
    );
  }
  const tracer = new Tracer(fn as (...args: unknown[]) => unknown, options);
  const call = (...args: A): R => {
    const { trace, inputs } = tracer.bind(args);
    return packResult(trace, callFunction(trace.concrete, inputs)) as R;
  };
  return Object.defineProperties(call, {
    async: {
      value: async (...args: A): Promise<R> => {
        const { trace, inputs } = tracer.bind(args);
        if (currentInterpreter().symbolic) {
          return packResult(trace, callFunction(trace.concrete, inputs)) as R;
        }
        return packResult(trace, await callFunctionAsync(trace.concrete, inputs)) as R;
      },
    },
    getConcreteFunction: { value: (...args: unknown[]) => tracer.concrete(args) },
    traceCount: { get: () => tracer.count },
  }) as unknown as TracedFunction<A, R>;
}

function packResult(trace: Trace, outputs: readonly Tensor[]): unknown {
  return mapNest<number | null, Tensor | null>(
    (i) => (i === null ? null : outputs[i]),
    trace.result as Nest<number | null>,
  );
}

class Tracer {
  readonly #fn: (...args: unknown[]) => unknown;
  readonly #options: FunctionOptions;
  readonly #name: string;
  readonly #traces = new Map<string, Trace>();
  readonly #lastSpecs = new Map<string, Spec[]>();
  #madeVariables = false;
  count = 0;

  constructor(fn: (...args: unknown[]) => unknown, options: FunctionOptions) {
    this.#fn = fn;
    this.#options = options;
    this.#name = options.name ?? `__inference_${fn.name || "function"}_${functionCount++}`;
  }

  bind(args: readonly unknown[]): { trace: Trace; inputs: OpInput[] } {
    const binding = this.#options.inputSignature
      ? bindToSignature(args, this.#options.inputSignature)
      : bindArguments(args);
    let { key, specs } = binding;
    let trace = this.#traces.get(key);
    if (!trace && this.#options.reduceRetracing) {
      // Shapes vary for one set of dtypes.
      const kind = `${binding.structure}${specs.map((s) => s.dtype)}`;
      const last = this.#lastSpecs.get(kind);
      if (last) {
        specs = specs.map((s, i) => ({
          dtype: s.dtype,
          shape: relaxShapes(s.shape, last[i].shape),
        }));
        key = keyOf(binding.structure, specs);
        trace = this.#traces.get(key);
      }
      this.#lastSpecs.set(kind, specs);
    }
    if (!trace) this.#traces.set(key, trace = this.#trace(specs, binding.rebuild));
    return { trace, inputs: binding.inputs };
  }

  concrete(args: readonly unknown[]): ConcreteFunctionHandle {
    const { inputSignature } = this.#options;
    const binding = inputSignature ? signatureBinding(inputSignature) : bindArguments(args);
    let trace = this.#traces.get(binding.key);
    if (!trace) this.#traces.set(binding.key, trace = this.#trace(binding.specs, binding.rebuild));
    const made = trace;
    const { graph, outputs } = made.concrete;
    const inputs = graph.inputs.map((t): Spec => ({ dtype: t.dtype, shape: t.staticShape }));
    const call = (...tensors: TensorLike[]): unknown =>
      packResult(
        made,
        callFunction(made.concrete, fitInputs(tensors, inputs, bindingError(tensors))),
      );
    return Object.assign(call, {
      graph,
      inputs,
      outputs: outputs.map((t): Spec => ({ dtype: t.dtype, shape: t.staticShape })),
    });
  }

  #trace(specs: readonly Spec[], rebuild: Binding["rebuild"]): Trace {
    this.count++;
    const graph = new FuncGraph(this.#name);
    const placeholders = specs.map((s) => graph.addInput(s.dtype, s.shape));
    const before = Variable.created;
    const result = graph.asDefault(() =>
      withRecorders([], () => this.#fn(...rebuild(placeholders)))
    );
    if (Variable.created !== before) {
      if (this.#madeVariables || this.#traces.size > 0) {
        throw new ValueError(
          "tf.function only supports singleton tf.Variables created on the first call. Make sure the tf.Variable is only created once or created outside tf.function.",
        );
      }
      this.#madeVariables = true;
    }
    if (result instanceof Promise) {
      throw new TypeError(
        `Cannot trace ${this.#name}: it returned a promise, but tracing is synchronous; put awaits into a script op`,
      );
    }
    return {
      concrete: new ConcreteFunction(graph),
      result: collectResult(graph, result, this.#name),
    };
  }
}

/** Makes the graph's outputs of what the body returned. */
function collectResult(graph: FuncGraph, result: unknown, name: string): unknown {
  const index = new Map<Tensor, number>();
  const leaf = (v: unknown): number | null => {
    if (v === null || v === undefined || v instanceof Operation) return null;
    const usable = v instanceof Tensor || v instanceof NdArray || dtypeOfArray(v) !== undefined ||
      ["number", "boolean", "string", "bigint"].includes(typeof v);
    if (!usable) {
      throw new TypeError(
        `${name} must return tensors, null, or nests of them: found return value of type ${
          describe(v)
        }, which is not a Tensor`,
      );
    }
    const t = graph.asDefault(() => asTensor(toInput(v as Tensor, "result", name)));
    const inside = (t as SymbolicTensor).graph === graph ? t as SymbolicTensor : graph.captureOf(t);
    let i = index.get(inside);
    if (i === undefined) {
      index.set(inside, i = graph.outputs.length);
      graph.outputs.push(inside);
    }
    return i;
  };
  return isNested(result)
    ? packAs(result, flatten<unknown>(result as Nest<unknown>).map(leaf))
    : leaf(result);
}

const objectIds = new WeakMap<object, number>();
const symbolIds = new Map<symbol, number>();
let nextObject = 1;

/** A text that is equal for equal values only: 1, true, "1" and 1n differ. Objects go by identity. */
function valueKey(v: unknown): string {
  if (typeof v === "object" && v !== null || typeof v === "function" || typeof v === "symbol") {
    const ids = (typeof v === "symbol" ? symbolIds : objectIds) as Map<unknown, number>;
    let n = ids.get(v);
    if (n === undefined) ids.set(v, n = nextObject++);
    return `#${n}`;
  }
  if (typeof v === "string") return JSON.stringify(v);
  return `${typeof v}:${Object.is(v, -0) ? "-0" : String(v)}`;
}

function isTensorLike(v: unknown): boolean {
  return (v instanceof Tensor && !(v instanceof Variable)) || v instanceof NdArray ||
    dtypeOfArray(v) !== undefined;
}

function bindArguments(args: readonly unknown[]): Binding {
  const inputs: OpInput[] = [], specs: Spec[] = [], keys: string[] = [];
  const leaves = flatten<unknown>(args as Nest<unknown>);
  const slots = leaves.map((v) => {
    if (v instanceof TensorSpecClass) {
      keys.push("T");
      specs.push({ dtype: v.dtype, shape: v.shape });
      return specs.length - 1;
    }
    if (!isTensorLike(v)) {
      keys.push(valueKey(v));
      return -1;
    }
    const input = toInput(v as Tensor, "args", "function");
    keys.push("T");
    inputs.push(input);
    specs.push(specOf(input));
    return specs.length - 1;
  });
  const structure = `${structureText(args)}(${keys.join()})`;
  return {
    key: keyOf(structure, specs),
    structure,
    inputs,
    specs,
    rebuild: (placeholders) =>
      packAs(args, slots.map((s, i) => (s < 0 ? leaves[i] : placeholders[s]))) as unknown[],
  };
}

function keyOf(structure: string, specs: readonly Spec[]): string {
  return structure + specs.map(specText).join();
}

function bindToSignature(
  args: readonly unknown[],
  signature: readonly Nest<TensorSpec>[],
): Binding {
  const fail = bindingError(args);
  checkCount(args, signature.length, fail);
  const wanted = flatten(signature as Nest<TensorSpec>);
  const inputs = fitInputs(leavesLike(args, signature, fail), wanted, fail);
  return { ...signatureBinding(signature), inputs };
}

/** What is traced for a signature, whatever the arguments. */
function signatureBinding(signature: readonly Nest<TensorSpec>[]): Binding {
  const wanted = flatten(signature as Nest<TensorSpec>);
  return {
    key: "signature",
    structure: "signature",
    inputs: [],
    specs: wanted.map(({ dtype, shape }): Spec => ({ dtype, shape })),
    rebuild: (placeholders) => packAs(signature, placeholders) as unknown[],
  };
}

/** How the binding of arguments fails. */
type Fail = (why: string) => never;

function bindingError(args: readonly unknown[]): Fail {
  return (why) => {
    throw new TypeError(
      `Binding inputs to tf.function failed due to \`${why}\`. Received args: ${
        args.map(describe).join(", ")
      }`,
    );
  };
}

function checkCount(args: readonly unknown[], wanted: number, fail: Fail): void {
  if (args.length < wanted) fail(`missing a required argument: number ${args.length}`);
  if (args.length > wanted) {
    fail(`too many positional arguments: received ${args.length}, wanted ${wanted}`);
  }
}

/** Values as inputs of these specs: literals are converted, tensors must fit. */
function fitInputs(values: readonly unknown[], wanted: readonly Spec[], fail: Fail): OpInput[] {
  checkCount(values, wanted.length, fail);
  return values.map((v, i) => {
    const spec = wanted[i];
    let input: OpInput;
    try {
      const options = v instanceof Tensor ? {} : { dtype: spec.dtype };
      input = toInput(v as TensorLike, `args[${i}]`, "function", options);
    } catch (e) {
      return fail((e as Error).message);
    }
    const actual = specOf(input);
    if (actual.dtype !== spec.dtype || !compatible(actual.shape, spec.shape)) {
      fail(`Can not cast TensorSpec ${specText(actual)} to TensorSpec ${specText(spec)}`);
    }
    return input;
  });
}

function specOf(x: OpInput): Spec {
  return { dtype: x.dtype, shape: x instanceof Tensor ? x.staticShape : x.shape };
}

/** Leaves of `value` in the nest of `like`: a nested array of numbers stands for one tensor where `like` has a spec. */
function leavesLike(value: unknown, like: unknown, fail: Fail): unknown[] {
  if (like instanceof TensorSpecClass) return [value];
  if (Array.isArray(like)) {
    if (!Array.isArray(value) || value.length !== like.length) {
      fail(`the nest differs: wanted a list of ${like.length}`);
    }
    return like.flatMap((l, i) => leavesLike((value as unknown[])[i], l, fail));
  }
  const record = like as Record<string, unknown>;
  if (!isNested(value) || Array.isArray(value)) fail("the nest differs: wanted an object");
  return Object.keys(record).sort().flatMap((k) =>
    leavesLike((value as Record<string, unknown>)[k], record[k], fail)
  );
}

export type { EagerTensor };
