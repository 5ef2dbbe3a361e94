// What a run on a device leaves behind: a line of JSON for each thing that was measured, written at once, so that a run
// that is cut off loses only the rest.

/** The result of one item of a part. Results are plain data of the part's own. */
export interface Entry {
  readonly part: string;
  readonly item: string;
  /** Set on a line that marks an item's beginning: if no other follows, the process ended in it. */
  readonly begun?: true;
  readonly seconds?: number;
  readonly error?: string;
  readonly result?: unknown;
}

/** The entries of a file, without those that only say that an item began; a last line that was cut off is left out. */
export async function readEntries(path: string): Promise<Entry[]> {
  const lines = (await Deno.readTextFile(path).catch(() => "")).split("\n");
  const all = lines.flatMap((line): Entry[] => {
    try {
      return [JSON.parse(line)];
    } catch {
      return [];
    }
  });
  const name = ({ part, item }: Entry): string => JSON.stringify([part, item]);
  const ended = new Set(all.filter(({ begun }) => !begun).map(name));
  return all.flatMap((entry) =>
    !entry.begun ? [entry] : ended.has(name(entry)) ? [] : [{
      part: entry.part,
      item: entry.item,
      error: "The process ended in this item",
    }]
  );
}

/** Errors that a GPU device never recovers from: what comes after them is left to another process. */
const LOST = /device (is|was) lost|lost device|DeviceLost/i;

/** The share of a part's items that one of several processes does. */
export interface Lane {
  readonly index: number;
  readonly count: number;
}

/** Writes the entries of one part, and keeps to its time. */
export class Recorder {
  /** When the part should have ended. */
  readonly deadline: number;
  readonly #path: string;
  readonly #part: string;
  readonly #done: ReadonlySet<string>;
  readonly #lane: Lane;
  #asked = 0;
  #left: string[] = [];

  private constructor(
    path: string,
    part: string,
    { seconds, done, lane }: {
      readonly seconds: number;
      readonly done: ReadonlySet<string>;
      readonly lane: Lane;
    },
  ) {
    this.#path = path;
    this.#part = part;
    this.#done = done;
    this.#lane = lane;
    this.deadline = performance.now() + 1000 * seconds;
  }

  /** Opens the file for a part; what the file has of it already is not done again. */
  static async open(
    path: string,
    part: string,
    { seconds, lane = { index: 0, count: 1 } }: { readonly seconds: number; readonly lane?: Lane },
  ): Promise<Recorder> {
    const entries = await readEntries(path);
    const done = new Set(entries.filter((e) => e.part === part).map(({ item }) => item));
    return new Recorder(path, part, { seconds, done, lane });
  }

  /** True where the part's time is up. */
  get isLate(): boolean {
    return performance.now() > this.deadline;
  }

  /**
   * Does one item and writes what it came to, be it an error; nothing where it was done before or the time is up. Rejects only
   * with what ends the device.
   */
  async attempt<T>(item: string, fn: () => T | Promise<T>): Promise<T | undefined> {
    const isOwn = this.#asked++ % this.#lane.count === this.#lane.index;
    if (!isOwn || this.#done.has(item)) return undefined;
    if (this.isLate) return void this.#left.push(item);
    this.#write({ part: this.#part, item, begun: true });
    const started = performance.now();
    const took = (): number => Number(((performance.now() - started) / 1000).toFixed(3));
    try {
      const result = await fn();
      this.#write({ part: this.#part, item, seconds: took(), result });
      return result;
    } catch (cause) {
      const error = cause instanceof Error ? cause.stack ?? cause.message : String(cause);
      this.#write({ part: this.#part, item, seconds: took(), error: error.slice(0, 2000) });
      if (LOST.test(error)) throw cause;
      return undefined;
    }
  }

  /** Writes what there was no time for. */
  end(): void {
    if (this.#left.length === 0) return;
    this.#write({ part: this.#part, item: "left out", result: this.#left });
  }

  #write(entry: Entry): void {
    Deno.writeTextFileSync(this.#path, JSON.stringify(entry) + "\n", { append: true });
    if (entry.begun) return;
    const text = entry.error?.split("\n")[0] ?? JSON.stringify(entry.result) ?? "";
    console.log(`${entry.part}: ${entry.item}: ${text.slice(0, 160)}`);
  }
}
