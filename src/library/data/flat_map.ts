/**
 * Stages whose functions make a dataset of each element: flatMap, and interleave, which cycles through several of them.
 */
import { optionCheck } from "../../engine/core/arguments.ts";
import type { Tout } from "../../engine/script/tout.ts";
import type { Element, ElementType } from "./element.ts";
import { innerType, openInner, traceInner } from "./parts/inner_dataset.ts";
import { callCount, type MapOptions } from "./map.ts";
import { Ahead } from "./prefetch.ts";
import type { Settings } from "./settings.ts";
import {
  checkCount,
  type Elements,
  Failure,
  type Item,
  makeSource,
  type Place,
  type Source,
  type State,
} from "./source.ts";
import type { ElementFunction } from "./trace.ts";

/** Options of {@linkcode Dataset.flatMap}. */
export interface FlatMapOptions {
  /**
   * Type of the datasets' elements: a spec or dtype, or a list or object of them. With it the function is called for
   * elements alone, and may read their values. Default: learned from a call with symbolic tensors.
   */
  readonly outputSignature?: Tout;
}

/** Options of {@linkcode Dataset.interleave}. */
export interface InterleaveOptions extends MapOptions, FlatMapOptions {
  /** Number of datasets that are cycled through. Default 4. */
  readonly cycleLength?: number;
  /** Number of consecutive elements of one dataset. Default 1. */
  readonly blockLength?: number;
}

const checkFlatMap = optionCheck<FlatMapOptions>("flatMap", { outputSignature: true });
const checkOptions = optionCheck<InterleaveOptions>("interleave", {
  outputSignature: true,
  cycleLength: true,
  blockLength: true,
  numParallelCalls: true,
  deterministic: true,
});

/** Yields the elements of each element's dataset, one dataset after another. */
export function flatMapSource(
  input: Source,
  fn: ElementFunction,
  options: FlatMapOptions,
): Source {
  checkFlatMap(options);
  return innerSource(input, fn, "flatMap", { cycleLength: 1, ...options });
}

/** Cycles through the datasets of some elements. */
export function interleaveSource(
  input: Source,
  fn: ElementFunction,
  options: InterleaveOptions,
): Source {
  checkOptions(options);
  return innerSource(input, fn, "interleave", options);
}

/** Cycles through the datasets that a function makes. */
function innerSource(
  input: Source,
  fn: ElementFunction,
  method: "flatMap" | "interleave",
  options: InterleaveOptions,
): Source {
  const stage = method === "flatMap" ? "FlatMap" : "Interleave";
  const { cycleLength = 4, blockLength = 1, numParallelCalls = 1, deterministic } = options;
  const length = checkCount(cycleLength, "cycleLength", 1);
  const block = checkCount(blockLength, "blockLength", 1);
  const calls = callCount(numParallelCalls);
  const type = innerType(input, fn, { ...options, method });
  const source: Source = cycleSource(input, type, {
    kind: calls > 1 ? `Parallel${stage}` : stage,
    length,
    block,
    ahead: calls > 1 ? Math.min(calls, length) : 0,
    ...deterministic === undefined ? {} : { deterministic },
    settings: {
      stage,
      cycleLength: length,
      blockLength: block,
      calls: { calls: numParallelCalls, deterministic },
      trace: (needs) => traceInner({ fn, input, method }, needs),
    },
    open: (element, place) => openInner({ fn, element, input, source }, place),
  });
  return source;
}

/** Options of a cycle through datasets. */
export interface CycleOptions {
  readonly kind: string;
  /** Number of open datasets, and of consecutive elements of one. */
  readonly length: number;
  readonly block: number;
  /** Number of datasets that are read ahead of their turn. */
  readonly ahead: number;
  /** False: elements of datasets read ahead come as they are ready. Default: as the whole pipeline has it. */
  readonly deterministic?: boolean;
  /** Opens passes over the dataset of an element. */
  readonly open: (element: Element, place: Place) => (state?: State) => Elements;
  readonly settings?: Settings | undefined;
}

/** Cycles through the datasets that `open` makes of elements. */
export function cycleSource(input: Source, type: ElementType, options: CycleOptions): Source {
  return makeSource({
    kind: options.kind,
    ...type,
    size: null,
    settings: options.settings,
    inputs: [input],
    open: (place, state?: CycleState) => new Cycle(input, place, options, state),
  });
}

/** The element of an open dataset, and its number. */
type Origin = { readonly element: Element; readonly number: number };
type Inner = Origin & { readonly elements: Elements };

/**
 * Progress of a cycle: the datasets opened, whether there are no more, the current slot, and the elements it gave in
 * this turn.
 */
type Turn = { opened: number; ended: boolean; at: number; given: number };
type CycleState = Readonly<Turn> & {
  readonly input: State;
  readonly slots: readonly (Origin & { readonly inner: State } | null)[];
};

/** Cycles through some datasets, in TensorFlow's order: where one has ended, the next is opened when its turn comes. */
class Cycle implements Elements {
  readonly #input: Elements;
  readonly #options: CycleOptions;
  readonly #place: Place;
  readonly #inOrder: boolean;
  readonly #slots: (Inner | null)[];
  readonly #own: Turn = { opened: 0, ended: false, at: 0, given: 0 };

  constructor(input: Source, place: Place, options: CycleOptions, state: CycleState | undefined) {
    const { length, ahead, deterministic } = options;
    const { input: from, slots, ...own } = state ?? {};
    this.#input = input.open(place, from);
    this.#options = options;
    this.#place = place;
    this.#inOrder = ahead === 0 || (deterministic ?? place.deterministic ?? true);
    Object.assign(this.#own, own);
    this.#slots = Array.from({ length }, (_, i) => {
      const saved = slots?.[i];
      return saved ? this.#begin(saved.element, saved.number, saved.inner) : null;
    });
  }

  async next(): Promise<Item> {
    for (;;) {
      const problem = this.#options.ahead > 0
        ? await this.#fill()
        : await this.#fillSlot(this.#own.at);
      if (problem) return problem;
      const place = this.#inOrder ? this.#own.at : await this.#ready();
      const inner = this.#slots[place];
      if (inner === null) {
        if (this.#own.ended && this.#slots.every((slot) => slot === null)) return null;
        this.#turn();
        continue;
      }
      const item = await inner.elements.next();
      if (item !== null) {
        if (++this.#own.given === this.#options.block) this.#turn();
        return item;
      }
      this.#slots[place] = null;
      await inner.elements.close();
      this.#turn();
    }
  }

  async save(): Promise<CycleState> {
    return {
      ...this.#own,
      input: await this.#input.save(),
      slots: await Promise.all(this.#slots.map(async (slot) => {
        if (slot === null) return null;
        const { elements, ...origin } = slot;
        return { ...origin, inner: await elements.save() };
      })),
    };
  }

  async close(): Promise<void> {
    for (const slot of this.#slots) await slot?.elements.close();
    await this.#input.close();
  }

  #turn(): void {
    this.#own.at = (this.#own.at + 1) % this.#slots.length;
    this.#own.given = 0;
  }

  /** Opens a dataset in every free slot, and lets the datasets whose turn is next read ahead. */
  async #fill(): Promise<Failure | null> {
    const { length } = this.#slots;
    for (let i = 0; i < length; i++) {
      const problem = await this.#fillSlot((this.#own.at + i) % length);
      if (problem) return problem;
    }
    for (let i = 0; i < this.#options.ahead; i++) {
      const inner = this.#slots[(this.#own.at + i) % length];
      if (inner?.elements instanceof Ahead) inner.elements.start();
    }
    return null;
  }

  async #fillSlot(i: number): Promise<Failure | null> {
    if (this.#own.ended || this.#slots[i] !== null) return null;
    const item = await this.#input.next();
    if (item instanceof Failure) return item;
    if (item === null) {
      this.#own.ended = true;
      return null;
    }
    try {
      this.#slots[i] = this.#begin(item, this.#own.opened++);
    } catch (error) {
      return new Failure(error);
    }
    return null;
  }

  /** Returns the slot whose next element is ready first. */
  async #ready(): Promise<number> {
    const { length } = this.#slots;
    const inTurn = this.#slots.map((_, i) => (this.#own.at + i) % length);
    const first = inTurn.flatMap((i) => {
      const elements = this.#slots[i]?.elements;
      return elements instanceof Ahead ? [elements.first().then(() => i)] : [];
    });
    return first.length === 0 ? this.#own.at : await Promise.race(first);
  }

  #begin(element: Element, number: number, state?: State): Inner {
    const open = this.#options.open(element, {
      ...this.#place,
      path: `${this.#place.path}[${number}]`,
      draws: this.#place.draws.branchOf(number),
    });
    const elements = this.#options.ahead > 0
      ? new Ahead(this.#options.block, open, state as undefined)
      : open(state);
    return { element, number, elements };
  }
}
