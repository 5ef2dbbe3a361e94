/** The used part of the package `@tensorflow/tfjs-layers`, whose classes are not checked. */
import type * as tf from "../../../mod.ts";

/** A weight of a layer of the package. */
export interface LayerVariable {
  readonly name: string;
  readonly shape: readonly number[];
  read(): tf.Tensor;
  write(value: tf.Tensor): unknown;
}

/** The used part of a layer of the package. */
export interface Layer {
  readonly name: string;
  readonly weights: readonly LayerVariable[];
  /** Layers of a model. */
  readonly layers?: readonly Layer[];
  /** The layer or model that another applies to each step. */
  readonly layer?: Layer;
  supportsMasking: boolean;
  trainable: boolean;
  built: boolean;
  /** Calls of the layer in models. */
  readonly inboundNodes: readonly unknown[];
  apply(inputs: unknown, kwargs?: object): unknown;
  /** Losses beside that of the model, asked for once for each call in a model. */
  calculateLosses(): tf.Tensor[];
  getWeights(): tf.Tensor[];
  setWeights(weights: tf.Tensor[]): void;
  addWeight(...given: unknown[]): LayerVariable;
  getConfig(): Record<string, unknown>;
  dispose(): { refCountAfterDispose: number };
}

/** A function of the package, as an object that can be written as JSON. */
export interface Activation {
  apply(x: tf.Tensor): tf.Tensor;
}

/** The used part of the package, with unchecked classes. */
export interface Package {
  readonly layers: {
    readonly Layer: new (config: unknown) => Layer;
    readonly RNN: { readonly prototype: { apply(inputs: unknown, kwargs?: object): unknown } };
    activation(config: { activation: unknown }): { readonly activation: Activation };
    dense(config: { units: number }): object;
    timeDistributed(config: { layer: object }): object;
    gru(config: { units: number }): object;
    gruCell(config: { units: number }): object;
  };
  readonly initializers: Readonly<
    Record<"zeros" | "ones" | "glorotUniform" | "truncatedNormal", (config: object) => unknown>
  >;
  readonly regularizers: { l1l2(config: unknown): unknown };
}
