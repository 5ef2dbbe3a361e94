/**
 * Conversion between TensorFlow's forms of models: a SavedModel's signature, a GraphModel or a GraphDef is frozen to a
 * graph with named inputs and outputs, from which each form is written.
 */
import { asDType } from "../../engine/core/dtype.ts";
import { ValueError } from "../../engine/core/errors.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { TensorSpec } from "../../engine/core/tensor_spec.ts";
import { convertVariablesToConstants } from "../compat_v1/graph_util.ts";
import { readArtifacts, type SignatureInfo } from "../../tfjs/graph_model/artifacts.ts";
import { withWeights } from "../../tfjs/graph_model/topology.ts";
import { decodeWeights } from "../../tfjs/graph_model/weights.ts";
import { Graph } from "../../engine/graph/graph.ts";
import type { GraphDefJson, NodeDefJson } from "../../engine/graph/graph_def_json.ts";
import { shapeFromJson } from "../graph_def/values.ts";
import { raiseVersion1 } from "../graph_def/version_1.ts";
import type { SymbolicTensor } from "../../engine/graph/operation.ts";
import { identity } from "../../engine/ops/array/view.ts";
import { placeholder } from "../../engine/ops/graph_ops.ts";
import { tfFunction, type TracedFunction } from "../../engine/runtime/functions/function.ts";
import { importNodes, importTensors } from "../graph/import_graph_def.ts";
import { withTables } from "../graph/with_tables.ts";
import { Session } from "../../engine/runtime/session/session.ts";
import { encodeGraphDef, readGraphDef } from "./graph_def.ts";
import { writeBytes } from "../../library/io/file_writer.ts";
import { saveModel } from "./save_model.ts";
import { buildSignature, loadSavedModel } from "./saved_model.ts";
import { type NamedTensor, writeGraphModel } from "./write_graph_model.ts";

/** A graph without variables, with its named inputs and outputs. */
export interface FrozenModel {
  readonly def: GraphDefJson;
  readonly inputs: Readonly<Record<string, NamedTensor>>;
  readonly outputs: Readonly<Record<string, NamedTensor>>;
}

/** Options of {@linkcode convertModel}. */
export interface ConvertModelOptions {
  /** Signature of a SavedModel. Default `"serving_default"`, or the only one. */
  readonly signature?: string;
}

/**
 * Writes a model in another form, by the ending of the file's name: `….pb` is a GraphDef, `….json` a GraphModel with
 * its weights beside it, and a name without an ending the folder of a SavedModel. Rejects with `ValueError` for other
 * names and unknown signatures, and with the errors of reading and writing.
 */
export async function convertModel(
  from: string,
  to: string,
  options: ConvertModelOptions = {},
): Promise<void> {
  const ending = /\.[^./\\]*$/.exec(to)?.[0] ?? "";
  if (!["", ".pb", ".json"].includes(ending)) {
    throw new ValueError(
      `Cannot convert to ${to}: wanted FILE.pb, model.json or the name of a folder`,
    );
  }
  const model = await freezeModel(from, options);
  if (ending === ".pb") {
    return await writeBytes(to, encodeGraphDef(model.def), { makeFolder: true });
  }
  if (ending === ".json") return await writeGraphModel(to, model);
  await saveModel(to, { signatures: { serving_default: frozenFunction(model) } });
}

/** Returns a frozen model as a function of its inputs, in order, that gives a record of its outputs. */
export function frozenFunction(
  model: FrozenModel,
): TracedFunction<Tensor[], Record<string, Tensor>> {
  const inputs = Object.entries(model.inputs), outputs = Object.entries(model.outputs);
  return tfFunction((...xs: Tensor[]) => {
    const results = importNodes(model.def, {
      prefix: "",
      inputMap: Object.fromEntries(inputs.map(([, { tensor }], i) => [tensor, xs[i]])),
      returnElements: outputs.map(([, { tensor }]) => tensor),
      inlineCalls: true,
    }) as Tensor[];
    return Object.fromEntries(outputs.map(([key], i) => [key, results[i]]));
  }, {
    inputSignature: inputs.map(([key, { dtype, shape }]) => TensorSpec(shape, dtype, key)),
  });
}

/** Reads a model: a `model.json`, a GraphDef's file, or the folder of a SavedModel. */
export async function freezeModel(
  from: string,
  { signature }: ConvertModelOptions = {},
): Promise<FrozenModel> {
  if (from.endsWith(".json")) return await frozenGraphModel(from);
  if (/\.(pb|pbtxt)$/.test(from) && !from.endsWith("saved_model.pb")) {
    return frozenGraph(await readGraphDef(from));
  }
  return await frozenSavedModel(from.replace(/\/?(saved_model\.pb)?$/, ""), signature);
}

async function frozenGraphModel(path: string): Promise<FrozenModel> {
  const { topology, specs, pieces, signature } = await readArtifacts(path, {});
  const def = withWeights(topology, decodeWeights(pieces, specs));
  const plain = frozenGraph(def);
  const named = (
    infos: Readonly<Record<string, SignatureInfo>> | undefined,
    otherwise: Readonly<Record<string, NamedTensor>>,
  ): Readonly<Record<string, NamedTensor>> => {
    if (infos === undefined || Object.keys(infos).length === 0) return otherwise;
    const all = new Map(Object.values(otherwise).map((t) => [t.tensor, t]));
    return Object.fromEntries(
      Object.entries(infos).map(([key, { name, dtype, tensorShape }]) => {
        const tensor = name.includes(":") ? name : `${name}:0`;
        return [key, {
          tensor,
          dtype: all.get(tensor)?.dtype ?? asDType(dtype ?? "DT_FLOAT"),
          shape: tensorShape?.dim === undefined ? null : shapeFromJson(tensorShape),
        }];
      }),
    );
  };
  return {
    def,
    inputs: named(signature.inputs, plain.inputs),
    outputs: named(signature.outputs, plain.outputs),
  };
}

/** Freezes a graph: its inputs are the placeholders, its outputs the unread nodes. */
function frozenGraph(given: GraphDefJson): FrozenModel {
  const def = raiseVersion1(given);
  const tensor = new Graph().asDefault(() => importTensors(def, { prefix: "", inlineCalls: true }));
  const read = new Set(
    def.node.flatMap((n) => (n.input ?? []).map((i) => i.replace(/^\^/, "").split(":")[0])),
  );
  /** Maps each node with outputs to its first one. */
  const tensors = (nodes: readonly NodeDefJson[]): Record<string, NamedTensor> =>
    Object.fromEntries(nodes.flatMap(({ name }) => {
      try {
        const { dtype, staticShape: shape } = tensor(`${name}:0`);
        return [[name, { tensor: `${name}:0`, dtype, shape }]];
      } catch (e) {
        if (e instanceof ValueError) return [];
        throw e;
      }
    }));
  const isInput = ({ op }: NodeDefJson): boolean => op === "Placeholder";
  return {
    def,
    inputs: tensors(def.node.filter(isInput)),
    outputs: tensors(def.node.filter((n) => !read.has(n.name) && !isInput(n))),
  };
}

async function frozenSavedModel(
  folder: string,
  wanted: string | undefined,
): Promise<FrozenModel> {
  const model = await loadSavedModel(folder);
  try {
    const names = Object.keys(model.signatures);
    const name = wanted ?? (names.length === 1 ? names[0] : "serving_default");
    const signature = model.signatures[name];
    if (signature === undefined) {
      throw new ValueError(
        `Cannot convert ${folder}: it has no signature "${name}", wanted one of ${
          names.join(", ")
        }`,
      );
    }
    const graph = new Graph();
    const { xs, ys } = graph.asDefault(() => {
      const xs = Object.entries(signature.inputs).map(([key, { dtype, shape }]) =>
        placeholder(dtype, shape, key) as SymbolicTensor
      );
      const results = buildSignature(signature, xs);
      return { xs, ys: results.map((y) => identity(y) as SymbolicTensor) };
    });
    const def = await convertVariablesToConstants(
      new Session({ graph }),
      withTables(graph.toGraphDef(), graph),
      [...xs, ...ys].map((t) => t.operation.name),
    );
    const named = (
      keys: readonly string[],
      tensors: readonly SymbolicTensor[],
    ): Record<string, NamedTensor> =>
      Object.fromEntries(
        keys.map((
          key,
          i,
        ) => [key, {
          tensor: tensors[i].name,
          dtype: tensors[i].dtype,
          shape: tensors[i].staticShape,
        }]),
      );
    return {
      def,
      inputs: named(Object.keys(signature.inputs), xs),
      outputs: named(Object.keys(signature.outputs), ys),
    };
  } finally {
    model.dispose();
  }
}
