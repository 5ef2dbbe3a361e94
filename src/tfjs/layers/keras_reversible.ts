/** Embeddings of Keras that are also called in reverse, as two layers with the same weights: `tfjs-layers` hands on no arguments of a call. */
import { isObject, type Json, type JsonObject } from "./keras_json.ts";

/** A layer's name and the number of its call. */
type Place = readonly [name: string, node: number];

function isReverse(node: Json): boolean {
  if (!isObject(node)) return false;
  const { args, kwargs } = node;
  return isObject(kwargs) && kwargs.reverse === true || Array.isArray(args) && args[1] === true;
}

/** A call by its first argument alone. */
function plain(node: Json): Json {
  if (!isObject(node)) return node;
  const { args, kwargs } = node, { reverse: _, ...rest } = isObject(kwargs) ? kwargs : {};
  return { ...node, args: Array.isArray(args) ? args.slice(0, 1) : [], kwargs: rest };
}

/** Replaces the places of calls that stand elsewhere now, in tensors and in lists of outputs. */
function moved(value: Json, places: ReadonlyMap<string, readonly Place[]>): Json {
  if (Array.isArray(value)) {
    const [name, node, ...rest] = value, to = places.get(String(name))?.[Number(node)];
    return to === undefined || typeof name !== "string" || rest.length !== 1
      ? value.map((each) => moved(each, places))
      : [...to, ...rest];
  }
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, v]) => [key, moved(v, places)]));
}

/** Returns the configuration of a functional model of Keras 3 with two layers for each embedding that is called in reverse. */
export function withReversed(config: JsonObject): JsonObject {
  const given = Array.isArray(config.layers) ? config.layers : [];
  const places = new Map<string, readonly Place[]>();
  const layers = given.flatMap((layer) => {
    const nodes = isObject(layer) ? layer.inbound_nodes : undefined;
    if (!isObject(layer) || layer.class_name !== "ReversibleEmbedding" || !Array.isArray(nodes)) {
      return [layer];
    }
    const settings = isObject(layer.config) ? layer.config : {};
    const name = String(layer.name ?? settings.name), back = `${name}_reverse`;
    const calls: [Json[], Json[]] = [[], []];
    places.set(
      name,
      nodes.map((node): Place => {
        const side = isReverse(node) ? 1 : 0;
        return [side === 1 ? back : name, calls[side].push(plain(node)) - 1];
      }),
    );
    const [ahead, reverse] = calls;
    const own = { ...layer, inbound_nodes: ahead };
    if (reverse.length === 0) return [own];
    const reversed = { ...settings, name: back };
    return [own, {
      ...layer,
      class_name: "ReversedEmbedding",
      name: back,
      config: reversed,
      inbound_nodes: reverse,
    }];
  });
  if (places.size === 0) return config;
  const all = layers.map((layer) =>
    isObject(layer) ? { ...layer, inbound_nodes: moved(layer.inbound_nodes ?? [], places) } : layer
  );
  return { ...config, layers: all, output_layers: moved(config.output_layers ?? [], places) };
}
