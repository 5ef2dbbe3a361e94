/** Pipelines of Keras, layers that hold a list of others, as those layers one after another: `tfjs-layers` has no such layer. */
import { ValueError } from "../../engine/core/errors.ts";
import { isObject, type Json, type JsonObject } from "./keras_json.ts";

/** The layers of a pipeline, the last one by its name. Throws `ValueError` where it has none. */
export function pipelineLayers({ config, name: own }: JsonObject): JsonObject[] {
  const settings = isObject(config) ? config : {},
    name = String(own ?? settings.name ?? "pipeline");
  const layers = Array.isArray(settings.layers) ? settings.layers.filter(isObject) : [];
  if (layers.length === 0) {
    throw new ValueError(`Cannot read the model's configuration: pipeline "${name}" has no layers`);
  }
  return layers.map((layer, i) => {
    const inner = isObject(layer.config) ? layer.config : {};
    const called = i === layers.length - 1
      ? name
      : `${name}_${i}_${inner.name ?? layer.class_name}`;
    return { ...layer, name: called, config: { ...inner, name: called } };
  });
}

const isPipeline = (layer: JsonObject): boolean => layer.class_name === "Pipeline";

/** A call with the result of another layer's call of the same number. */
function callOf(name: Json, node: number): JsonObject {
  const tensor = { class_name: "__keras_tensor__", config: { keras_history: [name, node, 0] } };
  return { args: [tensor], kwargs: {} };
}

/** Returns the layers of a model of Keras 3 with those of its pipelines in their places. */
export function withPipelines(layers: readonly JsonObject[]): readonly JsonObject[] {
  if (!layers.some(isPipeline)) return layers;
  const all = layers.flatMap((layer) => {
    if (!isPipeline(layer)) return [layer];
    const nodes = Array.isArray(layer.inbound_nodes) ? layer.inbound_nodes : null,
      parts = pipelineLayers(layer);
    if (nodes === null) return parts;
    return parts.map((part, i) => {
      const inbound = i === 0 ? nodes : nodes.map((_, n) => callOf(parts[i - 1].name, n));
      return { ...part, inbound_nodes: inbound };
    });
  });
  // A pipeline may hold another.
  return withPipelines(all);
}
