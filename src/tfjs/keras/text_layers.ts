/** Layers of Keras that look words up, split texts into words, and hash them. */
import * as tf from "../../../mod.ts";
import {
  FailedPreconditionError,
  UnimplementedError,
  ValueError,
} from "../../engine/core/errors.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { encoded, encodedShape, modeOf } from "./encoding.ts";
import {
  extent,
  type Extents,
  type Kind,
  numbers,
  type Settings,
  shapeOf,
  type Tokens,
} from "./layer_kinds.ts";
import {
  depthOf,
  type Lookup,
  lookupOf,
  saltOf,
  vocabularyOf,
  type Word,
  type WordsOf,
} from "./vocabulary.ts";

/** Finds the numbers of words, or the words of numbers. */
type Find = (x: tf.Tensor) => tf.Tensor;

/** By the settings of a layer, which are another object once it has other words. */
const known = new WeakMap<Settings, WordsOf>(), finders = new WeakMap<WordsOf, Find>();

/** Reads the vocabulary of a layer's settings. Throws as {@linkcode lookupOf} and {@linkcode vocabularyOf} do. */
function wordsOf(config: Settings, lookupFrom: (config: Settings) => Lookup): WordsOf {
  const found = known.get(config);
  if (found) return found;
  const lookup = lookupFrom(config), { vocabulary: words, idfWeights: weights } = config;
  const vocabulary = words === null || words === undefined ? null : vocabularyOf(
    lookup,
    words as Word[],
    weights === null || weights === undefined ? null : numbers(weights),
  );
  const made = { lookup, vocabulary };
  known.set(config, made);
  return made;
}

/** Number of places of a result; as the settings tell it before there are words. Throws `FailedPreconditionError` where they do not. */
function depthFrom({ lookup, vocabulary }: WordsOf, { vocabularySize }: Settings): number {
  if (vocabulary) return depthOf(lookup, vocabulary);
  if (lookup.isPadded) return lookup.most!;
  if (typeof vocabularySize === "number") return vocabularySize;
  throw noWords(lookup);
}

const noWords = ({ name }: Lookup): Error =>
  new FailedPreconditionError(
    `Cannot use layer ${name}: it has no vocabulary, give it one, adapt it or load it from a .keras archive`,
  );

/** A function from words to their numbers, by a table on the host. */
function textFinder({ lookup, words }: { lookup: Lookup; words: readonly Word[] }): Find {
  const { special, oovCount, mask, mode, isInverse, oov, name } = lookup;
  const first = special.length, size = first + words.length;
  const places = Array.from(words, (_, i) => i + first), all = [...words];
  // Masked words have the number 0 where numbers are the result, and none elsewhere.
  if (mask !== null) {
    all.push(mask);
    places.push(mode === "int" ? 0 : Math.max(size, lookup.most ?? 0));
  }
  const table = (keys: readonly Word[], values: readonly Word[], missing: Word) => {
    const dtypes = isInverse
      ? { keyDtype: "int64", valueDtype: lookup.dtype === "string" ? "string" : "int64" } as const
      : { keyDtype: "string", valueDtype: "int64" } as const;
    const rows = new tf.lookup.KeyValueTensorInitializer([...keys], [...values], dtypes);
    return new tf.lookup.StaticHashTable(rows, missing);
  };
  if (isInverse) {
    const texts = table(places, all, oov!);
    return (x) => texts.lookup(tf.cast(x, "int64"));
  }
  const numbered = table(all, places, oovCount === 1 ? first - 1 : -1);
  return (x) => {
    const found = numbered.lookup(x);
    if (oovCount === 0) {
      const isKnown = tf.greaterEqual(found, tf.cast(0, "int64"));
      const text =
        `Cannot run layer ${name}: it has no numOovIndices for words that it does not know, among`;
      tf.debugging.assert(tf.all(isKnown), [text, x], { summarize: 10 });
    }
    const ids = tf.cast(found, "int32");
    return oovCount < 2 ? ids : tf.where(tf.less(ids, 0), unknown(x, lookup), ids);
  };
}

/** The places of unknown words. */
function unknown(x: tf.Tensor, { salt, isHashed, oovCount, special }: Lookup): tf.Tensor {
  const texts = x.dtype === "string" || !isHashed ? x : tf.strings.asString(x);
  const bucket = !isHashed
    ? tf.mod(x, oovCount)
    : salt
    ? tf.strings.toHashBucketStrong(texts, oovCount, salt)
    : tf.strings.toHashBucketFast(texts, oovCount);
  return tf.add(bucket, special.length - oovCount);
}

/** A function from whole numbers to their places among the words, on the device that has them. */
function numberFinder({ lookup, words }: { lookup: Lookup; words: readonly Word[] }): Find {
  const { special, oovCount, mask, mode, most, name } = lookup, first = special.length;
  const hidden = mode === "int" ? 0 : Math.max(first + words.length, most ?? 0);
  const pairs = words.map((word, i) => [Number(word), i + first]);
  if (mask !== null) pairs.push([Number(mask), hidden]);
  pairs.sort(([a], [b]) => a - b);
  const [keys, places] = [0, 1].map((i) => Int32Array.from(pairs, (pair) => pair[i]));
  return (x) => {
    const given = tf.cast(x, "int32"),
      rest = oovCount === 1 ? tf.scalar(first - 1, "int32") : unknownOr(given);
    if (keys.length === 0) return tf.add(tf.zerosLike(given), rest);
    const flat = tf.reshape(given, [-1]), sorted = tf.tensor(keys);
    const at = tf.minimum(tf.lowerBound(sorted, flat), keys.length - 1);
    const shape = shapeOf(given).map(extent), back = (t: tf.Tensor) => tf.reshape(t, shape);
    const isKnown = back(tf.equal(tf.gather(sorted, at), flat));
    if (oovCount === 0) {
      const text =
        `Cannot run layer ${name}: it has no numOovIndices for words that it does not know, among`;
      tf.debugging.assert(tf.all(isKnown), [text, given], { summarize: 10 });
    }
    return tf.where(isKnown, back(tf.gather(tf.tensor(places), at)), rest);
  };
  function unknownOr(given: tf.Tensor): tf.Tensor {
    return oovCount === 0 ? tf.zerosLike(given) : unknown(given, lookup);
  }
}

/** Finds the numbers of words, or the words of numbers. */
function found(x: tf.Tensor, words: WordsOf): tf.Tensor {
  const { lookup, vocabulary } = words, isText = lookup.dtype === "string" && !lookup.isInverse;
  if (vocabulary === null) throw noWords(lookup);
  if ((x.dtype === "string") !== isText || x.dtype === "complex64") {
    throw new TypeError(
      `Cannot run layer ${lookup.name}: its input must be ${
        isText ? "strings" : "whole numbers"
      }, received ${x.dtype}`,
    );
  }
  let find = finders.get(words);
  if (find === undefined) {
    const make = isText || lookup.isInverse ? textFinder : numberFinder;
    finders.set(words, find = make({ lookup, words: vocabulary.words }));
  }
  return find(x);
}

/** Encodes the numbers of words. */
function result(ids: tf.Tensor, words: WordsOf): tf.Tensor {
  const { lookup: { mode, name }, lookup, vocabulary } = words;
  const depth = depthOf(lookup, vocabulary!), isWeighted = mode === "tf_idf";
  const y = encoded(ids, { mode: isWeighted ? "count" : mode, depth, name });
  return isWeighted ? tf.mul(y, tf.tensor([...vocabulary!.weights!])) : y;
}

/** A kind of layers that look words up. */
function lookupKind(dtype: Lookup["dtype"]): Kind {
  const words = (config: Settings): WordsOf => wordsOf(config, (c) => lookupOf(c, dtype));
  return {
    input: ({ invert }) => invert === true ? "int32" : dtype,
    output: ({ invert }) => invert === true ? dtype : undefined,
    shape(config, [shape]) {
      const { lookup: { mode } } = words(config);
      return mode === "int"
        ? shape
        : encodedShape(shape, { mode, depth: depthFrom(words(config), config) });
    },
    call({ inputs: [x], config }) {
      const own = words(config), y = found(x, own);
      return own.lookup.mode === "int" ? y : result(y, own);
    },
    check: words,
    words: { of: words, tokens: tf.clone },
  };
}

const PUNCTUATION = "[!\"#$%&()*+,\\-./:;<=>?@[\\\\\\]^_`{|}~']";
const STANDARDS = new Set(["none", "lower", "strip_punctuation", "lower_and_strip_punctuation"]);
const SPLITS = new Set(["none", "whitespace", "character"]);

/** A setting of texts that may be none, or a function in Python. */
function choice(config: Settings, key: "standardize" | "split", all: ReadonlySet<string>): string {
  const value = config[key];
  const chosen = value === undefined
    ? [...all].at(key === "split" ? 1 : -1)!
    : value === null
    ? "none"
    : modeOf(value);
  if (all.has(chosen)) return chosen;
  throw new UnimplementedError(
    `Cannot make layer ${config.name}: ${key} ${JSON.stringify(value)} is not supported, wanted ${
      [...all].join(", ")
    }`,
  );
}

/** Puts each character in a string of its own. */
function characters(x: tf.Tensor): tf.RaggedTensor {
  const codes = tf.strings.unicodeDecode(x, "UTF-8") as tf.RaggedTensor;
  const each = tf.RaggedTensor.fromRowLengths(codes.values, tf.onesLike(codes.values as tf.Tensor));
  return tf.RaggedTensor.fromRowSplits(tf.strings.unicodeEncode(each, "UTF-8"), codes.rowSplits);
}

/** Splits texts into the tokens of each. Throws `ValueError` for another shape, `TypeError` for what is no text. */
function tokensOf(x: tf.Tensor, config: Settings): Tokens {
  if (x.dtype !== "string") {
    throw new TypeError(
      `Cannot run layer ${config.name}: its input must be strings, received ${x.dtype}`,
    );
  }
  const standard = choice(config, "standardize", STANDARDS),
    split = choice(config, "split", SPLITS);
  let texts = standard.startsWith("lower") ? tf.strings.lower(x) : x, tokens: Tokens;
  if (standard.endsWith("punctuation")) texts = tf.strings.regexReplace(texts, PUNCTUATION, "");
  if (split === "none") tokens = texts;
  else {
    const shape = shapeOf(x), { length: rank } = shape;
    if (rank !== 1 && !(rank === 2 && shape[1] === 1)) {
      throw new ValueError(
        `Cannot run layer ${config.name}: texts to split must have shape [batch] or [batch, 1], received [${shape}]`,
      );
    }
    const column = rank === 2 ? tf.squeeze(texts, [1]) : texts;
    tokens = split === "character"
      ? characters(column)
      : tf.strings.split(column) as tf.RaggedTensor;
  }
  const widths = config.ngrams;
  if (widths === null || widths === undefined) return tokens;
  const all = typeof widths === "number"
    ? Array.from({ length: widths }, (_, i) => i + 1)
    : numbers(widths);
  if (tokens instanceof tf.RaggedTensor) return tf.strings.ngrams(tokens, all);
  return tf.strings.ngrams(tf.RaggedTensor.fromTensor(tokens), all).toTensor({ defaultValue: "" });
}

/** The settings of a lookup of tokens: no token, which pads, is masked. */
function tokenLookup(config: Settings): Lookup {
  const { name, maxTokens, outputMode, padToMaxTokens, outputSequenceLength: length, ngrams } =
    config;
  const given = { name, maxTokens, outputMode, padToMaxTokens, maskToken: "" };
  const lookup = lookupOf(given, "string"), { mode } = lookup;
  const refuse = (why: string) => new ValueError(`Cannot make layer ${name}: ${why}`);
  choice(config, "standardize", STANDARDS);
  const isRagged = choice(config, "split", SPLITS) !== "none";
  if (config.ragged === true || mode === "one_hot" && isRagged) {
    throw new UnimplementedError(`Cannot make layer ${name}: ragged results are not supported`);
  }
  const isNone = length === null || length === undefined;
  if (!isNone && (mode !== "int" || !(Number.isInteger(length) && Number(length) > 0))) {
    throw refuse(
      `outputSequenceLength must be a whole number, with outputMode "int" alone, received ${length}`,
    );
  }
  const widths = ngrams === null || ngrams === undefined ? [] : [ngrams].flat();
  if (!widths.every((n) => Number.isInteger(n) && Number(n) > 0)) {
    throw refuse(
      `ngrams must be a whole number or a list of them, received ${JSON.stringify(ngrams)}`,
    );
  }
  return lookup;
}

const words = (config: Settings): WordsOf => wordsOf(config, tokenLookup);

/** Steps of a result of numbers: as many as there are tokens in the longest text where nothing says so. */
const stepsOf = ({ outputSequenceLength: length }: Settings): number | null =>
  typeof length === "number" ? length : null;

const vectorized: Kind = {
  input: () => "string",
  shape(config, [shape]): Extents {
    const own = words(config), { mode } = own.lookup, steps = stepsOf(config);
    const tokens = config.split === null && shape.length > 1 ? shape : [shape[0], null];
    if (mode === "int") return steps === null ? tokens : [...tokens.slice(0, -1), steps];
    return encodedShape(tokens, { mode, depth: depthFrom(own, config) });
  },
  call({ inputs: [x], config }) {
    const own = words(config), { mode } = own.lookup, steps = stepsOf(config);
    const tokens = tokensOf(x, config);
    const depth = own.vocabulary ? depthOf(own.lookup, own.vocabulary) : 0;
    const ids = tokens instanceof tf.RaggedTensor
      ? tokens.map((flat) => found(flat, own)).toTensor({
        defaultValue: mode === "int" ? 0 : depth,
      })
      : found(tokens, own);
    if (mode !== "int") return result(ids, own);
    if (steps === null) return ids;
    const before = shapeOf(ids).slice(0, -1);
    const wide = tf.pad(ids, [...before.map((): [number, number] => [0, 0]), [0, steps]]);
    return tf.slice(wide, [...before.map(() => 0), 0], [...before.map(() => -1), steps]);
  },
  check: words,
  words: { of: words, tokens: tokensOf },
};

/** Bins of hashes: their number, which may count one of masked values. */
function binsOf({ numBins, maskValue, name }: Settings): { bins: number; isMasked: boolean } {
  if (!(Number.isInteger(numBins) && Number(numBins) > 0)) {
    throw new ValueError(
      `Cannot make layer ${name}: numBins must be a whole number of at least 1, received ${numBins}`,
    );
  }
  const isMasked = maskValue !== null && maskValue !== undefined && Number(numBins) > 1;
  return { bins: Number(numBins) - Number(isMasked), isMasked };
}

/** The bin of each value. */
function hashed(x: tf.Tensor, config: Settings): tf.Tensor {
  const { bins, isMasked } = binsOf(config), salt = saltOf(config.salt, String(config.name));
  const { maskValue } = config;
  if (isMasked && (typeof maskValue === "string") !== (x.dtype === "string")) {
    throw new TypeError(
      `Cannot run layer ${config.name}: its input is ${x.dtype}, and maskValue ${
        JSON.stringify(maskValue)
      }`,
    );
  }
  const whole = x.dtype === "float32" ? tf.cast(x, "int64") : x;
  const texts = x.dtype === "string" ? x : tf.strings.asString(whole);
  const bin = salt
    ? tf.strings.toHashBucketStrong(texts, bins, salt)
    : tf.strings.toHashBucketFast(texts, bins);
  if (!isMasked) return bin;
  return tf.where(tf.equal(x, maskValue as Word), tf.zerosLike(bin), tf.add(bin, 1));
}

const hashing: Kind = {
  input: ({ maskValue }) => typeof maskValue === "string" ? "string" : undefined,
  check(config) {
    binsOf(config);
    saltOf(config.salt, String(config.name));
  },
  shape(config, [shape]) {
    return encodedShape(shape, { mode: modeOf(config.outputMode), depth: Number(config.numBins) });
  },
  call({ inputs: [x], config }) {
    const mode = modeOf(config.outputMode);
    return encoded(hashed(x, config), { mode, depth: Number(config.numBins), name: config.name });
  },
};

/** Layers by the names of Keras. */
export const TEXT_LAYERS: Readonly<Record<string, Kind>> = {
  StringLookup: lookupKind("string"),
  IntegerLookup: lookupKind("int32"),
  TextVectorization: vectorized,
  Hashing: hashing,
};
