/** Encodings of whole numbers as Keras has them: as they are, one for each, or one for each row. */
import * as tf from "../../../mod.ts";
import { UnimplementedError } from "../../engine/core/errors.ts";
import type { Json } from "../layers/keras_json.ts";
import { type Extents, shapeOf } from "./layer_kinds.ts";

/** Reads the name of a mode of results, as Keras or the package writes it. */
export function modeOf(value: Json | undefined, otherwise = "int"): string {
  const given = String(value ?? otherwise).replace(/([a-z])([A-Z])/g, "$1_$2").toLowerCase();
  return given === "binary" ? "multi_hot" : given.replace("-", "_");
}

/** Settings of an encoding. */
export interface Encoding {
  readonly mode: string;
  /** Numbers from this one on have no place. */
  readonly depth: number;
  readonly name: Json | undefined;
  /** Weights of what is counted. */
  readonly counts?: tf.Tensor;
}

/** Encodes whole numbers from 0 on: `"one_hot"`, `"multi_hot"`, `"count"`, or as they are. */
export function encoded(x: tf.Tensor, { mode, depth, name, counts }: Encoding): tf.Tensor {
  const { length: rank } = shapeOf(x), ids = tf.cast(x, "int32");
  if (mode === "int") return ids;
  if (mode === "one_hot") {
    const all = tf.cast(tf.oneHot(ids, depth), "float32");
    return rank > 1 && shapeOf(x).at(-1) === 1 ? tf.squeeze(all, [-2]) : all;
  }
  if (rank !== 1 && rank !== 2) {
    throw new UnimplementedError(
      `Cannot run layer ${name}: ${mode} of rank ${rank} is not supported, wanted rank 2`,
    );
  }
  return tf.denseBincount(ids, counts ?? [], depth, mode === "multi_hot");
}

/** The shape of {@linkcode encoded} numbers of a shape. */
export function encodedShape(shape: Extents, { mode, depth }: Omit<Encoding, "name">): Extents {
  if (mode === "int") return shape;
  const isEach = mode === "one_hot" && !(shape.length > 1 && shape.at(-1) === 1);
  return [...isEach ? shape : shape.slice(0, -1), depth];
}
