/** The meta graph of a SavedModel: read, chosen by tags, and pruned to the needs of a signature. */
import { asDType, type DType } from "../../engine/core/dtype.ts";
import {
  DataLossError,
  NotFoundError,
  UnimplementedError,
  ValueError,
} from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import type { PartialShape } from "../../engine/core/shape.ts";
import type { GraphDefJson, NodeDefJson } from "../../engine/graph/graph_def_json.ts";
import { shapeFromJson } from "../graph_def/values.ts";
import { decode } from "./decode.ts";
import { arrayOf, shapeOf, typeOf } from "./from_message.ts";
import {
  type MetaGraphDef,
  SavedModelSchema,
  type SignatureDef,
  type TensorInfo,
} from "../proto/saved_model_pb.ts";
import { DataType, type TensorShapeProto } from "../proto/tensor_pb.ts";
import { lookingLike } from "../../library/io/kinds/file_kinds.ts";
import { openParts } from "../../library/io/random_access.ts";
import { readSource } from "../../library/io/source.ts";

/** Reads the meta graph of a SavedModel's folder with exactly these tags. */
export async function readMetaGraph(
  folder: string,
  tags: readonly string[],
): Promise<MetaGraphDef> {
  const file = `${folder}/saved_model.pb`;
  const { bytes, name } = await readSource(file).catch(async (e) => {
    if (e instanceof NotFoundError && await exists(`${folder}/saved_model.cpb`)) {
      throw new UnimplementedError(
        `Cannot read ${folder}/saved_model.cpb: it is in TensorFlow's chunked form, save the model without experimental_image_format`,
      );
    }
    if (!(e instanceof NotFoundError)) throw e;
    throw new NotFoundError(`Cannot load ${folder}: ${insteadOf(folder)}`, { cause: e });
  });
  const { metaGraphs } = decode(SavedModelSchema, bytes, name);
  if (metaGraphs.length === 0) {
    throw new DataLossError(`Cannot read ${name}: it has no meta graph${lookingLike(bytes)}`);
  }
  const tagsOf = (m: MetaGraphDef): string[] => m.metaInfoDef?.tags ?? [];
  const found = metaGraphs.find((m) =>
    tagsOf(m).length === tags.length && tags.every((t) => tagsOf(m).includes(t))
  );
  if (found !== undefined) return found;
  throw new ValueError(
    `Cannot load ${folder}: it has no meta graph with tags [${tags.join(", ")}], only with ${
      metaGraphs.map((m) => `[${tagsOf(m).join(", ")}]`).join(" and ") || "none"
    }`,
  );
}

/** Tells what is wrong with a path that is no folder of a SavedModel. */
function insteadOf(folder: string): string {
  if (/\.(keras|h5)$/i.test(folder)) return "loadKeras() of @weft/weft/keras reads models of Keras";
  if (/\.onnx$/i.test(folder)) return "loadOnnx() of @weft/weft/onnx reads models of ONNX";
  if (/\/?saved_model\.pb$/.test(folder)) return "wanted the folder that holds saved_model.pb";
  if (/\.(pb|pbtxt)$/i.test(folder)) return "readGraphDef() reads a graph";
  if (/model\.json$/i.test(folder)) return "tf.loadGraphModel() reads a model of TensorFlow.js";
  return `there is no such file as ${folder}/saved_model.pb`;
}

async function exists(path: string): Promise<boolean> {
  try {
    await (await openParts(path)).close();
    return true;
  } catch {
    return false;
  }
}

/** A named argument or result of a signature. */
export interface SignatureTensor {
  /** Its name in the signature. */
  readonly key: string;
  /** The tensor in the graph, as `"x:0"`. */
  readonly tensor: string;
  readonly dtype: DType;
  readonly shape: PartialShape;
  /** Default of an argument. */
  readonly value?: NdArray;
}

/** Lists the arguments of a signature, sorted by name. */
export function inputsOf(signature: SignatureDef): SignatureTensor[] {
  return tensorsOf(signature.inputs).map((t) => {
    const value = signature.defaults[t.key];
    return value === undefined ? t : { ...t, value: arrayOf(value) };
  });
}

/** Lists the results of a signature, sorted by name. */
export function outputsOf(signature: SignatureDef): SignatureTensor[] {
  return tensorsOf(signature.outputs);
}

/**
 * Lists tensors by name; those of a sparse or ragged value are called `x`, `x_1` and so on, TensorFlow's names of them
 * as inputs.
 */
function tensorsOf(infos: Readonly<Record<string, TensorInfo>>): SignatureTensor[] {
  const sorted = Object.entries(infos).sort(([a], [b]) => (a < b ? -1 : 1));
  return sorted.flatMap(([key, info]) =>
    partsOf(info).map(({ name, dtype, shape }, i) => ({
      key: i === 0 ? key : `${key}_${i}`,
      tensor: name,
      dtype: asDType(typeOf(dtype)),
      shape: shape === undefined ? null : shapeFromJson(shapeOf(shape)),
    }))
  );
}

interface Part {
  readonly name: string;
  readonly dtype: DataType;
  readonly shape: TensorShapeProto | undefined;
}

function partsOf({ encoding, dtype, tensorShape }: TensorInfo): Part[] {
  switch (encoding.case) {
    case "compositeTensor":
      return encoding.value.components.flatMap(partsOf);
    case "cooSparse": {
      const { indicesTensorName, valuesTensorName, denseShapeTensorName } = encoding.value;
      return [
        { name: indicesTensorName, dtype: DataType.DT_INT64, shape: undefined },
        { name: valuesTensorName, dtype, shape: undefined },
        { name: denseShapeTensorName, dtype: DataType.DT_INT64, shape: undefined },
      ];
    }
    default:
      return [{ name: encoding.value ?? "", dtype, shape: tensorShape }];
  }
}

/** Returns the name of the operation of a tensor or a control input. */
export function operationOf(input: string): string {
  return input.replace(/^\^/, "").split(":")[0];
}

/** Keeps the nodes that `targets` depend on, up to the `cut` tensors; functions stay unchanged. */
export function prune(
  def: GraphDefJson,
  targets: readonly string[],
  cut: readonly string[],
): GraphDefJson {
  const byName = new Map<string, NodeDefJson>(def.node.map((n) => [n.name, n]));
  const stop = new Set(cut.map(operationOf));
  const kept = new Set<NodeDefJson>();
  const open = targets.map(operationOf);
  while (open.length > 0) {
    const name = open.pop()!;
    if (stop.has(name)) continue;
    const node = byName.get(name);
    if (node === undefined) {
      throw new ValueError(`Cannot load the graph: it has no node "${name}", which is asked for`);
    }
    if (kept.has(node)) continue;
    kept.add(node);
    for (const input of node.input ?? []) open.push(operationOf(input));
  }
  return { ...def, node: def.node.filter((n) => kept.has(n)) };
}
