/** The object graph of a checkpoint: the message with the saved objects, under a key of its own. */
import { create, toBinary } from "@bufbuild/protobuf";
import { NdArray } from "../../engine/core/nd_array.ts";
import type { TensorLike } from "../../engine/core/tensor.ts";
import type { OpenCheckpoint, SavedObjectNode } from "../../library/io/checkpoint/format.ts";
import { decode } from "./decode.ts";
import { TrackableObjectGraphSchema } from "../proto/checkpoint_pb.ts";

const OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH";
/** Name of the attribute with a variable's value. */
const VARIABLE_VALUE = "VARIABLE_VALUE";
/** Those that are read: of variables, tables and iterators. */
const READ = [VARIABLE_VALUE, "table", "ITERATOR"];

/** Returns TensorFlow's key of the value of a variable at this path. */
export function valueKey(path: string): string {
  return `${path}/.ATTRIBUTES/${VARIABLE_VALUE}`;
}

/**
 * Reads the objects of a checkpoint; null where it was saved without objects. Rejects with `DataLossError` for damaged
 * ones.
 */
export async function readObjects(
  prefix: string,
  checkpoint: OpenCheckpoint,
): Promise<readonly SavedObjectNode[] | null> {
  if (!checkpoint.has(OBJECT_GRAPH)) return null;
  const { data: [bytes] } = await checkpoint.read(OBJECT_GRAPH);
  const { nodes } = decode(TrackableObjectGraphSchema, bytes as Uint8Array, prefix);
  const read = nodes.map((node) => ({
    ...node,
    value: node.attributes.find(({ name }) => READ.includes(name)),
  }));
  return read.map(({ value, children, slotVariables }) => ({
    attribute: value?.name ?? VARIABLE_VALUE,
    key: value?.checkpointKey ?? null,
    children: children.map(({ localName, nodeId }) => ({ name: localName, id: nodeId })),
    slots: slotVariables.map((s) => ({
      of: s.originalVariableNodeId,
      name: s.slotName,
      id: s.slotVariableNodeId,
    })),
  }));
}

/** Makes the entry of a checkpoint that lists its saved objects. */
export function objectsEntry(nodes: readonly SavedObjectNode[]): Record<string, TensorLike> {
  const graph = create(TrackableObjectGraphSchema, {
    nodes: nodes.map(({ attribute = VARIABLE_VALUE, key, children, slots }) => ({
      children: children.map(({ name, id }) => ({ localName: name, nodeId: id })),
      attributes: key === null ? [] : [{ name: attribute, checkpointKey: key }],
      slotVariables: slots.map(({ of, name, id }) => ({
        originalVariableNodeId: of,
        slotName: name,
        slotVariableNodeId: id,
      })),
    })),
  });
  const bytes = toBinary(TrackableObjectGraphSchema, graph);
  return { [OBJECT_GRAPH]: new NdArray("string", [], [bytes]) };
}
