/** Stages of TensorFlow's graphs and of the dispatcher's splits, as stages of tf.data. */
import { InvalidArgumentError, UnimplementedError } from "../../engine/core/errors.ts";
import type { TensorSpec } from "../../engine/core/tensor_spec.ts";
import { Dataset } from "../../library/data/dataset.ts";
import { rowOf } from "../../engine/core/arrays/rows.ts";
import { type Element, type ElementType, stackRows } from "../../library/data/element.ts";
import { type CycleOptions, cycleSource } from "../../library/data/flat_map.ts";
import {
  type Elements,
  Failure,
  makeSource,
  type Place,
  type Source,
} from "../../library/data/source.ts";
import type { AnyDataset } from "./dataset_graph.ts";

type Specs = readonly TensorSpec[];

function listOf(specs: Specs): ElementType {
  return { specs, structure: specs.map(() => 0) };
}

function notSaved(): never {
  throw new UnimplementedError("Cannot save a pass of a worker's task");
}

/** Makes a source of the elements that a generator yields. They are never written to, so none is copied. */
export function generated(
  { kind, specs, inputs = [] }: {
    readonly kind: string;
    readonly specs: Specs;
    readonly inputs?: readonly Source[];
  },
  elements: (place: Place) => AsyncGenerator<Element>,
): AnyDataset {
  return new Dataset(makeSource({
    ...listOf(specs),
    kind,
    inputs,
    size: null,
    open(place): Elements {
      const pass = elements(place);
      return {
        async next() {
          try {
            const { done, value } = await pass.next();
            return done ? null : value;
          } catch (error) {
            return new Failure(error);
          }
        },
        save: notSaved,
        close: async () => void await pass.return(undefined),
      };
    },
  }));
}

/** The elements of datasets that are opened one for each element, of several in turn. */
export function interleaved(
  { source }: AnyDataset,
  open: (element: Element) => Promise<AnyDataset>,
  { specs, ...options }: Omit<CycleOptions, "open" | "settings"> & { readonly specs: Specs },
): AnyDataset {
  return new Dataset(cycleSource(source, listOf(specs), {
    ...options,
    open: (element, place) => () => {
      const inner = open(element).then((dataset) => dataset.source.open(place));
      return {
        async next() {
          try {
            return await (await inner).next();
          } catch (error) {
            return new Failure(error);
          }
        },
        save: notSaved,
        close: async () => await (await inner.catch(() => null))?.close(),
      };
    },
  }));
}

/** Batches cut anew, of the given sizes in turn. */
export function rebatched(
  { source }: AnyDataset,
  { specs, sizes, dropRemainder }: {
    readonly specs: Specs;
    readonly sizes: readonly number[];
    readonly dropRemainder: boolean;
  },
): AnyDataset {
  return generated({ kind: "Rebatch", specs, inputs: [source] }, async function* (place) {
    const input = source.open(place);
    try {
      let rows: Element[] = [], turn = 0;
      for (let item; (item = await input.next()) !== null;) {
        if (item instanceof Failure) throw item.error;
        const n = rowsOf(item);
        for (let i = 0; i < n; i++) {
          rows.push(item.map((x) => rowOf(x, i)));
          if (rows.length < sizes[turn % sizes.length]) continue;
          yield stacked(rows);
          rows = [];
          turn++;
        }
      }
      if (rows.length > 0 && !dropRemainder) yield stacked(rows);
    } finally {
      await input.close();
    }
  });
}

function rowsOf(element: Element): number {
  const n = element[0]?.shape[0];
  if (n !== undefined && element.every((x) => x.shape[0] === n)) return n;
  throw new InvalidArgumentError(
    `Cannot take batches apart: components have ${
      element.map((x) => x.shape[0] ?? "no")
    } rows, wanted the same number of each`,
    { op: "UnbatchDataset" },
  );
}

function stacked(rows: readonly Element[]): Element {
  return rows[0].map((_, c) => stackRows(rows.map((row) => row[c]), c));
}
