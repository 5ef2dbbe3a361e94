/** Servables: signatures with named inputs and outputs, made of models and functions. */
import { describe } from "../engine/core/convert.ts";
import { TypeError } from "../engine/core/throwing/builtin_errors.ts";
import { ValueError } from "../engine/core/errors.ts";
import type { DType } from "../engine/core/dtype.ts";
import type { NdArray } from "../engine/core/nd_array.ts";
import { isPlainObject } from "../engine/core/nest.ts";
import type { PartialShape } from "../engine/core/shape.ts";
import { Tensor, type TensorLike } from "../engine/core/tensor.ts";
import type { Spec } from "../engine/core/tensor_spec.ts";
import { Graph } from "../engine/graph/graph.ts";
import { placeholder } from "../engine/ops/graph_ops.ts";
import type { TracedFunction } from "../engine/runtime/functions/function.ts";

/** The name of the default signature. */
export const DEFAULT_SIGNATURE = "serving_default";

/** Named specs of inputs or outputs. */
export type Specs = Readonly<Record<string, Spec>>;

/** A SavedModel of `loadSavedModel` in `@weft/weft/tf`. */
export interface SavedModelLike {
  /** Functions of named tensors, by name. */
  readonly signatures: Readonly<
    Record<
      string,
      & ((inputs: Readonly<Record<string, TensorLike>>) => Promise<Record<string, Tensor>>)
      & { readonly inputs: Specs; readonly outputs: Specs }
    >
  >;
}

/** A tensor's name and type. */
export interface NamedTensor {
  /** Its name. */
  readonly name: string;
  /** Element type. */
  readonly dtype: DType;
  /** Shape, null where it is unknown. */
  readonly shape: PartialShape;
}

/** A model of `tf.loadGraphModel`. */
export interface GraphModelLike {
  /** Its inputs. */
  readonly inputs: readonly NamedTensor[];
  /** Its outputs. */
  readonly outputs: readonly NamedTensor[];
  /** Runs it. */
  executeAsync(inputs: Readonly<Record<string, TensorLike>>): Promise<Tensor | Tensor[]>;
}

/** A model of `loadOnnx` in `@weft/weft/onnx`, whose inputs and outputs are tensors. */
export interface OnnxModelLike {
  /** Its inputs. */
  readonly inputs: readonly NamedTensor[];
  /** Its outputs. */
  readonly outputs: readonly NamedTensor[];
  /** Runs it. */
  run(inputs: Readonly<Record<string, TensorLike>>): Promise<Record<string, Tensor>>;
}

/**
 * A `tf.function` whose `inputSignature` has names and whose result is a record of tensors, or one tensor: `output_0`.
 */
// deno-lint-ignore no-explicit-any
export type ServableFunction = TracedFunction<any[], unknown>;

/** A model that can be served. Functions in a record are signatures by their names. */
export type ServableModel =
  | SavedModelLike
  | GraphModelLike
  | OnnxModelLike
  | ServableFunction
  | Readonly<Record<string, ServableFunction>>;

/** A callable signature of a model. */
export interface Servable {
  readonly inputs: Specs;
  readonly outputs: Specs;
  call(inputs: Readonly<Record<string, NdArray>>): Promise<Record<string, NdArray>>;
}

/** Returns the signatures of a model. Throws `ValueError` for a model that cannot be served. */
export function servablesOf(model: ServableModel, name: string): ReadonlyMap<string, Servable> {
  if (typeof model === "function") {
    return new Map([[DEFAULT_SIGNATURE, functionServable(model, name)]]);
  }
  if (typeof model !== "object" || model === null) {
    throw new TypeError(
      `Cannot serve "${name}": wanted a model or a tf.function, received ${describe(model)}`,
    );
  }
  const entries = "executeAsync" in model && typeof model.executeAsync === "function"
    ? [[DEFAULT_SIGNATURE, graphModelServable(model as GraphModelLike)] as const]
    : isOnnxModel(model)
    ? [[DEFAULT_SIGNATURE, onnxServable(model)] as const]
    : "signatures" in model
    ? Object.entries((model as SavedModelLike).signatures).map(([key, signature]) =>
      [key, {
        inputs: signature.inputs,
        outputs: signature.outputs,
        call: async (inputs) => await readAll(await signature(inputs)),
      }] as const satisfies readonly [string, Servable]
    )
    : Object.entries(model as Readonly<Record<string, ServableFunction>>).map(([key, f]) =>
      [key, functionServable(f, name)] as const
    );
  if (entries.length === 0) throw new ValueError(`Cannot serve "${name}": it has no signatures`);
  return new Map<string, Servable>(entries);
}

async function readAll(
  tensors: Readonly<Record<string, Tensor>>,
): Promise<Record<string, NdArray>> {
  try {
    const read = Object.entries(tensors).map(async ([key, t]) => [key, await t.ndarray()] as const);
    return Object.fromEntries(await Promise.all(read));
  } finally {
    for (const t of Object.values(tensors)) t.dispose();
  }
}

/** Returns the name of a tensor's node, as `"y"` of `"y:0"`. */
const nodeName = (name: string): string => name.replace(/:0$/, "");

/** Specs of tensors by the names of their nodes. */
const specsOf = (tensors: readonly NamedTensor[]): Specs =>
  Object.fromEntries(
    tensors.map(({ name, dtype, shape }) => [nodeName(name), { dtype, shape }]),
  );

function graphModelServable(model: GraphModelLike): Servable {
  return {
    inputs: specsOf(model.inputs),
    outputs: specsOf(model.outputs),
    async call(inputs) {
      const results = [await model.executeAsync(inputs)].flat();
      return await readAll(
        Object.fromEntries(results.map((t, i) => [nodeName(model.outputs[i].name), t])),
      );
    },
  };
}

/** Returns true for a model of ONNX: a record of functions has no lists. */
function isOnnxModel(model: object): model is OnnxModelLike {
  const { run, inputs, outputs } = model as Partial<OnnxModelLike>;
  return typeof run === "function" && Array.isArray(inputs) && Array.isArray(outputs);
}

function onnxServable(model: OnnxModelLike): Servable {
  return {
    inputs: specsOf(model.inputs),
    outputs: specsOf(model.outputs),
    call: async (inputs) => await readAll(await model.run(inputs)),
  };
}

function functionServable(f: ServableFunction, name: string): Servable {
  if (typeof f?.getConcreteFunction !== "function") {
    throw new TypeError(
      `Cannot serve "${name}": wanted a tf.function, received ${describe(f)}`,
    );
  }
  const { inputs } = f.getConcreteFunction();
  const named = inputs.map((spec, i) => {
    if (spec.name !== undefined) return [spec.name, spec] as const;
    throw new ValueError(
      `Cannot serve "${name}": input ${i} of its function has no name, wanted tf.TensorSpec(shape, dtype, "name") in its inputSignature`,
    );
  });
  return {
    inputs: Object.fromEntries(named),
    outputs: outputsOf(f, named.map(([, spec]) => spec), name),
    async call(given) {
      const results = await f.async(...named.map(([key]) => given[key]));
      return await readAll(recordOf(results) as Record<string, Tensor>);
    },
  };
}

/** Wraps a single tensor under the name that TensorFlow gives it in a signature. */
function recordOf(results: unknown): unknown {
  return results instanceof Tensor ? { output_0: results } : results;
}

/** Finds the specs of a function's results by calling it in a graph. */
function outputsOf(f: ServableFunction, inputs: readonly Spec[], name: string): Specs {
  return new Graph().asDefault(() => {
    const results = f(...inputs.map((spec) => placeholder(spec.dtype, spec.shape)));
    const record = recordOf(results), entries = isPlainObject(record) ? Object.entries(record) : [];
    if (entries.length === 0 || !entries.every(([, t]) => t instanceof Tensor)) {
      throw new ValueError(
        `Cannot serve "${name}": its function must return a tensor or a record of tensors, as in { y }`,
      );
    }
    return Object.fromEntries((entries as [string, Tensor][]).map(([key, t]) => [
      key,
      { dtype: t.dtype, shape: t.staticShape },
    ]));
  });
}
