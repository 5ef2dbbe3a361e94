/**
 * Settings that are texts of a program's data: words, and what stands for masked and unknown ones. `tfjs-layers` rewrites all texts of a
 * configuration (`c_d` to `cD` and back) but those under the key `name`, where these travel as JSON.
 */
import { isObject, type Json, type JsonObject, type Settings } from "./keras_json.ts";

/** Layers with such settings. */
const TEXT_LAYERS = new Set("StringLookup IntegerLookup TextVectorization Hashing".split(" "));
const TEXTS = /^(vocabulary|(oov|mask)_?token|mask_?value)$/i;

/** True for a layer that has words, or hashes them. */
export const isTextLayer = (className: unknown): boolean => TEXT_LAYERS.has(String(className));

const isText = (value: Json | undefined): boolean =>
  typeof value === "string" ||
  Array.isArray(value) && value.some((each) => typeof each === "string");

/** Returns settings with such texts where the package leaves them alone. */
export function withKeptTexts(settings: Settings): JsonObject {
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [
      key,
      TEXTS.test(key) && isText(value) ? { name: JSON.stringify(value) } : value ?? null,
    ]),
  );
}

/** Returns settings with their texts as they were. Throws `SyntaxError` for texts that were damaged. */
export function withTexts(settings: Settings): Settings {
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => [
      key,
      TEXTS.test(key) && isObject(value) ? JSON.parse(String(value.name)) : value,
    ]),
  );
}
