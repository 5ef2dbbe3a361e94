/** Warns once if a function is traced too often: tracing costs milliseconds, a call microseconds. */
import type { Spec } from "../core/tensor_spec.ts";
import { specText } from "../core/tensor_spec.ts";
import { RecentMap } from "../core/collections/recent_map.ts";
import { stackOf, userFrames } from "../core/throwing/user_stack.ts";

/** TensorFlow's numbers: this many traces among this many calls. */
const TRACES = 5, CALLS = 10;
/** The limit for functions made at one place. Models make some tens of them, each traced at its first call. */
const FUNCTIONS = 100, CALLS_OF_ALL = 200;

/** Output of the warnings, for tests. */
export const retracingWarning: { write: (text: string) => void } = {
  write: (text) => console.warn(text),
};

/** Counts calls, and traces among the last of them. */
class Counter {
  calls = 0;
  readonly #traces: number[] = [];
  readonly #most: number;
  readonly #within: number;
  #told = false;

  constructor(most: number, within: number) {
    this.#most = most;
    this.#within = within;
  }

  /** Notes that the call was traced. True the first time that a warning is due. */
  traced(): boolean {
    if (this.#told) return false;
    this.#traces.push(this.calls);
    while (this.calls - this.#traces[0] >= this.#within) this.#traces.shift();
    return this.#told = this.#traces.length >= this.#most;
  }
}

export interface TraceReason {
  /** Key apart from tensors: equal for equal nests and JavaScript values. */
  readonly structure: string;
  /** The tensors' specs. */
  readonly specs: readonly Spec[];
  /** True where shapes are relaxed already. */
  readonly isRelaxed: boolean;
}

/** Functions made at one place of the user's code, with one text. */
const places = new RecentMap<string, Counter>(1024);

/** Watches one function. */
export class Retracing {
  readonly #name: string;
  readonly #fn: { toString(): string };
  readonly #made: Error = new Error();
  readonly #own = new Counter(TRACES, CALLS);
  #place: Counter | null = null;
  #before: TraceReason | null = null;

  /** Watches a new function; its place is the code that called `maker`. */
  constructor(name: string, fn: { toString(): string }, maker: unknown) {
    this.#name = name;
    this.#fn = fn;
    // V8 can omit the maker's own frames, which look like any others in a bundle.
    const { captureStackTrace } = Error as { captureStackTrace?(e: Error, above: unknown): void };
    captureStackTrace?.(this.#made, maker);
  }

  called(): void {
    this.#own.calls++;
    if (this.#place !== null) this.#place.calls++;
  }

  /** Notes that the call was traced, and warns once if there were too many. */
  traced(reason: TraceReason): void {
    const before = this.#before;
    this.#before = reason;
    if (before === null && this.#places().traced()) {
      return warn(
        `"${this.#name}" is one of ${FUNCTIONS} functions made by tf.function() at the same line and traced at their first call. Make it once, outside of the loop:\n${
          userFrames(stackOf(this.#made))
        }`,
      );
    }
    if (this.#own.traced() && before !== null) {
      warn(
        `${TRACES} of the last ${CALLS} calls of "${this.#name}" were traced, each of which takes as long as thousands of calls. ${
          because(before, reason)
        }`,
      );
    }
  }

  #places(): Counter {
    const key = `${userFrames(stackOf(this.#made)).split("\n")[0]}\n${this.#fn}`;
    let place = places.get(key);
    if (place === undefined) places.set(key, place = new Counter(FUNCTIONS, CALLS_OF_ALL));
    place.calls++;
    return this.#place = place;
  }
}

function because(before: TraceReason, now: TraceReason): string {
  if (before.structure !== now.structure) {
    return "Other values than tensors differed among its arguments, and belong to a trace: numbers, texts and lists by their value, objects and functions by identity. Pass what varies as tensors, and objects that are made once";
  }
  const at = now.specs.findIndex((spec, i) => specText(spec) !== specText(before.specs[i]));
  const [was, is] = [before, now].map(({ specs }) => specs[at] ? specText(specs[at]) : "nothing");
  const signature = `an inputSignature with null for the dimensions that vary`;
  return `A tensor among its arguments was ${was} and then ${is}. Give tf.function() ${signature}${
    now.isRelaxed ? "" : ", or { reduceRetracing: true }"
  }`;
}

function warn(text: string): void {
  retracingWarning.write(`weft: ${text}`);
}
