/** Conversion of GraphDef messages to the objects of `importGraphDef`. Bytes stay views into the file. */
import type {
  AttrValueJson,
  BytesJson,
  FuncJson,
  FunctionDefJson,
  GraphDefJson,
  NodeDefJson,
  ShapeJson,
  TensorJson,
} from "../../engine/graph/graph_def_json.ts";
import type {
  AttrValue,
  AttrValue_ListValue,
  FunctionDef,
  GraphDef,
  NameAttrList,
  NodeDef,
} from "../proto/graph_pb.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { Budget } from "../graph_def/check.ts";
import { attrFromJson } from "../graph_def/values.ts";
import { DataType, type TensorProto, type TensorShapeProto } from "../proto/tensor_pb.ts";

export function graphDefOf(message: GraphDef): GraphDefJson {
  const def: GraphDefJson = {
    node: message.node.map(nodeOf),
    versions: {
      producer: message.versions?.producer ?? message.version,
      minConsumer: message.versions?.minConsumer ?? 0,
    },
  };
  const functions = message.library?.function ?? [];
  const gradients = message.library?.gradient ?? [];
  if (functions.length > 0) {
    def.library = {
      function: functions.map(functionOf),
      ...(gradients.length > 0 && {
        gradient: gradients.map(({ functionName, gradientFunc }) => ({
          functionName,
          gradientFunc,
        })),
      }),
    };
  }
  return def;
}

function nodeOf(message: NodeDef): NodeDefJson {
  const def: NodeDefJson = { name: message.name, op: message.op };
  if (message.input.length > 0) def.input = message.input;
  if (message.device !== "") def.device = message.device;
  const attr = attrsOf(message.attr);
  if (attr !== undefined) def.attr = attr;
  return def;
}

function functionOf(message: FunctionDef): FunctionDefJson {
  const { signature } = message;
  const def: FunctionDefJson = {
    signature: {
      name: signature?.name ?? "",
      inputArg: (signature?.inputArg ?? []).map((a) => ({ name: a.name, type: typeOf(a.type) })),
      outputArg: (signature?.outputArg ?? []).map((a) => ({ name: a.name, type: typeOf(a.type) })),
      isStateful: signature?.isStateful ?? false,
      controlOutput: signature?.controlOutput ?? [],
    },
    nodeDef: message.nodeDef.map(nodeOf),
    ret: message.ret,
    controlRet: message.controlRet,
  };
  const attr = attrsOf(message.attr);
  if (attr !== undefined) def.attr = attr;
  const args = Object.entries(message.argAttr);
  if (args.length > 0) {
    def.argAttr = Object.fromEntries(
      args.map(([i, { attr }]) => [i, { attr: attrsOf(attr) ?? {} }]),
    );
  }
  return def;
}

/** Converts attributes; omits an empty record. */
function attrsOf(
  attrs: Readonly<Record<string, AttrValue>>,
): Record<string, AttrValueJson> | undefined {
  const entries = Object.entries(attrs);
  if (entries.length === 0) return undefined;
  return Object.fromEntries(entries.map(([name, value]) => [name, attrOf(value)]));
}

function attrOf({ value: v }: AttrValue): AttrValueJson {
  switch (v.case) {
    case "s":
      return { s: v.value };
    case "i":
      return { i: String(v.value) };
    case "f":
      return { f: floatOf(v.value) };
    case "b":
      return { b: v.value };
    case "type":
      return { type: typeOf(v.value) };
    case "shape":
      return { shape: shapeOf(v.value) };
    case "tensor":
      return { tensor: tensorOf(v.value) };
    case "func":
      return { func: funcOf(v.value) };
    case "placeholder":
      return { placeholder: v.value };
    case "list":
      return { list: listOf(v.value) };
  }
  return {};
}

/** Converts lists and omits empty ones: the op's signature tells the kind of an empty list. */
function listOf(m: AttrValue_ListValue): NonNullable<AttrValueJson["list"]> {
  return {
    ...(m.s.length > 0 && { s: m.s }),
    ...(m.i.length > 0 && { i: m.i.map(String) }),
    ...(m.f.length > 0 && { f: m.f.map(floatOf) }),
    ...(m.b.length > 0 && { b: m.b }),
    ...(m.type.length > 0 && { type: m.type.map(typeOf) }),
    ...(m.shape.length > 0 && { shape: m.shape.map(shapeOf) }),
    ...(m.tensor.length > 0 && { tensor: m.tensor.map(tensorOf) }),
    ...(m.func.length > 0 && { func: m.func.map(funcOf) }),
  };
}

function funcOf(m: NameAttrList): FuncJson {
  const attr = attrsOf(m.attr);
  return attr === undefined ? { name: m.name } : { name: m.name, attr };
}

/** Returns the name of a dtype; an unknown number stays a number. References of version 1 graphs are values here. */
export function typeOf(type: DataType): string {
  const known = DataType[type > 100 ? type - 100 : type];
  return known === undefined ? `DT_${type}` : known.startsWith("DT_") ? known : `DT_${known}`;
}

export function shapeOf(m: TensorShapeProto): ShapeJson {
  return m.unknownRank
    ? { unknownRank: true }
    : { dim: m.dim.map(({ size }) => ({ size: String(size) })) };
}

function floatOf(v: number): number | "NaN" | "Infinity" | "-Infinity" {
  return Number.isFinite(v) ? v : String(v) as "NaN" | "Infinity" | "-Infinity";
}

/** Converts a tensor: its elements are packed bytes, or a list in the field of their dtype. */
export function tensorOf(m: TensorProto): TensorJson {
  const def: TensorJson = {
    dtype: typeOf(m.dtype),
    tensorShape: m.tensorShape === undefined ? {} : shapeOf(m.tensorShape),
  };
  if (m.tensorContent.length > 0) def.tensorContent = m.tensorContent as BytesJson;
  if (m.stringVal.length > 0) def.stringVal = m.stringVal;
  if (m.floatVal.length > 0) def.floatVal = m.floatVal;
  if (m.doubleVal.length > 0) def.doubleVal = m.doubleVal;
  if (m.halfVal.length > 0) def.halfVal = m.halfVal;
  if (m.intVal.length > 0) def.intVal = m.intVal;
  if (m.int64Val.length > 0) def.int64Val = m.int64Val;
  if (m.uint32Val.length > 0) def.uint32Val = m.uint32Val;
  if (m.uint64Val.length > 0) def.uint64Val = m.uint64Val;
  if (m.boolVal.length > 0) def.boolVal = m.boolVal;
  if (m.scomplexVal.length > 0) def.scomplexVal = m.scomplexVal;
  if (m.dcomplexVal.length > 0) def.dcomplexVal = m.dcomplexVal;
  return def;
}

/** Decodes a message's tensor. Throws `ValueError` for one that repeats a value very often. */
export function arrayOf(m: TensorProto): NdArray {
  const json = { tensor: tensorOf(m) };
  return attrFromJson({ name: "value", type: "tensor" }, json, new Budget(0)) as NdArray;
}
