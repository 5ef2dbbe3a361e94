/**
 * Masks that `tfjs-layers` does not hand on: it knows that of a layer's first input alone, and none for the mean of steps. Those of an
 * attention's values and keys, and of that mean, become operations of the model, with whose results the layers are called.
 */
import { UnimplementedError } from "../../engine/core/errors.ts";
import { isObject, isOperation, type Json, type JsonObject } from "./keras_json.ts";

/** Layers whose result has the mask of their only input, or of the first one. */
const PASSING = new Set(
  `Activation ActivityRegularization AdditiveAttention AlphaDropout Attention BatchNormalization Bidirectional Dense Dropout ELU EinsumDense GRU GaussianDropout
  GaussianNoise GroupNormalization GroupQueryAttention GroupedQueryAttention Identity LSTM LayerNormalization LeakyReLU MultiHeadAttention PReLU RMSNormalization ReLU SimpleRNN
  Softmax SpatialDropout1D TimeDistributed UnitNormalization`.split(/\s+/),
);
/** Layers whose result has a mask where all of their inputs have one: a step counts that counts in one of them. */
const MERGING = new Set("Add Average Maximum Minimum Multiply Subtract".split(" "));
const MODELS = new Set(["Functional", "Model", "Sequential"]);
/** Arguments of an attention, in order, of which the first one's mask is handed on. */
const ARGUMENTS = ["query", "value", "key"];

const nameOf = ({ name, config }: JsonObject): Json | undefined =>
  name ?? (isObject(config) ? config.name : undefined);
const isTensor = (value: unknown): value is JsonObject =>
  isObject(value) && value.class_name === "__keras_tensor__" && isObject(value.config) &&
  Array.isArray(value.config.keras_history);
const historyOf = (tensor: JsonObject): Json[] =>
  (tensor.config as JsonObject).keras_history as Json[];

const missing = (what: string): Error =>
  new UnimplementedError(`Cannot make the model's layers: ${what} is not supported`);

/** The tensors of a call in order. */
function tensorsOf(node: JsonObject): JsonObject[] {
  const found: JsonObject[] = [];
  const visit = (value: Json): void => {
    if (isTensor(value)) found.push(value);
    else if (Array.isArray(value)) value.forEach(visit);
  };
  visit(node.args ?? []);
  Object.values(isObject(node.kwargs) ? node.kwargs : {}).forEach(visit);
  return found;
}

/** True where a layer, or one in it, gives its result a mask. */
function makesMasks({ class_name: name, config }: JsonObject): boolean {
  if (!isObject(config)) return false;
  const layers = Array.isArray(config.layers) ? config.layers.filter(isObject) : [];
  return name === "Masking" || name === "Embedding" && config.mask_zero === true ||
    layers.some(makesMasks);
}

/** Returns the layers of a functional model of Keras 3, with the masks that its attentions are to read. */
export function withMasks(layers: readonly JsonObject[]): readonly JsonObject[] {
  if (!layers.some(makesMasks)) return layers;
  const byName = new Map(layers.map((layer) => [nameOf(layer), layer]));
  const added: JsonObject[] = [], masks = new Map<string, JsonObject | null>();

  /** Adds an operation to the model and returns its result. */
  const operation = (class_name: string, args: Json[], kwargs: JsonObject = {}): JsonObject => {
    let name = `mask_${added.length}`;
    while (byName.has(name)) name += "_";
    added.push({
      module: "keras.src.ops.numpy",
      class_name,
      name,
      config: { name },
      inbound_nodes: [{ args, kwargs }],
    });
    return { class_name: "__keras_tensor__", config: { keras_history: [name, 0, 0] } };
  };
  const find = (tensor: JsonObject): JsonObject | null => {
    const history = historyOf(tensor), [name, at] = history;
    const layer = byName.get(name as string), nodes = layer?.inbound_nodes;
    // Operations hand no masks on, as `a + b` beside a layer of the same name.
    if (!layer || !isObject(layer.config) || isOperation(layer)) return null;
    const { class_name: kind, config } = layer;
    if (MODELS.has(String(kind)) && makesMasks(layer)) {
      throw missing(`a mask that model "${name}" hands to another layer`);
    }
    const node = Array.isArray(nodes) ? nodes[Number(at)] : null;
    if (!isObject(node)) return null;
    const inputs = tensorsOf(node);
    if (inputs.length === 0) return null;
    if (kind === "Embedding") {
      return config.mask_zero === true ? operation("NotEqual", [inputs[0], 0]) : null;
    }
    if (kind === "Masking") {
      const differs = operation("NotEqual", [inputs[0], config.mask_value ?? 0]);
      return operation("Any", [differs], { axis: -1 });
    }
    if (PASSING.has(String(kind))) return maskOf(inputs[0]);
    const all = inputs.map(maskOf), given = [...new Set(all.filter((mask) => mask !== null))];
    if (MERGING.has(String(kind)) && !all.includes(null)) {
      return given.reduce((a, b) => operation("LogicalOr", [a, b]));
    }
    if (kind !== "Concatenate" || given.length === 0) return null;
    if (config.axis !== -1 && config.axis !== 2) {
      throw missing(`a mask of steps that layer "${name}" joins`);
    }
    return given.reduce((a, b) => operation("LogicalAnd", [a, b]));
  };
  const maskOf = (tensor: JsonObject): JsonObject | null => {
    const key = `${historyOf(tensor)}`;
    if (!masks.has(key)) {
      masks.set(key, null);
      masks.set(key, find(tensor));
    }
    return masks.get(key)!;
  };
  const called = (node: Json): Json => {
    if (!isObject(node)) return node;
    const args = Array.isArray(node.args) ? node.args : [];
    const kwargs = isObject(node.kwargs) ? { ...node.kwargs } : {};
    const given = ARGUMENTS.map((name, i) => args[i] ?? kwargs[name]);
    ARGUMENTS.forEach((name, i) => {
      const tensor = given[i], key = `${name}_mask`;
      if (i === 0 || !isTensor(tensor) || isTensor(kwargs[key]) || isTensor(args[i + 3])) return;
      const mask = maskOf(tensor);
      if (mask) kwargs[key] = mask;
    });
    return { ...node, args, kwargs };
  };
  /** Hands an attention of whole vectors the masks of its queries and values. */
  const listed = (node: Json): Json => {
    if (!isObject(node) || isObject(node.kwargs) && Array.isArray(node.kwargs.mask)) return node;
    const [query, value] = tensorsOf(node), mask = [query, value].map((x) => x ? maskOf(x) : null);
    if (mask.every((each) => each === null)) return node;
    return { ...node, kwargs: { ...isObject(node.kwargs) ? node.kwargs : {}, mask } };
  };
  /** Hands the mean of steps its mask as a second tensor, where each call has one. */
  const averaged = (layer: JsonObject, nodes: readonly Json[]): JsonObject => {
    const calls = nodes.filter(isObject).map(tensorsOf), given = calls.map(([x]) => maskOf(x));
    if (calls.length === 0 || given.includes(null)) return layer;
    const inbound_nodes = calls.map(([x], i): Json => ({ args: [[x, given[i]]], kwargs: {} }));
    return { ...layer, class_name: "MaskedAveragePooling1D", inbound_nodes };
  };
  const written = layers.map((layer) => {
    const { class_name: kind, inbound_nodes: nodes } = layer;
    if (!Array.isArray(nodes)) return layer;
    if (kind === "GlobalAveragePooling1D") return averaged(layer, nodes);
    if (kind === "Attention" || kind === "AdditiveAttention") {
      return { ...layer, inbound_nodes: nodes.map(listed) };
    }
    const hasHeads = kind === "MultiHeadAttention" ||
      /^Group(ed)?QueryAttention$/.test(String(kind));
    return hasHeads ? { ...layer, inbound_nodes: nodes.map(called) } : layer;
  });
  return [...written, ...added];
}
