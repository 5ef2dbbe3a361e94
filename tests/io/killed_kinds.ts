/** Kinds of files that grow while a process lives, beside those that are replaced: events, and the dispatcher's journal. */
import * as tf from "@weft/weft";
import { createFileWriter } from "@weft/weft/tf";
import { Journal } from "../../src/cluster/data_service/journal.ts";
import { type Kind, KINDS } from "./saved_kinds.ts";

/** Writers of this process by their paths: each save adds to its file. */
const events = new Map<string, ReturnType<typeof createFileWriter>>();
const journals = new Map<string, Journal<Entry>>();

interface Entry {
  readonly value: number;
}

/** Entries after which a journal is written anew, as the dispatcher does after more. */
const MOST_ENTRIES = 5;

function entriesOf(journal: Journal<Entry>): Entry[] {
  const entries: Entry[] = [];
  journal.read((entry) => entries.push(entry));
  return entries;
}

/** Returns the journal of a folder, which goes on where an earlier process ended. */
function journalOf(path: string): Journal<Entry> {
  const known = journals.get(path);
  if (known !== undefined) return known;
  const made = new Journal<Entry>(path);
  made.rewrite(entriesOf(made).slice(-1));
  journals.set(path, made);
  return made;
}

const GROWING: Readonly<Record<string, Kind>> = {
  "events": {
    async write(path, value) {
      if (!events.has(path)) events.set(path, createFileWriter(path));
      const writer = await events.get(path)!;
      await writer.scalar("a", value, value);
      await writer.flush();
    },
    async read(path) {
      // Names begin with the second in which a file was made; a new one has no value yet.
      const files = [...Deno.readDirSync(path)].map(({ name }) => `${path}/${name}`).sort();
      let last = NaN;
      for (const file of files) {
        try {
          for await (const record of tf.data.tfrecord(file).asNumpyIterator()) {
            last = stepOf(record.data[0] as Uint8Array) ?? last;
          }
        } catch (error) {
          // A record that was being written is cut off.
          if (!(error instanceof tf.errors.DataLossError)) throw error;
        }
      }
      return last;
    },
  },
  "journal": {
    write(path, value) {
      const journal = journalOf(path);
      journal.append([{ value }]);
      if (journal.written >= MOST_ENTRIES) journal.rewrite([{ value }]);
      return Promise.resolve();
    },
    read: (path) => Promise.resolve(entriesOf(new Journal<Entry>(path)).at(-1)!.value),
  },
};

/** Returns the step of an event, its field 2; undefined where it has none, as the first one. */
function stepOf(event: Uint8Array): number | undefined {
  return event[9] === 0x10 ? event[10] : undefined;
}

/** All kinds of files. */
export const KILLED: Readonly<Record<string, Kind>> = { ...KINDS, ...GROWING };
