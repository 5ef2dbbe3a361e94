/** Weights of Keras' files, in the order in which `tfjs-layers` has them. */
import { DataLossError } from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { isObject, isOperation, type Json, type JsonObject } from "../layers/keras_config.ts";
import { pipelineLayers } from "../layers/keras_pipelines.ts";
import { isTextLayer } from "../layers/keras_texts.ts";
import type { Hdf5Node } from "./hdf5.ts";

/** Arrays of a layer, or of the layers of a model by their names. */
export type Stored = readonly NdArray[] | ReadonlyMap<string, Stored>;

/** Parts of layers with weights, in their order; others follow by name. */
const ORDER =
  "forward_layer backward_layer query_dense key_dense gate_dense value_dense output_dense".split(
    " ",
  );
/** Parts without weights of their own: states of random numbers. */
const NO_WEIGHTS = /seed_generator|dropout|_softmax|^vars$/;

const layersOf = (config: JsonObject): JsonObject[] | null => {
  const settings = config.config;
  return isObject(settings) && Array.isArray(settings.layers)
    ? settings.layers.filter(isObject)
    : null;
};

/** The name that Keras gives a class in its files. */
function fileName(className: string): string {
  if (className === "GroupQueryAttention") return "grouped_query_attention";
  return className.replace(/\W+/g, "").replace(/(.)([A-Z][a-z]+)/g, "$1_$2")
    .replace(/([a-z])([A-Z])/g, "$1_$2").toLowerCase();
}

/** Pairs layers with their names in a file, which count those of a class. */
function named(layers: readonly JsonObject[]): [JsonObject, string][] {
  const used = new Map<string, number>();
  return layers.map((layer) => {
    const base = fileName(String(layer.class_name)), count = used.get(base) ?? 0;
    used.set(base, count + 1);
    return [layer, count === 0 ? base : `${base}_${count}`];
  });
}

/** Pairs the layers of a model that an archive has with their names there. */
function storedLayers(model: JsonObject, layers: readonly JsonObject[]): [JsonObject, string][] {
  const isSequential = model.class_name === "Sequential";
  return named(
    layers.filter((layer) =>
      !isOperation(layer) && !(isSequential && layer.class_name === "InputLayer")
    ),
  );
}

/**
 * Returns the configuration of an archive's model with the words that its layers have learned, which lie in files beside it. `read`
 * returns the text of a file, `weights` those of the archive.
 */
export function withVocabularies(
  config: JsonObject,
  { read, weights }: {
    readonly read: (path: string) => string | undefined;
    readonly weights: Hdf5Node | undefined;
  },
  path = "",
): JsonObject {
  const settings = config.config, layers = layersOf(config);
  if (!isObject(settings)) return config;
  const inner = (layer: JsonObject, name: string): JsonObject =>
    withVocabularies(layer, { read, weights: weights?.get(name) }, `${path}/${name}`);
  if (layers !== null) {
    const made = new Map(
      storedLayers(config, layers).map(([layer, name]) => [layer, inner(layer, `layers/${name}`)]),
    );
    const all = (settings.layers as Json[]).map((each) => made.get(each as JsonObject) ?? each);
    return { ...config, config: { ...settings, layers: all } };
  }
  if (isObject(settings.layer)) {
    return { ...config, config: { ...settings, layer: inner(settings.layer, "layer") } };
  }
  if (!isTextLayer(config.class_name) || Array.isArray(settings.vocabulary)) return config;
  const text = read(`assets${path}/vocabulary.txt`);
  if (text === undefined) return config;
  const lines = text.split(/\r?\n/);
  while (lines.at(-1) === "") lines.pop();
  const idf = weights?.get("vars/idf_weights");
  const learned = {
    vocabulary: config.class_name === "IntegerLookup" ? lines.map(Number) : lines,
    idf_weights: idf ? Array.from(idf.array().data as ArrayLike<number>, Number) : null,
    has_input_vocabulary: false,
  };
  return { ...config, config: { ...settings, ...learned } };
}

/** Reads the weights of an archive's layer or model, by its configuration. */
export function archiveWeights(node: Hdf5Node | undefined, config: JsonObject): Stored {
  const settings = isObject(config.config) ? config.config : {}, layers = layersOf(config);
  if (layers !== null) {
    return new Map(
      storedLayers(config, layers).flatMap(([layer, name]) =>
        layerWeights(node?.get(`layers/${name}`), layer)
      ),
    );
  }
  const { layer, cell } = settings;
  if (isTextLayer(config.class_name)) return [];
  if (isObject(layer) && layersOf(layer) !== null) return archiveWeights(node?.get("layer"), layer);
  const cells = isObject(cell) && isObject(cell.config) ? cell.config.cells : undefined;
  if (Array.isArray(cells)) {
    return named(cells.filter(isObject)).flatMap(([, name]) => {
      const stored = node?.get(`cell/cells/${name}`);
      return stored ? partWeights(stored) : [];
    });
  }
  return node ? partWeights(node) : [];
}

/** Reads the weights of a layer of a model, with its name; those of a pipeline's layers have the names that they have in the model. */
function layerWeights(node: Hdf5Node | undefined, layer: JsonObject): [string, Stored][] {
  if (layer.class_name === "Pipeline") {
    const stored = named(layersOf(layer) ?? []);
    return pipelineLayers(layer).flatMap((part, i) =>
      layerWeights(node?.get(`layers/${stored[i][1]}`), part)
    );
  }
  const title = isObject(layer.config) ? layer.config.name : layer.name;
  return [[String(title), archiveWeights(node, layer)]];
}

/** Reads the weights of a layer: its own, then those of its parts. */
function partWeights(node: Hdf5Node): NdArray[] {
  if (node.isArray) return [];
  const own = node.get("vars"), found: NdArray[] = [];
  const numbered = own ? own.names().map(Number).sort((a, b) => a - b) : [];
  for (const i of numbered) {
    const array = own!.get(String(i));
    if (array) found.push(array.array());
  }
  const place = (name: string): number =>
    (ORDER.indexOf(name.replace(/^_/, "")) + 1) || ORDER.length + 1;
  const parts = node.names().filter((name) => !NO_WEIGHTS.test(name)).sort((a, b) =>
    place(a) - place(b) || a.localeCompare(b, "en", { numeric: true })
  );
  const inner = parts.flatMap((name) => partWeights(node.get(name)!));
  // A wrapper's own weight comes after those of its layer, of which it lists some again.
  return parts.includes("layer") ? [...inner, ...found.slice(-1)] : [...found, ...inner];
}

/** Reads the weights of a `.h5` file by the names of layers. Throws `DataLossError` where arrays are missing. */
export function legacyWeights(file: Hdf5Node): Stored {
  const root = file.get("model_weights") ?? file;
  const names = root.texts("layer_names") ?? splitTexts(root, "layer_names");
  return new Map(names.map((name): [string, Stored] => {
    const group = root.get(name);
    const weights = group && (group.texts("weight_names") ?? splitTexts(group, "weight_names"));
    return [
      name,
      (weights ?? []).map((path) => {
        const array = group!.get(path);
        if (!array) {
          throw new DataLossError(
            `Cannot read the model: weight "${path}" of layer "${name}" is missing`,
          );
        }
        return array.array();
      }),
    ];
  }));
}

/** Long lists of names lie in several attributes. */
function splitTexts(node: Hdf5Node, name: string): string[] {
  const all: string[] = [];
  for (let i = 0;; i++) {
    const part = node.texts(`${name}${i}`);
    if (part === undefined) return all;
    all.push(...part);
  }
}
