/** Classes of layers for a program's copy of `tfjs-layers`, made once for each. */
import * as tf from "../../../mod.ts";
import { FailedPreconditionError } from "../../engine/core/errors.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { describe } from "../../engine/core/text.ts";
import {
  registerClass,
  Serializable,
  type SerializableConstructor,
} from "../core/serialization.ts";
import { ACTIVATIONS } from "./activations.ts";
import type { Extents, Kind, Settings, Weight } from "./layer_kinds.ts";
import { KINDS } from "./own_layers.ts";

/** A weight of a layer of the package. */
interface LayerVariable {
  readonly name: string;
  readonly shape: readonly number[];
  read(): tf.Tensor;
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
  built: boolean;
  setWeights(weights: tf.Tensor[]): void;
  addWeight(...given: unknown[]): LayerVariable;
  getConfig(): Record<string, unknown>;
}

/** A function of the package, as an object that can be written as JSON. */
interface Activation {
  apply(x: tf.Tensor): tf.Tensor;
}

/** The used part of the package, with unchecked classes. */
interface Package {
  readonly layers: {
    readonly Layer: new (config: unknown) => Layer;
    readonly RNN: { readonly prototype: { apply(inputs: unknown, kwargs?: object): unknown } };
    activation(config: { activation: unknown }): { readonly activation: Activation };
    gru(config: { units: number }): object;
    gruCell(config: { units: number }): object;
  };
  readonly initializers: Readonly<
    Record<"zeros" | "ones" | "glorotUniform", (config: object) => unknown>
  >;
  readonly regularizers: { l1l2(config: unknown): unknown };
}

const registered = new WeakSet<object>();

/** The package's own settings of any layer, which it keeps itself. */
const KEPT = new Set(["name", "trainable", "dtype", "customObjects"]);

const listOf = <T>(value: T | T[]): T[] => Array.isArray(value) ? value : [value];
const shapesOf = (shape: Extents | Extents[]): Extents[] =>
  Array.isArray(shape[0]) ? shape as Extents[] : [shape as Extents];

/** Finds the shape of a layer's result as graphs do, from what is known of its inputs'. */
function shapeOf(
  { call }: Kind,
  config: Settings,
  shapes: readonly Extents[],
  weights: readonly Weight[],
): Extents {
  return new tf.Graph().asDefault(() => {
    const y = call({
      inputs: shapes.map((shape) => tf.placeholder("float32", [...shape])),
      weights: weights.map(({ shape }) => tf.placeholder("float32", [...shape])),
      config,
      training: false,
      mask: null,
    });
    return y.staticShape!;
  });
}

/** Makes a class of the package for a kind of layers. */
function layerClass(
  { layers, initializers, regularizers }: Package,
  name: string,
  kind: Kind,
): object {
  const className = `Keras${name}`;
  return class extends layers.Layer {
    static readonly className = className;
    /** A compiled step may run it: it depends on its fields and weights alone. */
    static readonly isPure = true;
    readonly settings: Settings;
    readonly activation: Activation | null;
    variables: LayerVariable[] = [];

    constructor(config: Settings) {
      super(config);
      const { activation } = config;
      this.activation = activation ? layers.activation({ activation }).activation : null;
      this.settings = Object.fromEntries(Object.entries(config).filter(([key]) => !KEPT.has(key)));
      this.supportsMasking = true;
    }
    getClassName(): string {
      return className;
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
        const y = kind.call({
          inputs: listOf(given),
          weights: this.variables.map((v) => v.read()),
          config: this.settings,
          training: kwargs?.training === true,
          mask: (kwargs?.mask ?? null) as tf.Tensor | null,
        });
        return this.activation ? this.activation.apply(y) : y;
      });
    }
    override getConfig(): Record<string, unknown> {
      return { ...super.getConfig(), ...this.settings };
    }
  };
}

/** Fields and methods of the package's cell of a GRU. */
interface GruCell extends Layer {
  readonly units: number;
  readonly useBias: boolean;
  readonly [field: string]: unknown;
}

/** Makes the classes of a GRU and its cell as Keras has them: the reset gate acts after the product. */
function gruClasses({ layers }: Package): object[] {
  const Cell = layers.gruCell({ units: 1 }).constructor as new (config: unknown) => GruCell;
  const activate = (cell: GruCell, name: string, x: tf.Tensor): tf.Tensor =>
    (cell[name] as Activation).apply(x);
  class KerasGRUCell extends Cell {
    static readonly className = "KerasGRUCell";
    static readonly isPure = true;

    constructor(config: Record<string, unknown>) {
      super({ ...config, resetAfter: false });
    }
    getClassName(): string {
      return "KerasGRUCell";
    }
    build(shape: Extents | Extents[]): void {
      const extent = shapesOf(shape)[0].at(-1)!,
        width = 3 * this.units,
        fields = this as Record<string, unknown>;
      const add = (name: string, extents: number[], part: string): LayerVariable =>
        this.addWeight(
          name,
          extents,
          "float32",
          this[`${part}Initializer`],
          this[`${part}Regularizer`],
          true,
          this[`${part}Constraint`],
        );
      fields.kernel = add("kernel", [extent, width], "kernel");
      fields.recurrentKernel = add("recurrent_kernel", [this.units, width], "recurrent");
      fields.bias = this.useBias ? add("bias", [2, width], "bias") : null;
      this.built = true;
    }
    call([x, h]: tf.Tensor[], kwargs: Record<string, unknown>): tf.Tensor[] {
      if (kwargs.training && (Number(this.dropout) > 0 || Number(this.recurrentDropout) > 0)) {
        throw new FailedPreconditionError(
          `Cannot train layer ${this.name}: dropout in a GRU with reset_after is not supported`,
        );
      }
      return tf.tidy(() => {
        const of = (name: string): tf.Tensor => (this[name] as LayerVariable).read();
        const [bias, recurrentBias] = this.useBias ? tf.unstack(of("bias")) : [0, 0];
        const [z, r, n] = tf.split(tf.add(tf.matMul(x, of("kernel")), bias), 3, 1);
        const inner = tf.add(tf.matMul(h, of("recurrentKernel")), recurrentBias);
        const [hz, hr, hn] = tf.split(inner, 3, 1);
        const update = activate(this, "recurrentActivation", tf.add(z, hz));
        const reset = activate(this, "recurrentActivation", tf.add(r, hr));
        const fresh = activate(this, "activation", tf.add(n, tf.mul(reset, hn)));
        const next = tf.add(tf.mul(update, h), tf.mul(tf.sub(1, update), fresh));
        return [next, next];
      });
    }
  }
  const Whole = layers.gru({ units: 1 }).constructor as new (
    config: unknown,
  ) => Layer & { cell: object };
  class KerasGRU extends Whole {
    static readonly className = "KerasGRU";
    static readonly isPure = true;

    constructor(config: Record<string, unknown>) {
      const { batchInputShape: _, name, ...rest } = config;
      super({ ...config, resetAfter: false });
      this.cell = new KerasGRUCell(name === undefined ? rest : { ...rest, name: `${name}_cell` });
    }
    getClassName(): string {
      return "KerasGRU";
    }
  }
  return [KerasGRUCell, KerasGRU];
}

/** Lets each recurrent layer of a model have initial states of its own: the package hands those of one on to the next. */
function keepStatesApart({ layers: { RNN } }: Package): void {
  const { apply } = RNN.prototype;
  RNN.prototype.apply = function (inputs, kwargs) {
    return apply.call(
      this,
      inputs,
      Array.isArray(inputs) && inputs.length > 1 ? { ...kwargs } : kwargs,
    );
  };
}

/**
 * Registers the layers and activations of Keras that the package lacks, so that its `loadLayersModel` makes them by the
 * names that {@linkcode layersTopology} writes. Does nothing for a package that has them.
 */
export function registerKerasLayers(tfl: object): void {
  if (registered.has(tfl)) return;
  const given = tfl as unknown as Partial<Package>;
  if (typeof given?.layers?.Layer !== "function" || typeof given.layers.gruCell !== "function") {
    throw new TypeError(
      `Cannot register Keras' layers: tfl must be the package @tensorflow/tfjs-layers or @tensorflow/tfjs, received ${
        describe(tfl)
      }`,
    );
  }
  registered.add(tfl);
  const all = given as Package;
  const register = (cls: object) =>
    registerClass(cls as unknown as SerializableConstructor<Serializable>);
  for (const [name, kind] of Object.entries(KINDS)) register(layerClass(all, name, kind));
  gruClasses(all).forEach(register);
  keepStatesApart(all);
  for (const [className, apply] of Object.entries(ACTIVATIONS)) {
    register(
      class extends Serializable {
        static readonly className = className;
        static readonly isPure = true;
        apply(x: tf.Tensor): tf.Tensor {
          return tf.tidy(() => apply(x));
        }
        override getConfig(): Record<string, never> {
          return {};
        }
      },
    );
  }
}
