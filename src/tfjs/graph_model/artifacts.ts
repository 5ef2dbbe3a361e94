/** Sources of a TensorFlow.js model: a path or URL of its model.json, or a handler that loads it. */
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { DataLossError, FailedPreconditionError } from "../../engine/core/errors.ts";
import { describe } from "../../engine/core/convert.ts";
import { fetched, isFetched, placeOf, readBytes } from "../../library/io/files.ts";
import { lookingLike } from "../../library/io/kinds/file_kinds.ts";
import { naming } from "../../library/io/naming.ts";
import { fileWithin, folderOf, isRemote } from "../../library/io/within.ts";
import { filesWithin } from "../../tensorflow/graph_def/files_within.ts";
import type { GraphDefJson } from "../../engine/graph/graph_def_json.ts";
import type { WeightSpec } from "./weights.ts";

/** A tensor of a model's signature. */
export interface SignatureInfo {
  /** Name of the tensor. */
  readonly name: string;
  /** Dtype, as in `DT_FLOAT`. */
  readonly dtype?: string;
  /** Shape. */
  readonly tensorShape?: { readonly dim?: readonly { readonly size?: string | number }[] };
}

/** Inputs and outputs of a model, by name. */
export interface ModelSignature {
  /** Inputs. */
  readonly inputs?: Readonly<Record<string, SignatureInfo>>;
  /** Outputs. */
  readonly outputs?: Readonly<Record<string, SignatureInfo>>;
}

/** A model as handlers return it. */
export interface ModelArtifacts {
  /** The graph: constants have no values, or all have. */
  readonly modelTopology?: unknown;
  /** Specs of the weights. */
  readonly weightSpecs?: readonly WeightSpec[];
  /** The bytes of the weights. */
  readonly weightData?: ArrayBuffer | readonly ArrayBuffer[];
  /** Inputs and outputs by name. */
  readonly signature?: ModelSignature;
  /** The place of the signature in older files. */
  readonly userDefinedMetadata?: { readonly signature?: ModelSignature };
}

/** A loader of a model, TensorFlow.js's IOHandler. */
export interface ModelHandler {
  /** Gives the model. */
  load(): Promise<ModelArtifacts>;
}

/** A model: the path or URL of its `model.json`, a handler, or the model itself. */
export type ModelSource = string | URL | ModelHandler | ModelArtifacts;

/** Options of loading. */
export interface ModelOptions {
  /** Called with the loaded part of the weights, from 0 to 1. */
  readonly onProgress?: (fraction: number) => void;
  /** Folders besides the model's own, paths or URLs, from which files that the model names may come. Default none. */
  readonly alsoFrom?: readonly (string | URL)[];
}

/** Contents of a `model.json`. */
interface ModelJson extends ModelArtifacts {
  readonly weightsManifest?: readonly {
    readonly paths: readonly string[];
    readonly weights: readonly WeightSpec[];
  }[];
}

/** A loaded model. */
export interface LoadedArtifacts {
  readonly topology: GraphDefJson;
  readonly specs: readonly WeightSpec[];
  readonly pieces: readonly Uint8Array[];
  readonly signature: ModelSignature;
  /** Name in errors. */
  readonly name: string;
}

/**
 * Reads a model. Rejects with `NotFoundError` for a file that is missing, `UnavailableError` for a server that does not
 * answer, `DataLossError` for a file that is no model.
 */
export async function readArtifacts(
  source: ModelSource,
  options: ModelOptions,
): Promise<LoadedArtifacts> {
  const onProgress = options?.onProgress;
  if (typeof source === "string" || source instanceof URL) {
    return await readModelJson(placeOf(String(source)), options ?? {});
  }
  if (typeof source !== "object" || source === null) {
    throw new TypeError(
      `Cannot load a model: wanted a path, a URL or a handler with load(), received ${
        describe(source)
      }`,
    );
  }
  const given = "load" in source ? await source.load() : source;
  onProgress?.(1);
  return checked(
    given,
    "the model that was given",
    given.weightSpecs ?? [],
    [
      given.weightData ?? [],
    ].flat().map((b) => new Uint8Array(b as ArrayBuffer)),
  );
}

async function readModelJson(
  path: string,
  { onProgress, alsoFrom = [] }: ModelOptions,
): Promise<LoadedArtifacts> {
  const content = await readFile(path).catch((cause: unknown) => {
    if (!(cause instanceof FailedPreconditionError)) throw cause;
    throw new FailedPreconditionError(
      `Cannot load ${path}: wanted a model.json, and loadSavedModel() of @weft/weft/tf reads folders (${cause.message})`,
      { cause },
    );
  });
  const text = new TextDecoder().decode(content);
  let json: ModelJson;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new DataLossError(`Cannot load ${path}: it is no JSON${lookingLike(content)}`, { cause });
  }
  const { groups, paths } = naming(path, () => manifestOf(json));
  const folders = [folderOf(path), ...alsoFrom.map(String)];
  const files = paths.map((p) => fileWithin(beside(path, p), folders));
  let done = 0;
  onProgress?.(0);
  const pieces = await Promise.all(files.map(async (file) => {
    const bytes = await readFile(file);
    onProgress?.(++done / paths.length);
    return bytes;
  }));
  const loaded = checked(json, path, groups.flatMap((g) => g.weights ?? []), pieces);
  return isRemote(path) ? { ...loaded, topology: filesWithin(loaded.topology, folders) } : loaded;
}

/** Returns the groups of weights and their files. */
function manifestOf(json: ModelJson) {
  const groups = json?.weightsManifest ?? [];
  const paths = groups.flatMap((g) => g.paths ?? []);
  const wrong = paths.find((p) => typeof p !== "string");
  if (wrong === undefined) return { groups, paths };
  throw new DataLossError(
    `Cannot load: weightsManifest names a file ${describe(wrong)}, wanted a string`,
  );
}

function checked(
  given: ModelArtifacts,
  name: string,
  specs: readonly WeightSpec[],
  pieces: readonly Uint8Array[],
): LoadedArtifacts {
  const topology = given?.modelTopology as Partial<GraphDefJson> | undefined;
  if (!Array.isArray(topology?.node)) {
    const layers = topology?.constructor === Object && "model_config" in topology;
    throw new DataLossError(
      `Cannot load ${name}: ${
        layers
          ? "it is a layers model, load it with @tensorflow/tfjs-layers"
          : "it has no graph (modelTopology.node)"
      }`,
    );
  }
  return {
    topology: topology as GraphDefJson,
    specs,
    pieces,
    name,
    signature: given.signature ?? given.userDefinedMetadata?.signature ?? {},
  };
}

async function readFile(path: string): Promise<Uint8Array> {
  if (!isFetched(path)) return await readBytes(path);
  return new Uint8Array(await (await fetched(path)).arrayBuffer());
}

/** Returns the path or URL of a file that a model at `path` names. */
function beside(path: string, name: string): string {
  if (/^[a-z][a-z\d+.-]+:/i.test(name) && !isFetched(path)) return name;
  if (isFetched(path) || /^file:/i.test(path)) {
    const url = new URL(name, path);
    // The query of a signed URL is that of all files of the model.
    if (url.search === "" && url.protocol !== "data:") url.search = new URL(path).search;
    return url.href;
  }
  const slash = Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\"));
  return path.slice(0, slash + 1) + name;
}
