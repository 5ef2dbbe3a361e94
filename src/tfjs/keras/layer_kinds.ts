/** Kinds of layers: their weights, and a function of tensors. */
import type * as tf from "../../../mod.ts";
import type { Json, JsonObject, Settings } from "../layers/keras_json.ts";
import type { WordsOf } from "./vocabulary.ts";

export type { Settings };

/** A shape; null where an extent is not known. */
export type Extents = readonly (number | null)[];

/** A weight of a layer. */
export interface Weight {
  readonly name: string;
  readonly shape: readonly number[];
  /** Number that it begins with. Default: as Glorot's uniform initializer draws them. */
  readonly start?: 0 | 1;
  /** False where no gradient changes it. */
  readonly trainable?: boolean;
}

/** A call of a layer. */
export interface CallOf {
  readonly inputs: readonly tf.Tensor[];
  readonly weights: readonly tf.Tensor[];
  readonly config: Settings;
  readonly training: boolean;
  /** Which steps of the first input count; null where all do. */
  readonly mask: tf.Tensor | null;
}

/** Tokens of texts: of each row as many. */
export type Tokens = tf.Tensor | tf.RaggedTensor;

/** A class of layers. Settings are by names in the package's writing: `keyDim`. */
export interface Kind {
  readonly weights?: (config: Settings, shapes: readonly Extents[]) => Weight[];
  readonly call: (given: CallOf) => tf.Tensor;
  /** A loss of what the layer gives in training, beside that of the model; null for none. */
  readonly penalty?: (y: tf.Tensor, config: Settings) => tf.Tensor | null;
  /** The shape of the result, where `call` cannot tell it from what is known of the inputs' shapes. */
  readonly shape?: (config: Settings, shapes: readonly Extents[]) => Extents;
  /** Dtype of the inputs of a model that begins with the layer. Default: float32. */
  readonly input?: (config: Settings) => "string" | "int32" | undefined;
  /** Dtype of the result where the package could not hold it as float32. */
  readonly output?: (config: Settings) => "string" | "int32" | undefined;
  /** Throws for settings that no layer has. */
  readonly check?: (config: Settings) => void;
  /** The words of the layer, and the words that it sees in its input. */
  readonly words?: {
    readonly of: (config: Settings) => WordsOf;
    readonly tokens: (x: tf.Tensor, config: Settings) => Tokens;
  };
  /** True where `call` uses the activation, which is not one of the result. */
  readonly activates?: boolean;
  /** True where steps that do not count stay so in the result. */
  readonly masks?: boolean;
}

/** Numbers of a setting that may be one of them. */
export const numbers = (value: Json | undefined): number[] =>
  (Array.isArray(value) ? value : [value]).map(Number);
/** The extent of the last axis. */
export const last = (shape: Extents): number => Number(shape.at(-1));
/** The static shape of a tensor of known rank. */
export const shapeOf = (x: tf.Tensor): Extents => x.staticShape!;
/** An extent for `reshape`. */
export const extent = (n: number | null | undefined): number => n ?? -1;
/** Axes counted from the front. */
export const places = (axes: readonly number[], rank: number): number[] =>
  axes.map((axis) => axis < 0 ? axis + rank : axis);
/** A shape that broadcasts against `rank` dimensions, with the extents of a weight along its axes. */
export function along(axes: readonly number[], weight: tf.Tensor, rank: number): number[] {
  const shape = new Array<number>(rank).fill(1);
  axes.forEach((axis, i) => shape[axis] = Number(shapeOf(weight)[i]));
  return shape;
}

/** Arguments of a call, as the configuration keeps them: tensors by their numbers. */
export function template(config: Settings): JsonObject {
  return JSON.parse(String(config.template ?? `{"args":[],"kwargs":{}}`));
}

/** Two numbers of a setting that may be one for both. */
export const pair = (value: Json | undefined): [number, number] => {
  const [a, b = a] = numbers(value);
  return [a, b];
};
