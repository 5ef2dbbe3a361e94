/** Classes of layers from their kinds, for a program's copy of `tfjs-layers`. */
import * as tf from "../../../mod.ts";
import { FailedPreconditionError } from "../../engine/core/errors.ts";
import type { Settings } from "../layers/keras_json.ts";
import { withKeptTexts, withTexts } from "../layers/keras_texts.ts";
import type { Extents, Kind, Weight } from "./layer_kinds.ts";
import { drawingFrom, sourceOf } from "./augment/seeded.ts";
import type { Activation, Layer, LayerVariable, Package } from "./package.ts";

/** The package's own settings of any layer, which it keeps itself. */
const KEPT = new Set(["name", "trainable", "dtype", "customObjects"]);

const listOf = <T>(value: T | T[]): T[] => Array.isArray(value) ? value : [value];
/** The shapes of all inputs. */
export const shapesOf = (shape: Extents | Extents[]): Extents[] =>
  Array.isArray(shape[0]) ? shape as Extents[] : [shape as Extents];

/** Finds the shape of a layer's result as graphs do, from what is known of its inputs'. */
function shapeOf(
  { call, shape, input }: Kind,
  config: Settings,
  shapes: readonly Extents[],
  weights: readonly Weight[],
): Extents {
  if (shape) return shape(config, shapes);
  const dtype = input?.(config) ?? "float32";
  return new tf.Graph().asDefault(() => {
    const y = call({
      inputs: shapes.map((each) => tf.placeholder(dtype, [...each])),
      weights: weights.map((each) => tf.placeholder("float32", [...each.shape])),
      config,
      training: false,
      mask: null,
    });
    return y.staticShape!;
  });
}

/** A layer of a kind. */
export interface KindLayer extends Layer {
  /** Its settings, which other words replace. */
  settings: Settings;
  /** Its weights. */
  variables: LayerVariable[];
  build(shape: Extents | Extents[]): void;
  call(given: tf.Tensor | tf.Tensor[], kwargs?: Record<string, unknown>): tf.Tensor;
}

/** Makes a class of the package for a kind of layers. */
export function layerClass(
  { layers, initializers, regularizers }: Package,
  name: string,
  kind: Kind,
): new (config: Settings) => KindLayer {
  const className = `Keras${name}`;
  return class extends layers.Layer {
    static readonly className = className;
    /** A compiled step may run it: it depends on its fields and weights alone. */
    static readonly isPure = true;
    settings: Settings;
    readonly activation: Activation | null;
    variables: LayerVariable[] = [];

    constructor(config: Settings) {
      const given = withTexts(config), { activation } = given, dtype = kind.input?.(given);
      super(dtype ? { ...given, dtype } : given);
      this.activation = activation && !kind.activates
        ? layers.activation({ activation }).activation
        : null;
      const own = Object.entries(given).filter(([key]) => !KEPT.has(key));
      this.settings = Object.fromEntries([...own, ["name", this.name]]);
      kind.check?.(this.settings);
      this.#source = sourceOf(this.settings);
      this.supportsMasking = true;
    }
    getClassName(): string {
      return className;
    }
    override apply(inputs: unknown, kwargs?: object): unknown {
      const y = super.apply(inputs, kwargs), dtype = kind.output?.(this.settings);
      // The package takes all results of layers for float32.
      if (dtype && !(y instanceof tf.Tensor)) Object.assign(y as object, { dtype });
      return y;
    }
    /** Source of draws, where the configuration has a seed. */
    readonly #source: tf.random.Generator | null;
    /** Penalties of calls whose step has not asked for them. */
    #penalties: tf.Tensor[] = [];
    #note(penalty: tf.Tensor): void {
      if (this.inboundNodes.length === 0) {
        throw new FailedPreconditionError(
          `Cannot train layer ${this.name}: losses of what layers give are not supported within other layers`,
        );
      }
      this.#penalties.push(tf.keep(penalty));
      // Calls that no step follows leave theirs.
      while (this.#penalties.length > this.inboundNodes.length) this.#penalties.shift()!.dispose();
    }
    override calculateLosses(): tf.Tensor[] {
      const own = this.#penalties.splice(0).map((penalty) => {
        const loss = tf.clone(penalty);
        penalty.dispose();
        return loss;
      });
      return [...super.calculateLosses(), ...own];
    }
    #weights(shape: Extents | Extents[]): Weight[] {
      return kind.weights?.(this.settings, shapesOf(shape)) ?? [];
    }
    build(shape: Extents | Extents[]): void {
      this.variables = this.#weights(shape).map(({ name, shape, start, trainable = true }) => {
        const part = /bias/i.test(name) ? "bias" : "kernel";
        const given = this.settings[`${part}Regularizer`] as
          | { config?: unknown }
          | null
          | undefined;
        const initializer = start === undefined ? "glorotUniform" : start === 0 ? "zeros" : "ones";
        const regularizer = given ? regularizers.l1l2(given.config) : undefined;
        return this.addWeight(
          name,
          shape,
          "float32",
          initializers[initializer]({}),
          regularizer,
          trainable,
        );
      });
      this.built = true;
    }
    computeOutputShape(shape: Extents | Extents[]): Extents {
      return shapeOf(kind, this.settings, shapesOf(shape), this.#weights(shape));
    }
    computeMask(_inputs: unknown, mask?: unknown): unknown {
      if (!kind.masks) return null;
      return (Array.isArray(mask) ? mask[0] : mask) ?? null;
    }
    call(given: tf.Tensor | tf.Tensor[], kwargs?: Record<string, unknown>): tf.Tensor {
      // The package hands the last mask on to layers without one.
      if (!kind.masks && kwargs) delete kwargs.mask;
      return tf.tidy(() => {
        const training = kwargs?.training === true, source = training ? this.#source : null;
        const y = drawingFrom(source, () =>
          kind.call({
            inputs: listOf(given),
            weights: this.variables.map((v) => v.read()),
            config: this.settings,
            training,
            mask: (kwargs?.mask ?? null) as tf.Tensor | null,
          }));
        const penalty = training ? kind.penalty?.(y, this.settings) : null;
        if (penalty) this.#note(penalty);
        return this.activation ? this.activation.apply(y) : y;
      });
    }
    override dispose(): { refCountAfterDispose: number } {
      const left = super.dispose();
      if (left.refCountAfterDispose === 0) this.#source?.dispose();
      return left;
    }
    override getConfig(): Record<string, unknown> {
      return { ...super.getConfig(), ...withKeptTexts(this.settings) };
    }
  };
}
