/** Models in folders, in Deno and Node: `file://path`. Loaded by the path of `model.json`, saved into a folder. */
import { writeModelFiles } from "../../../library/io/model_files.ts";
import { fileWithin } from "../../../library/io/within.ts";
import { readBytes } from "../../../library/io/files.ts";
import { isNode } from "../platform.ts";
import { CompositeArrayBuffer } from "./composite_array_buffer.ts";
import {
  getModelArtifactsForJSON,
  getModelArtifactsInfoForJSON,
  getModelJSONForModelArtifacts,
  getWeightSpecs,
} from "./io_utils.ts";
import { type IORouter, registerLoadRouter, registerSaveRouter } from "./router_registry.ts";
import type { IOHandler, ModelArtifacts, ModelJSON, SaveResult } from "./types.ts";
import { Error } from "../../../engine/core/throwing/builtin_errors.ts";

const SCHEME = "file://";
const MODEL_FILE = "model.json";

/** A model in a folder. */
export class NodeFileSystem implements IOHandler {
  /** Beginning of the URLs. */
  static readonly URL_SCHEME: string = SCHEME;
  readonly #path: string;

  /** Throws for an empty path. */
  constructor(path: string) {
    if (!path) throw new Error("Cannot find a model in files: the path is empty");
    this.#path = path;
  }

  /** Writes `model.json` and `weights.bin` into the folder, which is created where it is missing. A crash leaves an earlier model whole. */
  async save(modelArtifacts: ModelArtifacts): Promise<SaveResult> {
    if (modelArtifacts.modelTopology instanceof ArrayBuffer) {
      throw new Error("Cannot save to files: wanted a topology in JSON, received an ArrayBuffer");
    }
    const weights = modelArtifacts.weightSpecs ?? [];
    const bytes = CompositeArrayBuffer.join(modelArtifacts.weightData ?? []);
    await writeModelFiles(`${this.#path}/${MODEL_FILE}`, {
      weights: [new Uint8Array(bytes)],
      nameOf: (_, generation) => generation === 1 ? "weights.bin" : "weights-2.bin",
      json: (paths) =>
        JSON.stringify(
          getModelJSONForModelArtifacts(modelArtifacts, [{ paths: [...paths], weights }]),
        ),
    });
    return { modelArtifactsInfo: getModelArtifactsInfoForJSON(modelArtifacts) };
  }

  /** Reads the file and the files beside it that it names. Rejects where it is no `model.json`. */
  async load(): Promise<ModelArtifacts> {
    const path = this.#path;
    const text = new TextDecoder().decode(await readBytes(path));
    let json: ModelJSON;
    try {
      json = JSON.parse(text);
    } catch (cause) {
      const advice = /\.(keras|h5)$/.test(path) ? "; loadKeras() of @weft/weft/keras reads it" : "";
      throw new Error(`Cannot load ${path}: it is no JSON${advice}`, { cause });
    }
    const folder = path.slice(0, Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
    return await getModelArtifactsForJSON(json, async (manifest) => {
      const files = manifest.flatMap(({ paths }) => paths);
      const bytes = await Promise.all(
        files.map((file) => readBytes(fileWithin(folder + file, [folder]))),
      );
      return [getWeightSpecs(manifest), bytes.map((part) => part.slice().buffer)];
    });
  }
}

/** Makes the handler of a model in a folder. */
export function fileSystem(path: string): IOHandler {
  return new NodeFileSystem(path);
}

/** Makes the handler of URLs of files. */
export const fileSystemRouter: IORouter = (url) =>
  typeof url === "string" && url.startsWith(SCHEME) && isNode()
    ? fileSystem(url.slice(SCHEME.length))
    : null;
registerSaveRouter(fileSystemRouter);
registerLoadRouter(fileSystemRouter);
