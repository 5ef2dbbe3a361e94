/** loadSavedModel: signatures of a SavedModel as functions, its variables restored. */
import { create } from "@bufbuild/protobuf";
import { showAs } from "../../engine/core/arrays/shown.ts";
import { asDType, type DType } from "../../engine/core/dtype.ts";
import { NotFoundError, UnimplementedError, ValueError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { optionCheck } from "../../engine/core/arguments.ts";
import type { Tensor, TensorLike } from "../../engine/core/tensor.ts";
import { TensorSpec } from "../../engine/core/tensor_spec.ts";
import { encodeString } from "../../engine/core/text.ts";
import { currentGraph } from "../../engine/graph/current_graph.ts";
import { Graph } from "../../engine/graph/graph.ts";
import type { GraphDefJson, NodeDefJson } from "../../engine/graph/graph_def_json.ts";
import { text } from "../graph_def/values.ts";
import { raiseVersion1 } from "../graph_def/version_1.ts";
import { Operation } from "../../engine/graph/operation.ts";
import { naming, namingAsync } from "../../library/io/naming.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { type TracedFunction, tracedFunction } from "../../engine/runtime/functions/function.ts";
import { importNodes } from "../graph/import_graph_def.ts";
import { isTable } from "../graph/op_table.ts";
import { GraphResources } from "../graph/resources.ts";
import type { ScriptFunctions } from "../graph/scripts.ts";
import type { Variable } from "../../engine/runtime/variables/variable.ts";
import { readCheckpoint } from "./checkpoint.ts";
import { fileOf } from "../../library/io/files.ts";
import { fileWithin, isRemote } from "../../library/io/within.ts";
import { filesWithin } from "../graph_def/files_within.ts";
import "./checkpoint_ops.ts";
import "./table_file_ops.ts";
import { graphDefOf } from "./from_message.ts";
import { type LoadedMethod, type LoadedObject, loadedObject } from "./loaded_object.ts";
import { inputsOf, outputsOf, prune, readMetaGraph, type SignatureTensor } from "./meta_graph.ts";
import { readObjects } from "./object_graph.ts";
import {
  type MetaGraphDef,
  type SavedObject,
  type SavedObjectGraph,
  SavedObjectGraphSchema,
  type SaverDef,
  type SignatureDef,
  type TensorInfo,
} from "../proto/saved_model_pb.ts";
import { makeVariables, restoredKeys } from "./saved_variables.ts";
import { SIGNATURE_BODIES } from "../graph_def/signature_bodies.ts";
import { modelText, type Signature, signatureOf } from "./signature.ts";

/** Options of {@linkcode loadSavedModel}. */
export interface LoadOptions {
  /** Tags of the meta graph. Default `["serve"]`. */
  readonly tags?: readonly string[];
  /** Functions for scripts by their tokens, where they are not registered. */
  readonly scripts?: ScriptFunctions;
  /** Folders besides the model's own, paths or URLs, in which a model from the network may read files. Default none. */
  readonly alsoFrom?: readonly (string | URL)[];
}

const checkOptions = optionCheck<LoadOptions>("loadSavedModel", {
  tags: true,
  scripts: true,
  alsoFrom: true,
});

/** A SavedModel that was loaded. */
export interface LoadedModel {
  /** Its signatures by name. */
  readonly signatures: Readonly<Record<string, Signature>>;
  /** The variables that the signatures read, in the graph's order. */
  readonly variables: readonly Variable[];
  /** The functions of the saved object, `tf.function`s of a module, by name; none in a model of version 1. */
  readonly methods: Readonly<Record<string, LoadedMethod>>;
  /** The saved object, with its objects; empty in a model of version 1. */
  readonly root: LoadedObject;
  /** The graph of all signatures, with TensorFlow's names. */
  readonly graph: Graph;
  /** Frees the variables. */
  dispose(): void;
}

/** Signatures that users do not call. */
const INTERNAL = ["__saved_model_init_op", "__saved_model_train_op"];

/**
 * Loads a SavedModel from its folder, a path or URL: version 2's (`tf.saved_model.save`, Keras' `export`) and version
 * 1's. Variables are restored by the model's own restore function. Signatures are graphs of ours: fused, placed,
 * differentiable with respect to inputs and `variables`. Follows TensorFlow `tf.saved_model.load`. Rejects with
 * `NotFoundError` for files, ops or scripts that are missing, `DataLossError` for damaged ones, `ValueError` where no
 * meta graph has the tags, `UnimplementedError` for an unsupported form (`saved_model.cpb`).
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { loadSavedModel, saveModel } from "@weft/weft/tf";
 * const folder = await Deno.makeTempDir();
 * const f = tf.function((x: tf.Tensor) => ({ y: tf.square(x) }), {
 *   inputSignature: [tf.TensorSpec([null], "float32", "x")],
 * });
 * await saveModel(folder, { signatures: { serving_default: f } });
 * const { signatures } = await loadSavedModel(folder);
 * console.log(Object.keys(signatures)); // ["serving_default"]
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export async function loadSavedModel(
  folder: string | URL,
  options: LoadOptions = {},
): Promise<LoadedModel> {
  checkOptions(options);
  const path = fileOf(folder).replace(/\/$/, "");
  const meta = await readMetaGraph(path, options.tags ?? ["serve"]);
  const model = naming(path, () => new Model(path, meta, options));
  try {
    await namingAsync(path, () => model.open());
  } catch (e) {
    model.dispose();
    throw e;
  }
  return model;
}

class Model implements LoadedModel {
  readonly signatures: Record<string, Signature> = {};
  variables: readonly Variable[];
  /** All variables, copies that no call reads included. */
  readonly #made: readonly Variable[];
  readonly #def: GraphDefJson;
  readonly #meta: MetaGraphDef;
  readonly #path: string;
  readonly #scripts: ScriptFunctions | undefined;
  /** Variables by the name of the node that makes the handle. */
  readonly #byNode: Map<string, Variable>;
  readonly #resources = new GraphResources();
  readonly root: LoadedObject;
  readonly #byObject = new Map<number, Variable>();
  #graph: Graph | null = null;

  constructor(path: string, meta: MetaGraphDef, { scripts, alsoFrom = [] }: LoadOptions) {
    this.#scripts = scripts;
    this.#path = path;
    this.#meta = meta;
    if (meta.graphDef === undefined) throw new ValueError(`Cannot load ${path}: it has no graph`);
    const folders = [`${path}/`, ...alsoFrom.map(String)];
    const def = raiseVersion1(graphDefOf(meta.graphDef));
    // A model on the disk is a program of its user, one from the network is not.
    this.#def = isRemote(path) ? filesWithin(def, folders) : def;
    for (const { filename } of meta.assetFileDef) fileWithin(this.#asset(filename), folders);
    this.#byNode = makeVariables(this.#def, meta);
    this.#made = this.variables = [...this.#byNode.values()];
    const objects = meta.objectGraphDef ?? create(SavedObjectGraphSchema);
    this.root = loadedObject({
      graph: objects,
      variable: (id) => this.#byObject.get(id),
      naming: (work) => naming(path, work),
      call: (name, args, bound) => this.#call(name, args, bound.map((id) => this.#nodeOf(id))),
    });
  }

  get methods(): Readonly<Record<string, LoadedMethod>> {
    return this.root.methods;
  }

  get graph(): Graph {
    if (this.#graph === null) {
      const graph = new Graph();
      const wanted = this.#signatureDefs().flatMap(([, s]) => [...inputsOf(s), ...outputsOf(s)]);
      graph.asDefault(() => this.#import(wanted.map((t) => t.tensor), {}));
      this.#graph = graph;
    }
    return this.#graph;
  }

  dispose(): void {
    for (const v of this.#made) v.dispose();
  }

  /** Runs the model's restore function, then its initializer. */
  async open(): Promise<void> {
    for (const [name, signature] of this.#signatureDefs()) {
      const inputs = inputsOf(signature), outputs = outputsOf(signature);
      this.signatures[name] = this.#signature(name, inputs, outputs);
    }
    // A model without variables may lack their files, unless it has tables that were saved with them.
    const isSaved = this.variables.length > 0 ||
      this.#def.node.some(({ op }) => /Mutable\w*HashTable/.test(op));
    if (this.#meta.saverDef !== undefined && isSaved) {
      await this.#restore(this.#meta.saverDef);
    }
    const init = this.#initOp();
    if (init !== null) await tracedFunction(() => this.#runs([init], {}), {}).async();
  }

  async #restore({ filenameTensorName: prefix, restoreOpName: restore }: SaverDef): Promise<void> {
    const run = tracedFunction(
      (file: TensorLike) => this.#runs([restore], { [prefix]: file as Tensor }),
      { inputSignature: [TensorSpec([], "string")] },
    );
    const file = `${this.#path}/variables/variables`;
    await run.async(new NdArray("string", [], [encodeString(file)]));
    if (this.#meta.objectGraphDef === undefined) return;
    const restored = restoredKeys(run.getConcreteFunction().graph);
    const { nodes } = this.#meta.objectGraphDef;
    const checkpoint = await readCheckpoint(file);
    try {
      (await readObjects(file, checkpoint))?.forEach(({ key }, id) => {
        const variable = restored.get(key ?? "");
        if (variable === undefined) return;
        this.#byObject.set(id, variable);
        // Objects and nodes have different names where the file has two of a name.
        const kind = nodes[id]?.kind;
        if (kind?.case === "variable") variable.trainable = kind.value.trainable;
      });
    } finally {
      await checkpoint.close();
    }
    this.#shareCaptured();
  }

  /**
   * Lets objects and the graph's calls of functions share the variables that the functions captured, as TensorFlow's loader does: Keras
   * writes a graph that reads copies.
   */
  #shareCaptured(): void {
    const functions = this.#meta.objectGraphDef!.concreteFunctions;
    const shared = new Map<number, Variable>();
    for (const { attr, input = [] } of this.#def.node) {
      const bound = functions[attr?.f?.func?.name ?? ""]?.boundInputs ?? [];
      if (bound.length === 0) continue;
      const given = input.filter((x) => !x.startsWith("^")).slice(-bound.length);
      given.forEach((x, i) => {
        const read = this.#byNode.get(x.replace(/:0$/, ""));
        if (read === undefined) return;
        const kept = shared.get(bound[i]) ?? read, own = this.#byObject.get(bound[i]);
        shared.set(bound[i], kept);
        for (const [node, v] of this.#byNode) {
          if (v === read || v === own) this.#byNode.set(node, kept);
        }
        if (own !== undefined) this.#byObject.set(bound[i], kept);
      });
    }
    this.variables = [...new Set(this.#byNode.values())];
  }

  toString(): string {
    return modelText(this.#path, this);
  }

  #signatureDefs(): [string, SignatureDef][] {
    return Object.entries(this.#meta.signatureDef).filter(([name]) => !INTERNAL.includes(name));
  }

  #initOp(): string | null {
    const { signatureDef, collectionDef } = this.#meta;
    const info = signatureDef["__saved_model_init_op"]?.outputs["__saved_model_init_op"];
    if (info?.encoding.case === "name") return info.encoding.value;
    const { kind } = collectionDef["legacy_init_op"] ?? collectionDef["saved_model_main_op"] ?? {};
    return kind?.case === "nodeList" ? kind.value.value[0] ?? null : null;
  }

  #runs(names: readonly string[], feeds: Readonly<Record<string, Tensor>>): [] {
    this.#import(names, feeds);
    return [];
  }

  /**
   * Adds the nodes that `targets` and `more` depend on to the graph being built, with `feeds` for the tensors they
   * name.
   */
  #import(
    targets: readonly string[],
    feeds: Readonly<Record<string, Tensor>>,
    more: readonly NodeDefJson[] = [],
  ): (Tensor | Operation)[] {
    const handles = Object.fromEntries(
      [...this.#byNode].map(([node, v]) => [`${node}:0`, v.handle]),
    );
    const inputMap = { ...handles, ...this.#assets(), ...feeds };
    const def = { ...this.#def, node: [...this.#def.node, ...more] };
    return naming(this.#path, () =>
      importNodes(prune(def, targets, Object.keys(inputMap)), {
        prefix: "",
        inputMap,
        returnElements: targets,
        inlineCalls: true,
        resources: this.#resources,
        ...(this.#scripts && { scripts: this.#scripts }),
      }));
  }

  #asset(filename: string): string {
    return `${this.#path}/assets/${filename}`;
  }

  /** Returns the paths of the model's assets, by the tensors that hold them. */
  #assets(): Record<string, Tensor> {
    const graph = currentGraph()!;
    return Object.fromEntries(this.#meta.assetFileDef.map(({ tensorInfo, filename }) => {
      const file = encodeString(this.#asset(filename));
      return [assetTensor(tensorInfo), graph.constant(new NdArray("string", [], [file]))];
    }));
  }

  /** Adds a call of a function of the file, whose last arguments are tensors of its graph. */
  #call(name: string, args: readonly Tensor[], bound: readonly string[]): Tensor[] {
    const f = this.#def.library?.function.find((f) => f.signature.name === name);
    if (f === undefined) throw new NotFoundError(`Function ${name} is not in ${this.#path}`);
    const { inputArg, outputArg } = f.signature;
    const feeds = Object.fromEntries(
      args.map((x, i) => [`${CALL}/${i}:0`, castTo(x, asDType(inputArg[i]?.type))]),
    );
    const node: NodeDefJson = {
      name: CALL,
      op: "StatefulPartitionedCall",
      input: [...Object.keys(feeds), ...bound],
      attr: { f: { func: { name } } },
    };
    const targets = outputArg.length === 0 ? [CALL] : outputArg.map((_, i) => `${CALL}:${i}`);
    const results = this.#import(targets, feeds, [node]);
    return outputArg.length === 0 ? [] : results as Tensor[];
  }

  /** Returns the graph's tensor for an object that a function captured. */
  #nodeOf(id: number): string {
    const { nodes, concreteFunctions } = this.#meta.objectGraphDef!;
    const object = nodes[id], kind = object?.kind;
    switch (kind?.case) {
      case "variable": {
        const found = [...this.#byNode].find(([, v]) => v === this.#byObject.get(id));
        if (found !== undefined) return found[0];
        break;
      }
      case "constant":
        return kind.value.operation;
      case "asset": {
        const asset = this.#meta.assetFileDef[kind.value.assetFileDefIndex];
        if (asset !== undefined) return assetTensor(asset.tensorInfo);
        break;
      }
      case "resource": {
        const table = this.#tableOf(object, concreteFunctions);
        if (table !== undefined) return table;
      }
    }
    throw new UnimplementedError(
      `Cannot call the function: it captures object ${id}, a ${
        kind?.case ?? "thing"
      } that is not read`,
    );
  }

  /** Returns the node of a table: it has the same shared name as in the function that made the table. */
  #tableOf(object: SavedObject, functions: SavedObjectGraph["concreteFunctions"]) {
    const { nodes } = this.#meta.objectGraphDef!;
    const creator = object.children.find((c) => c.localName === "_create_resource");
    const made = nodes[creator?.nodeId ?? -1]?.kind;
    const name = made?.case === "function" ? made.value.concreteFunctions[0] : undefined;
    const body = this.#def.library?.function.find((f) => f.signature.name === name);
    if (body === undefined || functions[name!] === undefined) return undefined;
    const shared = body.nodeDef.map(sharedName).find((n) => n !== "");
    return this.#def.node.find((n) => isTable(n.op) && sharedName(n) === shared)?.name;
  }

  #signature(
    name: string,
    inputs: readonly SignatureTensor[],
    outputs: readonly SignatureTensor[],
  ): Signature {
    let traced: TracedFunction<Tensor[], Tensor[]> | null = null;
    const body = (...xs: Tensor[]): Tensor[] => {
      const feeds = Object.fromEntries(inputs.map(({ tensor }, i) => [tensor, xs[i]]));
      return this.#import(outputs.map((o) => o.tensor), feeds).map((t) =>
        t instanceof Operation ? t.outputs[0] : t
      );
    };
    const f = (): TracedFunction<Tensor[], Tensor[]> =>
      traced ??= tracedFunction(body, {
        name,
        inputSignature: inputs.map((t) => TensorSpec(t.shape, t.dtype, t.key)),
      });
    const signature = signatureOf(name, inputs, outputs, f);
    SIGNATURE_BODIES.set(signature, body);
    return signature;
  }
}

showAs(Model);

/** The name of the node that calls a function. */
const CALL = "called_function";

function sharedName({ attr }: NodeDefJson): string {
  return text(attr?.shared_name?.s ?? "");
}

/** Returns the tensor that holds the path of an asset. */
function assetTensor(info: TensorInfo | undefined): string {
  return info?.encoding.case === "name" ? info.encoding.value : "";
}

function castTo(x: Tensor, dtype: DType): Tensor {
  return x.dtype === dtype ? x : cast(x, dtype);
}

/** Adds a signature's nodes to the graph being built; inputs and outputs are in the signature's order. */
export function buildSignature(signature: Signature, inputs: readonly Tensor[]): Tensor[] {
  return SIGNATURE_BODIES.get(signature)!(...inputs);
}
