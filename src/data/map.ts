/**
 * Stages that call the user's functions: map, one element at a time or several at once, and filter.
 */
import { InvalidArgumentError, ValueError } from "../core/errors.ts";
import { optionCheck } from "../core/options.ts";
import { specText } from "../core/tensor_spec.ts";
import type { Element } from "./element.ts";
import {
  checkCount,
  type Elements,
  Failure,
  looked,
  makeSource,
  type Place,
  sameType,
  type Source,
} from "./source.ts";
import { type ElementFunction, functionError, type Traced, traceFunction } from "./trace.ts";

/** Lets the runtime choose a number. TensorFlow's `tf.data.AUTOTUNE`. */
export const AUTOTUNE: number = -1;

/** Options of {@linkcode Dataset.map}. */
export interface MapOptions {
  /** How many elements may be computed at once: script bodies that await overlap. Default one. */
  readonly numParallelCalls?: number;
  /** False: elements may come in the order in which they are ready. Default true. */
  readonly deterministic?: boolean;
}

const checkOptions = optionCheck<MapOptions>("map", {
  numParallelCalls: true,
  deterministic: true,
});

/** Elements put through a function. */
export function mapSource(
  input: Source,
  fn: ElementFunction,
  options: MapOptions,
): Source {
  checkOptions(options);
  const { numParallelCalls = 1, deterministic = true } = options;
  const traced = traceFunction(fn, input, "map");
  const calls = numParallelCalls === AUTOTUNE
    ? autotuned()
    : checkCount(numParallelCalls, "numParallelCalls", 1);
  const source: Source = makeSource({
    kind: calls > 1 ? "ParallelMap" : "Map",
    specs: traced.specs,
    structure: traced.structure,
    size: input.size,
    open(place) {
      const call = calling(traced, () => source.name, place);
      if (calls === 1) return oneByOne(input, call, place);
      return deterministic
        ? inOrder(input, call, place, calls)
        : asReady(input, call, place, calls);
    },
  });
  return source;
}

type Call = (element: Element | Failure) => Promise<Element | Failure>;

function calling(traced: Traced, name: () => string, place: Place): Call {
  return async (element) => {
    if (element instanceof Failure) return element;
    try {
      return await traced.run(element, place);
    } catch (error) {
      return new Failure(functionError(error, name(), place));
    }
  };
}

function autotuned(): number {
  return (globalThis.navigator as { hardwareConcurrency?: number } | undefined)
    ?.hardwareConcurrency ?? 4;
}

async function* oneByOne(input: Source, call: Call, place: Place): Elements {
  for await (const element of input.open(place)) yield await call(element);
}

/** What is to come of one input: an element, why there is none, or the end. */
type Outcome = Element | Failure | null;

/** Several calls at once; results in the order of the inputs. */
async function* inOrder(input: Source, call: Call, place: Place, calls: number): Elements {
  const elements = input.open(place);
  const waiting: Promise<Outcome>[] = [];
  const start = async (): Promise<Outcome> => {
    const { done, value } = await elements.next();
    return done ? null : await call(value);
  };
  try {
    for (;;) {
      while (waiting.length < calls) waiting.push(looked(start()));
      const outcome = await waiting.shift()!;
      if (outcome === null) return;
      yield outcome;
    }
  } finally {
    looked(elements.return());
  }
}

/** Several calls at once; results as they are ready. */
async function* asReady(input: Source, call: Call, place: Place, calls: number): Elements {
  const elements = input.open(place);
  const running = new Map<number, Promise<{ id: number; outcome: Outcome }>>();
  let started = 0, ended = false;
  const start = async (id: number): Promise<{ id: number; outcome: Outcome }> => {
    const { done, value } = await elements.next();
    if (done) ended = true;
    return { id, outcome: done ? null : await call(value) };
  };
  try {
    for (;;) {
      while (!ended && running.size < calls) {
        const id = started++;
        running.set(id, looked(start(id)));
      }
      if (running.size === 0) return;
      const { id, outcome } = await Promise.race(running.values());
      running.delete(id);
      if (outcome !== null) yield outcome;
    }
  } finally {
    looked(elements.return());
  }
}

/** Elements for which a function says true. */
export function filterSource(input: Source, predicate: ElementFunction): Source {
  const traced = traceFunction(predicate, input, "filter");
  const [spec] = traced.specs;
  if (
    traced.specs.length !== 1 || spec.dtype !== "bool" ||
    (spec.shape !== null && spec.shape.length !== 0)
  ) {
    throw new ValueError(
      `\`predicate\` return type must be convertible to a scalar boolean tensor. Was ${
        traced.specs.map(specText).join(", ")
      }.`,
    );
  }
  const source: Source = makeSource({
    kind: "Filter",
    ...sameType(input),
    size: null,
    async *open(place) {
      const call = calling(traced, () => source.name, place);
      for await (const element of input.open(place)) {
        const answer = await call(element);
        if (answer instanceof Failure) yield answer;
        else if (answer[0].size !== 1) {
          yield new Failure(
            new InvalidArgumentError("Filter predicate `f` must return a scalar bool.", {
              op: "FilterDataset",
            }),
          );
        } else if (answer[0].at(0)) yield element;
      }
    },
  });
  return source;
}
