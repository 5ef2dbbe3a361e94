/** `loadKeras`: models of Keras' files as those of `tfjs-layers`. */
import * as tf from "../../../mod.ts";
import { DataLossError, UnimplementedError, ValueError } from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { kindOfFile } from "../../library/io/kinds/file_kinds.ts";
import { type FileSource, readSource } from "../../library/io/source.ts";
import { readZip } from "../../library/io/zip.ts";
import { isKeras3, isObject, type JsonObject, layersModel } from "../layers/keras_config.ts";
import { openHdf5 } from "./hdf5.ts";
import type { Layer } from "./package.ts";
import { registerKerasLayers } from "./register.ts";
import { archiveWeights, legacyWeights, type Stored, withVocabularies } from "./weights.ts";

/** The package `@tensorflow/tfjs-layers`, or `@tensorflow/tfjs` with it, as a namespace. */
export interface LayersPackage<M> {
  /** The package's own loader, which makes the model. */
  loadLayersModel(source: object): Promise<M>;
}

/** A model's configuration and weights, as a file has them. */
interface Content {
  readonly model: JsonObject;
  readonly weights: Stored;
  readonly isNew: boolean;
}

const EMPTY_ZIP = "the archive has no config.json";

function parsed(text: string, name: string): JsonObject {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw new DataLossError(`Cannot read ${name}: its configuration is no JSON`, { cause });
  }
  if (isObject(value)) return value;
  throw new DataLossError(`Cannot read ${name}: its configuration is no object`);
}

async function archive(bytes: Uint8Array, name: string): Promise<Content> {
  const files = new Map<string, Uint8Array>();
  for await (const [entry, data] of readZip(bytes, name)) files.set(entry, data);
  const config = files.get("config.json"), weights = files.get("model.weights.h5");
  if (!config) throw new DataLossError(`Cannot read ${name}: ${EMPTY_ZIP}`);
  if (!weights) {
    throw new UnimplementedError(
      `Cannot read ${name}: it has no model.weights.h5, other files of weights are not supported`,
    );
  }
  const given = parsed(new TextDecoder().decode(config), name), root = openHdf5(weights);
  const read = (path: string): string | undefined => {
    const bytes = files.get(path);
    return bytes && new TextDecoder().decode(bytes);
  };
  const model = withVocabularies(given, { read, weights: root });
  return { model, weights: archiveWeights(root, model), isNew: true };
}

function legacy(bytes: Uint8Array, name: string): Content {
  const file = openHdf5(bytes), text = file.texts("model_config")?.[0];
  if (text === undefined) {
    throw new ValueError(
      `Cannot read ${name}: it holds no model_config, only models that were saved whole can be made`,
    );
  }
  const model = parsed(text, name);
  const isNew = isKeras3({
    model_config: model,
    keras_version: file.texts("keras_version")?.[0] ?? "",
  });
  return { model, weights: legacyWeights(file), isNew };
}

/** Gives a model's layers their weights. */
function assign(layers: readonly Layer[], stored: ReadonlyMap<string, Stored>): void {
  for (const layer of layers) {
    const given = stored.get(layer.name) ?? [], inner = layer.layers ?? layer.layer?.layers;
    if (given instanceof Map && inner) {
      assign(inner, given);
      continue;
    }
    const arrays = given as readonly NdArray[], { weights } = layer;
    const fits = arrays.length === weights.length &&
      arrays.every(({ shape }, i) => `${shape}` === `${weights[i].shape}`);
    if (!fits) {
      const list = (all: readonly { readonly shape: readonly number[] }[]) =>
        all.map(({ shape }) => `[${shape}]`).join(" ");
      throw new ValueError(
        `Cannot set the weights of layer "${layer.name}": the file has ${
          list(arrays) || "none"
        }, wanted ${list(weights) || "none"}`,
      );
    }
    if (arrays.length === 0) continue;
    tf.tidy(() => layer.setWeights(arrays.map((array) => tf.cast(tf.tensor(array), "float32"))));
  }
}

/**
 * Loads a model that Keras 3 or 2 has saved whole, a `.keras` archive or a `.h5` file, as a model of `tfjs-layers`, which runs over
 * `@weft/weft/tfjs-core`: it predicts, and `compile` and `fit` train its weights. Its optimizer and losses are not taken over.
 * Rejects with `ValueError` where weights do not fit, `UnimplementedError` for layers and features that are not supported,
 * `DataLossError` for damaged files.
 *
 * @example
 * ```ts ignore
 * import * as tfl from "@tensorflow/tfjs-layers";
 * import { loadKeras } from "@weft/weft/keras";
 * const model = await loadKeras(tfl, "model.keras");
 * model.compile({ optimizer: "adam", loss: "meanSquaredError" });
 * model.summary(); // prints its layers
 * ```
 */
export async function loadKeras<M>(tfl: LayersPackage<M>, source: FileSource): Promise<M> {
  registerKerasLayers(tfl);
  const { bytes, name } = await readSource(source);
  const kind = kindOfFile(bytes);
  if (kind !== null && !/^(an HDF5|a model of Keras|a ZIP)/.test(kind)) {
    throw new DataLossError(`Cannot read ${name}: wanted .keras or .h5, it looks like ${kind}`);
  }
  const isZip = bytes[0] === 0x50 && bytes[1] === 0x4b;
  const { model, weights, isNew } = isZip ? await archive(bytes, name) : legacy(bytes, name);
  const topology = { model_config: layersModel(model, isNew), keras_version: isNew ? "3" : "2" };
  const made = await tfl.loadLayersModel({
    load: () => Promise.resolve({ modelTopology: topology }),
  });
  const { layers } = made as unknown as { layers: readonly Layer[] };
  assign(layers, weights as ReadonlyMap<string, Stored>);
  return made;
}
