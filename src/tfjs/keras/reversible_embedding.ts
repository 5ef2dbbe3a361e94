/** Embeddings of Keras whose vectors also score all words, by the same weights (O. Press and L. Wolf, "Using the output embedding to improve language models", 2016). */
import * as tf from "../../../mod.ts";
import { FailedPreconditionError, UnimplementedError } from "../../engine/core/errors.ts";
import { type KindLayer, layerClass } from "./layer_class.ts";
import type { Extents, Kind, Settings } from "./layer_kinds.ts";
import type { Package } from "./package.ts";

const isTied = ({ tieWeights }: Settings): boolean => tieWeights !== false;

const ahead: Kind = {
  check({ maskZero, name }) {
    if (maskZero !== true) return;
    throw new UnimplementedError(`Cannot make layer ${name}: mask_zero is not supported`);
  },
  weights(config) {
    const [words, width] = [Number(config.inputDim), Number(config.outputDim)];
    return [
      { name: "embeddings", shape: [words, width] },
      ...(isTied(config) ? [] : [{ name: "reverse_embeddings", shape: [width, words] }]),
    ];
  },
  call: ({ inputs: [x], weights: [table] }) => tf.gather(table, tf.cast(x, "int32")),
};

const reversed: Kind = {
  shape: ({ inputDim }, [shape]) => [...shape.slice(0, -1), Number(inputDim)],
  call: ({ inputs: [x] }) => x,
};

/** Makes the classes of an embedding and of its calls in reverse, which read the weights of the last embedding of their name that was made. */
export function reversibleEmbeddingClasses(tfl: Package): object[] {
  const made = new Map<string, KindLayer>();
  const Ahead = layerClass(tfl, "ReversibleEmbedding", ahead);
  const Reversed = layerClass(tfl, "ReversedEmbedding", reversed);
  return [
    class extends Ahead {
      constructor(config: Settings) {
        super(config);
        made.set(this.name, this);
      }
    },
    class extends Reversed {
      /** No compiled step runs it: it reads another layer's weights. */
      static readonly isPure = false;
      readonly source: KindLayer;

      constructor(config: Settings) {
        super(config);
        const of = this.name.replace(/_reverse$/, ""), source = made.get(of);
        if (source === undefined) {
          throw new FailedPreconditionError(
            `Cannot make layer ${this.name}: there is no layer ${of} whose weights it has`,
          );
        }
        this.source = source;
      }
      override build(shape: Extents | Extents[]): void {
        super.build(shape);
        if (!this.source.built) this.source.build(shape);
      }
      override call(given: tf.Tensor | tf.Tensor[]): tf.Tensor {
        return tf.tidy(() => {
          const [x] = [given].flat(), weights = this.source.variables.map((v) => v.read());
          const kernel = isTied(this.settings) ? tf.transpose(weights[0]) : weights[1];
          const rows = tf.reshape(x, [-1, kernel.shape[0]]);
          const logits = tf.reshape(tf.matMul(rows, kernel), [
            ...x.shape.slice(0, -1),
            kernel.shape[1],
          ]);
          const cap = Number(this.settings.logitSoftCap ?? 0);
          return cap > 0 ? tf.mul(tf.tanh(tf.div(logits, cap)), cap) : logits;
        });
      }
    },
  ];
}
