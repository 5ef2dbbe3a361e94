/** Models in folders, as the command serves them: a module of its own, as the thread that listens loads none. */
import { loadGraphModel, setBackend } from "../../mod.ts";
import { NotFoundError, UnavailableError, ValueError } from "../engine/core/errors.ts";
import { loadSavedModel } from "../tensorflow/files/saved_model.ts";
import type { Versions } from "./model_entry.ts";
import type { ServableModel } from "./servable.ts";

/** The used part of `Deno`: the library's types know browsers only. */
interface DenoFiles {
  stat(path: string): Promise<{ readonly isDirectory: boolean }>;
  readDir(path: string): AsyncIterable<{ readonly name: string; readonly isDirectory: boolean }>;
}

const deno = (globalThis as unknown as { readonly Deno: DenoFiles }).Deno;

async function exists(path: string): Promise<boolean> {
  return await deno.stat(path).then(() => true, () => false);
}

async function load(folder: string): Promise<ServableModel | null> {
  if (await exists(`${folder}/saved_model.pb`)) return await loadSavedModel(folder);
  if (await exists(`${folder}/model.json`)) return await loadGraphModel(`${folder}/model.json`);
  return null;
}

/** Loads the model of a folder, or of its highest version. */
async function loadModel(folder: string): Promise<ServableModel | Versions> {
  if (!await exists(folder)) {
    throw new NotFoundError(`Cannot serve ${folder}: there is no such folder`);
  }
  if (!(await deno.stat(folder)).isDirectory) {
    const hint = folder.endsWith(".onnx")
      ? `; convert it: deno run -A jsr:@weft/weft/onnx convert ${folder} FOLDER`
      : "";
    throw new ValueError(`Cannot serve ${folder}: it is no folder${hint}`);
  }
  const model = await load(folder);
  if (model !== null) return model;
  const versions: string[] = [];
  for await (const entry of deno.readDir(folder)) {
    if (entry.isDirectory && /^\d+$/.test(entry.name)) versions.push(entry.name);
  }
  for (const version of versions.sort((a, b) => Number(b) - Number(a))) {
    const model = await load(`${folder}/${version}`);
    if (model !== null) return { versions: { [Number(version)]: model } };
  }
  throw new NotFoundError(
    `Cannot serve ${folder}: it has no saved_model.pb, no model.json and no numbered folder with one`,
  );
}

/** Loads the models of named folders, on a device where one is named. Throws `NotFoundError`, `UnavailableError` and `ValueError`. */
export async function loadModels(
  folders: readonly (readonly [name: string, folder: string])[],
  device: string | undefined,
): Promise<Record<string, ServableModel | Versions>> {
  if (device !== undefined && device !== "cpu" && device !== "webgpu") {
    throw new ValueError(`Cannot use --device "${device}": wanted cpu or webgpu`);
  }
  if (device !== undefined && !await setBackend(device)) {
    throw new UnavailableError(`Cannot use --device ${device}: there is none`);
  }
  const models: Record<string, ServableModel | Versions> = {};
  for (const [name, folder] of folders) {
    if (Object.hasOwn(models, name)) {
      throw new ValueError(`Cannot serve two models as "${name}": wanted NAME=MODEL_DIR for one`);
    }
    models[name] = await loadModel(folder);
  }
  return models;
}
