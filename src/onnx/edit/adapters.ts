/** Nodes of low-rank adapters: what A and B make of a node's input is added to its result. */
import { create } from "@bufbuild/protobuf";
import { Attributes } from "../file/attributes.ts";
import type { GraphNode } from "../file/graph.ts";
import { numberOfDType } from "../file/types.ts";
import {
  type Attribute,
  AttributeSchema,
  type Node,
  NodeSchema,
  TensorSchema,
} from "../proto/onnx_pb.ts";
import type { WeightedNode } from "./weights.ts";

/** Names and the scale of an adapter. */
export interface AdapterParts {
  /** Name of its first factor, which has the rank as its second extent; of a filter as its first. */
  readonly a: string;
  /** Name of its second factor. */
  readonly b: string;
  /** Factor of what is added. */
  readonly scale: number;
}

/** Returns the nodes of an adapter in the file's form; the node's own result is then called `own`. */
export function adapterNodes(
  { node, kind, dtype }: WeightedNode,
  { a, b, scale }: AdapterParts,
  own: string,
): Node[] {
  const output = node.outputs[0], prefix = `${output}/lora/`, nodes: Node[] = [];
  const add = (
    op: string,
    input: readonly string[],
    name: string,
    attribute: readonly Attribute[] = [],
  ): string => {
    const made = name === "" ? output : prefix + name;
    nodes.push(create(NodeSchema, {
      opType: op,
      name: prefix + (name || "sum"),
      input: [...input],
      output: [made],
      attribute: [...attribute],
    }));
    return made;
  };
  // The factors are float32: what is added has the dtype of the result.
  const cast = (name: string, to: string): string =>
    dtype === "float32" ? name : add("Cast", [name], to, [whole("to", numberOfDType(dtype))]);
  const first = cast(a, "a"), second = cast(b, "b");
  const added = kind === "product"
    ? add("MatMul", [add("MatMul", [node.inputs[0], first], "xa"), second], "xab")
    : kind === "rows"
    ? add("MatMul", [add("Gather", [first, node.inputs[1]], "rows"), second], "rowsb")
    : add("Conv", [add("Conv", [node.inputs[0], first], "xa", sliding(node)), second], "xab");
  const by = cast(add("Constant", [], "scale", [scalar(scale)]), "by");
  add("Add", [own, add("Mul", [added, by], "scaled")], "");
  return nodes;
}

/** Returns nodes as the walk sees them, of a version of ONNX's ops. */
export function graphNodes(nodes: readonly Node[], version: number): GraphNode[] {
  return nodes.map((n) => ({
    op: n.opType,
    domain: "",
    version,
    name: n.name,
    inputs: n.input,
    outputs: n.output,
    attributes: new Attributes(n.attribute, `node "${n.name}"`),
    graphs: {},
  }));
}

/** The attributes by which a filter slides. */
function sliding({ attributes }: GraphNode): Attribute[] {
  return ["auto_pad", "dilations", "kernel_shape", "pads", "strides"].flatMap((name) =>
    attributes.raw(name) ?? []
  );
}

function whole(name: string, value: number): Attribute {
  return create(AttributeSchema, { name, type: 2, i: BigInt(value) });
}

function scalar(value: number): Attribute {
  const rawData = new Uint8Array(Float32Array.of(value).buffer);
  return create(AttributeSchema, {
    name: "value",
    type: 4,
    t: create(TensorSchema, { dataType: 1, rawData }),
  });
}
