/** Functions and models that are written as ONNX: their named inputs, and a graph of what they compute. */
import type { DType } from "../engine/core/dtype.ts";
import { CompositeTensor } from "../engine/core/composite.ts";
import { describe } from "../engine/core/convert.ts";
import { UnimplementedError, ValueError } from "../engine/core/errors.ts";
import { isPlainObject } from "../engine/core/nest.ts";
import { resourceOf } from "../engine/core/graph_node.ts";
import type { PartialShape } from "../engine/core/shape.ts";
import { Tensor } from "../engine/core/tensor.ts";
import { FuncGraph } from "../engine/graph/func_graph.ts";
import type {
  ConcreteFunctionHandle,
  TracedFunction,
} from "../engine/runtime/functions/function.ts";
import type { Variable } from "../engine/runtime/variables/variable.ts";
import { SIGNATURE_BODIES, type SignatureBody } from "../tensorflow/graph_def/signature_bodies.ts";
import { OnnxModel } from "./model.ts";

/** An input as models describe it. */
export interface NamedTensor {
  /** Its name. */
  readonly name: string;
  /** Its element type. */
  readonly dtype: DType;
  /** Its shape; null for an unknown rank, and for unknown extents. */
  readonly shape: PartialShape;
}

/** A graph model of TensorFlow.js. */
export interface GraphModelLike {
  /** Its inputs, in order. */
  readonly inputs: readonly NamedTensor[];
  /** Its outputs, in order. */
  readonly outputs: readonly NamedTensor[];
  /** Computes the outputs of named inputs. */
  execute(inputs: Readonly<Record<string, Tensor>>): Tensor | Tensor[];
}

/** A model of `tfjs-layers`. */
export interface LayersModelLike {
  /** Its inputs, in order, with their names, dtypes and shapes. */
  readonly inputs: readonly unknown[];
  /** Names of its outputs. */
  readonly outputNames: readonly string[];
  /** Computes the outputs of a tensor, or of a list of them. */
  apply(inputs: never): unknown;
}

/** A signature of a SavedModel, as `loadSavedModel` gives it. */
export interface SignatureLike {
  /** Computes results of a record of tensors. */
  (...args: never[]): Promise<unknown>;
  /** Specs of the inputs by name. */
  readonly inputs: Readonly<
    Record<string, { readonly dtype: DType; readonly shape: PartialShape }>
  >;
  /** Specs of the outputs by name. */
  readonly outputs: Readonly<Record<string, unknown>>;
}

/** A function or a model that can be written as ONNX. */
export type Exportable =
  // deno-lint-ignore no-explicit-any
  | TracedFunction<any[], unknown>
  | ConcreteFunctionHandle
  | OnnxModel
  | GraphModelLike
  | LayersModelLike
  | SignatureLike;

/** A function to write. */
export interface Exported {
  readonly inputs: readonly NamedTensor[];
  readonly outputNames: readonly string[];
  readonly graph: FuncGraph;
  /** Names of variables that the source gives. */
  readonly variableNames: ReadonlyMap<unknown, string>;
}

/** Names that the caller gives. */
export interface GivenNames {
  readonly inputNames?: readonly string[] | undefined;
  readonly outputNames?: readonly string[] | undefined;
}

/** A call of what is written. */
interface Source {
  readonly inputs: readonly { name?: string; dtype: DType; shape: PartialShape }[];
  readonly call: (tensors: readonly Tensor[]) => unknown;
  readonly outputNames?: readonly string[];
  readonly variables?: Readonly<Record<string, Variable>>;
}

/** Traces a function or a model. Throws `ValueError` for what has no named inputs, or gives no tensors. */
export function exported(f: Exportable, names: GivenNames, fn: string): Exported {
  const source = sourceOf(f, fn);
  const given = names.inputNames;
  if (given !== undefined && given.length !== source.inputs.length) {
    throw new ValueError(
      `Cannot ${fn}: inputNames has ${given.length} names, the function takes ${source.inputs.length} inputs`,
    );
  }
  const inputs = source.inputs.map(({ name, dtype, shape }, i) => {
    const own = given?.[i] ?? name;
    if (own === undefined || own === "") {
      throw new ValueError(
        `Cannot ${fn}: input ${i} has no name, wanted tf.TensorSpec(shape, dtype, "name") in its inputSignature, or inputNames`,
      );
    }
    if (dtype === "resource" || dtype === "variant") {
      throw new ValueError(`Cannot ${fn}: input "${own}" is a ${dtype}, ONNX has tensors alone`);
    }
    return { name: own, dtype, shape };
  });
  refuseTwice(inputs.map((i) => i.name), "inputs", fn);
  const graph = new FuncGraph("onnx");
  const placeholders = inputs.map(({ dtype, shape, name }) =>
    graph.addInput(dtype, shape, plain(name))
  );
  const found = namedOutputs(graph.asDefault(() => source.call(placeholders)), source, fn);
  const outputNames = names.outputNames ?? found.map(([name]) => name);
  if (outputNames.length !== found.length) {
    throw new ValueError(
      `Cannot ${fn}: outputNames has ${outputNames.length} names, the function has ${found.length} outputs`,
    );
  }
  refuseTwice(outputNames, "outputs", fn);
  graph.outputs = graph.asDefault(() => found.map(([, t]) => graph.inside(t)));
  const variableNames = new Map<unknown, string>();
  for (const [name, v] of Object.entries(source.variables ?? {})) {
    variableNames.set(resourceOf(v.handle), name);
  }
  return { inputs, outputNames, graph, variableNames };
}

/** Returns a name that operations may have. */
function plain(name: string): string {
  return name.replace(/[^A-Za-z0-9_.\\/-]/g, "_").replace(/^[^A-Za-z0-9.]/, "x");
}

function refuseTwice(names: readonly string[], what: string, fn: string): void {
  const twice = names.find((n, i) => names.indexOf(n) !== i);
  if (twice !== undefined) {
    throw new ValueError(`Cannot ${fn}: two of its ${what} are named "${twice}"`);
  }
}

function sourceOf(f: Exportable, fn: string): Source {
  if (f instanceof OnnxModel) return ofOnnx(f);
  if (typeof f === "function") {
    if ("getConcreteFunction" in f) return ofTraced(f, fn);
    if ("graph" in f) return { inputs: f.inputs, call: (ts) => f(...ts) };
    const body = SIGNATURE_BODIES.get(f);
    if (body !== undefined) return ofSignature(f as SignatureLike, body);
    throw new ValueError(
      `Cannot ${fn}: it is a plain function, wanted one of tf.function with an inputSignature`,
    );
  }
  const model = f as Partial<GraphModelLike & LayersModelLike> | null;
  // Models of tfjs-layers have an execute() of their own.
  if (typeof model?.apply === "function" && Array.isArray(model.inputs)) {
    return ofLayers(f as LayersModelLike);
  }
  if (typeof model?.execute === "function" && Array.isArray(model.inputs)) {
    return ofGraphModel(f as GraphModelLike);
  }
  throw new ValueError(
    `Cannot ${fn}: wanted a tf.function with an inputSignature, or a model, received ${
      describe(f)
    }`,
  );
}

// deno-lint-ignore no-explicit-any
function ofTraced(f: TracedFunction<any[], unknown>, fn: string): Source {
  let handle: ConcreteFunctionHandle;
  try {
    handle = f.getConcreteFunction();
  } catch (cause) {
    throw new ValueError(
      `Cannot ${fn}: the function cannot be traced, wanted an inputSignature (${
        (cause as Error).message
      })`,
      { cause },
    );
  }
  return { inputs: handle.inputs, call: (tensors) => handle(...tensors) };
}

function ofOnnx(model: OnnxModel): Source {
  const odd = [...model.inputs, ...model.outputs].find((v) => v.kind !== "tensor");
  if (odd !== undefined) {
    throw new UnimplementedError(`Cannot write a model: "${odd.name}" is a ${odd.kind}`);
  }
  return {
    inputs: model.inputs,
    outputNames: model.outputs.map((o) => o.name),
    variables: model.variables,
    call: (tensors) =>
      model.call(Object.fromEntries(model.inputs.map(({ name }, i) => [name, tensors[i]]))),
  };
}

function ofGraphModel(model: GraphModelLike): Source {
  return {
    inputs: model.inputs,
    outputNames: model.outputs.map((o) => o.name.replace(/:0$/, "")),
    call: (tensors) =>
      model.execute(Object.fromEntries(model.inputs.map(({ name }, i) => [name, tensors[i]]))),
  };
}

/** Layers read the extents of their tensors while they are built, so that open ones are 1. */
function ofLayers(model: LayersModelLike): Source {
  return {
    inputs: (model.inputs as readonly NamedTensor[]).map(({ name, dtype, shape }) => ({
      name: name.replace(/:0$/, ""),
      dtype,
      shape: shape && shape.map((d) => d ?? 1),
    })),
    outputNames: model.outputNames,
    call: (tensors) => model.apply((tensors.length === 1 ? tensors[0] : [...tensors]) as never),
  };
}

function ofSignature({ inputs, outputs }: SignatureLike, body: SignatureBody): Source {
  return {
    inputs: Object.entries(inputs).map(([name, { dtype, shape }]) => ({ name, dtype, shape })),
    outputNames: Object.keys(outputs),
    call: (tensors) => body(...tensors),
  };
}

/** Returns the results by name: keys of a record, `output`, or `output_0`, `output_1` and so on. */
function namedOutputs(
  result: unknown,
  { outputNames }: Source,
  fn: string,
): (readonly [string, Tensor])[] {
  const found: (readonly [string, Tensor])[] = [];
  const visit = (value: unknown, name: string): void => {
    if (value instanceof Tensor) found.push([name === "" ? "output" : name, value]);
    else if (value instanceof CompositeTensor) {
      throw new ValueError(
        `Cannot ${fn}: output "${name || "output"}" is ${describe(value)}, return its parts`,
      );
    } else if (Array.isArray(value)) {
      value.forEach((v, i) => visit(v, name === "" ? `output_${i}` : `${name}_${i}`));
    } else if (isPlainObject(value)) {
      for (const [key, v] of Object.entries(value as Record<string, unknown>)) {
        visit(v, name === "" ? key : `${name}_${key}`);
      }
    } else if (value !== null && value !== undefined) {
      throw new ValueError(
        `Cannot ${fn}: output "${name || "output"}" is ${describe(value)}, wanted tensors`,
      );
    }
  };
  visit(result, "");
  if (found.length === 0) throw new ValueError(`Cannot ${fn}: the function returns no tensor`);
  if (outputNames === undefined || isPlainObject(result)) return found;
  return found.map(([name, t], i) => [outputNames[i] ?? name, t]);
}
