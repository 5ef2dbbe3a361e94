/** JSON, of which configurations of Keras are made. */

/** A value of JSON. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
/** An object of JSON. */
export type JsonObject = { [key: string]: Json };

/** Settings by name. */
export type Settings = Readonly<Record<string, Json | undefined>>;

/** True for an object of JSON. */
export const isObject = (value: unknown): value is JsonObject =>
  typeof value === "object" && value !== null && !Array.isArray(value);

const OPERATIONS = /^keras\.(src\.)?ops\b/;
/** Layers whose settings do not say that they are layers, and not operations. */
const BRIEF = /^(SpatialDropout\dD|Discretization|HashedCrossing)$/;

/** True for a layer or an operation that is written as one. */
export const isOperation = ({ module, class_name: name, config }: JsonObject): boolean =>
  OPERATIONS.test(String(module)) ||
  module === undefined && isObject(config) && "name" in config && !BRIEF.test(String(name)) &&
    !["trainable", "layers", "batch_shape", "batch_input_shape"].some((key) => key in config);

/** The dtype of the package for a dtype, or a policy, of Keras: floats are float32, other whole numbers int32. */
export function dtypeOf(value: Json): Json {
  const name = isObject(value) ? (isObject(value.config) ? value.config.name : undefined) : value;
  if (name === null || name === undefined) return "float32";
  if (/^u?int/.test(String(name))) return "int32";
  return name === "bool" || name === "string" || name === "complex64" ? name : "float32";
}
