/**
 * Stages that TensorFlow's graphs have, made of generators over other datasets.
 */
import { InvalidArgumentError } from "../core/errors.ts";
import type { NdArray } from "../core/nd_array.ts";
import type { TensorSpec } from "../core/tensor_spec.ts";
import { rowOf, stackRows } from "../data/element.ts";
import { fromGenerator } from "../data/mod.ts";
import type { AnyDataset } from "./dataset_graph.ts";
import { flat } from "./nests.ts";

type Specs = readonly TensorSpec[];
type Components = readonly NdArray[];

/** Components of the elements of one pass. */
async function* passOver(dataset: AnyDataset): AsyncGenerator<Components> {
  for await (const element of dataset.asNumpyIterator()) yield flat<NdArray>(element);
}

function generated(specs: Specs, elements: () => AsyncGenerator<Components>): AnyDataset {
  return fromGenerator(elements, { outputSignature: [...specs] });
}

/** The elements of datasets that are opened one for each element, of several in turn. */
export function interleaved(
  dataset: AnyDataset,
  open: (element: Components) => Promise<AnyDataset>,
  { specs, cycleLength, blockLength }: {
    readonly specs: Specs;
    readonly cycleLength: number;
    readonly blockLength: number;
  },
): AnyDataset {
  return generated(specs, async function* () {
    const outer = passOver(dataset);
    const cycle: (AsyncGenerator<Components> | null)[] = new Array(cycleLength).fill(null);
    let ended = false;
    try {
      for (let at = 0; !ended || cycle.some((c) => c !== null); at = (at + 1) % cycleLength) {
        if (cycle[at] === null && !ended) {
          const { done, value } = await outer.next();
          if (done) ended = true;
          else cycle[at] = passOver(await open(value));
        }
        for (let taken = 0; taken < blockLength && cycle[at] !== null; taken++) {
          const { done, value } = await cycle[at]!.next();
          if (done) cycle[at] = null;
          else yield value;
        }
      }
    } finally {
      await outer.return(undefined);
      for (const inner of cycle) await inner?.return(undefined);
    }
  });
}

/** Batches cut anew, of the given sizes in turn. */
export function rebatched(
  dataset: AnyDataset,
  { specs, sizes, dropRemainder }: {
    readonly specs: Specs;
    readonly sizes: readonly number[];
    readonly dropRemainder: boolean;
  },
): AnyDataset {
  return generated(specs, async function* () {
    let rows: Components[] = [], turn = 0;
    for await (const element of passOver(dataset)) {
      const n = rowsOf(element);
      for (let i = 0; i < n; i++) {
        rows.push(element.map((x) => rowOf(x, i)));
        if (rows.length < sizes[turn % sizes.length]) continue;
        yield stacked(rows);
        rows = [];
        turn++;
      }
    }
    if (rows.length > 0 && !dropRemainder) yield stacked(rows);
  });
}

function rowsOf(element: Components): number {
  const n = element[0]?.shape[0];
  if (n !== undefined && element.every((x) => x.shape[0] === n)) return n;
  throw new InvalidArgumentError(
    `Cannot take batches apart: components have ${
      element.map((x) => x.shape[0] ?? "no")
    } rows, wanted the same number of each`,
    { op: "UnbatchDataset" },
  );
}

function stacked(rows: readonly Components[]): NdArray[] {
  return rows[0].map((_, c) => stackRows(rows.map((row) => row[c]), c));
}
