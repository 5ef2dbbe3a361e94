/** bucketBySequenceLength: batches of elements of about the same length. */
import { InvalidArgumentError, ValueError } from "../../engine/core/errors.ts";
import { optionCheck, wantObject } from "../../engine/core/arguments.ts";
import type { PartialShape } from "../../engine/core/shape.ts";
import { packComponents } from "../../engine/core/composite.ts";
import { type Join, joinRows, PADDED_BATCH_OPTIONS, type PaddedBatchOptions } from "./batch.ts";
import { padding } from "./parts/padding.ts";
import { type Element, type ElementType, isInteger } from "./element.ts";
import { batchedType, stackElements } from "./parts/leaves.ts";
import { checkCount, Failure, type Outcome, outcomeOf, type Source } from "./source.ts";
import { stageOver } from "./stage.ts";
import { type ElementFunction, traceFunction } from "./trace.ts";

/** Options of {@linkcode Dataset.bucketBySequenceLength}. */
export interface BucketOptions extends PaddedBatchOptions {
  /** Lengths at which buckets begin, rising: there is one bucket more than boundaries. */
  readonly bucketBoundaries: readonly number[];
  /** Number of elements of a batch, for each bucket. */
  readonly bucketBatchSizes: readonly number[];
  /** True: unknown dimensions are padded to one less than the bucket's upper boundary. Default false: to the longest of the batch. */
  readonly padToBucketBoundary?: boolean;
  /** True: elements of a batch must have the same shape. Default false. */
  readonly noPadding?: boolean;
}

const checkOptions = optionCheck<BucketOptions>("bucketBySequenceLength", {
  bucketBoundaries: true,
  bucketBatchSizes: true,
  padToBucketBoundary: true,
  noPadding: true,
  ...PADDED_BATCH_OPTIONS,
});

/** Batches elements whose lengths are between the same boundaries. */
export function bucketSource(
  input: Source,
  elementLengthFunc: ElementFunction,
  options: BucketOptions,
): Source {
  wantObject(options, "options", "bucketBySequenceLength");
  checkOptions(options);
  const { bucketBoundaries: boundaries, bucketBatchSizes: sizes, dropRemainder = false } = options;
  checkBuckets(boundaries, sizes);
  const traced = traceFunction(elementLengthFunc, input, "bucketBySequenceLength");
  if (!isInteger(traced)) {
    throw new ValueError(
      `\`elementLengthFunc\` must return a scalar integer. Was ${traced.specs.join(", ")}`,
    );
  }
  const { specs, joins } = joinsOf(input, options);
  const same = sizes.every((n) => n === sizes[0]);
  const bucketOf = ([length]: Element): number => {
    const n = Number(length.at(0)), b = boundaries.findIndex((to) => n < to);
    if (b >= 0) return b;
    if (!options.padToBucketBoundary) return boundaries.length;
    throw new InvalidArgumentError(
      `When padToBucketBoundary is true, elements must have length < max(bucketBoundaries): received ${n}, wanted less than ${
        boundaries.at(-1)
      }`,
      { op: "BucketBySequenceLengthDataset" },
    );
  };
  return stageOver(input, {
    kind: "BucketBySequenceLength",
    ...batchedType({ specs, structure: input.structure }, dropRemainder && same ? sizes[0] : null),
    size: null,
    traced,
    begin: () => ({ buckets: sizes.map((): Element[] => []), ended: false }),
    async next({ input, own, call, fail }) {
      const { buckets } = own;
      const take = (b: number): Outcome => outcomeOf(() => joins[b](buckets[b].splice(0)));
      while (!own.ended) {
        const item = await input.next();
        if (item instanceof Failure) return item;
        if (item === null) {
          own.ended = true;
          break;
        }
        const answer = await call(item);
        if (answer instanceof Failure) return answer;
        let b: number;
        try {
          b = bucketOf(answer);
        } catch (error) {
          return fail(error);
        }
        if (buckets[b].push(item) === sizes[b]) return take(b);
      }
      const left = dropRemainder ? -1 : buckets.findIndex((rows) => rows.length > 0);
      return left < 0 ? null : take(left);
    },
  });
}

function checkBuckets(boundaries: readonly number[], sizes: readonly number[]): void {
  if (sizes.length !== boundaries.length + 1) {
    throw new ValueError(
      `len(bucketBatchSizes) must equal len(bucketBoundaries) + 1: received ${sizes.length} sizes for ${boundaries.length} boundaries`,
    );
  }
  sizes.forEach((n) => checkCount(n, "bucketBatchSizes", 1));
  boundaries.forEach((n, i) => {
    checkCount(n, "bucketBoundaries", 1);
    if (i > 0 && n <= boundaries[i - 1]) {
      throw new ValueError(`Buckets must be sorted: ${n} comes after ${boundaries[i - 1]}`);
    }
  });
}

type JoinElements = (rows: readonly Element[]) => Element;

/** Returns the function that joins the elements of each bucket, and the specs of the batches. */
function joinsOf(
  { specs, structure }: ElementType,
  { noPadding, padToBucketBoundary, bucketBoundaries, bucketBatchSizes, ...rest }: BucketOptions,
): { readonly specs: Source["specs"]; readonly joins: readonly JoinElements[] } {
  const of = (join: Join): JoinElements => (rows) => joinRows(rows, join);
  if (noPadding) {
    return {
      specs,
      joins: bucketBatchSizes.map(() => stackElements({ specs, structure })),
    };
  }
  const open = padding({ specs, structure }, rest);
  const joins = bucketBatchSizes.map((_, b) => {
    if (!padToBucketBoundary) return of(open.join);
    const bound = (bucketBoundaries[b] ?? bucketBoundaries.at(-1)!) - 1;
    const shapes = open.specs.map(({ shape }): PartialShape => shape!.map((d) => d ?? bound));
    // Shapes are lists and stand as leaves.
    const paddedShapes = packComponents<unknown>(structure, shapes);
    return of(padding({ specs, structure }, { ...rest, paddedShapes }).join);
  });
  return { specs: open.specs, joins };
}
