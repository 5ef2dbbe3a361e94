/**
 * The objects of a SavedModel: functions, variables and modules by their attributes in Python. Follows TensorFlow
 * `saved_model/load.py` and `function_deserialization.py`.
 */
import { showAs } from "../../engine/core/arrays/shown.ts";
import { describe } from "../../engine/core/convert.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { isPlainObject } from "../../engine/core/nest.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { TensorSpec } from "../../engine/core/tensor_spec.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { type TracedFunction, tracedFunction } from "../../engine/runtime/functions/function.ts";
import type { Variable } from "../../engine/runtime/variables/variable.ts";
import type {
  FunctionSpec,
  SavedConcreteFunction,
  SavedObject,
  SavedObjectGraph,
  StructuredValue,
} from "../proto/saved_model_pb.ts";
import { matchValue, packValue, plainValue, specsIn, structureText } from "./structured_value.ts";

/**
 * A function of an object, with the traces that were saved, among which a call chooses. Arguments are in Python's
 * order: tensors and values that convert to tensors, and the values and nests of the trace; omitted ones take their
 * defaults. A record after the others gives some by name. The result has the nest of the trace.
 */
export interface LoadedMethod {
  /** Calls the function. Rejects with `ValueError` where no trace takes the arguments. */
  (...args: unknown[]): Promise<unknown>;
  /**
   * Calls the function at once: inside `minimize`, `tf.grad` and functions that are traced, which do not await. Throws what the call rejects
   * with, and `FailedPreconditionError` where something in it must be awaited.
   */
  sync(...args: unknown[]): unknown;
  /** The arguments of each trace, as text. */
  readonly traces: readonly string[];
}

/** An object of a model: a module, a list or a dictionary. */
export interface LoadedObject {
  /** Its functions. */
  readonly methods: Readonly<Record<string, LoadedMethod>>;
  /** Its variables. */
  readonly variables: Readonly<Record<string, Variable>>;
  /** Its objects; those of lists are called `"0"`, `"1"` and so on. */
  readonly children: Readonly<Record<string, LoadedObject>>;
}

/** The model that objects belong to. */
export interface ObjectSource {
  readonly graph: SavedObjectGraph;
  /** Returns the variable of a node, or undefined where nothing restores it. */
  variable(node: number): Variable | undefined;
  /** Names the model in errors of `work`. */
  naming<T>(work: () => T): T;
  /** Adds a call of a function to the graph being built; returns its results for these arguments and captured nodes. */
  call(name: string, args: readonly Tensor[], bound: readonly number[]): Tensor[];
}

/** Returns an object by its number; the root has 0. */
export function loadedObject(source: ObjectSource, id = 0): LoadedObject {
  return new ObjectNode(source, new Map(), id);
}

class ObjectNode implements LoadedObject {
  readonly #source: ObjectSource;
  /** Objects by number, as they may refer to each other in cycles. */
  readonly #known: Map<number, ObjectNode>;
  readonly #id: number;
  #methods: Record<string, LoadedMethod> | null = null;
  #children: Record<string, LoadedObject> | null = null;

  constructor(source: ObjectSource, known: Map<number, ObjectNode>, id: number) {
    this.#source = source;
    this.#known = known;
    this.#id = id;
    known.set(id, this);
  }

  get methods(): Readonly<Record<string, LoadedMethod>> {
    return this.#methods ??= this.#collect(({ kind }, name) => {
      if (kind.case !== "function" || kind.value.concreteFunctions.length === 0) return undefined;
      return loadedMethod(
        this.#source,
        name,
        kind.value.concreteFunctions,
        kind.value.functionSpec,
      );
    });
  }

  get variables(): Readonly<Record<string, Variable>> {
    return this.#collect((_, __, id) => this.#source.variable(id));
  }

  get children(): Readonly<Record<string, LoadedObject>> {
    return this.#children ??= this.#collect(({ kind }, _, id) => {
      if (kind.case !== "userObject" || kind.value.identifier === "signature_map") return undefined;
      return this.#known.get(id) ?? new ObjectNode(this.#source, this.#known, id);
    });
  }

  #collect<T>(
    pick: (object: SavedObject, name: string, id: number) => T | undefined,
  ): Record<string, T> {
    const { nodes } = this.#source.graph;
    const entries = (nodes[this.#id]?.children ?? []).flatMap(({ nodeId, localName }) => {
      const object = nodes[nodeId];
      const found = object && pick(object, localName, nodeId);
      return found === undefined ? [] : [[localName, found] as const];
    });
    return Object.fromEntries(entries);
  }

  toString(): string {
    const { methods, variables, children } = this;
    const names = [
      ...Object.keys(methods).map((m) => `${m}()`),
      ...Object.keys(variables),
      ...Object.keys(children),
    ];
    return `LoadedObject { ${names.join(", ")} }`;
  }
}

showAs(ObjectNode);

/** A trace of a method. */
interface Trace {
  readonly name: string;
  /** Positional arguments. */
  readonly args: readonly StructuredValue[];
  /** Keyword arguments. */
  readonly named: Readonly<Record<string, StructuredValue>>;
  readonly output: StructuredValue | undefined;
  readonly bound: readonly number[];
  run: TracedFunction<Tensor[], Tensor[]> | null;
}

function traceOf(name: string, f: SavedConcreteFunction | undefined): Trace {
  const parts = f?.canonicalizedInputSignature?.kind;
  if (f === undefined || parts?.case !== "tupleValue" || parts.value.values.length !== 2) {
    throw new ValueError(`Cannot load function ${name}: its signature is not in the file`);
  }
  const [args, named] = parts.value.values.map(({ kind }) => kind);
  return {
    name,
    args: args.case === "tupleValue" ? args.value.values : [],
    named: named.case === "dictValue" ? named.value.fields : {},
    output: f.outputSignature,
    bound: f.boundInputs,
    run: null,
  };
}

function loadedMethod(
  source: ObjectSource,
  method: string,
  names: readonly string[],
  spec: FunctionSpec | undefined,
): LoadedMethod {
  // An invalid trace fails when it is used, not while others are.
  let known: Trace[] | null = null;
  const traces = (): Trace[] =>
    known ??= source.naming(() =>
      names.map((name) => traceOf(name, source.graph.concreteFunctions[name]))
    );
  const binder = new Binder(spec);
  const chosen = (given: readonly unknown[]) => {
    const { trace, inputs } = choose(method, traces(), binder, given);
    const run = trace.run ??= traced(source, method, trace);
    const packed = (results: readonly Tensor[]): unknown => {
      let at = 0;
      return trace.output === undefined ? null : packValue(trace.output, () => results[at++]);
    };
    return { run, inputs, packed };
  };
  const call = async (...given: unknown[]): Promise<unknown> => {
    const { run, inputs, packed } = chosen(given);
    return packed(await run.async(...inputs));
  };
  const sync = (...given: unknown[]): unknown => {
    const { run, inputs, packed } = chosen(given);
    return packed(run(...inputs));
  };
  const text = (): string[] => source.naming(() => traces().map(traceText));
  return Object.defineProperties(call, {
    traces: { get: text },
    sync: { value: sync },
  }) as unknown as LoadedMethod;
}

function traceText({ args, named }: Trace): string {
  const list = [
    ...args.map(structureText),
    ...Object.entries(named).map(([k, v]) => `${k}: ${structureText(v)}`),
  ];
  return `(${list.join(", ")})`;
}

/** Chooses the first trace that takes the arguments as they are, else the first that takes them converted. */
function choose(
  method: string,
  traces: readonly Trace[],
  binder: Binder,
  given: readonly unknown[],
): { readonly trace: Trace; readonly inputs: Tensor[] } {
  for (const convert of [false, true]) {
    for (const trace of traces) {
      const inputs = binder.match(trace, given, convert);
      if (inputs !== null) return { trace, inputs: inputs as Tensor[] };
    }
  }
  throw new ValueError(
    `Cannot call ${method}: Could not find matching concrete function to call loaded from the SavedModel. Received (${
      given.map(describe).join(", ")
    }), it was traced for ${traces.map(traceText).join(" and ")}`,
  );
}

function traced(
  source: ObjectSource,
  method: string,
  trace: Trace,
): TracedFunction<Tensor[], Tensor[]> {
  const specs: TensorSpec[] = [...trace.args, ...sortedValues(trace.named)].flatMap(specsIn);
  const wanted = trace.output === undefined ? [] : specsIn(trace.output);
  const body = (...xs: Tensor[]): Tensor[] =>
    source.call(trace.name, xs, trace.bound).map((t, i) => {
      const dtype = wanted[i]?.dtype ?? t.dtype;
      return t.dtype === dtype ? t : cast(t, dtype);
    });
  return tracedFunction(body, { name: method, inputSignature: specs });
}

function sortedValues<T>(record: Readonly<Record<string, T>>): T[] {
  return Object.entries(record).sort(([a], [b]) => (a < b ? -1 : 1)).map(([, v]) => v);
}

/** Binds arguments as Python does. */
class Binder {
  /** Names of the positional arguments. */
  readonly #names: readonly string[];
  readonly #defaults: Readonly<Record<string, unknown>>;

  constructor(spec: FunctionSpec | undefined) {
    const { kind } = spec?.fullargspec ?? {};
    const fields = kind?.case === "namedTupleValue"
      ? Object.fromEntries(kind.value.values.map(({ key, value }) => [key, value]))
      : {};
    const names = listOf(fields.args).map((v) => String(plainValue(v)));
    this.#names = spec?.isMethod ? names.slice(1) : names;
    const last = listOf(fields.defaults);
    const named = fields.kwonlydefaults?.kind;
    this.#defaults = {
      ...Object.fromEntries(
        last.map((v, i) => [names[names.length - last.length + i], plainValue(v)]),
      ),
      ...(named?.case === "dictValue" && Object.fromEntries(
        Object.entries(named.value.fields).map(([k, v]) => [k, plainValue(v)]),
      )),
    };
  }

  /**
   * Returns the inputs of a trace for these arguments, the last of which may be a record of some by name; null where
   * they do not fit.
   */
  match(trace: Trace, given: readonly unknown[], convert: boolean): unknown[] | null {
    const found = this.#match(trace, given, {}, convert);
    const last = given.at(-1);
    if (found !== null || !isPlainObject(last)) return found;
    return this.#match(trace, given.slice(0, -1), last, convert);
  }

  #match(
    { args, named }: Trace,
    given: readonly unknown[],
    byName: Readonly<Record<string, unknown>>,
    convert: boolean,
  ): unknown[] | null {
    if (given.length > args.length) return null;
    const used = new Set<string>();
    const valueOf = (name: string): unknown => {
      used.add(name);
      return Object.hasOwn(byName, name) ? byName[name] : this.#defaults[name];
    };
    const inputs: unknown[] = [];
    const add = (wanted: StructuredValue, value: unknown): boolean => {
      const found = matchValue(wanted, value, convert);
      if (found !== null) inputs.push(...found);
      return found !== null;
    };
    const fits =
      args.every((wanted, i) =>
        add(wanted, i < given.length ? given[i] : valueOf(this.#names[i] ?? `${i}`))
      ) && Object.keys(named).sort().every((name) => add(named[name], valueOf(name)));
    return fits && Object.keys(byName).every((name) => used.has(name)) ? inputs : null;
  }
}

function listOf(value: StructuredValue | undefined): readonly StructuredValue[] {
  const { kind } = value ?? {};
  return kind?.case === "listValue" || kind?.case === "tupleValue" ? kind.value.values : [];
}
