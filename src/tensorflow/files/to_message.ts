/** Conversion of GraphDef objects to messages. */
import { create } from "@bufbuild/protobuf";
import { ValueError } from "../../engine/core/errors.ts";
import type {
  AttrValueJson,
  FuncJson,
  FunctionDefJson,
  GraphDefJson,
  NodeDefJson,
  ShapeJson,
  TensorJson,
} from "../../engine/graph/graph_def_json.ts";
import { bytes } from "../graph_def/values.ts";
import {
  type AttrValue,
  AttrValue_ListValueSchema,
  AttrValueSchema,
  type FunctionDef,
  FunctionDef_ArgAttrsSchema,
  FunctionDefSchema,
  type GraphDef,
  GraphDefSchema,
  type NameAttrList,
  NameAttrListSchema,
  type NodeDef,
  NodeDefSchema,
} from "../proto/graph_pb.ts";
import {
  DataType,
  type TensorProto,
  TensorProtoSchema,
  type TensorShapeProto,
  TensorShapeProtoSchema,
} from "../proto/tensor_pb.ts";

/** Converts a GraphDef. Throws `ValueError` for a dtype or an attribute that files cannot hold. */
export function graphDefMessage(def: GraphDefJson): GraphDef {
  return create(GraphDefSchema, {
    node: def.node.map(nodeMessage),
    library: {
      function: (def.library?.function ?? []).map(functionMessage),
      gradient: def.library?.gradient ?? [],
    },
    versions: {
      producer: def.versions?.producer ?? 0,
      minConsumer: def.versions?.minConsumer ?? 0,
    },
  });
}

function nodeMessage(def: NodeDefJson): NodeDef {
  return create(NodeDefSchema, {
    name: def.name,
    op: def.op,
    input: def.input ?? [],
    device: def.device ?? "",
    attr: attrMessages(def.attr, def.name),
  });
}

function functionMessage(def: FunctionDefJson): FunctionDef {
  const { signature, argAttr = {} } = def;
  const arg = ({ name, type }: { name: string; type: string }) => ({ name, type: dtype(type) });
  const controlRet = def.controlRet ?? {};
  return create(FunctionDefSchema, {
    signature: {
      name: signature.name,
      inputArg: (signature.inputArg ?? []).map(arg),
      outputArg: (signature.outputArg ?? []).map(arg),
      isStateful: signature.isStateful ?? false,
      controlOutput: signature.controlOutput ?? Object.keys(controlRet),
    },
    nodeDef: (def.nodeDef ?? []).map(nodeMessage),
    ret: def.ret ?? {},
    controlRet,
    attr: attrMessages(def.attr, signature.name),
    argAttr: Object.fromEntries(
      Object.entries(argAttr).map(([i, { attr }]) => [
        i,
        create(FunctionDef_ArgAttrsSchema, { attr: attrMessages(attr, signature.name) }),
      ]),
    ),
  });
}

function attrMessages(
  attrs: Readonly<Record<string, AttrValueJson>> | undefined,
  node: string,
): Record<string, AttrValue> {
  return Object.fromEntries(
    Object.entries(attrs ?? {}).map(([name, value]) => [name, attrMessage(value, { name, node })]),
  );
}

function attrMessage(
  v: AttrValueJson,
  at: { readonly name: string; readonly node: string },
): AttrValue {
  const make = (value: AttrValue["value"]): AttrValue => create(AttrValueSchema, { value });
  if (v.s !== undefined) return make({ case: "s", value: bytes(v.s) });
  if (v.i !== undefined) return make({ case: "i", value: BigInt(v.i) });
  if (v.f !== undefined) return make({ case: "f", value: Number(v.f) });
  if (v.b !== undefined) return make({ case: "b", value: v.b });
  if (v.type !== undefined) return make({ case: "type", value: dtype(v.type) });
  if (v.shape !== undefined) return make({ case: "shape", value: shapeMessage(v.shape) });
  if (v.tensor !== undefined) return make({ case: "tensor", value: tensorMessage(v.tensor) });
  if (v.func !== undefined) return make({ case: "func", value: funcMessage(v.func) });
  if (v.placeholder !== undefined) return make({ case: "placeholder", value: v.placeholder });
  if (v.list !== undefined) return make({ case: "list", value: listMessage(v.list) });
  if (Object.keys(v).length === 0) return create(AttrValueSchema);
  throw new ValueError(
    `Cannot write attribute "${at.name}" of "${at.node}": ${
      Object.keys(v).join(", ")
    } is no field of an AttrValue`,
  );
}

function listMessage(list: NonNullable<AttrValueJson["list"]>) {
  return create(AttrValue_ListValueSchema, {
    s: (list.s ?? []).map(bytes),
    i: (list.i ?? []).map(BigInt),
    f: (list.f ?? []).map(Number),
    b: list.b ?? [],
    type: (list.type ?? []).map(dtype),
    shape: (list.shape ?? []).map(shapeMessage),
    tensor: (list.tensor ?? []).map(tensorMessage),
    func: (list.func ?? []).map(funcMessage),
  });
}

function funcMessage(f: FuncJson): NameAttrList {
  return create(NameAttrListSchema, { name: f.name, attr: attrMessages(f.attr, f.name) });
}

/** Returns the number of a dtype's name. Throws `ValueError` for one that files cannot hold. */
export function dtype(name: string): DataType {
  const value = DataType[name as keyof typeof DataType];
  if (value === undefined) throw new ValueError(`Cannot write dtype ${name}: no file holds it`);
  return value;
}

export function shapeMessage(shape: ShapeJson): TensorShapeProto {
  return create(TensorShapeProtoSchema, {
    unknownRank: shape.unknownRank ?? false,
    dim: (shape.dim ?? []).map(({ size = 0 }) => ({ size: BigInt(size) })),
  });
}

export function tensorMessage(t: TensorJson): TensorProto {
  return create(TensorProtoSchema, {
    dtype: dtype(t.dtype),
    tensorShape: shapeMessage(t.tensorShape ?? {}),
    ...(t.tensorContent !== undefined && { tensorContent: bytes(t.tensorContent) }),
    stringVal: (t.stringVal ?? []).map(bytes),
    floatVal: (t.floatVal ?? []).map(Number),
    doubleVal: (t.doubleVal ?? []).map(Number),
    halfVal: t.halfVal ?? [],
    intVal: t.intVal ?? [],
    int64Val: (t.int64Val ?? []).map(BigInt),
    uint32Val: t.uint32Val ?? [],
    uint64Val: (t.uint64Val ?? []).map(BigInt),
    boolVal: t.boolVal ?? [],
    scomplexVal: (t.scomplexVal ?? []).map(Number),
    dcomplexVal: (t.dcomplexVal ?? []).map(Number),
  });
}
