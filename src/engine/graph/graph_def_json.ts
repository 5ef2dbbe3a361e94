/** The types of a GraphDef in proto3 JSON form. */

/** Options of `toGraphDef()`. */
export interface GraphDefOptions {
  /** Write static shapes to `_output_shapes`. Default false; script ops always have theirs. */
  readonly addShapes?: boolean;
  /** Write scripts without a registered name with their process-local token. Default false: a `ValueError`. */
  readonly allowAnonymousScripts?: boolean;
  /**
   * True, the default: write only TensorFlow's ops; Weft's own ops are replaced by their parts, and a `ValueError`
   * lists the nodes that have none. False: write every op as it is, for Weft to read.
   */
  readonly portable?: boolean;
}

/** A graph in proto3 JSON form. */
export interface GraphDefJson {
  /** Nodes in topological order. */
  node: NodeDefJson[];
  /** Functions. */
  library?: {
    function: FunctionDefJson[];
    /** Functions that compute gradients of others. */
    gradient?: { functionName: string; gradientFunc: string }[];
  };
  /** Version of the producer. */
  versions: { producer: number; minConsumer?: number };
}

/** A node. */
export interface NodeDefJson {
  /** Unique name. */
  name: string;
  /** Op type. */
  op: string;
  /** Data inputs, then control inputs `^name`. */
  input?: string[];
  /** Requested device. */
  device?: string;
  /** Attributes. */
  attr?: Record<string, AttrValueJson>;
}

/** A function. */
export interface FunctionDefJson {
  /** Name and arguments. */
  signature: {
    name: string;
    inputArg: ArgDefJson[];
    outputArg: ArgDefJson[];
    isStateful?: boolean;
    controlOutput?: string[];
  };
  /** Body; inputs are written `node:output_name:index` or an argument's name. */
  nodeDef: NodeDefJson[];
  /** Output argument → value in the body. */
  ret: Record<string, string>;
  /** Nodes that run for their effect. */
  controlRet?: Record<string, string>;
  /** Attributes. */
  attr?: Record<string, AttrValueJson>;
  /** Attributes of arguments, by position. */
  argAttr?: Record<number, { attr?: Record<string, AttrValueJson> }>;
}

/** An argument of a function. */
export interface ArgDefJson {
  /** Name. */
  name: string;
  /** Dtype enum. */
  type: string;
}

/** A shape. */
export interface ShapeJson {
  /** Dimensions; size "-1" is unknown. */
  dim?: { size: string }[];
  /** True for unknown rank. */
  unknownRank?: boolean;
}

/** Bytes: base64 as JSON has them, or as they are where a binary file was read. */
export type BytesJson = string | Uint8Array;

/** A constant. Its elements are packed, or listed in the field of their type, as JSON or a binary file has them. */
export interface TensorJson {
  /** Dtype enum. */
  dtype: string;
  /** Shape. */
  tensorShape?: ShapeJson;
  /** Little-endian elements. */
  tensorContent?: BytesJson;
  /** Strings. */
  stringVal?: BytesJson[];
  /** Floats. */
  floatVal?: (number | string)[];
  /** Doubles. */
  doubleVal?: (number | string)[];
  /** Bits of halves. */
  halfVal?: number[];
  /** Integers of at most 32 bits. */
  intVal?: number[];
  /** 64-bit integers, as text in JSON. */
  int64Val?: (string | bigint)[];
  /** Unsigned integers. */
  uint32Val?: number[];
  /** Unsigned 64-bit integers, as text in JSON. */
  uint64Val?: (string | bigint)[];
  /** Booleans. */
  boolVal?: boolean[];
  /** Complex numbers, real and imaginary parts in turn. */
  scomplexVal?: (number | string)[];
  /** Complex numbers of doubles. */
  dcomplexVal?: (number | string)[];
}

/** A function of the library, by name. */
export interface FuncJson {
  /** Name. */
  name: string;
  /** Attributes of a generic function. */
  attr?: Record<string, AttrValueJson>;
}

/** An attribute: one field is set. */
export interface AttrValueJson {
  /** Bytes. */
  s?: BytesJson;
  /** 64-bit integer as text. */
  i?: string;
  /** Float. */
  f?: number | "NaN" | "Infinity" | "-Infinity";
  /** Boolean. */
  b?: boolean;
  /** Dtype enum. */
  type?: string;
  /** Shape. */
  shape?: ShapeJson;
  /** Constant. */
  tensor?: TensorJson;
  /** Function. */
  func?: FuncJson;
  /** Name of an attribute of the function around, in generic functions. */
  placeholder?: string;
  /** List of one of these. */
  list?: {
    s?: BytesJson[];
    i?: string[];
    f?: (number | string)[];
    b?: boolean[];
    type?: string[];
    shape?: ShapeJson[];
    tensor?: TensorJson[];
    func?: FuncJson[];
  };
}
