/** Samples of classes for losses such as `nn.sampledSoftmaxLoss`, in the namespaces `tf.random` and `tf.nn`. */
import { apply, type OpInput } from "../../core/apply.ts";
import { optionCheck, wantBoolean, wantList, wantNumber } from "../../core/arguments.ts";
import { isInteger } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import type { Attrs } from "../../core/op.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { castInput, toIndexInput } from "../input.ts";
import {
  AllCandidates,
  ComputeAccidentalHits,
  FIXED_UNIGRAM,
  LEARNED_UNIGRAM,
  LOG_UNIFORM,
  type Sampler,
  UNIFORM,
} from "./candidate_ops.ts";
import { type Seed, seedsOf, seedSource } from "./state.ts";

/** Sampled classes, `[n]` int64, and how often true and sampled ones are expected in a sample: `[batch, numTrue]` and `[n]`, float32. */
export type CandidateSample = [
  sampledCandidates: Tensor,
  trueExpectedCount: Tensor,
  sampledExpectedCount: Tensor,
];

/** Converts classes. Throws `TypeError` for other dtypes than whole numbers. */
function classes(x: TensorLike, arg: string, fn: string): OpInput {
  const given = toIndexInput(x, arg, fn);
  if (isInteger(given.dtype)) return castInput(given, "int64");
  throw new TypeError(`Cannot use ${given.dtype} as ${arg} of ${fn}: wanted whole numbers`);
}

function countsOf(counts: Readonly<Record<string, unknown>>, unique: unknown, fn: string): void {
  for (const [name, value] of Object.entries(counts)) {
    wantNumber(value, name, fn);
    if (Number.isInteger(value) && value as number >= 1) continue;
    throw new ValueError(
      `Cannot apply ${fn}: ${name} must be a whole number from 1 on, received ${value}`,
    );
  }
  wantBoolean(unique, "unique", fn);
}

function sampled(
  { seeded, drawn }: Sampler,
  truth: OpInput,
  attrs: Attrs,
  seed: Seed | null | undefined,
): CandidateSample {
  const source = seedSource(seed);
  const out = "key" in source
    ? apply(seeded, [truth, source.key], attrs)
    : apply(drawn, [truth], { ...attrs, ...source.attrs });
  return [out[0], out[1], out[2]];
}

/** Arguments of a sampler of a range of classes. */
export type RangeSamplerArguments = [
  trueClasses: TensorLike,
  numTrue: number,
  numSampled: number,
  unique: boolean,
  rangeMax: number,
  seed?: Seed | null,
];

/** Calls a sampler of a range of classes by its name, once its arguments are checked. */
function ofRange(
  fn: string,
  [trueClasses, numTrue, numSampled, unique, rangeMax, seed]: RangeSamplerArguments,
  draw: (truth: OpInput, attrs: Attrs, seed: Seed | null | undefined) => CandidateSample,
): CandidateSample {
  countsOf({ numTrue, numSampled, rangeMax }, unique, fn);
  const attrs = { num_true: numTrue, num_sampled: numSampled, unique, range_max: rangeMax };
  return draw(classes(trueClasses, "trueClasses", fn), attrs, seed);
}

/**
 * Samples `numSampled` of the classes `0 … rangeMax - 1`, all with one probability, and tells how often each, and each of the true classes
 * `[batch, numTrue]`, is expected in such a sample; with `unique` each class at most once. What it returns is the `sampledValues` of
 * {@linkcode nn.sampledSoftmaxLoss}. A seed gives the same sample as in {@linkcode normal}. Throws `TypeError` for classes that are no whole
 * numbers, `ValueError` for another shape, `InvalidArgumentError` for classes out of range and for more unique ones than there are.
 * TensorFlow op `UniformCandidateSampler`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [ids, ofTrue] = tf.random.uniformCandidateSampler([[1, 2]], 2, 4, true, 4);
 * console.log((await ids.data()).length, ofTrue.shape); // 4 [1, 2]
 * ```
 */
export function uniformCandidateSampler(...given: RangeSamplerArguments): CandidateSample {
  return ofRange("uniformCandidateSampler", given, (...drawn) => sampled(UNIFORM, ...drawn));
}

/**
 * {@linkcode uniformCandidateSampler} of classes that lie in the order of how frequent they are, as the words of a vocabulary: class k has
 * the probability `log((k + 2) / (k + 1)) / log(rangeMax + 1)`. TensorFlow op `LogUniformCandidateSampler`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [, ofTrue] = tf.random.logUniformCandidateSampler([[0, 9]], 2, 4, false, 10);
 * console.log((await ofTrue.data()).map((v) => Math.round(100 * Number(v)))); // Float32Array(2) [116, 16]
 * ```
 */
export function logUniformCandidateSampler(...given: RangeSamplerArguments): CandidateSample {
  return ofRange("logUniformCandidateSampler", given, (...drawn) => sampled(LOG_UNIFORM, ...drawn));
}

/**
 * {@linkcode uniformCandidateSampler} with the probabilities of how often classes were true in earlier calls, each once more. What calls learn
 * is kept for the process, by their range and seed. TensorFlow op `LearnedUnigramCandidateSampler`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const sample = () => tf.random.learnedUnigramCandidateSampler([[0, 0]], 2, 1, false, 4, 12);
 * sample();
 * console.log(await sample()[1].array()); // [[0.5, 0.5]]
 * ```
 */
export function learnedUnigramCandidateSampler(...given: RangeSamplerArguments): CandidateSample {
  return ofRange("learnedUnigramCandidateSampler", given, (truth, attrs, seed) => {
    const [own, other] = seedsOf(seed);
    const out = apply(LEARNED_UNIGRAM[0], [truth], { ...attrs, seed: own ?? 0, seed2: other ?? 0 });
    return [out[0], out[1], out[2]];
  });
}

/** Options of {@linkcode fixedUnigramCandidateSampler}. */
export interface FixedUnigramOptions {
  /** Weights of the classes behind the reserved ones. */
  readonly unigrams: readonly number[];
  /** Exponent of the weights. Default 1. */
  readonly distortion?: number;
  /** Number of classes, the first ones, that are never sampled. Default 0. */
  readonly numReservedIds?: number;
  /** Number of parts into which classes are dealt, in turn. Default 1. */
  readonly numShards?: number;
  /** The part of this sampler. Default 0. */
  readonly shard?: number;
  /** The seed. */
  readonly seed?: Seed | null;
}

const checkFixed = optionCheck<FixedUnigramOptions>("fixedUnigramCandidateSampler", {
  unigrams: true,
  distortion: true,
  numReservedIds: true,
  numShards: true,
  shard: true,
  seed: true,
});

/**
 * {@linkcode uniformCandidateSampler} with given weights of the classes. Throws as that does, and `InvalidArgumentError` where there are not
 * as many weights as classes. TensorFlow op `FixedUnigramCandidateSampler`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [, ofTrue] = tf.random.fixedUnigramCandidateSampler([[0, 3]], 2, 5, false, 4, { unigrams: [1, 2, 3, 4] });
 * console.log(await ofTrue.array()); // [[0.5, 2]]
 * ```
 */
export function fixedUnigramCandidateSampler(
  trueClasses: TensorLike,
  numTrue: number,
  numSampled: number,
  unique: boolean,
  rangeMax: number,
  options: FixedUnigramOptions,
): CandidateSample {
  const fn = "fixedUnigramCandidateSampler";
  checkFixed(options);
  const { unigrams, distortion = 1, numReservedIds = 0, numShards = 1, shard = 0, seed } =
    options ?? {} as FixedUnigramOptions;
  countsOf({ numTrue, numSampled, rangeMax, numShards }, unique, fn);
  wantList(unigrams, "unigrams", fn, "weights");
  for (const [name, value] of Object.entries({ distortion, numReservedIds, shard })) {
    wantNumber(value, name, fn);
  }
  if (
    !Number.isInteger(numReservedIds) || numReservedIds < 0 || !(shard >= 0 && shard < numShards)
  ) {
    throw new ValueError(
      `Cannot apply ${fn}: wanted numReservedIds from 0 on and a shard below ${numShards}, received ${numReservedIds} and ${shard}`,
    );
  }
  const attrs = { num_true: numTrue, num_sampled: numSampled, unique, range_max: rangeMax };
  const weights = { unigrams: [...unigrams], distortion, num_reserved_ids: numReservedIds };
  const given = classes(trueClasses, "trueClasses", fn);
  const all = { ...attrs, ...weights, num_shards: numShards, shard };
  return sampled(FIXED_UNIGRAM, given, all, seed);
}

/**
 * All classes `0 … numSampled - 1` as a sample, each expected once: with it losses of samples are those of all classes. Throws as
 * {@linkcode uniformCandidateSampler}. TensorFlow op `AllCandidateSampler`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [, ofTrue] = tf.nn.allCandidateSampler([[1], [0]], 1, 3, true);
 * console.log(await ofTrue.array()); // [[1], [1]]
 * ```
 */
export function allCandidateSampler(
  trueClasses: TensorLike,
  numTrue: number,
  numSampled: number,
  unique: boolean,
): CandidateSample {
  const fn = "allCandidateSampler";
  countsOf({ numTrue, numSampled }, unique, fn);
  const attrs = { num_true: numTrue, num_sampled: numSampled, unique };
  const out = apply(AllCandidates, [classes(trueClasses, "trueClasses", fn)], attrs);
  return [out[0], out[1], out[2]];
}

/**
 * Finds the sampled classes that are true ones of an example: its number (int32), the place in the sample (int64), and the lowest float32, to
 * be added to logits. Their number is known at run time. Throws as {@linkcode uniformCandidateSampler}. TensorFlow op
 * `ComputeAccidentalHits`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [rows, places] = tf.nn.computeAccidentalHits([[1, 2], [0, 3]], [2, 3, 9], 2);
 * console.log(await rows.array(), await tf.cast(places, "int32").array()); // [0, 1] [0, 1]
 * ```
 */
export function computeAccidentalHits(
  trueClasses: TensorLike,
  sampledCandidates: TensorLike,
  numTrue: number,
): [indices: Tensor, ids: Tensor, weights: Tensor] {
  const fn = "computeAccidentalHits";
  countsOf({ numTrue }, true, fn);
  const inputs = [
    classes(trueClasses, "trueClasses", fn),
    classes(sampledCandidates, "sampledCandidates", fn),
  ];
  const out = apply(ComputeAccidentalHits, inputs, { num_true: numTrue });
  return [out[0], out[1], out[2]];
}
