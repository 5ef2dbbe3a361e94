/** Keras's wrapper that divides a layer's kernel by its largest singular value while it trains. */
import * as tf from "../../../mod.ts";
import { UnimplementedError, ValueError } from "../../engine/core/errors.ts";
import type { Extents } from "./layer_kinds.ts";
import type { Layer, LayerVariable, Package } from "./package.ts";

/** The used part of a layer that another wraps. */
interface Inner extends Layer {
  readonly trainableWeights: LayerVariable[];
  readonly nonTrainableWeights: LayerVariable[];
  build(shape: Extents | Extents[]): void;
  call(inputs: tf.Tensor | tf.Tensor[], kwargs?: object): tf.Tensor;
  computeOutputShape(shape: Extents | Extents[]): Extents;
}

const normal = (x: tf.Tensor): tf.Tensor =>
  tf.mul(x, tf.rsqrt(tf.maximum(tf.sum(tf.square(x)), 1e-12)));

/**
 * Makes the class of `SpectralNormalization`: each step of training first writes the kernel divided by its norm, which some power
 * iterations estimate from the last one's vector. Source: Miyato et al., "Spectral Normalization for GANs", 2018, as Keras has it.
 */
export function spectralNormalizationClass({ layers, initializers }: Package): object {
  const TimeDistributed = layers.timeDistributed({ layer: layers.dense({ units: 1 }) }).constructor;
  const Wrapper = Object.getPrototypeOf(TimeDistributed) as new (
    config: unknown,
  ) => Inner & { layer: Inner };
  const setAll = layers.Layer.prototype.setWeights, getAll = layers.Layer.prototype.getWeights;
  return class KerasSpectralNormalization extends Wrapper {
    static readonly className = "KerasSpectralNormalization";
    /** A compiled step may run it: it depends on its fields and weights alone. */
    static readonly isPure = true;
    readonly powerIterations: number;
    kernel: LayerVariable | null = null;
    vector: LayerVariable | null = null;

    constructor(config: Readonly<Record<string, unknown>>) {
      super(config);
      const { powerIterations = 1 } = config;
      if (!(Number.isInteger(powerIterations) && Number(powerIterations) > 0)) {
        throw new ValueError(
          `Cannot make layer ${this.name}: powerIterations must be a whole number of at least 1, received ${powerIterations}`,
        );
      }
      this.powerIterations = Number(powerIterations);
      this.supportsMasking = true;
    }
    getClassName(): string {
      return "KerasSpectralNormalization";
    }
    override build(shape: Extents | Extents[]): void {
      const { layer } = this;
      if (!layer.built) layer.build(shape);
      layer.built = true;
      this.kernel = layer.weights.find(({ name }) => /kernel|embeddings/.test(name)) ?? null;
      if (this.kernel === null || layer.layers !== undefined) {
        throw new UnimplementedError(
          `Cannot make layer ${this.name}: layer ${layer.name} has no kernel and no embeddings of its own`,
        );
      }
      const start = initializers.truncatedNormal({ stddev: 0.02 });
      this.vector = this.addWeight(
        "vector_u",
        [1, this.kernel.shape.at(-1)],
        "float32",
        start,
        undefined,
        false,
      );
      this.built = true;
    }
    override get nonTrainableWeights(): LayerVariable[] {
      // The package asks for them before the layer is made.
      const own = this.vector ? [this.vector] : [];
      return [...this.layer?.nonTrainableWeights ?? [], ...own];
    }
    override getWeights(): tf.Tensor[] {
      return getAll.call(this);
    }
    override setWeights(weights: tf.Tensor[]): void {
      setAll.call(this, weights);
    }
    override computeOutputShape(shape: Extents | Extents[]): Extents {
      return this.layer.computeOutputShape(shape);
    }
    override call(inputs: tf.Tensor | tf.Tensor[], kwargs: { training?: boolean } = {}): tf.Tensor {
      return tf.tidy(() => {
        if (kwargs.training === true && this.trainable !== false) this.#normalize();
        const y = this.layer.call(inputs, kwargs), { dtype } = [inputs].flat()[0];
        // As in Keras, whose embeddings of whole numbers become whole.
        return dtype === y.dtype ? y : tf.cast(y, dtype);
      });
    }
    #normalize(): void {
      const kernel = this.kernel!.read(),
        rows = tf.reshape(kernel, [-1, Number(this.kernel!.shape.at(-1))]);
      let u = this.vector!.read(), v = u;
      for (let i = 0; i < this.powerIterations; i++) {
        v = normal(tf.matMul(u, rows, false, true));
        u = normal(tf.matMul(v, rows));
      }
      const norm = tf.reshape(tf.matMul(tf.matMul(v, rows), u, false, true), []);
      const isZero = tf.all(tf.equal(kernel, 0));
      this.vector!.write(tf.where(isZero, this.vector!.read(), u));
      this.kernel!.write(tf.where(isZero, kernel, tf.div(kernel, norm)));
    }
    override getConfig(): Record<string, unknown> {
      return { ...super.getConfig(), powerIterations: this.powerIterations };
    }
  };
}
