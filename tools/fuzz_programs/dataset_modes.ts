/**
 * Programs as functions of datasets: mapped, as a predicate, as the length by which elements are put into buckets, and as a fold's function.
 *
 * @module
 */

import * as tf from "@weft/weft";
import { valuesOf } from "./compare.ts";
import { type Results, withInputs } from "./inputs.ts";
import { type Body, bodyOf, type Program } from "./program.ts";

// deno-lint-ignore no-explicit-any
type Any = any;

/** A use of a program's function, given a dataset of two equal elements, the inputs, and the eager results. */
type Use = (inputs: Any, body: (...xs: tf.Tensor[]) => tf.Tensor[], eager: tf.Tensor[]) => Any;

/** The sum of a program's results as a number of moderate size. */
function numberOf(results: readonly tf.Tensor[]): tf.Tensor {
  const parts = results.map((y) =>
    tf.sum(tf.clipByValue(tf.cast(y.dtype === "complex64" ? tf.real(y) : y, "float32"), -9, 9))
  );
  return parts.reduce((a, b) => tf.add(a, b));
}

/** The state of a fold after an element: its results, which also read the state. */
function next(state: tf.Tensor, y: tf.Tensor): tf.Tensor {
  return y.dtype === "bool"
    ? tf.logicalOr(y, tf.logicalAnd(state, false))
    : tf.add(y, tf.mul(state, tf.zerosLike(state)));
}

/** A mode as `modes.ts` has them. */
interface DatasetMode {
  readonly name: string;
  readonly like: "eager";
  /** Equal elements whose results it gives. */
  readonly times: number;
  readonly run: (program: Program) => Promise<Results>;
}

const USES: Readonly<Record<string, Use>> = {
  "map of a dataset": (inputs, body) => inputs.map((...xs: tf.Tensor[]) => body(...xs)),
  "filter of a dataset": (inputs, body, eager) => {
    const limit = numberOf(eager).dataSync()[0]! as number;
    const isBelow = (away: number) => (...xs: tf.Tensor[]) =>
      tf.less(numberOf(body(...xs)), limit + away);
    const away = 1 + Math.abs(limit) / 8;
    const none = inputs.filter(isBelow(-away)), all = inputs.filter(isBelow(away));
    return all.concatenate(none).map((...xs: tf.Tensor[]) => body(...xs));
  },
  "buckets of a dataset": (inputs, body, eager) => {
    const limit = numberOf(eager).dataSync()[0]! as number, away = 1 + Math.abs(limit) / 8;
    const length = (...xs: tf.Tensor[]) => {
      const found = numberOf(body(...xs));
      const [low, high] = [-away, away].map((d) => tf.cast(tf.greater(found, limit + d), "int32"));
      return tf.add(low!, high!);
    };
    // Both elements have length 1, and so come in one batch.
    return inputs.bucketBySequenceLength(length, {
      bucketBoundaries: [1, 2],
      bucketBatchSizes: [1, 2, 1],
    }).map((...xs: tf.Tensor[]) => body(...xs.map((x) => tf.gather(x, 1))))
      .concatenate(inputs.skip(1).map((...xs: tf.Tensor[]) => body(...xs)));
  },
  "fold of a dataset": (inputs, body, eager) => {
    const fold = (state: tf.Tensor[], xs: Any) => {
      const ys = body(...(Array.isArray(xs) ? xs : [xs]));
      return state.map((s, i) => next(s, ys[i]!));
    };
    // Nothing would await a fold that was begun before the scan is refused.
    const folded = () => inputs.reduce(eager.map((y) => tf.onesLike(y)), fold);
    const scanned = inputs.scan(eager.map((y) => tf.onesLike(y)), (state: tf.Tensor[], xs: Any) => {
      const states = fold(state, xs);
      return [states, states];
    });
    return { folded, scanned };
  },
};

async function elementsOf(dataset: Any): Promise<Results[]> {
  const found: Results[] = [];
  for await (const element of dataset) found.push(await valuesOf([element].flat()));
  return found;
}

function run(use: Use): DatasetMode["run"] {
  return (program) =>
    withInputs(program, async (inputs) => {
      const own: Body = bodyOf(program);
      const given = inputs.filter((_, i) => !program.inputs[i]!.variable);
      const body = (...xs: tf.Tensor[]): tf.Tensor[] => {
        const rest = xs.values();
        return own(...inputs.map((x, i) => program.inputs[i]!.variable ? x : rest.next().value!));
      };
      const eager = own(...inputs);
      const elements = (tf.data as Any).fromTensors(given.length === 1 ? given[0] : given)
        .repeat(2);
      const made = use(elements, body, eager);
      const results = made.folded
        ? [await valuesOf(await made.folded()), ...await elementsOf(made.scanned)]
        : await elementsOf(made);
      return results.flat();
    });
}

/** The modes with datasets for a program: one of them, which depends on the program, as they take long. */
export function datasetModes(program: Program): DatasetMode[] {
  if (!program.inputs.some((x) => !x.variable)) return [];
  const names = Object.keys(USES), { lines, inputs } = program;
  const name = names[(lines.length + inputs.length) % names.length]!;
  return [{
    name,
    like: "eager",
    times: name === "fold of a dataset" ? 3 : 2,
    run: run(USES[name]!),
  }];
}
