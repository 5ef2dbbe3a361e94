/** `kerasLayers`: layers of Keras that `tfjs-layers` lacks, for models that a program makes itself. */
import { describe } from "../../engine/core/text.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import type { Settings } from "../layers/keras_json.ts";
import { classesOf } from "./register.ts";
import type { VocabularyLayer } from "./vocabulary_class.ts";

/** Settings of any layer. */
export interface KerasLayerConfig {
  /** Name of the layer. Default: its class and a number. */
  readonly name?: string;
  /** Shape of an example, for the first layer of a sequential model. */
  readonly inputShape?: readonly (number | null)[];
  /** Shape of a batch of examples, in the place of `inputShape`. */
  readonly batchInputShape?: readonly (number | null)[];
  /** Dtype of the input, for the first layer of a sequential model. Default: as the layer takes it. */
  readonly dtype?: "float32" | "int32" | "string";
}

/** Encodings of numbers: as they are, one by one, or for each row which there are, how many, or how much they say. */
export type KerasOutputMode = "int" | "oneHot" | "multiHot" | "count" | "tfIdf";

/** Settings of `StringLookup` and `IntegerLookup`; those that are left out are Keras's. */
export interface LookupConfig<W extends string | number> extends KerasLayerConfig {
  /** Most words, with those that stand for others. Default: no bound. */
  readonly maxTokens?: number | null;
  /** Number of places for unknown words, among which their hash chooses; with 0 they throw. Default: 1. */
  readonly numOovIndices?: number;
  /** Word that is masked: 0 in the output mode `"int"`, no word in others. Default: null. */
  readonly maskToken?: W | null;
  /** Word that stands for unknown ones. Default: `"[UNK]"`, -1. */
  readonly oovToken?: W;
  /** The words, in the order of their numbers. */
  readonly vocabulary?: readonly W[];
  /** Weights of the words, which the output mode `"tfIdf"` wants beside `vocabulary`. */
  readonly idfWeights?: readonly number[];
  /** True to make words of numbers. */
  readonly invert?: boolean;
  /** Default: `"int"`. */
  readonly outputMode?: KerasOutputMode;
  /** True for results that are as wide as `maxTokens`. */
  readonly padToMaxTokens?: boolean;
  /** Key of the hash of unknown words. Default: a hash without a key. */
  readonly salt?: number | readonly [number, number];
  /** Place of unknown whole numbers: by their remainder, or by their hash. Default: `"floormod"`. */
  readonly oovMethod?: "floormod" | "farmhash";
}

/** Settings of `TextVectorization`; those that are left out are Keras's. */
export interface TextVectorizationConfig extends KerasLayerConfig {
  /** Most words, with those that stand for others. Default: no bound. */
  readonly maxTokens?: number | null;
  /** Change of texts before they are split. Default: `"lowerAndStripPunctuation"`. */
  readonly standardize?: "lowerAndStripPunctuation" | "lower" | "stripPunctuation" | null;
  /** Places at which texts are split. Default: `"whitespace"`. */
  readonly split?: "whitespace" | "character" | null;
  /** Runs of words become words: of up to as many, or of these numbers. Default: each word alone. */
  readonly ngrams?: number | readonly number[] | null;
  /** Default: `"int"`. */
  readonly outputMode?: Exclude<KerasOutputMode, "oneHot">;
  /** Number of words of each row of the output mode `"int"`: others are cut off, or 0. Default: as many as the longest has. */
  readonly outputSequenceLength?: number | null;
  /** True for results that are as wide as `maxTokens`. */
  readonly padToMaxTokens?: boolean;
  /** The words, in the order of their numbers. */
  readonly vocabulary?: readonly string[];
  /** Weights of the words, which the output mode `"tfIdf"` wants beside `vocabulary`. */
  readonly idfWeights?: readonly number[];
}

/** Settings of `Hashing`. */
export interface HashingConfig extends KerasLayerConfig {
  /** Number of bins. */
  readonly numBins: number;
  /** Value that has bin 0 for itself. Default: none. */
  readonly maskValue?: string | number | null;
  /** Key of the hash. Default: a hash without a key. */
  readonly salt?: number | readonly [number, number];
  /** Default: `"int"`. */
  readonly outputMode?: Exclude<KerasOutputMode, "tfIdf">;
}

/** Functions that make layers. */
export interface KerasLayers<L> {
  /** Numbers of words, or words of numbers. Input of strings, or int32 with `invert`. */
  stringLookup(config?: LookupConfig<string>): L & VocabularyLayer<string>;
  /** Numbers of whole numbers, counted from 0 on, or the reverse. Input of int32. */
  integerLookup(config?: LookupConfig<number>): L & VocabularyLayer<number>;
  /** Numbers of the words of texts. Input of strings of shape `[batch]` or `[batch, 1]`. */
  textVectorization(config?: TextVectorizationConfig): L & VocabularyLayer<string>;
  /** Bins of values by their hash. Input of strings or numbers. */
  hashing(config: HashingConfig): L;
}

const ANY = "name inputShape batchInputShape batchSize dtype inputDType trainable";
const LOOKUP =
  "maxTokens numOovIndices maskToken oovToken vocabulary idfWeights invert outputMode padToMaxTokens salt oovMethod";
/** Settings by the function that makes the layer. */
const SETTINGS: Readonly<Record<keyof KerasLayers<unknown>, string>> = {
  stringLookup: LOOKUP,
  integerLookup: LOOKUP,
  textVectorization:
    "maxTokens standardize split ngrams outputMode outputSequenceLength padToMaxTokens vocabulary idfWeights",
  hashing: "numBins maskValue salt outputMode",
};

/**
 * Makes the functions that make layers of Keras which `tfjs-layers` lacks, for a program's copy of it over `@weft/weft/tfjs-core`. They
 * are `StringLookup`, `IntegerLookup`, `TextVectorization` and `Hashing` of Keras 3: their numbers, hashes and order of words are the
 * same. `adapt` learns the words of data. Throws `TypeError` for another package, for unknown settings and words of another dtype,
 * `ValueError` for settings that contradict each other; layers throw `FailedPreconditionError` without a vocabulary.
 *
 * @example
 * ```ts ignore
 * import * as tf from "@tensorflow/tfjs-core";
 * import * as tfl from "@tensorflow/tfjs-layers";
 * import { kerasLayers } from "@weft/weft/keras";
 * const text = kerasLayers(tfl).textVectorization({ inputShape: [1], outputSequenceLength: 4 });
 * await text.adapt(["the cat sat", "the dog"]);
 * const model = tfl.sequential({ layers: [text, tfl.layers.embedding({ inputDim: 6, outputDim: 2 })] });
 * console.log(text.getVocabulary()); // ["", "[UNK]", "the", "sat", "dog", "cat"]
 * console.log(model.predict(tf.tensor([["The cat!"]])).shape); // [1, 4, 2]
 * ```
 */
export function kerasLayers<L>(
  tfl: { readonly layers: { readonly Layer: abstract new (...config: never[]) => L } },
): KerasLayers<L> {
  const classes = classesOf(tfl);
  const made = Object.entries(SETTINGS).map(([fn, own]) => {
    const known = new Set(`${ANY} ${own}`.split(" ")), name = fn[0].toUpperCase() + fn.slice(1);
    return [fn, (config: Settings = {}) => {
      if (typeof config !== "object" || config === null) {
        throw new TypeError(`Settings of ${fn} must be an object, received ${describe(config)}`);
      }
      const other = Object.keys(config).find((key) => !known.has(key));
      if (other !== undefined) {
        throw new TypeError(
          `Unknown setting "${other}" of ${fn}: it takes ${own.replaceAll(" ", ", ")}`,
        );
      }
      return new (classes.get(name)!)(config);
    }];
  });
  return Object.fromEntries(made);
}
