/** tf.train.SequenceExample in records: the steps of feature lists by name. */
import { decodeString } from "../../../core/text.ts";
import { countValues, ExampleReader, FeatureColumn } from "./example_message.ts";

/** A feature list of many records: its steps, one after another, and their number in each record; -1 where it has none. */
export interface Steps {
  readonly lengths: readonly number[];
  readonly column: FeatureColumn;
}

/** The place of a step's values. */
interface Place {
  readonly kind: number;
  readonly start: number;
  readonly end: number;
  readonly count: number;
}

/** Reads the feature that the reader is at. */
function placeOf(reader: ExampleReader): Place {
  const end = reader.enter();
  let place: Place = { kind: 0, start: 0, end: 0, count: 0 };
  while (reader.next(end)) {
    const { number: kind } = reader, list = reader.enter();
    if (kind < 1 || kind > 3) {
      reader.at = list;
      continue;
    }
    const start = reader.at;
    place = { kind, start, end: list, count: countValues(reader, kind, list) };
  }
  return place;
}

/** Reads an entry of feature lists: its key, and its steps. */
function entryOf(reader: ExampleReader): [string, Place[]] {
  const entry = reader.enter();
  let key = "", steps: Place[] = [];
  while (reader.next(entry)) {
    const { number } = reader, end = reader.enter();
    if (number === 1) key = decodeString(reader.bytes.subarray(reader.at, end));
    if (number !== 2) {
      reader.at = end;
      continue;
    }
    steps = [];
    while (reader.next(end)) if (reader.number === 1) steps.push(placeOf(reader));
  }
  return [key, steps];
}

/** Reads fields of this number up to a place. */
function* fields(reader: ExampleReader, number: number, end: number): Generator<void> {
  while (reader.next(end)) if (reader.number === number) yield;
}

/** Reads the feature lists of a record: the steps of each, by name. Of several of one name the last counts. */
function listsOf(reader: ExampleReader, bytes: Uint8Array): Map<string, Place[]> {
  const found = new Map<string, Place[]>();
  reader.bytes = bytes;
  reader.at = 0;
  for (const _ of fields(reader, 2, bytes.length)) {
    for (const _ of fields(reader, 1, reader.enter())) found.set(...entryOf(reader));
  }
  return found;
}

/** Reads feature lists of many SequenceExamples by name. Throws `InvalidArgumentError` for invalid bytes. */
export function scanSequences(
  records: readonly Uint8Array[],
  names: readonly string[],
): ReadonlyMap<string, Steps> {
  const reader = new ExampleReader(), all = records.map((bytes) => listsOf(reader, bytes));
  return new Map(names.map((name) => {
    const lists = all.map((lists) => lists.get(name));
    const column = new FeatureColumn(
      lists.flatMap((steps, r) => steps?.map(() => records[r]) ?? []),
    );
    lists.flatMap((steps) => steps ?? []).forEach(({ kind, ...place }, i) => {
      if (kind > 0) column.note(i, kind, place);
    });
    return [name, { lengths: lists.map((steps) => steps?.length ?? -1), column }];
  }));
}
