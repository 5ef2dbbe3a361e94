/** Reads a model's file: its graph and its metadata. */
import { fromBinary } from "@bufbuild/protobuf";
import { DataLossError } from "../../engine/core/errors.ts";
import { namingAsync } from "../../library/io/naming.ts";
import { type FileSource, readSource } from "../../library/io/source.ts";
import { type Model, ModelSchema } from "../proto/onnx_pb.ts";
import { type ExternalData, externalTensors, readExternal } from "./external_data.ts";
import { Functions, versionsOf } from "./functions.ts";
import type { OnnxGraph } from "./graph.ts";
import { readGraph } from "./read_graph.ts";

/** A model's file that was read. */
export interface OnnxFile {
  /** Its name in errors. */
  readonly name: string;
  /** Its graph, with calls of functions replaced by their nodes. */
  readonly graph: OnnxGraph;
  /** Versions of operator sets by domain, the empty one for ONNX's own. */
  readonly versions: ReadonlyMap<string, number>;
  /** The program that wrote it. */
  readonly producer: string;
  /** Texts that it carries, by key. */
  readonly metadata: Readonly<Record<string, string>>;
  /** Names of its functions. */
  readonly functions: readonly string[];
}

/** Options of reading a model. */
export interface ReadOptions {
  /** Source of tensors in other files; files in the model's folder by default. */
  readonly externalData?: ExternalData;
  /** Is told how much of a download is there, from 0 to 1. */
  readonly onProgress?: (fraction: number) => void;
}

/**
 * Reads a model. Rejects with `DataLossError` for bytes that are no model, `NotFoundError` for files that are not there,
 * `UnimplementedError` for element types without a dtype.
 */
export async function readModel(source: FileSource, options: ReadOptions = {}): Promise<OnnxFile> {
  const { bytes, name } = await readSource(source, options);
  return await namingAsync(name, async () => {
    const model = decode(bytes);
    const tensors = externalTensors(model);
    const external = await readExternal(tensors, source, options.externalData);
    const versions = versionsOf(model.opsetImport);
    const context = { functions: new Functions(model.functions), versions, external };
    return {
      name,
      graph: readGraph(model.graph!, context),
      versions,
      producer: [model.producerName, model.producerVersion].filter((t) => t !== "").join(" "),
      metadata: Object.fromEntries(model.metadataProps.map(({ key, value }) => [key, value])),
      functions: model.functions.map((f) => `${f.domain}:${f.name}`),
    };
  });
}

/** Decodes a file. Throws `DataLossError` for bytes that are no model. */
export function decode(bytes: Uint8Array): Model {
  let model: Model;
  try {
    model = fromBinary(ModelSchema, bytes);
  } catch (cause) {
    throw new DataLossError(`Cannot read an ONNX model: ${(cause as Error).message}`, { cause });
  }
  if (model.graph === undefined) {
    throw new DataLossError("Cannot read an ONNX model: it has no graph");
  }
  return model;
}
