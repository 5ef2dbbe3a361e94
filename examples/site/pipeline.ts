/** The steps of each frame: a blur on the device, lines by a function of the host, and a mix of both on the device. */

import * as tf from "@weft/weft";
import type { Images } from "./editable_body.ts";

/** Feeds and fetches of a session. */
export interface Pipeline {
  readonly graph: tf.Graph;
  /** Fed: [height, width, 4] of uint8. */
  readonly frame: tf.Tensor;
  /** The picture that is shown, in the same form. */
  readonly picture: tf.Tensor;
  readonly svg: string;
}

/** Parts of red, green and blue in grey (ITU-R BT.601). */
const GREY = [0.299, 0.587, 0.114];

/** A row of Pascal's triangle: a blur by it comes near to Gauss' one. */
const BLUR = [1, 4, 6, 4, 1].map((v) => v / 16);

/** The colour of lines. */
const LINE = [45 / 255, 212 / 255, 191 / 255];

/** Builds it around a body, for frames of a size. */
export function buildPipeline(
  body: (image: tf.NdArray) => Images,
  [height, width]: readonly [number, number],
): Pipeline {
  const graph = new tf.Graph();
  return graph.asDefault(() => {
    const frame = tf.placeholder("uint8", [height, width, 4], "frame");
    const pixels = tf.div(tf.cast(frame, "float32"), 255);
    const colours = tf.slice(pixels, [0, 0, 0], [height, width, 3]);
    const greys = tf.reshape(
      tf.matMul(tf.reshape(colours, [-1, 3]), tf.constant(GREY.map((v) => [v]))),
      [1, height, width, 1],
    );
    const row = tf.constant([BLUR.map((v) => [[v]])]), column = tf.transpose(row, [1, 0, 2, 3]);
    const blurred = tf.conv2d(tf.conv2d(greys, row, 1, "same"), column, 1, "same");
    const lines = tf.numpyFunction(body, [tf.reshape(blurred, [height, width])], "float32", {
      name: "your_function",
      shapeFn: (spec) => spec,
    });
    const ink = tf.expandDims(tf.clipByValue(lines, 0, 1), -1);
    const dimmed = tf.mul(colours, tf.sub(0.75, tf.mul(ink, 0.75)));
    const mixed = tf.add(dimmed, tf.mul(ink, tf.constant(LINE)));
    const opaque = tf.concat([mixed, tf.fill([height, width, 1], 1)], 2);
    const picture = tf.cast(tf.mul(tf.clipByValue(opaque, 0, 1), 255), "uint8");
    return { graph, frame, picture, svg: tf.toSvg(graph) };
  });
}
