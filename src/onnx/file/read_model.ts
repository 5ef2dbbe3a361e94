/** Reads a model's file: its graph and its metadata. */
import { fromBinary } from "@bufbuild/protobuf";
import { DataLossError } from "../../engine/core/errors.ts";
import { namingAsync } from "../../library/io/naming.ts";
import type { LaterBytes } from "./byte_flow.ts";
import type { FileSource } from "../../library/io/source.ts";
import { type Model, ModelSchema, type Tensor } from "../proto/onnx_pb.ts";
import { type ExternalData, externalTensors, withExternal } from "./external_data.ts";
import { Functions, versionsOf } from "./functions.ts";
import type { OnnxGraph } from "./graph.ts";
import { openSource } from "./open_source.ts";
import { readGraph } from "./read_graph.ts";
import { LARGE, splitModel } from "./split_model.ts";
import { bytesOfTensor } from "./tensor_data.ts";

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
  /** Ends the reading. */
  readonly signal?: AbortSignal;
}

/**
 * Reads a model. Rejects with `DataLossError` for bytes that are no model, `NotFoundError` for files that are not there,
 * `UnimplementedError` for element types without a dtype.
 */
export async function readModel(source: FileSource, options: ReadOptions = {}): Promise<OnnxFile> {
  return await readModelFor(source, options, async (file) => {
    await holdAll(file.graph);
    return file;
  });
}

/** Reads the elements that are left for later. */
export async function holdAll(graph: OnnxGraph): Promise<void> {
  for (const data of graph.initialisers.values()) await data.hold();
}

/** Reads a model whose large initialisers are read when `use` asks for them. Rejects as {@linkcode readModel} does. */
export async function readModelFor<T>(
  source: FileSource,
  { externalData, onProgress, signal }: ReadOptions,
  use: (file: OnnxFile) => Promise<T>,
): Promise<T> {
  signal?.throwIfAborted();
  const opened = await openSource(source, {
    ...onProgress !== undefined && { onProgress },
    ...signal !== undefined && { signal },
  });
  const { name, flow } = opened;
  if (flow !== null) onProgress?.(0);
  try {
    const result = await namingAsync(name, async () => {
      // Kept for an error, as a flow is read once.
      const head = (flow === null ? opened.bytes : await flow.peek(HEAD)).slice(0, HEAD);
      const { split, model } = await recognising(head, async () => {
        const split = flow === null ? null : await splitModel(flow);
        return { split, model: decode(split?.bytes ?? opened.bytes) };
      });
      const external = externalTensors(model);
      const first = new Set(model.graph!.initializer);
      const isLater = (tensor: Tensor): boolean =>
        first.has(tensor) && bytesOfTensor(tensor) >= LARGE;
      return await withExternal(external, { source, given: externalData, isLater }, (bytes) => {
        for (const [number, own] of split?.later ?? ownLater(model)) {
          const tensor = model.graph!.initializer[number];
          // Elements of other files come before those of this one.
          if (tensor.dataLocation !== 1) bytes.set(tensor.externalData, own);
        }
        const versions = versionsOf(model.opsetImport);
        const context = { functions: new Functions(model.functions), versions, external: bytes };
        return use({
          name,
          graph: readGraph(model.graph!, context),
          versions,
          producer: [model.producerName, model.producerVersion].filter((t) => t !== "").join(" "),
          metadata: Object.fromEntries(model.metadataProps.map(({ key, value }) => [key, value])),
          functions: model.functions.map((f) => `${f.domain}:${f.name}`),
        });
      });
    });
    if (flow !== null) onProgress?.(1);
    return result;
  } catch (e) {
    signal?.throwIfAborted();
    throw e;
  } finally {
    await opened.close();
  }
}

/** Bytes by which a file of another kind is recognised. */
const HEAD = 1024;

/** Runs `work`, whose error tells what kind of file the bytes begin, where that is no model of ONNX. */
async function recognising<T>(head: Uint8Array, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    if (!(cause instanceof DataLossError)) throw cause;
    const { kindOfFile } = await import("../../library/io/kinds/file_kinds.ts");
    const kind = kindOfFile(head);
    if (kind === null || /ONNX/.test(kind.split(",")[0])) throw cause;
    throw new DataLossError(`Cannot read an ONNX model: it looks like ${kind}`, { cause });
  }
}

/** Returns the elements of a model's large initialisers by number, as views. */
function ownLater({ graph }: Model): Map<number, LaterBytes> {
  return new Map(
    graph!.initializer.flatMap(({ rawData }, i) =>
      rawData.length < LARGE
        ? []
        : [[i, { length: rawData.length, read: () => Promise.resolve(rawData) }] as const]
    ),
  );
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
