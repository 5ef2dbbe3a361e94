/** Models as files of the user: downloaded by the page (`downloads://name`), and chosen in a file dialog. */
import { wantObject } from "../../../engine/core/arguments.ts";
import {
  basename,
  getModelArtifactsForJSON,
  getModelArtifactsInfoForJSON,
  getModelJSONForModelArtifacts,
  getWeightSpecs,
} from "./io_utils.ts";
import { CompositeArrayBuffer } from "./composite_array_buffer.ts";
import { type IORouter, registerSaveRouter } from "./router_registry.ts";
import type {
  IOHandler,
  ModelArtifacts,
  ModelJSON,
  SaveResult,
  WeightData,
  WeightsManifestConfig,
  WeightsManifestEntry,
} from "./types.ts";
import { Error } from "../../../engine/core/throwing/builtin_errors.ts";

const SCHEME = "downloads://";
const DEFAULT_NAME = "model";
const JSON_ENDING = ".json";
const WEIGHTS_ENDING = ".weights.bin";

/** The used part of a page. */
interface Page {
  createElement(name: string): Anchor;
}
interface Anchor {
  download: string;
  href: string;
  dispatchEvent(event: Event): boolean;
}

function page(): Page {
  const { document } = globalThis as { document?: Page };
  if (document) return document;
  throw new Error(
    "Cannot download a model: there is no page here",
  );
}

/** Saves a model as two files that the browser downloads. */
export class BrowserDownloads implements IOHandler {
  /** Beginning of the URLs. */
  static readonly URL_SCHEME: string = SCHEME;
  readonly #jsonName: string;
  readonly #weightsName: string;

  /** Throws where there is no page. */
  constructor(fileNamePrefix?: string) {
    page();
    const prefix = (fileNamePrefix ?? "").replace(SCHEME, "") || DEFAULT_NAME;
    this.#jsonName = prefix + JSON_ENDING;
    this.#weightsName = prefix + WEIGHTS_ENDING;
  }

  /** Downloads `name.json` and `name.weights.bin`. */
  async save(modelArtifacts: ModelArtifacts): Promise<SaveResult> {
    if (modelArtifacts.modelTopology instanceof ArrayBuffer) {
      throw new Error("Cannot download: wanted a topology in JSON, received an ArrayBuffer");
    }
    const { weightData, weightSpecs = [] } = modelArtifacts;
    const manifest = [{ paths: [`./${this.#weightsName}`], weights: weightSpecs }];
    const json = JSON.stringify(getModelJSONForModelArtifacts(modelArtifacts, manifest));
    await download(this.#jsonName, new Blob([json], { type: "application/json" }));
    if (weightData) {
      const bytes = CompositeArrayBuffer.join(weightData);
      await download(this.#weightsName, new Blob([bytes], { type: "application/octet-stream" }));
    }
    return { modelArtifactsInfo: getModelArtifactsInfoForJSON(modelArtifacts) };
  }
}

async function download(name: string, blob: Blob): Promise<void> {
  const anchor = page().createElement("a");
  anchor.download = name;
  anchor.href = URL.createObjectURL(blob);
  // Browsers allow one click at a time.
  await new Promise((resolve) => setTimeout(resolve));
  anchor.dispatchEvent(new Event("click"));
}

/** Loads a model of the files that a user chose: `model.json` first, then those of the weights. */
class BrowserFiles implements IOHandler {
  readonly #json: File;
  readonly #weights: readonly File[];

  constructor(files: readonly File[]) {
    if (!files || files.length < 1) {
      throw new Error(
        `Cannot load a model of files: wanted at least 1 file, received ${files}`,
      );
    }
    // A FileList is no array.
    wantObject(files, "files", "browserFiles", "a list of files");
    [this.#json, ...this.#weights] = Array.from(files);
  }

  async load(): Promise<ModelArtifacts> {
    const name = this.#json.name;
    let json: ModelJSON;
    try {
      json = JSON.parse(await this.#json.text());
    } catch (cause) {
      throw new Error(
        `Cannot load ${name}: it is no JSON`,
        { cause },
      );
    }
    if (!json.modelTopology) throw new Error(`Cannot load ${name}: it has no modelTopology`);
    if (!json.weightsManifest) throw new Error(`Cannot load ${name}: it has no weightsManifest`);
    // Without other files only the layers are loaded.
    if (this.#weights.length === 0) return { modelTopology: json.modelTopology };
    return await getModelArtifactsForJSON(json, (manifest) => this.#load(manifest));
  }

  async #load(
    manifest: WeightsManifestConfig,
  ): Promise<[WeightsManifestEntry[], WeightData]> {
    const chosen = new Map(this.#weights.map((file) => [basename(file.name), file]));
    const wanted = manifest.flatMap(({ paths }) => paths.map(basename));
    const twice = wanted.find((name, i) => wanted.indexOf(name) !== i);
    if (twice !== undefined) {
      throw new Error(`Cannot load a model of files: the manifest names ${twice} twice`);
    }
    const missing = wanted.filter((name) => !chosen.has(name));
    if (missing.length > 0) {
      throw new Error(`Cannot load a model of files: ${missing.join(", ")} was not chosen`);
    }
    if (chosen.size !== wanted.length || this.#weights.length !== wanted.length) {
      throw new Error(
        `Cannot load a model of files: the manifest names ${wanted.length}, the number chosen is ${this.#weights.length}`,
      );
    }
    const buffers = wanted.map((name) => chosen.get(name)!.arrayBuffer());
    return [getWeightSpecs(manifest), await Promise.all(buffers)];
  }
}

/** Makes the handler of `downloads://` URLs. */
export const browserDownloadsRouter: IORouter = (url) =>
  typeof url === "string" && url.startsWith(SCHEME) && "document" in globalThis
    ? browserDownloads(url.slice(SCHEME.length))
    : null;
registerSaveRouter(browserDownloadsRouter);

/** Makes a handler that downloads a model. */
export function browserDownloads(fileNamePrefix: string = DEFAULT_NAME): IOHandler {
  return new BrowserDownloads(fileNamePrefix);
}

/** Makes a handler of files that a user chose, `model.json` first. Throws where there is no file. */
export function browserFiles(files: File[]): IOHandler {
  return new BrowserFiles(files);
}
