/** Writer of TensorFlow.js's GraphModels: the graph as JSON, its constants as weights in files beside it. */
import { asDType, type DType, DTYPES } from "../../engine/core/dtype.ts";
import { castArray } from "../../engine/core/convert.ts";
import { UnimplementedError } from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import type { PartialShape } from "../../engine/core/shape.ts";
import { Budget } from "../graph_def/check.ts";
import type {
  FunctionDefJson,
  GraphDefJson,
  NodeDefJson,
} from "../../engine/graph/graph_def_json.ts";
import { attrFromJson, base64, shapeToJson } from "../graph_def/values.ts";
import { concatBytes } from "../../library/io/bytes.ts";
import { writeModelFiles } from "../../library/io/model_files.ts";

/** An input or output of a graph. */
export interface NamedTensor {
  /** The tensor, as `"x:0"`. */
  readonly tensor: string;
  readonly dtype: DType;
  /** Shape, null where it is unknown. */
  readonly shape: PartialShape;
}

export interface GraphModelFile {
  /** The graph, without variables. */
  readonly def: GraphDefJson;
  readonly inputs: Readonly<Record<string, NamedTensor>>;
  readonly outputs: Readonly<Record<string, NamedTensor>>;
}

/** Bytes of a file of weights: the unit of browsers' fetches and caches. TensorFlow.js's converter has the same. */
const SHARD_BYTES = 4 * 2 ** 20;

/** TensorFlow.js's dtypes for weights of dtypes that it lacks. */
const STORED: Readonly<Partial<Record<DType, DType>>> = {
  float32: "float32",
  int32: "int32",
  bool: "bool",
  string: "string",
  complex64: "complex64",
  float64: "float32",
  float16: "float32",
  bfloat16: "float32",
  int64: "int32",
  int16: "int32",
  int8: "int32",
  uint8: "int32",
  uint16: "int32",
  uint32: "int32",
};

interface Weight {
  readonly spec: {
    readonly name: string;
    readonly shape: readonly number[];
    readonly dtype: string;
  };
  readonly bytes: Uint8Array;
}

/**
 * Writes `model.json` and the weights beside it. Rejects with `UnimplementedError` for constants of dtypes that
 * TensorFlow.js lacks.
 */
export async function writeGraphModel(path: string, model: GraphModelFile): Promise<void> {
  const weights: Weight[] = [];
  const budget = new Budget(Infinity);
  const withoutValue = (node: NodeDefJson): NodeDefJson => {
    if (node.op !== "Const") return node;
    const tensor = { name: "value", type: "tensor" } as const;
    weights.push(weightOf(node, attrFromJson(tensor, node.attr!.value, budget) as NdArray));
    const { value: _, ...attr } = node.attr!;
    return { ...node, attr };
  };
  const { library, ...def } = model.def;
  const modelTopology = {
    ...def,
    node: def.node.map(withoutValue),
    ...(library && {
      library: {
        function: library.function.map((f) => {
          const named = withOwnConstants(f);
          return { ...named, nodeDef: named.nodeDef.map(withoutValue) };
        }),
      },
    }),
  };
  const bytes = concatBytes(weights.map((w) => w.bytes));
  const count = Math.max(1, Math.ceil(bytes.length / SHARD_BYTES));
  const json = (paths: readonly string[]) => ({
    format: "graph-model",
    generatedBy: "weft",
    convertedBy: "weft",
    signature: { inputs: infos(model.inputs), outputs: infos(model.outputs) },
    modelTopology,
    weightsManifest: [{ paths, weights: weights.map((w) => w.spec) }],
  });
  await writeModelFiles(path, {
    weights: Array.from(
      { length: count },
      (_, k) => bytes.subarray(k * SHARD_BYTES, (k + 1) * SHARD_BYTES),
    ),
    nameOf: (k, generation) => `group${generation}-shard${k + 1}of${count}.bin`,
    json: (paths) => JSON.stringify(json(paths), plain),
  });
}

/**
 * Renames a function's constants so that no other function has the same names: weights are identified by name alone.
 */
function withOwnConstants(f: FunctionDefJson): FunctionDefJson {
  const constants = new Set(f.nodeDef.filter((n) => n.op === "Const").map((n) => n.name));
  const rename = (input: string): string => {
    const [, control, name, output] = /^(\^?)([^:]*)(.*)$/.exec(input)!;
    return constants.has(name) ? `${control}${f.signature.name}/${name}${output}` : input;
  };
  return {
    ...f,
    nodeDef: f.nodeDef.map((n) => ({
      ...n,
      name: rename(n.name),
      ...(n.input && { input: n.input.map(rename) }),
    })),
    ret: Object.fromEntries(Object.entries(f.ret).map(([k, v]) => [k, rename(v)])),
  };
}

/** Converts bytes and long integers, which binary files have, to JSON values. */
function plain(_key: string, value: unknown): unknown {
  if (value instanceof Uint8Array) return base64(value);
  return typeof value === "bigint" ? String(value) : value;
}

function infos(tensors: Readonly<Record<string, NamedTensor>>): unknown {
  return Object.fromEntries(
    Object.entries(tensors).map(([key, { tensor, dtype, shape }]) => [key, {
      name: tensor,
      dtype: DTYPES[dtype].tfEnum,
      ...(shape !== null && { tensorShape: shapeToJson(shape) }),
    }]),
  );
}

function weightOf(node: NodeDefJson, value: NdArray): Weight {
  const stored = STORED[asDType(value.dtype)];
  if (stored === undefined) {
    throw new UnimplementedError(
      `Cannot write constant "${node.name}": TensorFlow.js has no ${value.dtype}`,
      { op: node.op, node: node.name },
    );
  }
  const array = stored === value.dtype ? value : castArray(value, stored);
  return {
    spec: { name: node.name, shape: [...array.shape], dtype: stored },
    bytes: bytesOf(array),
  };
}

function bytesOf({ dtype, data }: NdArray): Uint8Array {
  if (dtype !== "string") {
    const { buffer, byteOffset, byteLength } = data as Uint8Array;
    return new Uint8Array(buffer, byteOffset, byteLength);
  }
  // Each string follows its length.
  return concatBytes((data as Uint8Array[]).flatMap((s) => [
    new Uint8Array(Uint32Array.of(s.length).buffer),
    s,
  ]));
}
