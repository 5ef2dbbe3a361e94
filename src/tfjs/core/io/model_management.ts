/** Stores of models by name, and moves between them: `localstorage://name`, `indexeddb://name`. */
import { wantString } from "../../../engine/core/arguments.ts";
import { assert } from "../util/checks.ts";
import { getLoadHandlers, getSaveHandlers } from "./router_registry.ts";
import type { IOHandler, ModelArtifactsInfo, ModelStoreManager } from "./types.ts";
import { Error } from "../../../engine/core/throwing/builtin_errors.ts";

const SEPARATOR = "://";
const managers = new Map<string, ModelStoreManager>();

/** The managers of the stores, by their schemes. */
export const ModelStoreManagerRegistry = {
  /** Adds a manager. Throws for an empty or taken scheme. */
  registerManager(scheme: string, manager: ModelStoreManager): void {
    assert(
      scheme !== null && scheme !== undefined,
      "Cannot register a manager: there is no scheme",
    );
    const name = scheme.endsWith(SEPARATOR) ? scheme.slice(0, -SEPARATOR.length) : scheme;
    assert(name.length > 0, "Cannot register a manager: the scheme is empty");
    assert(
      !managers.has(name),
      () => `Cannot register a manager: the scheme ${name} has one`,
    );
    managers.set(name, manager);
  },
  /** Returns the manager of a scheme. Throws where there is none. */
  getManager(scheme: string): ModelStoreManager {
    const found = managers.get(scheme);
    if (found === undefined) {
      throw new Error(`Cannot find models at ${scheme}: no manager has that scheme`);
    }
    return found;
  },
  getSchemes(): string[] {
    return [...managers.keys()];
  },
};

function parse(url: string, fn: string): { scheme: string; path: string } {
  wantString(url, "url", fn);
  const at = url.indexOf(SEPARATOR);
  if (at < 0) {
    throw new Error(
      `Cannot read the URL of a model: it has no scheme, known ones are ${
        ModelStoreManagerRegistry.getSchemes().join(",")
      }`,
    );
  }
  return { scheme: url.slice(0, at), path: url.slice(at + SEPARATOR.length) };
}

function only(handlers: IOHandler[], url: string, what: string): IOHandler {
  assert(
    handlers.length > 0,
    () => `Cannot copy the model: nothing can ${what} ${url}`,
  );
  assert(
    handlers.length < 2,
    () => `Cannot copy the model: ${handlers.length} handlers can ${what} ${url}`,
  );
  return handlers[0];
}

async function copy(
  sourceURL: string,
  destURL: string,
  deleteSource: boolean,
): Promise<ModelArtifactsInfo> {
  const fn = deleteSource ? "moveModel" : "copyModel";
  wantString(sourceURL, "sourceURL", fn);
  wantString(destURL, "destURL", fn);
  assert(
    sourceURL !== destURL,
    () => `Cannot copy a model onto itself: both URLs are the same, ${sourceURL}`,
  );
  const from = only(getLoadHandlers(sourceURL), sourceURL, "load");
  const to = only(getSaveHandlers(destURL), destURL, "save");
  const { scheme, path } = parse(sourceURL, fn);
  const isSamePlace = scheme === parse(destURL, fn).scheme;
  const artifacts = await from.load!();
  // Within one store the old model goes first: both might not have room.
  const manager = deleteSource ? ModelStoreManagerRegistry.getManager(scheme) : null;
  if (manager !== null && isSamePlace) await manager.removeModel(path);
  const { modelArtifactsInfo } = await to.save!(artifacts);
  if (manager !== null && !isSamePlace) await manager.removeModel(path);
  return modelArtifactsInfo;
}

/** All models, by their URLs. */
export async function listModels(): Promise<{ [url: string]: ModelArtifactsInfo }> {
  const out: { [url: string]: ModelArtifactsInfo } = {};
  for (const [scheme, manager] of managers) {
    for (const [path, info] of Object.entries(await manager.listModels())) {
      out[scheme + SEPARATOR + path] = info;
    }
  }
  return out;
}

/** Deletes the model of a URL. Rejects where there is none. */
// deno-lint-ignore require-await
export async function removeModel(url: string): Promise<ModelArtifactsInfo> {
  const { scheme, path } = parse(url, "removeModel");
  return ModelStoreManagerRegistry.getManager(scheme).removeModel(path);
}

/** Copies a model from one URL to another. */
// deno-lint-ignore require-await
export async function copyModel(sourceURL: string, destURL: string): Promise<ModelArtifactsInfo> {
  return copy(sourceURL, destURL, false);
}

/** Moves a model from one URL to another. */
// deno-lint-ignore require-await
export async function moveModel(sourceURL: string, destURL: string): Promise<ModelArtifactsInfo> {
  return copy(sourceURL, destURL, true);
}
