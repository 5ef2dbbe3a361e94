/**
 * loadSavedModel: signatures of a SavedModel as functions, its variables restored.
 */
import { describe } from "../core/convert.ts";
import { encodeString } from "../core/text.ts";
import { UnimplementedError, ValueError } from "../core/errors.ts";
import { NdArray } from "../core/nd_array.ts";
import { optionCheck } from "../core/options.ts";
import type { Tensor, TensorLike } from "../core/tensor.ts";
import { TensorSpec } from "../core/tensor_spec.ts";
import { asDType } from "../core/dtype.ts";
import { Graph } from "../graph/graph.ts";
import type { GraphDefJson } from "../graph/graph_def/graph_def.ts";
import { shapeFromJson, text } from "../graph/graph_def/values.ts";
import { raiseVersion1 } from "../graph/graph_def/version_1.ts";
import { Operation } from "../graph/operation.ts";
import { type TracedFunction, tracedFunction } from "../runtime/functions/function.ts";
import { importNodes } from "../runtime/graph_defs/import_graph_def.ts";
import type { LookupTable } from "../runtime/graph_defs/lookup_table.ts";
import type { ScriptFunctions } from "../runtime/graph_defs/missing.ts";
import { uninitializedVariable, type Variable } from "../runtime/variables/variable.ts";
import { naming, namingAsync } from "../io/naming.ts";
import { pathOf } from "./checkpoint.ts";
import "./checkpoint_ops.ts";
import { decode } from "./decode.ts";
import { graphDefOf } from "./from_message.ts";
import { inputsOf, outputsOf, prune, readMetaGraph, type SignatureTensor } from "./meta_graph.ts";
import { type MetaGraphDef, type SignatureDef, VariableDefSchema } from "./proto/saved_model_pb.ts";

/** Options of {@linkcode loadSavedModel}. */
export interface LoadOptions {
  /** Tags of the meta graph. Default `["serve"]`. */
  readonly tags?: readonly string[];
  /** Functions for scripts by their tokens, where they are not registered under them. */
  readonly scripts?: ScriptFunctions;
}

const checkOptions = optionCheck<LoadOptions>("loadSavedModel", { tags: true, scripts: true });

/** A signature: named tensors (or what can be made into one) in, named tensors out. */
export interface Signature {
  /** Calls it. Rejects with `ValueError` for inputs that are missing or unknown. */
  (inputs?: Readonly<Record<string, TensorLike>>): Promise<Record<string, Tensor>>;
  /** Specs of its inputs, by name. */
  readonly inputs: Readonly<Record<string, TensorSpec>>;
  /** Specs of its outputs, by name. */
  readonly outputs: Readonly<Record<string, TensorSpec>>;
}

/** A SavedModel that was loaded. */
export interface LoadedModel {
  /** What it computes, by name. */
  readonly signatures: Readonly<Record<string, Signature>>;
  /** Its variables, which the signatures read, in the graph's order. */
  readonly variables: readonly Variable[];
  /** The graph of all signatures, with TensorFlow's names. */
  readonly graph: Graph;
  /** Frees the variables. */
  dispose(): void;
}

/** Signatures that are no computations of the user's. */
const INTERNAL = ["__saved_model_init_op", "__saved_model_train_op"];

/**
 * Loads a SavedModel from its folder, a path or URL: version 2's (`tf.saved_model.save`, Keras' `export`) and version 1's.
 * Variables are restored by the model's own restore function. Signatures are graphs of ours: fused, placed, differentiable with
 * respect to inputs and `variables`. Follows TensorFlow `tf.saved_model.load`.
 * Rejects with `NotFoundError` for files, ops or scripts that are missing, `DataLossError` for damaged ones, `ValueError` where no
 * meta graph has the tags, `UnimplementedError` for what is not read (`saved_model.cpb`).
 */
export async function loadSavedModel(
  folder: string | URL,
  options: LoadOptions = {},
): Promise<LoadedModel> {
  checkOptions(options);
  const path = pathOf(folder).replace(/\/$/, "");
  const meta = await readMetaGraph(path, options.tags ?? ["serve"]);
  const model = naming(path, () => new Model(path, meta, options.scripts));
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
  readonly variables: readonly Variable[];
  readonly #def: GraphDefJson;
  readonly #meta: MetaGraphDef;
  readonly #path: string;
  readonly #scripts: ScriptFunctions | undefined;
  /** By the name of the node that makes the handle. */
  readonly #byNode: ReadonlyMap<string, Variable>;
  readonly #tables = new Map<string, LookupTable>();
  #graph: Graph | null = null;

  constructor(path: string, meta: MetaGraphDef, scripts: ScriptFunctions | undefined) {
    this.#scripts = scripts;
    this.#path = path;
    this.#meta = meta;
    if (meta.graphDef === undefined) throw new ValueError(`Cannot load ${path}: it has no graph`);
    this.#def = raiseVersion1(graphDefOf(meta.graphDef));
    this.#byNode = makeVariables(this.#def, meta);
    this.variables = [...this.#byNode.values()];
  }

  get graph(): Graph {
    if (this.#graph === null) {
      const graph = new Graph();
      const wanted = this.#signatureDefs().flatMap(([name, s]) => [
        ...inputsOf(s, name),
        ...outputsOf(s, name),
      ]);
      graph.asDefault(() => this.#import(wanted.map((t) => t.tensor), {}));
      this.#graph = graph;
    }
    return this.#graph;
  }

  dispose(): void {
    for (const v of this.variables) v.dispose();
  }

  /** Runs the model's restore function, then what it wants run before anything else. */
  async open(): Promise<void> {
    for (const [name, signature] of this.#signatureDefs()) {
      const inputs = inputsOf(signature, name), outputs = outputsOf(signature, name);
      this.signatures[name] = this.#signature(name, inputs, outputs);
    }
    const { saverDef } = this.#meta;
    if (saverDef !== undefined && this.variables.length > 0) {
      const { filenameTensorName: prefix, restoreOpName: restore } = saverDef;
      const run = tracedFunction(
        (file: TensorLike) => this.#runs([restore], { [prefix]: file as Tensor }),
        { inputSignature: [TensorSpec([], "string")] },
      );
      const file = encodeString(`${this.#path}/variables/variables`);
      await run.async(new NdArray("string", [], [file]));
    }
    const init = this.#initOp();
    if (init !== null) await tracedFunction(() => this.#runs([init], {}), {}).async();
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

  /** Adds what `targets` need to the graph being built, with `feeds` for the tensors they name. */
  #import(
    targets: readonly string[],
    feeds: Readonly<Record<string, Tensor>>,
  ): (Tensor | Operation)[] {
    const handles = Object.fromEntries(
      [...this.#byNode].map(([node, v]) => [`${node}:0`, v.handle]),
    );
    const inputMap = { ...handles, ...feeds };
    return naming(this.#path, () =>
      importNodes(prune(this.#def, targets, Object.keys(inputMap)), {
        prefix: "",
        inputMap,
        returnElements: targets,
        inlineCalls: true,
        tables: this.#tables,
        ...(this.#scripts && { scripts: this.#scripts }),
      }));
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
    const call = async (
      given: Readonly<Record<string, TensorLike>> = {},
    ): Promise<Record<string, Tensor>> => {
      const results = await f().async(...argumentsOf(name, inputs, given));
      return Object.fromEntries(outputs.map(({ key }, i) => [key, results[i]]));
    };
    const signature = Object.assign(call, { inputs: specsOf(inputs), outputs: specsOf(outputs) });
    BODIES.set(signature, body);
    return signature;
  }
}

/** What signatures do, which adds their nodes to the graph being built. */
const BODIES = new WeakMap<Signature, (...xs: Tensor[]) => Tensor[]>();

/** Adds a signature's nodes to the graph being built: its outputs, in their order, of tensors for its inputs in theirs. */
export function buildSignature(signature: Signature, inputs: readonly Tensor[]): Tensor[] {
  return BODIES.get(signature)!(...inputs);
}

function specsOf(tensors: readonly SignatureTensor[]): Record<string, TensorSpec> {
  return Object.fromEntries(tensors.map((t) => [t.key, TensorSpec(t.shape, t.dtype, t.key)]));
}

function argumentsOf(
  signature: string,
  inputs: readonly SignatureTensor[],
  given: Readonly<Record<string, TensorLike>>,
): Tensor[] {
  const wanted = inputs.map((i) => i.key);
  const list = (names: readonly string[]): string => names.map((n) => `"${n}"`).join(", ");
  if (typeof given !== "object" || given === null) {
    throw new ValueError(
      `Cannot call signature "${signature}": wanted an object with ${list(wanted)}, received ${
        describe(given)
      }`,
    );
  }
  const missing = wanted.filter((n) => given[n] === undefined);
  const unknown = Object.keys(given).filter((n) => !wanted.includes(n));
  if (missing.length > 0 || unknown.length > 0) {
    throw new ValueError(
      `Cannot call signature "${signature}": it takes ${list(wanted) || "nothing"}${
        missing.length > 0 ? `, ${list(missing)} is missing` : ""
      }${unknown.length > 0 ? `, ${list(unknown)} is unknown` : ""}`,
    );
  }
  return wanted.map((n) => given[n] as Tensor);
}

/** A variable for each handle of the graph, without a value until it is restored: the file may tell any shape. */
function makeVariables(def: GraphDefJson, meta: MetaGraphDef): Map<string, Variable> {
  const frozen = frozenNames(meta);
  const specs = new Map(
    def.node.filter((node) => node.op === "VarHandleOp").map((node) => {
      const shape = shapeFromJson(node.attr?.shape?.shape ?? {});
      if (shape === null || shape.includes(null)) {
        throw new UnimplementedError(
          `Cannot load variable "${node.name}": its shape [${shape ?? "?"}] is not known`,
        );
      }
      const name = text(node.attr?.shared_name?.s ?? "") || node.name;
      return [node.name, {
        dtype: asDType(node.attr?.dtype?.type),
        shape: shape as number[],
        name,
        trainable: !frozen.has(name),
      }];
    }),
  );
  return new Map([...specs].map(([node, spec]) => [node, uninitializedVariable(spec)]));
}

/** Names of variables that the model says are not trained. */
function frozenNames(meta: MetaGraphDef): Set<string> {
  const out = new Set<string>();
  for (const { kind } of meta.objectGraphDef?.nodes ?? []) {
    if (kind.case === "variable" && !kind.value.trainable) out.add(kind.value.name);
  }
  const trained = namesOf(meta, "trainable_variables");
  if (trained !== null) {
    for (const name of namesOf(meta, "variables") ?? []) if (!trained.has(name)) out.add(name);
  }
  return out;
}

/** Names of the variables in a collection of version 1; null where there is none. */
function namesOf(meta: MetaGraphDef, collection: string): Set<string> | null {
  const kind = meta.collectionDef[collection]?.kind;
  if (kind?.case !== "bytesList") return null;
  return new Set(
    kind.value.value.map((v) =>
      decode(VariableDefSchema, v, `collection "${collection}"`).variableName.replace(/:0$/, "")
    ),
  );
}
