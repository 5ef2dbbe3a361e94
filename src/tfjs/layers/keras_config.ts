/**
 * Configurations of Keras models as `tfjs-layers` 4.22 reads them, which knows those of Keras 2 without `reset_after`.
 *
 * | Keras 3 writes                                         | `tfjs-layers` reads                                    |
 * | ------------------------------------------------------ | ------------------------------------------------------ |
 * | `batch_shape`                                          | `batch_input_shape`                                    |
 * | a dtype policy as an object                            | its name; floats are float32, other integers int32     |
 * | `module`, `registered_name`, `build_config`            | nothing                                                |
 * | `inbound_nodes` of `args` and `kwargs` with tensors    | lists of layer, node, tensor                           |
 * | regularizers `L1` and `L2`                             | `L1L2`                                                 |
 * | `LeakyReLU` with `negative_slope`, `silu`              | `alpha`, `swish`                                       |
 * | a `Sequential` model with `build_input_shape`          | an `InputLayer`                                        |
 * | `GRU` with `reset_after`, operations as layers         | layers of `@weft/weft/keras`, by names of `Keras…`     |
 */
import { UnimplementedError, ValueError } from "../../engine/core/errors.ts";
import { dtypeOf, isObject, isOperation, type Json, type JsonObject } from "./keras_json.ts";
import { withMasks } from "./keras_masks.ts";
import { withPipelines } from "./keras_pipelines.ts";
import { withReversed } from "./keras_reversible.ts";
import { isTextLayer, withKeptTexts } from "./keras_texts.ts";

export { isObject, isOperation, type Json, type JsonObject };

/** Models in models. */
const DEEPEST = 64;
/** Fields that say what Keras has done, not what a layer is. */
const DROPPED = new Set(
  "module registered_name build_config compile_config quantization_config shared_object_id ragged optional sparse autocast"
    .split(" "),
);
/** Classes of models, which hold layers. */
const MODELS = new Set(["Functional", "Model", "Sequential"]);
/** Layers that `@weft/weft/keras` has for those of Keras. */
const OWN = new Set(
  `MultiHeadAttention Normalization Subtract GroupNormalization RMSNormalization UnitNormalization Identity EinsumDense
  UpSampling1D ZeroPadding1D Cropping1D Resizing MaskedAveragePooling1D Attention AdditiveAttention GroupQueryAttention
  GlobalAveragePooling3D GlobalMaxPooling3D SpatialDropout2D SpatialDropout3D ZeroPadding3D Cropping3D UpSampling3D DepthwiseConv1D
  SeparableConv1D Conv1DTranspose CenterCrop CategoryEncoding Discretization SpectralNormalization ConvLSTM1D ConvLSTM3D
  HashedCrossing STFTSpectrogram MelSpectrogram AutoContrast ActivityRegularization ReversibleEmbedding ReversedEmbedding
  ContrastLimitedAdaptiveHistogramEqualization MaxNumBoundingBoxes RandAugment AugMix MixUp CutMix Equalization
  Solarization ELU`.split(/\s+/),
);
/** Activations with other names, or with a meaning that `tfjs-layers` gives to another function. */
const ACTIVATIONS: Readonly<Record<string, string>> = {
  silu: "swish",
  hard_sigmoid: "kerasHardSigmoid",
  hard_silu: "kerasHardSilu",
  hard_swish: "kerasHardSilu",
  leaky_relu: "kerasLeakyRelu",
  exponential: "kerasExponential",
  celu: "kerasCelu",
  hard_tanh: "kerasHardTanh",
  log_sigmoid: "kerasLogSigmoid",
  squareplus: "kerasSquareplus",
};

const refuse = (why: string): Error =>
  new ValueError(`Cannot read the model's configuration: ${why}`);
const missing = (what: string): Error =>
  new UnimplementedError(`Cannot make the model's layers: ${what} is not supported`);

/** True where Keras 3 has written a topology, as it stands in `model.json` or in an archive. */
export function isKeras3(topology: unknown): boolean {
  if (!isObject(topology)) return false;
  if (/^[3-9]\./.test(String(topology.keras_version))) return true;
  const model = isObject(topology.model_config) ? topology.model_config : topology;
  if ("registered_name" in model || "build_config" in model) return true;
  const config = isObject(model.config) ? model.config : {};
  const layers = Array.isArray(config.layers) ? config.layers : [];
  return layers.some((layer) =>
    isObject(layer) &&
    ("registered_name" in layer || isObject(layer.config) && "batch_shape" in layer.config)
  );
}

/**
 * Rewrites a topology that Keras 3 has written; returns others as they are. Throws `ValueError` for configurations that are none,
 * `UnimplementedError` for what no layer does.
 *
 * @example
 * ```ts
 * import { layersTopology } from "@weft/weft/keras";
 * const layer = { class_name: "InputLayer", config: { batch_shape: [null, 4], name: "x" } };
 * const topology = { class_name: "Sequential", registered_name: null, config: { name: "m", layers: [layer] } };
 * console.log(JSON.stringify(layersTopology(topology)).includes("batch_input_shape")); // true
 * ```
 */
export function layersTopology<T>(topology: T): T {
  if (!isKeras3(topology)) return topology;
  const given = topology as JsonObject;
  const model = isObject(given.model_config) ? given.model_config : given;
  const written = new Writer(true).object(model, 0);
  const whole = { model_config: written, keras_version: given.keras_version ?? "3" };
  return whole as T;
}

/** Returns names of weights as the package has them: Keras 3 begins with the names of the models that a layer lies in. */
export function layersWeightNames(topology: unknown, names: readonly string[]): string[] {
  const leaves = new Map<string, Json>();
  const visit = (given: unknown, depth: number): void => {
    if (!isObject(given) || depth > DEEPEST) return;
    const { config } = given, layers = isObject(config) ? config.layers : undefined;
    if (Array.isArray(layers)) layers.forEach((layer) => visit(layer, depth + 1));
    else leaves.set(String(nameOf(given)), given.class_name);
  };
  visit(
    isObject(topology) && isObject(topology.model_config) ? topology.model_config : topology,
    0,
  );
  return names.map((name) => {
    const parts = name.split("/"), from = parts.findIndex((part) => leaves.has(part));
    if (from < 0) return name;
    const isDepthwise = leaves.get(parts[from]) === "DepthwiseConv2D" && parts.at(-1) === "kernel";
    if (isDepthwise) parts[parts.length - 1] = "depthwise_kernel";
    return parts.slice(from).join("/");
  });
}

/** Rewrites the configuration of a model, which Keras 3 or 2 has written. */
export function layersModel(config: JsonObject, isNew: boolean): JsonObject {
  return new Writer(isNew).object(config, 0);
}

class Writer {
  /** True for configurations of Keras 3. */
  readonly #isNew: boolean;

  constructor(isNew: boolean) {
    this.#isNew = isNew;
  }

  /** Rewrites a layer, a model, an initializer: an object of a class and its settings. */
  object(given: JsonObject, depth: number): JsonObject {
    if (depth > DEEPEST) throw refuse(`it is nested more than ${DEEPEST} deep`);
    const { class_name: name, config } = given;
    if (typeof name !== "string" || !isObject(config)) {
      throw refuse("an object has no class_name and config");
    }
    if (MODELS.has(name)) return { class_name: name, config: this.#model(name, config, depth) };
    if (isOperation(given)) {
      return { class_name: "KerasOperation", config: { name: config.name ?? null } };
    }
    if (isTextLayer(name)) {
      if (config.ragged === true) throw missing(`${name} with ragged results (${config.name})`);
      return { class_name: `Keras${name}`, config: withKeptTexts(this.#settings(config, depth)) };
    }
    const shape = isObject(given.build_config) ? given.build_config.input_shape : null;
    // The package's Flatten refuses rows that are flat.
    const isFlat = name === "Flatten" && Array.isArray(shape) && shape.length < 3;
    const settings = this.#settings(isFlat ? { ...config, target_shape: [-1] } : config, depth);
    return this.#layer(isFlat ? "Reshape" : name, settings);
  }

  #settings(config: JsonObject, depth: number): JsonObject {
    const entries = Object.entries(config).filter(([key]) => !DROPPED.has(key));
    return Object.fromEntries(entries.map(([key, value]) => {
      if (key === "batch_shape") return ["batch_input_shape", value];
      if (key === "dtype") return [key, dtypeOf(value)];
      if (/activation$/.test(key)) return [key, this.#activation(value)];
      return [key, this.#value(value, depth)];
    }));
  }

  #value(value: Json, depth: number): Json {
    if (Array.isArray(value)) return value.map((each) => this.#value(each, depth));
    if (!isObject(value)) return value;
    return typeof value.class_name === "string" && isObject(value.config)
      ? this.object(value, depth + 1)
      : value;
  }

  #activation(value: Json): Json {
    const name = isObject(value) ? value.config : value;
    if (name === null || !this.#isNew) return isObject(value) ? value : name;
    if (typeof name !== "string") throw missing(`an activation of class ${name}`);
    return Object.hasOwn(ACTIVATIONS, name) ? ACTIVATIONS[name] : name;
  }

  #layer(name: string, config: JsonObject): JsonObject {
    const made = (class_name: string, settings = config) => ({ class_name, config: settings });
    if (name === "Lambda") throw missing(`Lambda, a layer of Python code (${config.name}),`);
    if (/^Conv[123]D$/.test(name) && Number(config.groups) > 1) return made(`Keras${name}`);
    if (name === "Bidirectional" && isObject(config.layer) && isObject(config.layer.config)) {
      // The package puts it before the name, as Keras has done.
      const inner = config.layer.config;
      inner.name = String(inner.name ?? "rnn").replace(/^forward_/, "");
    }
    if (/^GRU(Cell)?$/.test(name) && config.reset_after === true) {
      return made(`Keras${name}`);
    }
    if (name === "GroupedQueryAttention") return made("KerasGroupQueryAttention");
    if (name === "L1" || name === "L2") return made("L1L2", { l1: 0, l2: 0, ...config });
    if (name === "L1L2" || !this.#isNew) return made(name);
    if (name === "LeakyReLU") return made(name, { ...config, alpha: config.negative_slope ?? 0.3 });
    if (name === "ReLU" && (config.negative_slope || config.threshold)) return made("KerasReLU");
    if (name === "Conv1D" && config.padding === "causal") return made("KerasConv1D");
    if (name === "UpSampling2D" && config.interpolation !== "nearest") return made(`Keras${name}`);
    if (name === "IdentityInitializer") return made("Identity");
    // Draws of the package's own layers have no seeds.
    const isOwn = OWN.has(name) ||
      /^(Random|Adaptive)[A-Z]|^Global.*:true$|(Dropout(1D)?|GaussianNoise):number$/
        .test(`${name}:${config.keepdims ?? typeof config.seed}`);
    return made(isOwn && "name" in config ? `Keras${name}` : name);
  }

  #model(name: string, whole: JsonObject, depth: number): JsonObject {
    const config = this.#isNew && name !== "Sequential" ? withReversed(whole) : whole;
    const given = Array.isArray(config) ? config : config.layers;
    if (!Array.isArray(given)) throw refuse(`a model of class ${name} has no layers`);
    const layers = withPipelines(given.map((layer) => {
      if (!isObject(layer)) throw refuse("a layer is no object");
      return layer;
    }));
    if (name === "Sequential") {
      const written = layers.map((layer) => this.object(layer, depth + 1));
      const shape = config.build_input_shape;
      const first = written.at(0);
      const hasInput = first &&
        (first.class_name === "InputLayer" || MODELS.has(`${first.class_name}`) ||
          "batch_input_shape" in (first.config as JsonObject));
      if (Array.isArray(shape) && !hasInput) {
        const dtype = isText(layers[0]) ? "string" : "float32";
        written.unshift({ class_name: "InputLayer", config: { batch_input_shape: shape, dtype } });
      }
      return { name: config.name ?? "sequential", layers: written };
    }
    const all = this.#isNew ? withMasks(layers) : layers;
    const written = all.map((layer) => this.#placed(layer, all, depth));
    checkOrder(written);
    return {
      name: config.name ?? "model",
      trainable: config.trainable ?? true,
      layers: written,
      input_layers: ends(config.input_layers, written, this.#isNew),
      output_layers: ends(config.output_layers, written, this.#isNew),
    };
  }

  /** Rewrites a layer with the tensors that it is called with. */
  #placed(given: JsonObject, all: readonly JsonObject[], depth: number): JsonObject {
    const name = nameOf(given);
    if (typeof name !== "string") throw refuse("a layer has no name");
    const layer = this.object(
      { ...given, config: { ...given.config as JsonObject, name } },
      depth + 1,
    );
    const nodes = given.inbound_nodes ?? [];
    if (!Array.isArray(nodes)) throw refuse(`inbound_nodes of layer "${name}" are no list`);
    const config = layer.config as JsonObject;
    const inbound = nodes.map((node, i): Json => {
      if (!isObject(node)) return node;
      const isOwn = /^Keras(Operation|\w*Attention)$/.test(`${layer.class_name}`);
      const { name: _, ...settings } = given.config as JsonObject;
      const call = new Call(node, {
        layers: all,
        isOwn,
        settings: isOperation(given) ? settings : {},
      });
      if (isOwn) {
        const template = JSON.stringify(call.template);
        if (i > 0 && config.template !== template) {
          throw missing(`layer "${name}" called in two ways`);
        }
        config.template = template;
        config.operation = given.class_name ?? "";
      }
      return call.inputs;
    });
    return { name, ...layer, inbound_nodes: inbound };
  }
}

/** A call of a layer: its tensors in order, and all arguments with their places. */
class Call {
  readonly inputs: Json[] = [];
  /** Arguments; tensors as `{ "tensor": i }`. */
  readonly template: JsonObject;
  readonly #layers: readonly JsonObject[];
  readonly #isOwn: boolean;

  constructor({ args, kwargs }: JsonObject, { layers, isOwn, settings }: {
    readonly layers: readonly JsonObject[];
    /** True where the template says which tensor is which, so that each is handed over once. */
    readonly isOwn: boolean;
    /** Arguments by name that are none of the call. */
    readonly settings: JsonObject;
  }) {
    this.#layers = layers;
    this.#isOwn = isOwn;
    const named = isObject(kwargs) ? { ...settings, ...kwargs } : settings;
    const { training, mask, ...rest } = named;
    // The package finds masks itself, as Keras does where they come from operations.
    const [source] = isObject(mask) && isObject(mask.config)
      ? [mask.config.keras_history].flat()
      : [];
    if (source !== undefined && !layers.some((each) => each.name === source && isOperation(each))) {
      throw missing(`a mask of layer "${source}" that is handed to another`);
    }
    // An attention of whole vectors takes the masks of its inputs in their order.
    const own = this.#isOwn && Array.isArray(mask) ? { ...rest, masks: mask } : rest;
    this.template = {
      args: this.#read(args ?? [], 0),
      // The package writes names of settings without underscores.
      kwargs: Object.fromEntries(
        Object.entries(own).map(([key, value]) => [key.replaceAll("_", ""), this.#read(value, 0)]),
      ),
    };
    const last = this.inputs.at(-1) as Json[] | undefined;
    if (typeof training === "boolean") last?.push({ training });
  }

  #read(value: Json, depth: number): Json {
    if (depth > DEEPEST) throw refuse(`arguments are nested more than ${DEEPEST} deep`);
    if (Array.isArray(value)) return value.map((each) => this.#read(each, depth + 1));
    if (!isObject(value)) return value;
    const { class_name: name, config } = value;
    if (name === "__slice__" && isObject(config)) {
      return { slice: [config.start ?? null, config.stop ?? null, config.step ?? null] };
    }
    if (name === "__ellipsis__") return { ellipsis: true };
    if (name !== "__keras_tensor__") {
      return Object.fromEntries(
        Object.entries(value).map(([key, each]) => [key, this.#read(each, depth + 1)]),
      );
    }
    const history = isObject(config) ? config.keras_history : undefined;
    if (!Array.isArray(history)) throw refuse("a tensor has no keras_history");
    const input = shifted(history, this.#layers);
    const known = this.#isOwn ? this.inputs.findIndex((each) => `${each}` === `${input}`) : -1;
    if (known < 0) this.inputs.push(input);
    return { tensor: known < 0 ? this.inputs.length - 1 : known };
  }
}

/**
 * Counts nodes as the package does, where a model has one of its own. Keras counts that one of functional models alone, and only
 * in the lists of a model's inputs and outputs.
 */
function shifted(history: readonly Json[], layers: readonly JsonObject[], counted = ""): Json[] {
  const [name, node, tensor] = history;
  const layer = layers.find((each) => nameOf(each) === name);
  const isMore = layer && MODELS.has(String(layer.class_name)) && layer.class_name !== counted;
  return [name, isMore ? Number(node) + 1 : node, tensor];
}

const nameOf = ({ name, config }: JsonObject): Json | undefined =>
  name ?? (isObject(config) ? config.name : undefined);

/** True for a layer whose input is texts. */
function isText({ class_name: name, config }: JsonObject): boolean {
  if (!isObject(config)) return false;
  return name === "TextVectorization" || name === "StringLookup" && config.invert !== true ||
    name === "Hashing" && typeof config.mask_value !== "number";
}

/** Makes a list of a model's inputs or outputs: of one alone Keras 3 writes no list. */
function ends(given: Json, layers: readonly JsonObject[], isNew: boolean): Json[] {
  const list = isObject(given) ? Object.values(given) : given;
  if (!Array.isArray(list)) throw refuse("it has no input_layers and output_layers");
  const all = typeof list[0] === "string" ? [list] : list;
  return all.map((end) => {
    if (!Array.isArray(end)) throw refuse("an input or output names no layer");
    const counted = isNew ? shifted(end, layers, "Functional") : end;
    const [name, node] = counted;
    const layer = layers.find((each) => each.name === name);
    if (!layer || !Number.isInteger(node) || (node as number) >= nodesOf(layer)) {
      throw refuse(`node ${node} of layer "${name}", an input or output, is not there`);
    }
    return counted;
  });
}

/** Number of nodes that a layer has once all its calls are made. */
function nodesOf({ class_name: name, inbound_nodes: nodes }: JsonObject): number {
  const own = name === "InputLayer" || MODELS.has(String(name)) ? 1 : 0;
  return own + (nodes as Json[]).length;
}

/** Throws `ValueError` where a layer's inputs can never be made: the package would wait for them without end. */
function checkOrder(layers: readonly JsonObject[]): void {
  const made = new Map<Json, number>(), waiting: { name: Json; node: Json[] }[] = [];
  for (const layer of layers) {
    if (made.has(layer.name)) throw refuse(`two layers are called "${layer.name}"`);
    const nodes = layer.inbound_nodes as Json[];
    made.set(layer.name, nodesOf(layer) - nodes.length);
    for (const node of nodes) waiting.push({ name: layer.name, node: node as Json[] });
  }
  for (let left = waiting; left.length > 0;) {
    const rest: typeof left = [], blocked = new Set<Json>();
    for (const { name, node } of left) {
      const isReady = !blocked.has(name) && Array.isArray(node) && node.every((input) => {
        if (!Array.isArray(input)) return false;
        const count = made.get(input[0]), index = input[1];
        return count !== undefined && Number.isInteger(index) && (index as number) >= 0 &&
          (index as number) < count;
      });
      if (isReady) made.set(name, made.get(name)! + 1);
      else {
        blocked.add(name);
        rest.push({ name, node });
      }
    }
    if (rest.length === left.length) {
      throw refuse(`layer "${rest[0].name}" is called with tensors that no layer makes`);
    }
    left = rest;
  }
}
