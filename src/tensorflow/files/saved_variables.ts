/**
 * Variables of a SavedModel: made for the handles of its graph, and identified by their places among the saved objects.
 */
import { asDType } from "../../engine/core/dtype.ts";
import { resourceOf } from "../../engine/core/graph_node.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { GraphDefJson, NodeDefJson } from "../../engine/graph/graph_def_json.ts";
import { shapeFromJson, text } from "../graph_def/values.ts";
import type { Graph } from "../../engine/graph/graph.ts";
import { decodeString } from "../../engine/core/text.ts";
import { uninitializedVariable } from "../../engine/runtime/variables/late_variables.ts";
import type { Variable } from "../../engine/runtime/variables/variable.ts";
import type { VariableState } from "../../engine/runtime/variables/variable_state.ts";
import { decode } from "./decode.ts";
import { type MetaGraphDef, VariableDefSchema } from "../proto/saved_model_pb.ts";

/**
 * Makes a variable for each handle of the graph, without a value until it is restored: the file may claim any shape.
 */
export function makeVariables(def: GraphDefJson, meta: MetaGraphDef): Map<string, Variable> {
  const frozen = frozenNames(meta);
  const used = usedNodes(def, meta);
  const specs = new Map(
    def.node.filter((node) => node.op === "VarHandleOp" && used.has(node.name)).map((node) => {
      const name = text(node.attr?.shared_name?.s ?? "") || node.name;
      return [node.name, {
        dtype: asDType(node.attr?.dtype?.type),
        shape: shapeFromJson(node.attr?.shape?.shape ?? {}),
        name,
        trainable: !frozen.has(name),
      }];
    }),
  );
  return new Map([...specs].map(([node, spec]) => [node, uninitializedVariable(spec)]));
}

/** Returns the used nodes: Keras writes variables whose only reader is an unused read. */
function usedNodes({ node }: GraphDefJson, { signatureDef }: MetaGraphDef): Set<string> {
  const nameOf = (input: string): string => input.replace(/^\^|:\d+$/g, "");
  const wanted = Object.values(signatureDef).flatMap(({ outputs }) =>
    Object.values(outputs).map(({ encoding: e }) => (e.case === "name" ? nameOf(e.value) : ""))
  );
  const read = new Set([...wanted, ...node.flatMap((n) => (n.input ?? []).map(nameOf))]);
  const isIdle = (n: NodeDefJson): boolean => n.op === "ReadVariableOp" && !read.has(n.name);
  return new Set(node.flatMap((n) => (isIdle(n) ? [] : (n.input ?? []).map(nameOf))));
}

/** Returns the names of variables that the model declares untrainable. */
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

/** Returns the names of the variables in a collection of version 1; null where there is none. */
function namesOf(meta: MetaGraphDef, collection: string): Set<string> | null {
  const kind = meta.collectionDef[collection]?.kind;
  if (kind?.case !== "bytesList") return null;
  return new Set(
    kind.value.value.map((v) =>
      decode(VariableDefSchema, v, `collection "${collection}"`).variableName.replace(/:0$/, "")
    ),
  );
}

/** Maps the keys of a checkpoint to the variables that a graph restores from them. */
export function restoredKeys(graph: Graph): Map<string, Variable> {
  const out = new Map<string, Variable>();
  for (const { type, inputs } of graph.operations) {
    if (type !== "AssignVariableOp") continue;
    const { variable } = resourceOf(inputs[0]) as VariableState;
    let value: Tensor = inputs[1];
    while (value.op.type === "Identity") value = value.op.inputs[0];
    const names = value.op.type === "RestoreV2" ? value.op.inputs[1].op.attrs.value : undefined;
    if (names === undefined || variable === null) continue;
    const key = ((names as NdArray).data as Uint8Array[])[value.op.outputs.indexOf(value)];
    out.set(decodeString(key), variable as Variable);
  }
  return out;
}
