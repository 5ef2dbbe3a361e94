/** tf.function: traces a JavaScript function once per input signature, then runs the graph. */
import { counted, showFunction, specsText } from "../../core/arrays/shown.ts";
import { counter } from "../../core/collections/counter.ts";
import { currentInterpreter, type OpInput, withRecorders } from "../../core/apply.ts";
import { componentSpecs, CompositeTensor } from "../../core/composite.ts";
import { describe } from "../../core/convert.ts";
import { type Nest, refusePromise } from "../../core/nest.ts";
import { optionCheck } from "../../core/arguments.ts";
import { RecentMap } from "../../core/collections/recent_map.ts";
import { compatible, relaxShapes } from "../../core/shape.ts";
import { resourceOf } from "../../core/graph_node.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import type { Spec, TensorSpec } from "../../core/tensor_spec.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { ValueError } from "../../core/errors.ts";
import { FuncGraph } from "../../graph/func_graph.ts";
import { Retracing } from "../../graph/retracing.ts";
import { compileAhead } from "./compile_ahead.ts";
import { callFunction, callFunctionAsync, ConcreteFunction } from "./concrete_function.ts";
import { collectResult, packResult, type TraceResult } from "./trace_result.ts";
import {
  bindArguments,
  type Binding,
  bindingError,
  bindToSignature,
  checkSignature,
  fitInputs,
  keyOf,
  matchPattern,
  type Pattern,
  patternOf,
  signatureBinding,
  type SignatureSpec,
  specsGiven,
} from "./function_binding.ts";
import { endingRecordings } from "../eager/tensor.ts";
import { Variable } from "../variables/variable.ts";
import { VariableState } from "../variables/variable_state.ts";

export { onceLoaded } from "./function_kernels.ts";

/** Options of {@linkcode tfFunction}. */
export interface FunctionOptions {
  /** One spec (or nest of specs) per argument: one trace for all fitting arguments. */
  readonly inputSignature?: readonly Nest<SignatureSpec>[];
  /** Name of the function. */
  readonly name?: string;
  /** Make varying shapes unknown dimensions instead of new traces. */
  readonly reduceRetracing?: boolean;
}

const checkOptions = optionCheck<FunctionOptions>("function", {
  inputSignature: true,
  name: true,
  reduceRetracing: true,
});

/** A spec that may have a name. */
export interface NamedSpec extends Spec {
  /** Name of the argument. */
  readonly name?: string;
}

/** A traced body for one signature, callable with tensors. */
export interface ConcreteFunctionHandle {
  /** Calls it with one tensor per placeholder. */
  (...tensors: TensorLike[]): unknown;
  /** The traced graph. */
  readonly graph: FuncGraph;
  /** Specs of its inputs, with the signature's names. */
  readonly inputs: readonly NamedSpec[];
  /** Specs of its outputs. */
  readonly outputs: readonly Spec[];
}

/** A function that is traced into graphs. */
// deno-lint-ignore no-explicit-any
export interface TracedFunction<A extends any[], R> {
  /** Runs it synchronously. Throws `FailedPreconditionError`, which names `async`, if a body must be awaited. */
  (...args: A): R;
  /** Runs it and awaits its bodies. */
  async(...args: A): Promise<R>;
  /**
   * Returns the traced body for these arguments, or for specs in their place. Throws `TypeError` where the function wants arguments
   * and neither they nor an `inputSignature` are given.
   */
  getConcreteFunction(...args: unknown[]): ConcreteFunctionHandle;
  /**
   * Traces it for these arguments, or for specs in their place, and resolves when the kernels of its calls are compiled, in parallel
   * where the platform can. Nothing runs. Kernels whose shapes only a call knows are left to it. Throws as a call would where the
   * arguments do not fit.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * const f = tf.function((x: tf.Tensor) => tf.softmax(tf.matMul(x, x)));
   * await f.compile(tf.TensorSpec([64, 64]));
   * console.log(f.traceCount); // 1
   * ```
   */
  compile(...args: unknown[]): Promise<void>;
  /** Number of traces. */
  readonly traceCount: number;
  /** Graph of the trace that was called last. Throws `TypeError` where there is none yet, and arguments are wanted for one. */
  readonly graph: FuncGraph;
}

interface Trace {
  readonly concrete: ConcreteFunction;
  readonly result: TraceResult;
  /** The trainable flags of the used variables. */
  readonly trainable: readonly boolean[];
  /** {@linkcode VariableState.trainableChanges} when the flags were last checked. */
  seenAt: number;
}

/** Number of traces that a function keeps: each takes some 35 KB, and making it anew some milliseconds. */
const MOST_TRACES = 1024;

const nextFunction = counter();

/**
 * Traces `fn` into a graph for each new input signature and runs the graph. Tensors and typed arrays are inputs by
 * dtype and shape; other JavaScript values are constants of the trace: primitives by type and value, objects and
 * variables by identity. Variables may be made in the first trace only; then `fn` is traced again at once and must
 * reuse them, else `ValueError`. A change of a used variable's `trainable` traces it again. Script ops inside run at
 * every call. Follows TensorFlow `tf.function`. Exported as `tf.function`. Throws `TypeError` for arguments that do not
 * fit `inputSignature`, or results that are not tensors.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const f = tf.function((x: tf.Tensor) => tf.add(tf.square(x), 1));
 * console.log(f(tf.scalar(3)).item()); // 10
 * f(tf.scalar(4));
 * console.log(f.traceCount); // 1
 * ```
 */
// deno-lint-ignore no-explicit-any
export function tfFunction<A extends any[] = Tensor[], R = unknown>(
  fn: (...args: A) => R,
  options: FunctionOptions = {},
): TracedFunction<A, R> {
  if (typeof fn !== "function") {
    throw new ValueError(`Expected func to be callable. Received func=${describe(fn)}`);
  }
  checkOptions(options);
  const { inputSignature } = options;
  if (inputSignature !== undefined) checkSignature(inputSignature);
  if (inputSignature && fn.length > inputSignature.length) {
    throw new TypeError(
      `input_signature missing type constraint for argument ${inputSignature.length}: the function has ${fn.length}`,
    );
  }
  const retracing = new Retracing(options.name ?? (fn.name || "function"), fn, tfFunction);
  return tracedFunction(fn, options, retracing);
}

/**
 * Makes a {@linkcode tfFunction} for a function from a file. Its traces are counted only with `retracing`: the user
 * cannot make fewer.
 */
// deno-lint-ignore no-explicit-any
export function tracedFunction<A extends any[], R>(
  fn: (...args: A) => R,
  options: FunctionOptions,
  retracing: Retracing | null = null,
): TracedFunction<A, R> {
  const tracer = new Tracer(fn as (...args: unknown[]) => unknown, options, retracing);
  const call = (...args: A): R => {
    const { trace, inputs } = tracer.bind(args);
    return packResult(trace.result, callFunction(trace.concrete, inputs)) as R;
  };
  const traced = Object.defineProperties(call, {
    async: {
      value: async (...args: A): Promise<R> => {
        const { trace, inputs } = tracer.bind(args);
        const call = currentInterpreter().symbolic ? callFunction : callFunctionAsync;
        return packResult(trace.result, await call(trace.concrete, inputs)) as R;
      },
    },
    getConcreteFunction: { value: (...args: unknown[]) => tracer.concrete(args) },
    compile: { value: (...args: unknown[]) => tracer.compile(args) },
    traceCount: { get: () => tracer.count },
    graph: { get: () => tracer.graph },
  }) as unknown as TracedFunction<A, R>;
  return showFunction(traced, () => tracer.text());
}

/** True where the same variables are trainable as when it was traced. */
function isCurrent(trace: Trace): boolean {
  if (trace.seenAt === VariableState.trainableChanges) return true;
  const current = trainableIn(trace.concrete).every((t, i) => t === trace.trainable[i]);
  if (current) trace.seenAt = VariableState.trainableChanges;
  return current;
}

function fitsSpecs(specs: readonly Spec[], inputs: readonly Tensor[]): boolean {
  return specs.length === inputs.length &&
    specs.every(({ dtype, shape }, i) =>
      dtype === inputs[i].dtype && compatible(shape, inputs[i].staticShape)
    );
}

function trainableIn({ graph }: ConcreteFunction): boolean[] {
  return graph.resources.map((r) => resourceOf(r)!.trainable);
}

class Tracer {
  readonly #fn: (...args: unknown[]) => unknown;
  readonly #options: FunctionOptions;
  readonly #name: string;
  /** Traces by arguments; those in a list differ in their trainable variables. */
  readonly #traces = new RecentMap<string, Trace[]>(
    MOST_TRACES,
    (traces) => traces.forEach(({ concrete }) => concrete.release()),
  );
  readonly #lastSpecs = new RecentMap<string, Spec[]>(MOST_TRACES);
  readonly #retracing: Retracing | null;
  /** The last call: the next one is often alike. */
  #latest: { pattern: Pattern; trace: Trace } | null = null;
  /** The trace of the last call. */
  #called: Trace | null = null;
  #madeVariables = false;
  count = 0;

  constructor(
    fn: (...args: unknown[]) => unknown,
    options: FunctionOptions,
    retracing: Retracing | null,
  ) {
    this.#fn = fn;
    this.#options = options;
    this.#name = options.name ?? `__inference_${fn.name || "function"}_${nextFunction()}`;
    this.#retracing = retracing;
  }

  /** Text for `console.log`. */
  text(): string {
    return `<tf.function ${this.#name}: ${counted(this.count, "trace")}>`;
  }

  /** Returns the trace for these arguments, and its inputs. */
  bind(args: readonly unknown[]): { trace: Trace; inputs: OpInput[] } {
    this.#retracing?.called();
    const latest = this.#latest, known = latest && matchPattern(latest.pattern, args);
    if (known && isCurrent(latest.trace)) return { trace: latest.trace, inputs: known };
    // Primitives are inputs too under a signature.
    const bound = this.#find(args), pattern = patternOf(args, !this.#options.inputSignature);
    this.#latest = pattern && { pattern, trace: bound.trace };
    this.#called = bound.trace;
    return bound;
  }

  #find(args: readonly unknown[]): { trace: Trace; inputs: OpInput[] } {
    const binding = this.#options.inputSignature
      ? bindToSignature(args, this.#options.inputSignature)
      : bindArguments(args);
    let { key, specs } = binding;
    let trace = this.#traced(key);
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
        trace = this.#traced(key);
      }
      this.#lastSpecs.set(kind, specs);
    }
    if (!trace) {
      trace = this.#trace(key, specs, binding.rebuild);
      const isRelaxed = this.#options.reduceRetracing === true;
      this.#retracing?.traced({ structure: binding.structure, specs, isRelaxed });
    }
    return { trace, inputs: binding.inputs };
  }

  #traced(key: string): Trace | undefined {
    return this.#traces.get(key)?.find(isCurrent);
  }

  /** Returns the trace for specs, or for arguments in their place. */
  #traceFor(args: readonly unknown[]): Trace {
    const { inputSignature } = this.#options;
    const { key, specs, rebuild } = inputSignature
      ? signatureBinding(inputSignature)
      : bindArguments(args);
    return this.#traced(key) ?? this.#trace(key, specs, rebuild);
  }

  get graph(): FuncGraph {
    return (this.#called ?? this.#traceWith([])).concrete.graph;
  }

  /** Returns the trace for specs or arguments, and says so where an error comes from their lack. */
  #traceWith(args: readonly unknown[]): Trace {
    if (args.length > 0 || this.#options.inputSignature || this.#fn.length === 0) {
      return this.#traceFor(args);
    }
    try {
      return this.#traceFor(args);
    } catch (cause) {
      throw new TypeError(
        `Cannot trace ${this.#name} without arguments: it wants ${
          counted(this.#fn.length, "argument")
        }; call it, or give it an inputSignature`,
        { cause },
      );
    }
  }

  async compile(args: readonly unknown[]): Promise<void> {
    const { concrete } = this.#traceWith(args), { inputs } = concrete.graph;
    const specs = specsGiven(args, this.#options.inputSignature);
    if (args.length > 0 && !fitsSpecs(specs, inputs)) {
      throw new TypeError(
        `Cannot compile ${this.#name} for ${specsText(specs)}: it takes ${
          specsText(inputs.map((t) => ({ dtype: t.dtype, shape: t.staticShape })))
        }`,
      );
    }
    await compileAhead(concrete, args.length > 0 ? specs : []);
  }

  concrete(args: readonly unknown[]): ConcreteFunctionHandle {
    const { inputSignature } = this.#options;
    const made = this.#traceWith(args);
    const { graph, outputs } = made.concrete;
    const names = inputSignature ? componentSpecs(inputSignature as Nest<SignatureSpec>) : [];
    const inputs = graph.inputs.map((t, i): NamedSpec => {
      const { name } = names[i] as Partial<TensorSpec> ?? {};
      return { dtype: t.dtype, shape: t.staticShape, ...(name !== undefined && { name }) };
    });
    const call = (...tensors: TensorLike[]): unknown =>
      packResult(
        made.result,
        callFunction(
          made.concrete,
          fitInputs(
            // Nested numbers are one tensor: only composite arguments are taken apart.
            tensors.flatMap((x) => (x instanceof CompositeTensor ? x.components : [x])),
            inputs,
            bindingError(tensors),
          ),
        ),
      );
    const results = outputs.map((t): Spec => ({ dtype: t.dtype, shape: t.staticShape }));
    const text = () =>
      `<concrete tf.function ${this.#name}: ${specsText(inputs)} -> ${specsText(results)}>`;
    return showFunction(Object.assign(call, { graph, inputs, outputs: results }), text);
  }

  /**
   * Traces the body. As in TensorFlow, a body that makes variables is traced once more at once and must find them then.
   */
  #build(specs: readonly Spec[], rebuild: Binding["rebuild"]): [FuncGraph, unknown] {
    this.count++;
    const graph = new FuncGraph(this.#name);
    const placeholders = specs.map((s) => graph.addInput(s.dtype, s.shape));
    const body = (): unknown => withRecorders([], () => this.#fn(...rebuild(placeholders)));
    const trace = (): unknown => graph.asDefault(() => endingRecordings(body));
    if (this.#madeVariables || this.#traces.size > 0) {
      return [graph, Variable.refused.within(true, trace)];
    }
    const before = Variable.created, result = trace();
    if (Variable.created === before) return [graph, result];
    this.#madeVariables = true;
    return this.#build(specs, rebuild);
  }

  #trace(key: string, specs: readonly Spec[], rebuild: Binding["rebuild"]): Trace {
    const [graph, result] = this.#build(specs, rebuild);
    refusePromise(
      result,
      () =>
        `Cannot trace ${this.#name}: it returned a promise, but tracing is synchronous; put awaits into a script op`,
    );
    const concrete = new ConcreteFunction(graph);
    const trace: Trace = {
      concrete,
      result: collectResult(graph, result, this.#name),
      trainable: trainableIn(concrete),
      seenAt: VariableState.trainableChanges,
    };
    const like = this.#traces.get(key);
    if (like) like.push(trace);
    else this.#traces.set(key, [trace]);
    return trace;
  }
}
