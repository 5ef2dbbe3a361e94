/** Layers of Keras that change images by other layers, which they choose at random. */
import * as tf from "../../../../mod.ts";
import type { Json } from "../../layers/keras_json.ts";
import { CROSSINGS } from "../crossing.ts";
import { numbers, type Settings } from "../layer_kinds.ts";
import { COLORS } from "./colors.ts";
import { beta, range, within } from "./draws.ts";
import { gammas, wholly } from "./seeded.ts";
import { EQUALIZED } from "./equalization.ts";
import { PLACES } from "./places.ts";

/** Images changed at random. */
export type Change = (x: tf.Tensor, config: Settings) => tf.Tensor;

const LAYERS = { ...COLORS, ...PLACES, ...EQUALIZED };

/** Changes images by a layer of a name. */
function by(name: string, config: Settings): (x: tf.Tensor) => tf.Tensor {
  if (name === "AutoContrast") {
    const rest = { weights: [], training: true, mask: null };
    return (x) => CROSSINGS.AutoContrast.call({ ...rest, inputs: [x], config });
  }
  const { draw, change } = LAYERS[name];
  return (x) => change(x, config, draw(x, config));
}

/** The layers that a policy chooses among, of which the last four change colours by amounts. */
function choices(config: Settings, hasAll: boolean): ((x: tf.Tensor) => tf.Tensor)[] {
  const { valueRange, interpolation } = config;
  const [least, most] = range(config.factor ?? 0.5, 0), factor: Json = [least, most];
  const bits = Math.max(1, Math.trunc(8 * most));
  const place = { interpolation }, color = { valueRange, factor };
  const all: [string, Settings][] = [
    ["RandomShear", { ...place, xFactor: factor, yFactor: factor }],
    ["RandomTranslation", { ...place, heightFactor: factor, widthFactor: factor }],
    ["RandomRotation", { ...place, factor }],
    ["RandomPosterization", { valueRange, factor: bits }],
    ["Solarization", { valueRange, additionFactor: factor, thresholdFactor: factor }],
    ["AutoContrast", { valueRange }],
    ["Equalization", { valueRange }],
    ["RandomBrightness", color],
    ["RandomColorDegeneration", color],
    ["RandomContrast", color],
    ["RandomSharpness", color],
  ];
  return all.slice(0, hasAll ? all.length : -4).map(([name, settings]) => by(name, settings));
}

/** Changes images by one of several functions. */
function oneOf(fns: readonly ((x: tf.Tensor) => tf.Tensor)[], x: tf.Tensor): tf.Tensor {
  return tf.switchCase(wholly([], 0, fns.length), fns.map((fn) => () => fn(x)));
}

/** Layers by the names of Keras. */
export const POLICIES: Readonly<Record<string, Change>> = {
  RandomColorJitter(x, { valueRange, ...config }) {
    const parts = ["Brightness", "Contrast", "Saturation", "Hue"].flatMap((name) => {
      const given = config[`${name.toLowerCase()}Factor`];
      if (given == null) return [];
      const least = name === "Contrast" || name === "Hue" ? 0 : -1;
      return [by(`Random${name}`, { valueRange, factor: [...range(given, least)] })];
    });
    return parts.reduce((y, part) => part(y), x);
  },
  RandAugment(x, config) {
    const all = choices(config, true);
    return Array.from({ length: Number(config.numOps ?? 2) }).reduce<tf.Tensor>(
      (y) => oneOf(all, y),
      x,
    );
  },
  AugMix(given, config) {
    const [chains, depth, alpha] = [
      config.numChains ?? 3,
      config.chainDepth ?? 3,
      config.alpha ?? 1,
    ]
      .flatMap(numbers);
    const settings = { ...config, factor: config.factor ?? 0.3 };
    const all = [...choices(settings, config.allOps !== false), (x: tf.Tensor) => tf.clone(x)];
    const drawn = gammas([chains], alpha), weights = tf.div(drawn, tf.sum(drawn));
    let sum = tf.zerosLike(given);
    for (let i = 0; i < chains; i++) {
      let x = given;
      for (let k = 0; k < depth; k++) x = oneOf(all, x);
      sum = tf.add(sum, tf.mul(x, tf.gather(weights, i)));
    }
    const kept = beta([], alpha);
    return within(tf.add(tf.mul(kept, given), tf.mul(tf.sub(1, kept), sum)), config);
  },
};
