/** Classes of layers for a program's copy of `tfjs-layers`, made once for each. */
import * as tf from "../../../mod.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { describe } from "../../engine/core/text.ts";
import {
  registerClass,
  Serializable,
  type SerializableConstructor,
} from "../core/serialization.ts";
import { ACTIVATIONS } from "./activations.ts";
import { layerClass, shapesOf } from "./layer_class.ts";
import type { Extents, Settings } from "./layer_kinds.ts";
import { KINDS } from "./own_layers.ts";
import type { Activation, Layer, LayerVariable, Package } from "./package.ts";
import { reversibleEmbeddingClasses } from "./reversible_embedding.ts";
import { drawingFrom, dropped, sourceOf } from "./augment/seeded.ts";
import { spectralNormalizationClass } from "./spectral_normalization.ts";
import { vocabularyClass } from "./vocabulary_class.ts";

type LayerClass = new (config: Settings) => object;

/** The classes of each package by the names of Keras. */
const registered = new WeakMap<object, ReadonlyMap<string, LayerClass>>();

/** Fields and methods of the package's cell of a GRU. */
interface GruCell extends Layer {
  readonly units: number;
  readonly useBias: boolean;
  readonly [field: string]: unknown;
}

/** Parts of a vector's product for the three gates: through one mask, or through one for each. */
function gates(
  x: tf.Tensor,
  kernel: tf.Tensor,
  bias: tf.TensorLike,
  masks: readonly tf.Tensor[],
): tf.Tensor[] {
  if (masks.length < 2) {
    const given = masks.length === 0 ? x : tf.mul(x, masks[0]);
    return tf.split(tf.add(tf.matMul(given, kernel), bias), 3, 1);
  }
  const kernels = tf.split(kernel, 3, 1);
  const products = kernels.map((part, i) => tf.matMul(tf.mul(x, masks[i]), part));
  return tf.split(tf.add(tf.concat(products, 1), bias), 3, 1);
}

/** Makes the classes of a GRU and its cell as Keras has them: the reset gate acts after the product. */
function gruClasses({ layers }: Package): object[] {
  const Cell = layers.gruCell({ units: 1 }).constructor as new (config: unknown) => GruCell;
  const activate = (cell: GruCell, name: string, x: tf.Tensor): tf.Tensor =>
    (cell[name] as Activation).apply(x);
  class KerasGRUCell extends Cell {
    static readonly className = "KerasGRUCell";
    static readonly isPure = true;
    readonly #seed: unknown;
    readonly #source: tf.random.Generator | null;

    constructor(config: Record<string, unknown>) {
      super({ ...config, resetAfter: false });
      this.#seed = config.seed;
      this.#source = sourceOf(config as Settings);
    }
    override getConfig(): Record<string, unknown> {
      return { ...super.getConfig(), seed: this.#seed ?? null };
    }
    override dispose(): { refCountAfterDispose: number } {
      this.#source?.dispose();
      return super.dispose();
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
    /** Masks of a sequence, as many as Keras draws; the package's layer forgets them before each. */
    #mask(
      field: "dropoutMask" | "recurrentDropoutMask",
      like: tf.Tensor,
      count: number,
    ): tf.Tensor[] {
      const fields = this as Record<string, unknown>;
      const rate = Number(this[field === "dropoutMask" ? "dropout" : "recurrentDropout"]);
      if (!(rate > 0 && rate < 1)) return [];
      fields[field] ??= Array.from(
        { length: count },
        () => drawingFrom(this.#source, () => tf.keep(dropped(tf.onesLike(like), rate))),
      );
      return fields[field] as tf.Tensor[];
    }
    call([x, h]: tf.Tensor[], kwargs: Record<string, unknown>): tf.Tensor[] {
      return tf.tidy(() => {
        const of = (name: string): tf.Tensor => (this[name] as LayerVariable).read();
        const [bias, recurrentBias] = this.useBias ? tf.unstack(of("bias")) : [0, 0];
        // A mask for each gate, where the state is dropped, or as the configuration says.
        const isApart = Number(this.recurrentDropout) > 0 || this.implementation === 1;
        const count = isApart ? 3 : 1, isTraining = kwargs.training === true;
        const masks = isTraining ? this.#mask("dropoutMask", x, count) : [];
        const stateMasks = isTraining ? this.#mask("recurrentDropoutMask", h, count) : [];
        const [z, r, n] = gates(x, of("kernel"), bias, masks);
        const [hz, hr, hn] = gates(h, of("recurrentKernel"), recurrentBias, stateMasks);
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
 *
 * @example
 * ```ts ignore
 * import { registerKerasLayers } from "@weft/weft/keras";
 * import * as tfl from "@tensorflow/tfjs-layers";
 * registerKerasLayers(tfl);
 * console.log(typeof tfl.loadLayersModel); // function
 * ```
 */
export function registerKerasLayers(tfl: object): void {
  classesOf(tfl);
}

/** Returns the classes of layers by the names of Keras, registered first where they are not. Throws `TypeError` for another package. */
export function classesOf(tfl: object): ReadonlyMap<string, LayerClass> {
  const known = registered.get(tfl);
  if (known) return known;
  const given = tfl as unknown as Partial<Package>;
  if (typeof given?.layers?.Layer !== "function" || typeof given.layers.gruCell !== "function") {
    throw new TypeError(
      `Cannot register Keras' layers: tfl must be the package @tensorflow/tfjs-layers or @tensorflow/tfjs, received ${
        describe(tfl)
      }`,
    );
  }
  const all = given as Package, classes = new Map<string, LayerClass>();
  registered.set(tfl, classes);
  const register = (cls: object) =>
    registerClass(cls as unknown as SerializableConstructor<Serializable>);
  for (const [name, kind] of Object.entries(KINDS)) {
    const made = layerClass(all, name, kind);
    classes.set(name, kind.words ? vocabularyClass(made, kind.words) : made);
    register(classes.get(name)!);
  }
  const more = [spectralNormalizationClass(all), ...reversibleEmbeddingClasses(all)];
  [...gruClasses(all), ...more].forEach(register);
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
  return classes;
}
