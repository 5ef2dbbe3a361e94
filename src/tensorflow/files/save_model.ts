/** saveModel: functions as the signatures of a SavedModel that TensorFlow loads. */
import { create, toBinary } from "@bufbuild/protobuf";
import { describe } from "../../engine/core/convert.ts";
import { DTYPES } from "../../engine/core/dtype.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { ValueError } from "../../engine/core/errors.ts";
import { isPlainObject } from "../../engine/core/nest.ts";
import { optionCheck } from "../../engine/core/arguments.ts";
import { Tensor } from "../../engine/core/tensor.ts";
import type { GraphDefJson, NodeDefJson } from "../../engine/graph/graph_def_json.ts";
import { toGraphDef } from "../graph_def/graph_def.ts";
import { base64Text, shapeToJson } from "../graph_def/values.ts";
import { Graph } from "../../engine/graph/graph.ts";
import type { SymbolicTensor } from "../../engine/graph/operation.ts";
import { placeholder } from "../../engine/ops/graph_ops.ts";
import type { TracedFunction } from "../../engine/runtime/functions/function.ts";
import { Variable } from "../../engine/runtime/variables/variable.ts";
import { writeCheckpoint } from "./checkpoint.ts";
import { fileOf } from "../../library/io/files.ts";
import {
  CollectionDef_BytesListSchema,
  CollectionDefSchema,
  MetaGraphDefSchema,
  SavedModelSchema,
  SaverDef_CheckpointFormatVersion,
  type SignatureDef,
  SignatureDefSchema,
  type TensorInfo,
  TensorInfoSchema,
  VariableDefSchema,
} from "../proto/saved_model_pb.ts";
import { objectsEntry, valueKey } from "./object_graph.ts";
import { writeBytes } from "../../library/io/file_writer.ts";
import { savedObjects, type SavedParts } from "./saved_objects.ts";
import { SAVER, saverNodes } from "./saver_nodes.ts";
import { dtype, graphDefMessage, shapeMessage } from "./to_message.ts";

/**
 * A function that can be a signature: traced, with an `inputSignature` whose specs have names, and a record as its
 * result.
 */
// deno-lint-ignore no-explicit-any
export type SignatureFunction = TracedFunction<any[], unknown>;

/** Options of {@linkcode saveModel}. */
export interface SaveOptions {
  /** Functions by signature name. */
  readonly signatures: Readonly<Record<string, SignatureFunction>>;
  /** Tags of the meta graph. Default `["serve"]`. */
  readonly tags?: readonly string[];
  /**
   * True: scripts without a registered name are written with their process-local token, under which this process finds
   * them while the functions live, and another one only in {@linkcode LoadOptions.scripts}. Default false: a
   * `ValueError`.
   */
  readonly allowAnonymousScripts?: boolean;
}

const checkOptions = optionCheck<SaveOptions>("saveModel", {
  signatures: true,
  tags: true,
  allowAnonymousScripts: true,
});

/**
 * Writes a SavedModel: `saved_model.pb`, the variables of the functions, and the list of scripts that they call
 * (`assets.extra/script_ops.json`). `tf.saved_model.load` in TensorFlow and {@linkcode loadSavedModel} read it, as an
 * object with a method for each signature, `variables` and `trainable_variables`; where two outputs of a signature are
 * one tensor, as a model of version 1, which has signatures alone. Rejects with `ValueError` for a function without
 * named inputs or whose result is no record, or for scripts without a registered name; with `TypeError` for unknown
 * options.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { loadSavedModel, saveModel } from "@weft/weft/tf";
 * const folder = await Deno.makeTempDir();
 * const f = tf.function((x: tf.Tensor) => ({ y: tf.mul(x, 2) }), {
 *   inputSignature: [tf.TensorSpec([null], "float32", "x")],
 * });
 * await saveModel(folder, { signatures: { serving_default: f } });
 * const model = await loadSavedModel(folder);
 * const { y } = await model.signatures.serving_default({ x: [1, 2] });
 * console.log(y.arraySync()); // [2, 4]
 * await Deno.remove(folder, { recursive: true });
 * ```
 */
export async function saveModel(folder: string | URL, options: SaveOptions): Promise<void> {
  checkOptions(options);
  const path = fileOf(folder).replace(/\/$/, "");
  const signatures = Object.entries(options?.signatures ?? {});
  if (signatures.length === 0) {
    throw new ValueError("Cannot save a model: it has no signatures, wanted { signatures: { … } }");
  }
  const graph = new Graph();
  const defs: Record<string, SignatureDef> = {};
  for (const [name, f] of signatures) {
    defs[name] = graph.asDefault(() => addSignature(name, f));
  }
  const variables = variablesOf(graph);
  const { allowAnonymousScripts = false } = options;
  const named = withNames(toGraphDef(graph, { allowAnonymousScripts }), variables);
  const objects = savedObjects({ ...named, signatures: defs });
  const saved = [...named.variables].map(([handle, v]) => ({
    v,
    handle,
    key: objects === null ? v.name : valueKey(v.name),
  }));
  const def = withSaver(named.def, saved);
  await writeCheckpoint(`${path}/variables/variables`, {
    ...Object.fromEntries(saved.map(({ v, key }) => [key, v])),
    ...(objects && objectsEntry(objects.nodes)),
  });
  const scripts = scriptsOf(def);
  if (scripts.length > 0) {
    const text = JSON.stringify({ scripts }, null, 2);
    await writeBytes(`${path}/assets.extra/script_ops.json`, new TextEncoder().encode(text), {
      makeFolder: true,
    });
  }
  const model = create(SavedModelSchema, {
    savedModelSchemaVersion: 1n,
    metaGraphs: [create(MetaGraphDefSchema, {
      metaInfoDef: { tags: [...options.tags ?? ["serve"]], tensorflowVersion: "2.21.0" },
      graphDef: graphDefMessage(def),
      signatureDef: defs,
      ...(objects && { objectGraphDef: objects.graph }),
      ...(variables.length > 0 && {
        collectionDef: {
          variables: collection(variables),
          trainable_variables: collection(variables.filter((v) => v.trainable)),
        },
        saverDef: { ...SAVER, version: SaverDef_CheckpointFormatVersion.V2 },
      }),
    })],
  });
  await writeBytes(`${path}/saved_model.pb`, toBinary(SavedModelSchema, model));
}

/** Adds placeholders and a call of a function to the graph being built. */
function addSignature(name: string, f: SignatureFunction): SignatureDef {
  if (typeof f?.getConcreteFunction !== "function") {
    throw new TypeError(
      `Cannot save signature "${name}": wanted a tf.function with an inputSignature, received ${
        describe(f)
      }`,
    );
  }
  const { inputs } = f.getConcreteFunction();
  const xs = inputs.map((spec, i) => {
    if (spec.name === undefined) {
      throw new ValueError(
        `Cannot save signature "${name}": input ${i} has no name, wanted tf.TensorSpec(shape, dtype, "name") in its inputSignature`,
      );
    }
    return placeholder(spec.dtype, spec.shape, `${name}_${spec.name}`);
  });
  const results = f(...xs);
  if (
    !isPlainObject(results) || !Object.values(results).every((t) => t instanceof Tensor) ||
    Object.keys(results).length === 0
  ) {
    throw new ValueError(
      `Cannot save signature "${name}": its function must return a record of tensors, as in { y }`,
    );
  }
  return create(SignatureDefSchema, {
    methodName: "tensorflow/serving/predict",
    inputs: Object.fromEntries(inputs.map((spec, i) => [spec.name!, info(xs[i])])),
    outputs: Object.fromEntries(
      Object.entries(results as Record<string, Tensor>).map(([k, t]) => [k, info(t)]),
    ),
  });
}

function info(t: Tensor): TensorInfo {
  return create(TensorInfoSchema, {
    encoding: { case: "name", value: (t as SymbolicTensor).name },
    dtype: dtype(DTYPES[t.dtype].tfEnum),
    tensorShape: shapeMessage(shapeToJson(t.staticShape)),
  });
}

/** Lists the variables that a graph reads or assigns. */
function variablesOf(graph: Graph): Variable[] {
  const out: Variable[] = [];
  for (const op of graph.operations) {
    if (op.type !== "VarHandleOp") continue;
    const { variable, sharedName } = op.attrs._resource as {
      variable: Tensor | null;
      sharedName: string;
    };
    if (!(variable instanceof Variable)) {
      throw new ValueError(`Cannot save variable "${sharedName}": it was disposed`);
    }
    out.push(variable);
  }
  return out;
}

/** Names the variables in the graph's handles, and maps the nodes of handles to the variables. */
function withNames(def: GraphDefJson, all: readonly Variable[]): Omit<SavedParts, "signatures"> {
  const variables = new Map<string, Variable>();
  const node = def.node.map((n): NodeDefJson => {
    if (n.op !== "VarHandleOp") return n;
    const variable = all[variables.size];
    variables.set(n.name, variable);
    return { ...n, attr: { ...n.attr, shared_name: { s: base64Text(variable.name) } } };
  });
  return { def: { ...def, node }, variables };
}

/** A variable in the checkpoint. */
interface Saved {
  readonly v: Variable;
  readonly handle: string;
  readonly key: string;
}

function withSaver(def: GraphDefJson, saved: readonly Saved[]): GraphDefJson {
  if (saved.length === 0) return def;
  const specs = saved.map(({ v, handle, key }) => ({
    name: v.name,
    key,
    handle,
    type: DTYPES[v.dtype].tfEnum,
    shape: shapeToJson(v.staticShape),
  }));
  return { ...def, node: [...def.node, ...saverNodes(specs)] };
}

function collection(variables: readonly Variable[]) {
  const value = variables.map((v) =>
    toBinary(
      VariableDefSchema,
      create(VariableDefSchema, {
        variableName: `${v.name}:0`,
        initializerName: `${v.name}/Assign`,
        snapshotName: `${v.name}/Read/ReadVariableOp:0`,
        initialValueName: `${v.name}/Initializer/zeros:0`,
        isResource: true,
        trainable: v.trainable,
      }),
    )
  );
  return create(CollectionDefSchema, {
    kind: { case: "bytesList", value: create(CollectionDef_BytesListSchema, { value }) },
  });
}

/** Lists the scripts that nodes call, with those nodes. */
function scriptsOf(def: GraphDefJson): { token: string; op: string; nodes: string[] }[] {
  const all = [...def.node, ...(def.library?.function ?? []).flatMap((f) => f.nodeDef)];
  const byToken = new Map<string, { token: string; op: string; nodes: string[] }>();
  for (const n of all) {
    if (!/^(PyFunc|PyFuncStateless|EagerPyFunc)$/.test(n.op)) continue;
    const s = n.attr?.token?.s;
    const token = typeof s === "string" ? atob(s) : "";
    const entry = byToken.get(token) ?? { token, op: n.op, nodes: [] };
    entry.nodes.push(n.name);
    byToken.set(token, entry);
  }
  return [...byToken.values()];
}
