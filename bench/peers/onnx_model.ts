// Models in ONNX's file format, made at run time: a graph is written op by op and encoded as a ModelProto.
//
// The numbers are those of the fields in the format's definition, onnx.proto; there are only the fields that a graph of
// float32 values with fixed shapes needs. An output has no shape: the runtime infers it.

import { bytes, encode, type Field, float, integer, message, text } from "./protobuf.ts";

/** A value of a graph, known by its name. */
export interface OnnxValue {
  readonly name: string;
}

/** An attribute of an op: a whole number or several, text, or a number that need not be whole. */
export type OnnxAttribute = number | readonly number[] | string | { readonly float: number };

/** Values of a constant: float32, or int64 where an op wants axes or a shape. */
export type OnnxData = Float32Array<ArrayBuffer> | BigInt64Array<ArrayBuffer>;

/** Version of the format, and of the set of ops. */
const IR_VERSION = 10, OPSET = 23;

const MODEL = { irVersion: 1, graph: 7, opsetImport: 8 } as const;
const OPSET_ID = { version: 2 } as const;
const GRAPH = { node: 1, name: 2, initializer: 5, input: 11, output: 12 } as const;
const NODE = { input: 1, output: 2, opType: 4, attribute: 5 } as const;
const ATTRIBUTE = { name: 1, f: 2, i: 3, s: 4, ints: 8, type: 20 } as const;
const ATTRIBUTE_TYPE = { float: 1, int: 2, string: 3, ints: 7 } as const;
const TENSOR = { dims: 1, dataType: 2, name: 8, rawData: 9 } as const;
const VALUE_INFO = { name: 1, type: 2 } as const;
const TYPE = { tensorType: 1 } as const;
const TENSOR_TYPE = { elemType: 1, shape: 2 } as const;
const SHAPE = { dim: 1 } as const;
const DIMENSION = { dimValue: 1 } as const;
const DATA_TYPE = { float: 1, int64: 7 } as const;

function attributeField(name: string, value: OnnxAttribute): Field {
  const typed = typeof value === "number"
    ? [integer(ATTRIBUTE.i, value), integer(ATTRIBUTE.type, ATTRIBUTE_TYPE.int)]
    : typeof value === "string"
    ? [text(ATTRIBUTE.s, value), integer(ATTRIBUTE.type, ATTRIBUTE_TYPE.string)]
    : "float" in value
    ? [float(ATTRIBUTE.f, value.float), integer(ATTRIBUTE.type, ATTRIBUTE_TYPE.float)]
    : [
      ...value.map((item) => integer(ATTRIBUTE.ints, item)),
      integer(ATTRIBUTE.type, ATTRIBUTE_TYPE.ints),
    ];
  return message(NODE.attribute, [text(ATTRIBUTE.name, name), ...typed]);
}

/** An input or output of the graph: its name and type, and its shape where that is said. */
function valueInfo(field: number, name: string, shape?: readonly number[]): Field {
  const dims = shape?.map((size) => message(SHAPE.dim, [integer(DIMENSION.dimValue, size)]));
  const tensorType = message(TYPE.tensorType, [
    integer(TENSOR_TYPE.elemType, DATA_TYPE.float),
    ...(dims ? [message(TENSOR_TYPE.shape, dims)] : []),
  ]);
  return message(field, [text(VALUE_INFO.name, name), message(VALUE_INFO.type, [tensorType])]);
}

/** A graph that is being written. */
export class OnnxGraph {
  readonly #fields: Field[] = [];
  #count = 0;

  #newValue(): OnnxValue {
    return { name: `v${this.#count++}` };
  }

  /** A float32 value that every run is given. */
  input(shape: readonly number[]): OnnxValue {
    const value = this.#newValue();
    this.#fields.push(valueInfo(GRAPH.input, value.name, shape));
    return value;
  }

  /** A value stored in the model, which the runtime may rearrange once and for all. */
  constant(data: OnnxData, shape: readonly number[]): OnnxValue {
    const value = this.#newValue();
    const dataType = data instanceof Float32Array ? DATA_TYPE.float : DATA_TYPE.int64;
    this.#fields.push(message(GRAPH.initializer, [
      ...shape.map((size) => integer(TENSOR.dims, size)),
      integer(TENSOR.dataType, dataType),
      text(TENSOR.name, value.name),
      bytes(TENSOR.rawData, new Uint8Array(data.buffer, data.byteOffset, data.byteLength)),
    ]));
    return value;
  }

  /** One float32 number. */
  scalar(value: number): OnnxValue {
    return this.constant(Float32Array.of(value), []);
  }

  /** Whole numbers, as ops take axes and shapes. */
  integers(...values: readonly number[]): OnnxValue {
    return this.constant(BigInt64Array.from(values, BigInt), [values.length]);
  }

  /** The result of an op; attributes that are left out have the op's defaults. */
  op(
    type: string,
    inputs: readonly OnnxValue[],
    attributes: Readonly<Record<string, OnnxAttribute>> = {},
  ): OnnxValue {
    const value = this.#newValue();
    this.#fields.push(message(GRAPH.node, [
      ...inputs.map(({ name }) => text(NODE.input, name)),
      text(NODE.output, value.name),
      text(NODE.opType, type),
      ...Object.entries(attributes).map(([name, attribute]) => attributeField(name, attribute)),
    ]));
    return value;
  }

  /** The model that computes `result`. */
  encode(result: OnnxValue): Uint8Array<ArrayBuffer> {
    const graph = [
      text(GRAPH.name, "graph"),
      ...this.#fields,
      valueInfo(GRAPH.output, result.name),
    ];
    return encode([
      integer(MODEL.irVersion, IR_VERSION),
      message(MODEL.graph, graph),
      message(MODEL.opsetImport, [integer(OPSET_ID.version, OPSET)]),
    ]);
  }
}
