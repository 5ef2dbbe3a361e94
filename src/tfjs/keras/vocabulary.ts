/** Vocabularies of layers: their settings, their words as Keras numbers them, and how data teaches them. */
import { ValueError } from "../../engine/core/errors.ts";
import { describe } from "../../engine/core/text.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import type { Json, Settings } from "../layers/keras_json.ts";
import { modeOf } from "./encoding.ts";

/** A word of a vocabulary: a text or a whole number. */
export type Word = string | number;

/** The settings of a layer that looks words up. */
export interface Lookup {
  readonly name: string;
  /** Dtype of words. */
  readonly dtype: "string" | "int32";
  /** Stands for masked words; null where none is masked. */
  readonly mask: Word | null;
  /** Stands for unknown words. */
  readonly oov: Word | null;
  /** Number of places for unknown words. */
  readonly oovCount: number;
  /** Result: `"int"`, `"one_hot"`, `"multi_hot"`, `"count"` or `"tf_idf"`. */
  readonly mode: string;
  /** True where numbers become words. */
  readonly isInverse: boolean;
  /** Most words, with those that stand for others. */
  readonly most: number | null;
  /** True where results are as wide as the most words would make them. */
  readonly isPadded: boolean;
  /** Key of the hash of unknown words, where it has one. */
  readonly salt: readonly [number, number] | null;
  /** True where unknown words are hashed; else whole numbers are divided. */
  readonly isHashed: boolean;
  /** Words that stand for others, in the order of their numbers. */
  readonly special: readonly (Word | null)[];
}

/** The words of a layer, without those that stand for others. */
export interface Vocabulary {
  readonly words: readonly Word[];
  /** A weight for each number of a word; null where they are counted alike. */
  readonly weights: readonly number[] | null;
}

const MODES = new Set(["int", "one_hot", "multi_hot", "count", "tf_idf"]);

const refuse = (name: string, why: string): ValueError =>
  new ValueError(`Cannot make layer ${name}: ${why}`);

/** Reads the key of a hash: one whole number, or two. */
export function saltOf(value: Json | undefined, name: string): [number, number] | null {
  if (value === null || value === undefined) return null;
  const [first, second = first, ...more] = [value].flat();
  if (more.length === 0 && Number.isSafeInteger(first) && Number.isSafeInteger(second)) {
    return [first as number, second as number];
  }
  throw refuse(name, `salt must be a whole number or two, received ${describe(value)}`);
}

const wholeOr = (value: Json | undefined, key: string, name: string, least: number) => {
  if (value === null || value === undefined) return null;
  if (Number.isInteger(value) && Number(value) >= least) return Number(value);
  throw refuse(
    name,
    `${key} must be a whole number of at least ${least}, received ${describe(value)}`,
  );
};

/** Reads the settings of a layer with a vocabulary. Throws `ValueError` for those that contradict each other. */
export function lookupOf(config: Settings, dtype: Lookup["dtype"]): Lookup {
  const name = String(config.name ?? "of words");
  const token = (key: string, otherwise: Word | null): Word | null => {
    const value = config[key];
    return value === undefined
      ? otherwise
      : value === null
      ? null
      : checked([value], dtype, key)[0];
  };
  const most = wholeOr(config.maxTokens, "maxTokens", name, 2);
  const oovCount = wholeOr(config.numOovIndices, "numOovIndices", name, 0) ?? 1;
  const mode = modeOf(config.outputMode), isInverse = config.invert === true;
  const salt = saltOf(config.salt, name), isPadded = config.padToMaxTokens === true;
  const isHashed = dtype === "string" || config.oovMethod === "farmhash";
  const mask = token("maskToken", null), oov = token("oovToken", dtype === "string" ? "[UNK]" : -1);
  if (!MODES.has(mode)) {
    throw refuse(name, `outputMode ${config.outputMode} is none of ${[...MODES].join(", ")}`);
  }
  if (isPadded && most === null) throw refuse(name, "padToMaxTokens wants maxTokens");
  if (isInverse && mode !== "int") {
    throw refuse(name, `invert wants outputMode "int", received "${mode}"`);
  }
  if (isInverse && oov === null) throw refuse(name, "invert wants an oovToken");
  if (salt && !isHashed) throw refuse(name, 'salt wants oovMethod "farmhash"');
  const isMasked = mask !== null && mode === "int";
  const special = [...isMasked ? [mask] : [], ...new Array<Word | null>(oovCount).fill(oov)];
  return {
    name,
    dtype,
    mask,
    oov,
    oovCount,
    mode,
    isInverse,
    most,
    isPadded,
    salt,
    isHashed,
    special,
  };
}

/** Checks the dtype of words. Throws `TypeError` for others. */
function checked(words: readonly unknown[], dtype: Lookup["dtype"], what: string): Word[] {
  const isWord = (word: unknown): boolean =>
    dtype === "string" ? typeof word === "string" : typeof word === "number" && (word | 0) === word;
  const other = words.find((word) => !isWord(word));
  if (other === undefined && !words.includes(undefined)) return words as Word[];
  const wanted = dtype === "string" ? "texts" : "whole numbers of 32 bits";
  throw new TypeError(
    `Cannot use words of dtype ${dtype}: ${what} must be ${wanted}, received ${describe(other)}`,
  );
}

const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length;

/**
 * Returns the words of a list, which may begin with those that stand for others, and their weights. Throws `ValueError` for an empty
 * list, words that occur twice or stand for others, too many, and weights that do not fit; `TypeError` for words of another dtype.
 */
export function vocabularyOf(
  lookup: Lookup,
  given: readonly unknown[],
  weights: readonly number[] | null = null,
): Vocabulary {
  const { name, special, mask, oov, isInverse, most, mode } = lookup;
  const refused = (why: string): ValueError =>
    new ValueError(`Cannot set the vocabulary of layer ${name}: ${why}`);
  if (!Array.isArray(given)) {
    throw new TypeError(
      `Cannot set the vocabulary of layer ${name}: it must be a list, received ${describe(given)}`,
    );
  }
  const all = checked(given, lookup.dtype, `the vocabulary of layer ${name}`);
  if (all.length === 0) throw refused("it has no words");
  const isWhole = special.every((word, i) => word !== null && word === all[i]);
  const words = isWhole ? all.slice(special.length) : all;
  const seen = new Set<Word>(), twice = words.filter((word) => seen.size === seen.add(word).size);
  if (twice.length > 0) {
    throw refused(`it has ${twice.slice(0, 5).map(String).join(", ")} more than once`);
  }
  for (const [word, kind] of [[mask, "mask"], [isInverse ? oov : null, "unknown"]] as const) {
    if (word === null || !seen.has(word)) continue;
    throw refused(
      `"${word}" stands for ${kind} words, which may come only at the beginning, as ${
        special.join(", ")
      }`,
    );
  }
  const size = special.length + words.length;
  if (most !== null && size > most) {
    throw refused(`it has ${size} words, more than maxTokens ${most}`);
  }
  if (mode !== "tf_idf") {
    if (weights !== null) throw refused(`idfWeights want outputMode "tf_idf", received "${mode}"`);
    return { words, weights: null };
  }
  if (weights === null) throw refused('outputMode "tf_idf" wants idfWeights');
  const depth = depthOf(lookup, { words, weights: null });
  // A file has them padded.
  if (weights.length !== all.length && !(isWhole && weights.length === depth)) {
    throw refused(`it has ${all.length} words and ${weights.length} idfWeights`);
  }
  const before = isWhole ? [] : special.map(() => mean(weights)), known = [...before, ...weights];
  const after = new Array<number>(depth - known.length).fill(0);
  return { words, weights: [...known, ...after] };
}

/** Number of words and of those that stand for others, or the most of them where results are padded. */
export function depthOf({ isPadded, most, special }: Lookup, { words }: Vocabulary): number {
  return isPadded ? most! : special.length + words.length;
}

/** A list of all words in the order of their numbers, from which {@linkcode vocabularyOf} makes them again. */
export function listed({ special }: Lookup, { words }: Vocabulary): Word[] {
  return special.includes(null) ? [...words] : [...special as Word[], ...words];
}

/** Orders UTF-16 as its characters, not its units, are ordered. */
function compareTexts(a: string, b: string): number {
  const rank = (unit: number): number =>
    unit >= 0xe000 ? unit - 0x800 : unit >= 0xd800 ? unit + 0x2000 : unit;
  const shorter = Math.min(a.length, b.length);
  for (let i = 0; i < shorter; i++) {
    const difference = rank(a.charCodeAt(i)) - rank(b.charCodeAt(i));
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** Counts the words of documents. */
export class WordCounts {
  readonly #all = new Map<Word, number>();
  readonly #documents = new Map<Word, number>();
  #count = 0;

  /** Counts a document's words. */
  add(words: readonly Word[]): void {
    const count = (counts: Map<Word, number>, word: Word) =>
      counts.set(word, (counts.get(word) ?? 0) + 1);
    this.#count++;
    for (const word of words) count(this.#all, word);
    for (const word of new Set(words)) count(this.#documents, word);
  }

  /** Returns the most frequent words; of those that are as frequent the last in order. Throws `ValueError` where there were none. */
  vocabulary({ name, mask, oov, most, special, mode, isPadded }: Lookup): Vocabulary {
    if (this.#all.size === 0) {
      throw new ValueError(`Cannot adapt layer ${name}: the data has no words`);
    }
    const compare = (a: Word, b: Word): number =>
      typeof a === "string" ? compareTexts(a, String(b)) : a - Number(b);
    const all = [...this.#all].filter(([word]) => word !== mask && word !== oov);
    all.sort(([a, m], [b, n]) => n - m || compare(b, a));
    const words = all.map(([word]) => word).slice(
      0,
      most === null ? undefined : most - special.length,
    );
    if (mode !== "tf_idf") return { words, weights: null };
    const own = words.map((word) =>
      Math.fround(Math.log(1 + this.#count / (1 + this.#documents.get(word)!)))
    );
    const weights = [...special.map(() => Math.fround(mean(own))), ...own];
    const padding = isPadded ? new Array<number>(most! - weights.length).fill(0) : [];
    return { words, weights: [...weights, ...padding] };
  }
}

/** The vocabulary of a layer's settings. */
export interface WordsOf {
  readonly lookup: Lookup;
  /** Null where the layer has none yet. */
  readonly vocabulary: Vocabulary | null;
}
