/** Progress on a terminal: of passes over datasets, and of `fit` of tfjs-layers. */
import { optionCheck, wantObject } from "../../../engine/core/arguments.ts";
import type { Elements, Source } from "../source.ts";

/** A stream that a line of progress is written to: `process.stderr` is one. */
export interface ProgressStream {
  /** Writes a text. */
  write(text: string): unknown;
  /** True for a terminal. To others nothing is written. */
  readonly isTTY?: boolean;
}

/** Options of `progress()` and {@linkcode progressCallback}. */
export interface ProgressOptions {
  /** Words before the numbers. */
  readonly label?: string;
  /** Number of elements, where the dataset does not know it. */
  readonly total?: number;
  /** Least time between two writes, in milliseconds. Default 100. */
  readonly everyMs?: number;
  /** Stream to write to. Default `process.stderr`, and none in pages. */
  readonly stream?: ProgressStream;
}

/** Options of {@linkcode progressCallback}; `total` counts the batches of an epoch. */
export interface ProgressCallbackOptions extends ProgressOptions {
  /** Number of epochs. */
  readonly epochs?: number;
}

const KEYS = { label: true, total: true, everyMs: true, stream: true } as const;
const checkProgress = optionCheck<ProgressOptions>("progress", KEYS);
const checkCallback = optionCheck<ProgressCallbackOptions>("progressCallback", {
  ...KEYS,
  epochs: true,
});

/** Characters of the bar. */
const BAR = 20;
/** Goes to the line's beginning and clears it. */
const AGAIN = "\r\x1b[K";

/** A line that is written again and again. */
class ProgressLine {
  readonly #stream: ProgressStream | null;
  readonly #label: string;
  readonly #total: number | null;
  readonly #everyMs: number;
  readonly #start = performance.now();
  #written = -Infinity;
  #done = 0;

  constructor({ label = "", total, everyMs = 100, stream = standardError() }: ProgressOptions) {
    this.#stream = stream?.isTTY ? stream : null;
    this.#label = label;
    this.#total = total !== undefined && Number.isFinite(total) && total > 0 ? total : null;
    this.#everyMs = everyMs;
  }

  /** Notes `n` more elements. */
  add(n: number, notes = ""): void {
    this.#done += n;
    if (this.#stream === null) return;
    const now = performance.now();
    if (now - this.#written < this.#everyMs) return;
    this.#written = now;
    this.#stream.write(AGAIN + this.#text(now, notes));
  }

  /** Writes the numbers of the whole, and ends the line. */
  end(notes = ""): void {
    if (this.#written === -Infinity) return;
    this.#stream!.write(`${AGAIN}${this.#text(performance.now(), notes, true)}\n`);
    this.#written = -Infinity;
  }

  #text(now: number, notes: string, isEnd = false): string {
    const seconds = (now - this.#start) / 1000, done = this.#done, total = this.#total;
    const rate = seconds > 0 ? done / seconds : 0;
    const parts = [this.#label, total === null ? `${done}` : `${done}/${total}`];
    if (total !== null && !isEnd) {
      const full = Math.min(BAR, Math.floor(BAR * done / total));
      parts.push(`[${"=".repeat(full)}${" ".repeat(BAR - full)}]`);
    }
    parts.push(`${rate >= 10 ? rate.toFixed(0) : rate.toFixed(1)}/s`);
    if (isEnd) parts.push(`${seconds.toFixed(1)} s`);
    else if (total !== null && rate > 0 && done < total) {
      parts.push(`${Math.ceil((total - done) / rate)} s left`);
    }
    parts.push(notes);
    return parts.filter((part) => part !== "").join(" ");
  }
}

function standardError(): ProgressStream | undefined {
  return (globalThis as { process?: { stderr?: ProgressStream } }).process?.stderr;
}

/** The same stage, whose passes write how far they are. To saved passes and other machines it is its input. */
export function progressSource(input: Source, options: ProgressOptions): Source {
  checkProgress(options);
  const { size } = input;
  return {
    ...input,
    open(place, state): Elements {
      const line = new ProgressLine({ ...(size !== null && { total: size }), ...options });
      const elements = input.open(place, state);
      return {
        async next() {
          const item = await elements.next();
          if (item === null) line.end();
          else line.add(1);
          return item;
        },
        ...(elements.many && {
          many: async (n: number) => {
            const items = await elements.many!(n);
            if (items.length > 0) line.add(items.length);
            if (items.length < n) line.end();
            return items;
          },
        }),
        save: () => elements.save(),
        close: () => {
          line.end();
          return elements.close();
        },
      };
    },
  };
}

/** Numbers that training reports, by name. */
export type ProgressLogs = Readonly<Record<string, unknown>>;

/** Callbacks as `model.fit` of tfjs-layers takes them. */
export interface ProgressCallback {
  /** Takes the number of epochs and batches. */
  setParams(params: ProgressLogs): void;
  /** Takes the model. */
  setModel(model: unknown): void;
  /** Begins an epoch's line. */
  onEpochBegin(epoch: number): void;
  /** Writes the line anew. */
  onBatchEnd(batch: number, logs?: ProgressLogs): void;
  /** Ends the line with the epoch's losses and metrics. */
  onEpochEnd(epoch: number, logs?: ProgressLogs): void;
}

/**
 * A callback for `fit` and `fitDataset` of tfjs-layers: a line for each epoch with its losses and metrics. tfjs-layers does not tell
 * plain callbacks how many epochs and batches there are: `epochs` and `total` do. Nothing is written where standard error is no terminal. Throws `TypeError` for unknown options.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const lines: string[] = [];
 * const stream = { isTTY: true, write: (text: string) => lines.push(text) };
 * // await model.fit(x, y, { epochs: 2, verbose: 0, callbacks: tf.data.progressCallback({ epochs: 2 }) });
 * const callback = tf.data.progressCallback({ epochs: 2, total: 2, stream });
 * callback.onEpochBegin(0);
 * callback.onBatchEnd(0, { loss: 0.5 });
 * console.log(lines[0].includes("epoch 1/2 1/2 [==========          ]")); // true
 * ```
 */
export function progressCallback(options: ProgressCallbackOptions = {}): ProgressCallback {
  wantObject(options, "options", "progressCallback", "an object");
  checkCallback(options);
  let line: ProgressLine | null = null, params: ProgressLogs = {};
  return {
    setParams: (given) => {
      params = given;
    },
    setModel: () => {},
    onEpochBegin: (epoch) => {
      const label = `${options.label ?? ""} epoch ${epoch + 1}${
        of(options.epochs ?? params.epochs)
      }`.trim();
      const total = stepsOf(params);
      line = new ProgressLine({ ...(total !== null && { total }), ...options, label });
    },
    onBatchEnd: (_, logs) => line?.add(1, notesOf(logs)),
    onEpochEnd: (_, logs) => {
      line?.end(notesOf(logs));
      line = null;
    },
  };
}

function of(count: unknown): string {
  return typeof count === "number" ? `/${count}` : "";
}

/** Number of batches of an epoch; null where it is unknown. */
function stepsOf({ steps, samples, batchSize }: ProgressLogs): number | null {
  if (typeof steps === "number") return steps;
  if (typeof samples !== "number" || typeof batchSize !== "number") return null;
  return Math.ceil(samples / batchSize);
}

/** Formats losses and metrics; those that are still on a device stay unread. */
function notesOf(logs: ProgressLogs = {}): string {
  return Object.entries(logs)
    .filter(([name, value]) => typeof value === "number" && name !== "batch" && name !== "size")
    .map(([name, value]) => `${name} ${(value as number).toPrecision(4)}`).join(" ");
}
