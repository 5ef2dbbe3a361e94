/** GraphModel: a TensorFlow.js model as a graph of Weft. */
import { showAs, specsText } from "../../engine/core/arrays/shown.ts";
import { describe } from "../../engine/core/convert.ts";
import { asDType, type DType } from "../../engine/core/dtype.ts";
import { NotFoundError, ValueError } from "../../engine/core/errors.ts";
import type { PartialShape } from "../../engine/core/shape.ts";
import { Tensor, type TensorLike } from "../../engine/core/tensor.ts";
import { naming } from "../../library/io/naming.ts";
import { toInput } from "../../engine/ops/input.ts";
import { shapeFromJson } from "../../tensorflow/graph_def/values.ts";
import { FuncGraph } from "../../engine/graph/func_graph.ts";
import type { SymbolicTensor } from "../../engine/graph/operation.ts";
import {
  callFunction,
  callFunctionAsync,
  ConcreteFunction,
} from "../../engine/runtime/functions/concrete_function.ts";
import { importTensors } from "../../tensorflow/graph/import_graph_def.ts";
import {
  type LoadedArtifacts,
  type ModelOptions,
  type ModelSignature,
  type ModelSource,
  readArtifacts,
  type SignatureInfo,
} from "./artifacts.ts";
import { withWeights } from "./topology.ts";
import { decodeWeights } from "./weights.ts";

/** An input or output of a model. */
export interface ModelTensor {
  /** Name of the tensor. */
  readonly name: string;
  /** Element type. */
  readonly dtype: DType;
  /** Shape; null for an unknown rank, and for unknown dimensions. */
  readonly shape: PartialShape;
}

/** Arguments of a model: one tensor, a list in the order of `inputs`, or tensors by name. */
export type ModelInputs = TensorLike | readonly Tensor[] | Readonly<Record<string, TensorLike>>;
/** Results of a model: one tensor, or a list where it has several outputs. */
export type ModelOutputs = Tensor | Tensor[];

/** A graph with named outputs that can be called: TensorFlow.js's `GraphModel` over a graph of Weft's. */
export class GraphModel {
  /** Its inputs, in the order of lists. */
  readonly inputs: readonly ModelTensor[];
  /** The outputs of `predict`. */
  readonly outputs: readonly ModelTensor[];
  /** Inputs and outputs by name, as the file names them. */
  readonly modelSignature: ModelSignature;
  /** The source of the model. */
  readonly modelUrl: string;
  readonly #graph: FuncGraph;
  readonly #tensor: (name: string) => SymbolicTensor;
  readonly #functions = new Map<string, ConcreteFunction>();
  #isDisposed = false;

  /** Made by {@linkcode loadGraphModel}. */
  constructor({ topology, specs, pieces, signature, name }: LoadedArtifacts) {
    const def = withWeights(topology, decodeWeights(pieces, specs));
    this.modelSignature = signature;
    this.modelUrl = name;
    this.#graph = new FuncGraph("graph_model");
    const placeholders = def.node.filter((n) => n.op === "Placeholder");
    const taken = Object.values(signature.inputs ?? {}).map((i) => i.name.split(":")[0]);
    const ordered = [
      ...taken.flatMap((t) => placeholders.filter((p) => p.name === t)),
      ...placeholders.filter((p) => !taken.includes(p.name)),
    ];
    const inputMap: Record<string, Tensor> = {};
    this.inputs = ordered.map((node) => {
      const info = Object.values(signature.inputs ?? {}).find((i) =>
        i.name.split(":")[0] === node.name
      );
      const dtype = asDType(node.attr?.dtype?.type);
      const shape = shapeOf(info) ??
        shapeOf({ name: "", tensorShape: node.attr?.shape?.shape } as SignatureInfo);
      inputMap[`${node.name}:0`] = this.#graph.addInput(dtype, shape, node.name);
      return { name: node.name, dtype, shape };
    });
    this.#tensor = this.#graph.asDefault(() =>
      importTensors({ ...def, node: def.node.filter((n) => !placeholders.includes(n)) }, {
        prefix: "",
        inputMap,
        inlineCalls: true,
        narrowIntegers: true,
      })
    );
    this.outputs = this.#outputNames(def.node, signature).map((name) => {
      const t = this.#find(name);
      return { name, dtype: t.dtype, shape: t.staticShape };
    });
  }

  #outputNames(
    nodes: readonly { readonly name: string; readonly input?: readonly string[] }[],
    signature: ModelSignature,
  ): string[] {
    const given = Object.values(signature.outputs ?? {}).map((o) => o.name);
    if (given.length > 0) return given;
    const read = new Set(
      nodes.flatMap((n) => (n.input ?? []).map((i) => i.replace(/^\^/, "").split(":")[0])),
    );
    return nodes.filter((n) => !read.has(n.name)).map((n) => n.name);
  }

  /** Finds the tensor of a name as `"y"` or `"y:1"`. */
  #find(name: string): SymbolicTensor {
    try {
      return this.#tensor(name);
    } catch (cause) {
      throw new NotFoundError(`Cannot run ${this.modelUrl}: it has no tensor "${name}"`, { cause });
    }
  }

  /**
   * Runs the model and returns its outputs: a tensor, or a list where there are several. Throws `ValueError` for inputs
   * that do not fit.
   */
  predict(inputs: ModelInputs): ModelOutputs {
    return this.execute(inputs);
  }

  /** Is {@linkcode GraphModel.predict} for models with ops that must be awaited. */
  predictAsync(inputs: ModelInputs): Promise<ModelOutputs> {
    return this.executeAsync(inputs);
  }

  /** Computes `outputs` (a name or a list of names). Throws `NotFoundError` for an unknown name. */
  execute(inputs: ModelInputs, outputs?: string | readonly string[]): ModelOutputs {
    const f = this.#function(outputs);
    return packed(callFunction(f, this.#arguments(inputs)), outputs);
  }

  /** Is {@linkcode GraphModel.execute} for models with ops that must be awaited. */
  async executeAsync(
    inputs: ModelInputs,
    outputs?: string | readonly string[],
  ): Promise<ModelOutputs> {
    const f = this.#function(outputs);
    return packed(await callFunctionAsync(f, this.#arguments(inputs)), outputs);
  }

  /** Frees its memory on devices. */
  dispose(): void {
    this.#isDisposed = true;
    for (const f of this.#functions.values()) f.release();
    this.#functions.clear();
  }

  #function(outputs: string | readonly string[] | undefined): ConcreteFunction {
    if (this.#isDisposed) throw new ValueError(`Cannot run ${this.modelUrl}: it is disposed`);
    const names = outputs === undefined
      ? this.outputs.map((o) => o.name)
      : typeof outputs === "string"
      ? [outputs]
      : outputs;
    const key = names.join("\n");
    let f = this.#functions.get(key);
    if (f === undefined) {
      f = new ConcreteFunction(this.#graph, names.map((n) => this.#find(n)));
      this.#functions.set(key, f);
    }
    return f;
  }

  #arguments(given: ModelInputs): Tensor[] {
    const names = this.inputs.map((i) => i.name);
    const values = this.#listed(given);
    if (values.length !== names.length) {
      throw new ValueError(
        `Cannot run ${this.modelUrl}: it takes ${names.length} inputs (${
          names.join(", ")
        }), received ${values.length}`,
      );
    }
    return values.map((v, i) => {
      const { dtype, name } = this.inputs[i];
      const x = toInput(v, name, "execute", v instanceof Tensor ? {} : { dtype }) as Tensor;
      if (x.dtype !== dtype) {
        throw new ValueError(
          `Cannot run ${this.modelUrl}: input "${name}" is ${x.dtype}, wanted ${dtype}`,
        );
      }
      return x;
    });
  }

  #listed(given: ModelInputs): TensorLike[] {
    if (given instanceof Tensor) return [given];
    if (Array.isArray(given) && given.length > 0 && given.every((v) => v instanceof Tensor)) {
      return [...given];
    }
    const isRecord = typeof given === "object" && given !== null &&
      Object.getPrototypeOf(given) === Object.prototype;
    if (!isRecord) return this.inputs.length === 0 ? [] : [given as TensorLike];
    const record = given as Readonly<Record<string, TensorLike>>;
    const names = this.inputs.map((i) => i.name);
    const keys = new Map(
      Object.entries(this.modelSignature.inputs ?? {}).map(([k, i]) => [i.name.split(":")[0], k]),
    );
    const known = new Set<string>();
    const values = names.map((n) => {
      const key = [n, `${n}:0`, keys.get(n)].find((k) => k !== undefined && k in record);
      if (key === undefined) {
        throw new ValueError(`Cannot run ${this.modelUrl}: input "${n}" is missing`);
      }
      known.add(key);
      return record[key];
    });
    const other = Object.keys(record).find((k) => !known.has(k));
    if (other !== undefined) {
      throw new ValueError(
        `Cannot run ${this.modelUrl}: it has no input "${other}", its inputs are ${
          describe(names)
        }`,
      );
    }
    return values;
  }

  /** Formats it for `console.log`. */
  toString(): string {
    return `<tf.GraphModel ${specsText(this.inputs)} -> ${specsText(this.outputs)}>`;
  }
}
showAs(GraphModel);

function packed(results: Tensor[], outputs: string | readonly string[] | undefined): ModelOutputs {
  return typeof outputs === "string" || results.length === 1 ? results[0] : results;
}

function shapeOf(info: SignatureInfo | undefined): PartialShape {
  const shape = info?.tensorShape;
  return shape?.dim === undefined ? null : shapeFromJson(shape);
}

/** Reads a model and builds its graph; see `tf.loadGraphModel`. */
export async function readGraphModel(
  source: ModelSource,
  options: ModelOptions = {},
): Promise<GraphModel> {
  const artifacts = await readArtifacts(source, options);
  return naming(artifacts.name, () => new GraphModel(artifacts));
}
