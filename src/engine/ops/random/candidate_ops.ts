/** Ops that sample classes, for losses of few of many. On the host. */
import { apply } from "../../core/apply.ts";
import { InvalidArgumentError, UnimplementedError, ValueError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { type Attrs, defineOp, type OpDef } from "../../core/op.ts";
import { compatible, type PartialShape, shapeText } from "../../core/shape.ts";
import type { Spec } from "../../core/tensor_spec.ts";
import {
  type Classes,
  drawClasses,
  type Drawn,
  logUniformClasses,
  uniformClasses,
  weightedClasses,
} from "../../kernels/host/drawing/candidates.ts";
import { keyOf } from "../../kernels/host/random.ts";
import { hostInts } from "../array/view.ts";
import { refuse, wholeArray } from "../host/arrays.ts";
import { drawKey, nextSeed } from "./state.ts";

const OUTPUTS = [
  "sampled_candidates: int64",
  "true_expected_count: float32",
  "sampled_expected_count: float32",
];
const COUNTS = ["num_true: int >= 1", "num_sampled: int >= 1"];
const SEEDS = ["seed: int64 = 0", "seed2: int64 = 0"];
const RANGE = ["unique: bool", "range_max: int >= 1"];
const UNIGRAMS = [
  'vocab_file: string = ""',
  "distortion: float = 1.0",
  "num_reserved_ids: int = 0",
  "num_shards: int = 1",
  "shard: int = 0",
  "unigrams: list(float) = []",
];

function shapesOf({ shape }: Spec, { num_true, num_sampled }: Attrs): PartialShape[] {
  if (shape !== null && (shape.length !== 2 || !compatible([shape[1]], [num_true]))) {
    throw new ValueError(
      `true_classes must be a matrix of ${num_true} columns, received ${shapeText(shape)}`,
    );
  }
  return [[num_sampled], [shape?.[0] ?? null, num_true], [num_sampled]];
}

/** Writes a sample and the counts that are expected of its classes and of the true ones. */
function write(
  out: readonly NdArray[],
  truth: readonly number[],
  range: number,
  drawn: Drawn,
): void {
  const [ids, ofTrue, ofDrawn] = out;
  const wrong = truth.find((id) => !(id >= 0 && id < range));
  if (wrong !== undefined) refuse(`true_classes has ${wrong}, which is not in [0, ${range})`);
  (ids.data as BigInt64Array).set(drawn.ids.map(BigInt));
  (ofTrue.data as Float32Array).set(truth.map(drawn.expected));
  (ofDrawn.data as Float32Array).set(drawn.ids.map(drawn.expected));
}

/** Weights of classes as attributes tell them. */
function weightsOf(attrs: Attrs): number[] {
  const { vocab_file, distortion, num_reserved_ids, num_shards, shard, unigrams } = attrs;
  if (vocab_file !== "") {
    throw new UnimplementedError(
      `Cannot sample by the file ${vocab_file}: give the weights as unigrams`,
    );
  }
  const all = [...new Array<number>(num_reserved_ids).fill(0), ...unigrams];
  const own = all.map((w, i) => i < num_reserved_ids ? 0 : Math.pow(w, distortion))
    .filter((_, i) => i % num_shards === shard);
  if (own.length !== attrs.range_max) {
    throw new InvalidArgumentError(
      `The range is ${attrs.range_max}, for ${own.length} weights: they must be as many`,
    );
  }
  return own;
}

/** An op with a sequence, and the function of a key that it is made of. */
export interface Sampler {
  readonly seeded: OpDef;
  readonly drawn: OpDef;
}

function define(
  name: string,
  attrs: readonly string[],
  classesOf: (attrs: Attrs) => Classes,
): Sampler {
  const all = [...COUNTS, ...RANGE, ...attrs];
  const seeded = defineOp({
    name: `_${name}OfKey`,
    portable: { never: "TensorFlow samples classes by ops with sequences alone" },
    inputs: ["true_classes: int64", "key: int32"],
    outputs: OUTPUTS,
    attrs: all,
    infer: ([classes], attrs) => shapesOf(classes, attrs),
    grad: null,
    cpu: ([truth, key], out, { attrs }) => {
      const classes = classesOf(attrs), { num_sampled: count, unique } = attrs;
      const drawn = drawClasses(classes, { count, unique, key: keyOf(key) });
      write(out, hostInts(truth), classes.range, drawn);
    },
  });
  const drawn = defineOp({
    name,
    inputs: ["true_classes: int64"],
    outputs: OUTPUTS,
    attrs: [...all, ...SEEDS],
    infer: ([classes], attrs) => shapesOf(classes, attrs),
    grad: null,
    stateful: true,
    expand: ([truth], { seed, seed2, ...rest }) =>
      apply(seeded, [truth, drawKey({ seed, seed2 })], rest),
  });
  return { seeded, drawn };
}

export const UNIFORM: Sampler = define(
  "UniformCandidateSampler",
  [],
  ({ range_max }) => uniformClasses(range_max),
);
export const LOG_UNIFORM: Sampler = define(
  "LogUniformCandidateSampler",
  [],
  ({ range_max }) => logUniformClasses(range_max),
);
export const FIXED_UNIGRAM: Sampler = define(
  "FixedUnigramCandidateSampler",
  UNIGRAMS,
  (attrs) => weightedClasses(weightsOf(attrs)),
);

/** Counts of true classes, each one more, by the seeds and the range of samplers. */
const learnt = new Map<string, Float64Array>();

function defineLearned(name: string): OpDef {
  return defineOp({
    name,
    inputs: ["true_classes: int64"],
    outputs: OUTPUTS,
    attrs: [...COUNTS, ...RANGE, ...SEEDS],
    infer: ([classes], attrs) => shapesOf(classes, attrs),
    grad: null,
    stateful: true,
    cpu: ([truth], out, { attrs }) => {
      const { range_max: range, num_sampled: count, unique, seed, seed2 } = attrs;
      const name = [seed, seed2, range].join(), ids = hostInts(truth);
      const weights = learnt.get(name) ?? new Float64Array(range).fill(1);
      const key = keyOf(nextSeed(attrs));
      write(out, ids, range, drawClasses(weightedClasses(weights), { count, unique, key }));
      for (const id of ids) weights[id]++;
      learnt.set(name, weights);
    },
  });
}

/** The sampler that learns; the name of its sibling says that several threads may not share it. */
export const LEARNED_UNIGRAM: readonly OpDef[] = [
  "LearnedUnigramCandidateSampler",
  "ThreadUnsafeUnigramCandidateSampler",
].map(defineLearned);

/** All classes are the sample. */
export const AllCandidates: OpDef = defineOp({
  name: "AllCandidateSampler",
  inputs: ["true_classes: int64"],
  outputs: OUTPUTS,
  attrs: [...COUNTS, "unique: bool", ...SEEDS],
  infer: ([classes], attrs) => shapesOf(classes, attrs),
  grad: null,
  cpu: ([truth], out, { attrs: { num_sampled: count } }) => {
    const ids = Array.from({ length: count }, (_, i) => i);
    write(out, hostInts(truth), count, { ids, expected: () => 1 });
  },
});

/** The lowest number of float32, which hides a class. */
const LOWEST = -3.4028234663852886e38;

export const ComputeAccidentalHits: OpDef = defineOp({
  name: "ComputeAccidentalHits",
  inputs: ["true_classes: int64", "sampled_candidates: int64"],
  outputs: ["indices: int32", "ids: int64", "weights: float32"],
  attrs: ["num_true: int", ...SEEDS],
  infer: ([truth, { shape }], attrs) => {
    shapesOf(truth, attrs);
    if (shape !== null && shape.length !== 1) {
      throw new ValueError(`sampled_candidates must be a vector, received ${shapeText(shape)}`);
    }
    return [[null], [null], [null]];
  },
  grad: null,
  cpu: ([truth, sampled], _, { attrs: { num_true } }) => {
    const places = new Map<number, number>(), rows: number[] = [], ids: number[] = [];
    hostInts(sampled).forEach((id, i) => places.set(id, i));
    hostInts(truth).forEach((id, i) => {
      const place = places.get(id);
      if (place === undefined) return;
      rows.push(Math.floor(i / num_true));
      ids.push(place);
    });
    const weights = new NdArray("float32", [ids.length], new Float32Array(ids.length).fill(LOWEST));
    return [wholeArray("int32", rows), wholeArray("int64", ids), weights];
  },
});

/** The ops of this file that files may have. */
export const CANDIDATE_OPS: readonly OpDef[] = [
  ...[UNIFORM, LOG_UNIFORM, FIXED_UNIGRAM].map(({ drawn }) => drawn),
  ...LEARNED_UNIGRAM,
  AllCandidates,
  ComputeAccidentalHits,
];
