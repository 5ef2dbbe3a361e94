/** Models of ONNX, written field by field. */
import type { DType } from "@weft/weft";
import {
  bytes,
  encode,
  type Field,
  float,
  integer,
  message,
  text,
} from "../../bench/peers/protobuf.ts";

/** Numbers of element types in ONNX's files. */
const NUMBERS: Partial<Record<DType, number>> = {
  float32: 1,
  uint8: 2,
  int8: 3,
  int32: 6,
  int64: 7,
  string: 8,
  bool: 9,
  float16: 10,
  float64: 11,
};

const TYPES = [
  [Float32Array, 1],
  [Uint8Array, 2],
  [Int8Array, 3],
  [Int32Array, 6],
  [BigInt64Array, 7],
  [Float16Array, 10],
] as const;

/** Elements of a tensor: typed arrays, or where they are in another file. */
type Elements =
  | Float32Array
  | Float16Array
  | Uint8Array
  | Int8Array
  | Int32Array
  | BigInt64Array
  | { readonly location: string; readonly offset: number; readonly length: number };

/** An attribute: whole numbers are bigints. */
export type AttributeValue = number | bigint | string | readonly bigint[] | Graph;

/** The parts of a graph. */
export interface Graph {
  readonly nodes: readonly Part[];
  readonly inputs: readonly Part[];
  readonly outputs: readonly Part[];
  readonly initialisers?: readonly Part[];
  /** Types of inner values. */
  readonly types?: readonly Part[];
}

/** Fields of a message. */
export type Part = readonly Field[];

export function floats(...values: readonly number[]): Float32Array {
  return Float32Array.from(values);
}

export function int64s(...values: readonly number[]): BigInt64Array {
  return BigInt64Array.from(values, BigInt);
}

export function node(
  op: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes: Readonly<Record<string, AttributeValue>> = {},
  domain = "",
): Part {
  return [
    ...inputs.map((name) => text(1, name)),
    ...outputs.map((name) => text(2, name)),
    text(4, op),
    ...Object.entries(attributes).map(([name, value]) => message(5, attribute(name, value))),
    ...domain === "" ? [] : [text(7, domain)],
  ];
}

/** A node that gives a tensor. */
export function constant(name: string, dims: readonly number[], elements: Elements): Part {
  return [
    text(2, name),
    text(4, "Constant"),
    message(5, [text(1, "value"), message(5, tensor("", dims, elements)), integer(20, 4)]),
  ];
}

/** A node with a name. */
export function named(part: Part, name: string): Part {
  return [...part, text(3, name)];
}

function attribute(name: string, value: AttributeValue): Part {
  if (typeof value === "number") return [text(1, name), float(2, value), integer(20, 1)];
  if (typeof value === "bigint") return [text(1, name), integer(3, value), integer(20, 2)];
  if (typeof value === "string") return [text(1, name), text(4, value), integer(20, 3)];
  if (Array.isArray(value)) {
    return [text(1, name), ...value.map((v) => integer(8, v)), integer(20, 7)];
  }
  return [text(1, name), message(6, graph(value as Graph)), integer(20, 5)];
}

export function tensor(name: string, dims: readonly number[], elements: Elements): Part {
  const shape = dims.map((d) => integer(1, BigInt(d)));
  if (!ArrayBuffer.isView(elements)) {
    const entries = Object.entries(elements).map(([key, value]) =>
      message(13, [text(1, key), text(2, `${value}`)])
    );
    return [...shape, integer(2, 1), text(8, name), ...entries, integer(14, 1)];
  }
  const [, number] = TYPES.find(([Array]) => elements instanceof Array)!;
  const raw = new Uint8Array(elements.buffer as ArrayBuffer);
  return [...shape, integer(2, number), text(8, name), bytes(9, raw)];
}

/** A named value of a type; extents that are texts have names. */
export function value(name: string, dtype: DType, dims: readonly (number | string)[]): Part {
  const shape = dims.map((d) => message(1, typeof d === "number" ? [integer(1, d)] : [text(2, d)]));
  return [
    text(1, name),
    message(2, [message(1, [integer(1, NUMBERS[dtype]!), message(2, shape)])]),
  ];
}

function graph({ nodes, inputs, outputs, initialisers = [], types = [] }: Graph): Part {
  return [
    ...nodes.map((n) => message(1, n)),
    text(2, "graph"),
    ...initialisers.map((t) => message(5, t)),
    ...inputs.map((v) => message(11, v)),
    ...outputs.map((v) => message(12, v)),
    ...types.map((v) => message(13, v)),
  ];
}

/** An attribute of a node within a function that takes the value of one of the call. */
export function referring(part: Part, name: string, to: string): Part {
  return [...part, message(5, [text(1, name), integer(20, 1), text(21, to)])];
}

/** A function of the domain `acme`. */
export function functionOf(
  name: string,
  inputs: readonly string[],
  outputs: readonly string[],
  nodes: readonly Part[],
  defaults: Readonly<Record<string, AttributeValue>> = {},
): Part {
  return [
    text(1, name),
    ...inputs.map((n) => text(4, n)),
    ...outputs.map((n) => text(5, n)),
    ...nodes.map((n) => message(7, n)),
    message(9, [text(1, ""), integer(2, 21)]),
    message(9, [text(1, "acme"), integer(2, 1)]),
    text(10, "acme"),
    ...Object.entries(defaults).map(([key, value]) => message(11, attribute(key, value))),
  ];
}

/** The bytes of a model. `opset` is the version of ONNX's ops, `domains` others that it imports. */
export function model(
  { opset = 21, domains = ["acme"], functions = [], ...parts }: Graph & {
    readonly opset?: number;
    readonly domains?: readonly string[];
    readonly functions?: readonly Part[];
  },
): Uint8Array {
  return encode([
    integer(1, 10),
    message(7, graph(parts)),
    message(8, [text(1, ""), integer(2, opset)]),
    ...domains.map((d) => message(8, [text(1, d), integer(2, 1)])),
    ...functions.map((f) => message(25, f)),
  ]);
}
