/**
 * Models in the browser's local storage: `localstorage://name`. Keys are TensorFlow.js's, so that pages find models
 * that they saved with it.
 */
import { assert } from "../util/checks.ts";
import {
  arrayBufferToBase64String,
  base64StringToArrayBuffer,
  getModelArtifactsInfoForJSON,
} from "./io_utils.ts";
import { CompositeArrayBuffer } from "./composite_array_buffer.ts";
import { ModelStoreManagerRegistry } from "./model_management.ts";
import { type IORouter, registerLoadRouter, registerSaveRouter } from "./router_registry.ts";
import type {
  IOHandler,
  ModelArtifacts,
  ModelArtifactsInfo,
  ModelStoreManager,
  SaveResult,
} from "./types.ts";
import { Error } from "../../../engine/core/throwing/builtin_errors.ts";

const PREFIX = "tensorflowjs_models";
const SCHEME = "localstorage://";
const PARTS = ["info", "model_topology", "weight_specs", "weight_data", "model_metadata"] as const;

/** Returns the keys of a model. */
function keysOf(path: string): Record<typeof PARTS[number], string> {
  const entries = PARTS.map((part) => [part, `${PREFIX}/${path}/${part}`]);
  return Object.fromEntries(entries) as Record<typeof PARTS[number], string>;
}

function storage(): Storage {
  const found = storageOrNull();
  if (found === null) throw new Error("Cannot use local storage: there is none here");
  return found;
}

function storageOrNull(): Storage | null {
  try {
    return globalThis.localStorage ?? null;
  } catch {
    // There is no storage in Deno without a location, and in pages that may not store.
    return null;
  }
}

/** Deletes all models; returns their names. */
export function purgeLocalStorageArtifacts(): string[] {
  const names = new Set<string>();
  const store = storageOrNull();
  if (store === null) return [];
  for (const key of Object.keys(store)) {
    if (!key.startsWith(`${PREFIX}/`)) continue;
    store.removeItem(key);
    names.add(nameOf(key));
  }
  return [...names];
}

/** Returns the model's name in a key, which may have slashes of its own. */
function nameOf(key: string): string {
  return key.slice(PREFIX.length + 1, key.lastIndexOf("/"));
}

function removePrefix(path: string): string {
  return path.startsWith(SCHEME) ? path.slice(SCHEME.length) : path;
}

/** A model in local storage. */
export class BrowserLocalStorage implements IOHandler {
  /** Beginning of the URLs. */
  static readonly URL_SCHEME: string = SCHEME;
  /** Name of the model. */
  protected readonly modelPath: string;

  /** Throws for an empty name, and where there is no local storage. */
  constructor(modelPath: string) {
    storage();
    assert(
      modelPath !== null && modelPath !== undefined && modelPath.length > 0,
      "Cannot name a model in local storage: the name is empty",
    );
    this.modelPath = modelPath;
  }

  /** Saves the model; removes a partial one where there is no room. */
  // deno-lint-ignore require-await
  async save(modelArtifacts: ModelArtifacts): Promise<SaveResult> {
    if (modelArtifacts.modelTopology instanceof ArrayBuffer) {
      throw new Error(
        "Cannot save to local storage: wanted a topology in JSON, received an ArrayBuffer",
      );
    }
    const { modelTopology, weightSpecs, weightData, ...metadata } = modelArtifacts;
    const modelArtifactsInfo = getModelArtifactsInfoForJSON(modelArtifacts);
    const keys = keysOf(this.modelPath), store = storage();
    const bytes = CompositeArrayBuffer.join(weightData ?? []);
    const texts = {
      info: JSON.stringify(modelArtifactsInfo),
      model_topology: JSON.stringify(modelTopology),
      weight_specs: JSON.stringify(weightSpecs),
      weight_data: arrayBufferToBase64String(bytes),
      model_metadata: JSON.stringify(metadata, (_, value) => value ?? undefined),
    };
    try {
      for (const part of PARTS) store.setItem(keys[part], texts[part]);
    } catch (cause) {
      for (const part of PARTS) store.removeItem(keys[part]);
      throw new Error(
        `Cannot save ${this.modelPath}: local storage has no room for its ${bytes.byteLength} bytes of weights`,
        { cause },
      );
    }
    return { modelArtifactsInfo };
  }

  /** Loads the model. Rejects where a part is missing. */
  // deno-lint-ignore require-await
  async load(): Promise<ModelArtifacts> {
    const store = storage(), keys = keysOf(this.modelPath);
    const read = (part: typeof PARTS[number]) => store.getItem(keys[part]);
    if (read("info") === null) {
      throw new Error(`Cannot load ${this.modelPath}: local storage has no such model`);
    }
    const [modelTopology, weightSpecs] = (["model_topology", "weight_specs"] as const).map(
      (part) => {
        const value = JSON.parse(read(part) ?? "null");
        if (value !== null) return value;
        throw new Error(`Cannot load ${this.modelPath}: its ${part} is missing in local storage`);
      },
    );
    const data = read("weight_data");
    if (data === null) {
      throw new Error(`Cannot load ${this.modelPath}: its weights are missing in local storage`);
    }
    const metadata = JSON.parse(read("model_metadata") ?? "{}");
    return { ...metadata, modelTopology, weightSpecs, weightData: base64StringToArrayBuffer(data) };
  }
}

/** Makes the handler of URLs of local storage. */
export const localStorageRouter: IORouter = (url) =>
  typeof url === "string" && url.startsWith(SCHEME) && storageOrNull() !== null
    ? browserLocalStorage(url.slice(SCHEME.length))
    : null;
registerSaveRouter(localStorageRouter);
registerLoadRouter(localStorageRouter);

/** Makes the handler of a model in local storage. */
export function browserLocalStorage(modelPath: string): IOHandler {
  return new BrowserLocalStorage(modelPath);
}

/** The models in local storage. */
export class BrowserLocalStorageManager implements ModelStoreManager {
  /** Throws where there is no local storage. */
  constructor() {
    storage();
  }
  /** Models by name. */
  // deno-lint-ignore require-await
  async listModels(): Promise<{ [path: string]: ModelArtifactsInfo }> {
    const store = storage();
    const out: { [path: string]: ModelArtifactsInfo } = {};
    for (const key of Object.keys(store)) {
      if (!key.startsWith(`${PREFIX}/`) || !key.endsWith("/info")) continue;
      out[nameOf(key)] = JSON.parse(store.getItem(key)!);
    }
    return out;
  }
  /** Deletes a model. Rejects where there is none. */
  // deno-lint-ignore require-await
  async removeModel(path: string): Promise<ModelArtifactsInfo> {
    const name = removePrefix(path), keys = keysOf(name), store = storage();
    const info = store.getItem(keys.info);
    if (info === null) throw new Error(`Cannot remove ${name}: local storage has no such model`);
    for (const part of PARTS) store.removeItem(keys[part]);
    return JSON.parse(info);
  }
}

if (storageOrNull() !== null) {
  ModelStoreManagerRegistry.registerManager(SCHEME, new BrowserLocalStorageManager());
}
