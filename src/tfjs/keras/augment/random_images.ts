/** Layers of Keras that change images while they train, at random, each image of a batch by numbers of its own. */
import * as tf from "../../../../mod.ts";
import { UnimplementedError } from "../../../engine/core/errors.ts";
import { type Extents, type Kind, type Settings, shapeOf } from "../layer_kinds.ts";
import { COLORS } from "./colors.ts";
import type { Augmentation } from "./draws.ts";
import { ELASTIC } from "./elastic.ts";
import { EQUALIZED } from "./equalization.ts";
import { PLACES } from "./places.ts";
import { type Change, POLICIES } from "./policies.ts";
import { REGIONS } from "./regions.ts";

/** Layers that draw numbers and change images by them, by their names in Keras. */
export const AUGMENTATIONS: Readonly<Record<string, Augmentation>> = {
  ...COLORS,
  ...PLACES,
  ...REGIONS,
  ...ELASTIC,
  ...EQUALIZED,
};

const CHANGES: Readonly<Record<string, Change>> = {
  ...Object.fromEntries(
    Object.entries(AUGMENTATIONS).map(([name, { draw, change }]): [string, Change] => [
      name,
      (x, config) => change(x, config, draw(x, config)),
    ]),
  ),
  ...POLICIES,
};

const isChannelsFirst = (config: Settings): boolean => /first/i.test(String(config.dataFormat));

/** The shape of a cut in training, by which Keras builds the layers after it. */
function cutShape(config: Settings, [shape]: readonly Extents[]): Extents {
  const at = isChannelsFirst(config) ? 2 : 1, size = [Number(config.height), Number(config.width)];
  return shape.map((n, i) => size[i - at] ?? n);
}

/** Layers that change nothing in predictions, by their names in Keras. */
export const RANDOM_IMAGES: Readonly<Record<string, Kind>> = Object.fromEntries(
  Object.entries(CHANGES).map(([name, change]): [string, Kind] => [name, {
    masks: true,
    ...(name === "RandomCrop" ? { shape: cutShape } : {}),
    call({ inputs: [given], config, training }) {
      const x = tf.cast(given, "float32");
      if (!training) return x;
      if (shapeOf(x).length !== 4) {
        throw new UnimplementedError(
          `Cannot train layer ${config.name}: it takes images [rows, height, width, channels] alone`,
        );
      }
      if (!isChannelsFirst(config)) return change(x, config);
      return tf.transpose(change(tf.transpose(x, [0, 2, 3, 1]), config), [0, 3, 1, 2]);
    },
  }]),
);
