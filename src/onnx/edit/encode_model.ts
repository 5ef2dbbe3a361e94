/** Writes a changed model as a file: the nodes that it had, with new values of variables, and adapters. */
import { create, toBinary } from "@bufbuild/protobuf";
import {
  DataLossError,
  InvalidArgumentError,
  UnimplementedError,
} from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { numberOfDType } from "../file/types.ts";
import {
  type Graph,
  type Model,
  ModelSchema,
  type Tensor,
  TensorSchema,
} from "../proto/onnx_pb.ts";
import type { Edit } from "./edit_graph.ts";
import type { Edits } from "./edits.ts";

/** Maximum bytes of a protobuf message. */
const MOST_BYTES = 2 ** 31 - 1;

/**
 * Returns the bytes of a model's file with its variables' values and its adapters. Throws `UnimplementedError` for
 * functions in it, `DataLossError` if the file is no longer the one that was loaded, `InvalidArgumentError` for 2 GiB.
 */
export async function encodeModel(model: Model, edits: Edits): Promise<Uint8Array<ArrayBuffer>> {
  if (edits.functions.length > 0) {
    throw new UnimplementedError(
      `Cannot save the model: functions make ${
        edits.functions.map((n) => `"${n}"`).join(", ")
      }, which a file of nodes cannot hold; encodeOnnx writes the ops of a function`,
    );
  }
  const graph = model.graph!;
  for (const [name, v] of Object.entries(edits.variables)) {
    writeVariable(graph, name, await v.ndarray());
  }
  for (const edit of edits.list) addNodes(graph, edit);
  // Before version 4 all initialisers had to be inputs as well.
  if (edits.list.length > 0 && model.irVersion < 4n) model.irVersion = 4n;
  const bytes = graph.initializer.reduce((n, t) => n + t.rawData.length, 0);
  if (bytes > MOST_BYTES) {
    throw new InvalidArgumentError(
      `Cannot save the model: its weights have ${bytes} bytes, a file holds at most ${MOST_BYTES}; save its variables`,
    );
  }
  return toBinary(ModelSchema, model) as Uint8Array<ArrayBuffer>;
}

function writeVariable(graph: Graph, name: string, value: NdArray): void {
  const { buffer, byteOffset, byteLength } = value.data as Uint8Array<ArrayBuffer>;
  const written = {
    dims: value.shape.map(BigInt),
    dataType: numberOfDType(value.dtype),
    name,
    rawData: new Uint8Array(buffer, byteOffset, byteLength),
  };
  const at = graph.initializer.findIndex((t) => t.name === name);
  if (at >= 0) {
    checkSame(graph.initializer[at], written);
    const { docString } = graph.initializer[at];
    graph.initializer[at] = create(TensorSchema, { ...written, docString });
    return;
  }
  const constant = graph.node.find((n) => n.opType === "Constant" && n.output[0] === name);
  const held = constant?.attribute.find((a) => a.name === "value");
  if (held?.t !== undefined) {
    checkSame(held.t, written);
    held.t = create(TensorSchema, written);
    return;
  }
  graph.sparseInitializer = graph.sparseInitializer.filter((s) => s.values?.name !== name);
  graph.initializer.push(create(TensorSchema, written));
}

function checkSame(
  { dims, dataType }: Tensor,
  written: { readonly name: string; readonly dims: readonly bigint[]; readonly dataType: number },
): void {
  if (`${dims}` === `${written.dims}` && dataType === written.dataType) return;
  throw new DataLossError(
    `Cannot save the model: its file has changed, the weight "${written.name}" has now the shape [${dims}], wanted [${written.dims}]`,
  );
}

/** Puts the nodes of an edit behind the one that makes its tensor. */
function addNodes(graph: Graph, { name, messages }: Edit): void {
  const at = graph.node.findIndex((n) => n.output.includes(name));
  const names = new Set([
    ...[...graph.initializer, ...graph.input].map((v) => v.name),
    ...graph.node.flatMap((n) => n.output),
  ]);
  let own = `${name}/own`;
  while (names.has(own)) own += "_";
  const nodes = messages!(own), made = new Set(nodes.flatMap((n) => n.output));
  const isWithin = nodes.some((n) =>
    n.input.some((i) => i !== own && !names.has(i) && !made.has(i))
  );
  if (at < 0 || isWithin) {
    throw new UnimplementedError(
      `Cannot save the model: "${name}" is within a function of the file, merge its adapter or remove it`,
    );
  }
  const node = graph.node[at];
  node.output = node.output.map((o) => o === name ? own : o);
  graph.node.splice(at + 1, 0, ...nodes);
}
