/** Names of settings' values, which Keras and `tfjs-layers` write each in a form of their own. */
import type { Json } from "../layers/keras_json.ts";

/** Reads the name of a mode of results, as Keras or the package writes it. */
export function modeOf(value: Json | undefined, otherwise = "int"): string {
  const given = String(value ?? otherwise).replace(/([a-z])([A-Z])/g, "$1_$2").toLowerCase();
  return given === "binary" ? "multi_hot" : given.replace("-", "_");
}
