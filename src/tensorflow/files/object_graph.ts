/**
 * Which objects a checkpoint was saved of: the message that it holds under a key of its own.
 */
import { create, toBinary } from "@bufbuild/protobuf";
import { NdArray } from "../../engine/core/nd_array.ts";
import type { TensorLike } from "../../engine/core/tensor.ts";
import type { OpenCheckpoint, SavedObjectNode } from "../../library/io/checkpoint_format.ts";
import { decode } from "./decode.ts";
import { TrackableObjectGraphSchema } from "../proto/checkpoint_pb.ts";

const OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH";
/** What the value of a variable is called among its attributes. */
const VARIABLE_VALUE = "VARIABLE_VALUE";

/** Where TensorFlow looks for the value of a variable of this path. */
export function valueKey(path: string): string {
  return `${path}/.ATTRIBUTES/${VARIABLE_VALUE}`;
}

/** The objects of a checkpoint; null where it was saved of something else. Rejects with `DataLossError` for damaged ones. */
export async function readObjects(
  prefix: string,
  checkpoint: OpenCheckpoint,
): Promise<readonly SavedObjectNode[] | null> {
  if (!checkpoint.has(OBJECT_GRAPH)) return null;
  const { data: [bytes] } = await checkpoint.read(OBJECT_GRAPH);
  const { nodes } = decode(TrackableObjectGraphSchema, bytes as Uint8Array, prefix);
  return nodes.map(({ attributes, children, slotVariables }) => ({
    key: attributes.find(({ name }) => name === VARIABLE_VALUE)?.checkpointKey ?? null,
    children: children.map(({ localName, nodeId }) => ({ name: localName, id: nodeId })),
    slots: slotVariables.map((s) => ({
      of: s.originalVariableNodeId,
      name: s.slotName,
      id: s.slotVariableNodeId,
    })),
  }));
}

/** The entry of a checkpoint that says which objects it was saved of. */
export function objectsEntry(nodes: readonly SavedObjectNode[]): Record<string, TensorLike> {
  const graph = create(TrackableObjectGraphSchema, {
    nodes: nodes.map(({ key, children, slots }) => ({
      children: children.map(({ name, id }) => ({ localName: name, nodeId: id })),
      attributes: key === null ? [] : [{ name: VARIABLE_VALUE, checkpointKey: key }],
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
