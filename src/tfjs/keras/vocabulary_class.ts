/** Layers with a vocabulary, which data can teach them. */
import * as tf from "../../../mod.ts";
import { FailedPreconditionError, ValueError } from "../../engine/core/errors.ts";
import { describe } from "../../engine/core/text.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import type { Json, Settings } from "../layers/keras_json.ts";
import type { KindLayer } from "./layer_class.ts";
import type { Kind, Tokens } from "./layer_kinds.ts";
import {
  depthOf,
  listed,
  type Vocabulary,
  vocabularyOf,
  type Word,
  WordCounts,
} from "./vocabulary.ts";

/** Data that teaches a layer its words: a tensor or a list of all examples, or batches of them, as a dataset gives. */
export type AdaptData =
  | tf.TensorLike
  | tf.RaggedTensor
  | AsyncIterable<tf.TensorLike | tf.RaggedTensor>
  | Iterable<tf.TensorLike | tf.RaggedTensor>;

/** Methods of a layer with a vocabulary. */
export interface VocabularyLayer<W extends string | number = string | number> {
  /**
   * Learns the words of data: the most frequent come first, of those that are as frequent the last in order; `maxTokens` keeps as many.
   * Reads at most `steps` batches where data comes in batches. Follows Keras. Rejects with `ValueError` where the vocabulary was given
   * with the layer, or the data has no words.
   */
  adapt(data: AdaptData, options?: { readonly steps?: number }): Promise<void>;
  /** Returns all words in the order of their numbers; `includeSpecialTokens: false` leaves those out that stand for others. */
  getVocabulary(options?: { readonly includeSpecialTokens?: boolean }): (W | null)[];
  /**
   * Gives the layer its words, and their weights for the output mode `"tf_idf"`. Throws `ValueError` for words that occur twice or stand
   * for others, `FailedPreconditionError` where results of a layer that is in use would have another width.
   */
  setVocabulary(vocabulary: readonly W[], idfWeights?: readonly number[]): void;
  /** Returns the number of words, with those that stand for others. */
  vocabularySize(): number;
}

type Class = new (config: Settings) => KindLayer;
/** Tensors of examples; `isAll` where they are all that there are, and `isOurs` where they are to be freed. */
interface Batch {
  readonly examples: tf.Tensor | tf.RaggedTensor;
  readonly isAll: boolean;
  readonly isOurs: boolean;
}

const isTensor = (x: unknown): x is tf.Tensor | tf.RaggedTensor =>
  x instanceof tf.Tensor || x instanceof tf.RaggedTensor;
const isIterable = (x: unknown): x is AsyncIterable<unknown> | Iterable<unknown> =>
  typeof x === "object" && x !== null && (Symbol.asyncIterator in x || Symbol.iterator in x);

/** Reads data batch by batch. */
async function* batches(
  data: AdaptData,
  dtype: "string" | "int32",
  steps: number,
): AsyncGenerator<Batch> {
  const made = (x: unknown): Omit<Batch, "isAll"> => {
    if (isTensor(x)) return { examples: x, isOurs: false };
    const isList = Array.isArray(x) || ArrayBuffer.isView(x) || x instanceof tf.NdArray;
    if (!isList && typeof x !== "string" && typeof x !== "number") {
      throw new TypeError(
        `Cannot adapt a layer: data must be tensors, lists or batches of them, received ${
          describe(x)
        }`,
      );
    }
    return { examples: tf.tensor(x as tf.TensorLike, undefined, dtype), isOurs: true };
  };
  const isBatches = isIterable(data) && !isTensor(data) && !Array.isArray(data) &&
    !ArrayBuffer.isView(data) && !(data instanceof tf.NdArray);
  if (!isBatches) return yield { ...made(data), isAll: true };
  let count = 0;
  if (steps <= 0) return;
  for await (const x of data as AsyncIterable<unknown>) {
    yield { ...made(x), isAll: false, ...data instanceof tf.data.Dataset ? { isOurs: true } : {} };
    if (++count >= steps) return;
  }
}

/** Lists the words of each document. */
async function documents(
  { examples, isAll }: Batch,
  split: (x: tf.Tensor) => Tokens,
): Promise<Word[][]> {
  const isRagged = examples instanceof tf.RaggedTensor;
  const tokens = isRagged ? examples : tf.tidy(() => {
    const { length: rank } = examples.staticShape!;
    return split(isAll && rank === 1 ? tf.expandDims(examples, 1) : examples) as tf.Tensor;
  });
  try {
    const rows = await tokens.array() as unknown;
    // A batch without rows is one document.
    const { length: rank } = isRagged ? [0, 0] : (tokens as tf.Tensor).staticShape ?? [0, 0];
    return rank < 2
      ? [[rows].flat() as Word[]]
      : (rows as unknown[]).map((row) => [row].flat(Infinity) as Word[]);
  } finally {
    if (!isRagged) tf.dispose(tokens);
  }
}

/** Gives a class of layers the methods of a vocabulary. */
export function vocabularyClass(Base: Class, { of, tokens }: NonNullable<Kind["words"]>): Class {
  return class extends Base implements VocabularyLayer {
    constructor(config: Settings) {
      super(config);
      const { vocabulary, hasInputVocabulary = vocabulary !== null && vocabulary !== undefined } =
        this.settings;
      this.settings = { ...this.settings, hasInputVocabulary };
    }
    #replace(vocabulary: Vocabulary): void {
      const { lookup, vocabulary: before } = of(this.settings), size = depthOf(lookup, vocabulary);
      const wide = before ? depthOf(lookup, before) : this.settings.vocabularySize;
      if (
        this.built && wide !== undefined && wide !== null && lookup.mode !== "int" && wide !== size
      ) {
        throw new FailedPreconditionError(
          `Cannot change the vocabulary of layer ${this.name}: its results are ${wide} wide and in use, with ${size} words they would not be`,
        );
      }
      this.settings = {
        ...this.settings,
        vocabulary: listed(lookup, vocabulary) as Json[],
        idfWeights: vocabulary.weights as Json[] | null,
        vocabularySize: size,
      };
    }
    getVocabulary(
      { includeSpecialTokens = true }: { includeSpecialTokens?: boolean } = {},
    ): (Word | null)[] {
      const { lookup: { special }, vocabulary } = of(this.settings),
        words = vocabulary?.words ?? [];
      return includeSpecialTokens ? [...special, ...words] : [...words];
    }
    vocabularySize(): number {
      return this.getVocabulary().length;
    }
    setVocabulary(vocabulary: readonly Word[], idfWeights?: readonly number[]): void {
      this.#replace(vocabularyOf(of(this.settings).lookup, vocabulary, idfWeights ?? null));
    }
    async adapt(data: AdaptData, { steps = Infinity }: { steps?: number } = {}): Promise<void> {
      if (this.settings.hasInputVocabulary === true) {
        throw new ValueError(`Cannot adapt layer ${this.name}: its vocabulary was given with it`);
      }
      const { lookup } = of(this.settings), counts = new WordCounts();
      for await (const batch of batches(data, lookup.dtype, steps)) {
        try {
          const split = (x: tf.Tensor): Tokens => tokens(x, this.settings);
          for (const words of await documents(batch, split)) counts.add(words);
        } finally {
          if (batch.isOurs) tf.dispose(batch.examples);
        }
      }
      this.#replace(counts.vocabulary(lookup));
    }
  };
}
