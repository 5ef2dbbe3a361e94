/**
 * Stages over one input, as most are: where a pass stands is where its input does, and what it keeps of its own.
 */
import { isPlainObject } from "../../engine/core/nest.ts";
import type { Element } from "./element.ts";
import {
  type Elements,
  Failure,
  type Item,
  makeSource,
  type Outcome,
  type Place,
  sameAs,
  type Source,
  type SourceInit,
  type State,
} from "./source.ts";
import type { DrawCounts } from "../../engine/ops/random/state.ts";
import { drawsOf, functionError, type Traced } from "./trace.ts";

/** Plain values that a pass changes as it goes. */
type Own = { [key: string]: State };

/** Where a pass stands: with its own values its input's place, and how many elements its function got. */
type Saved = Own & { readonly input?: State; readonly number?: number };

/** One pass of a stage. */
interface Pass<S> {
  /** The input's pass. */
  readonly input: Elements;
  /** What it keeps of its own. */
  readonly own: S;
  readonly place: Place;
  /** Calls the stage's function with an element, or with what stands for one. */
  readonly call: (element: Element) => Promise<Outcome>;
  /** What stands in the place of an element for which the stage's function failed. */
  readonly fail: (error: unknown) => Failure;
}

/** What a stage over one input is made of. What it does not say of its elements is as with the input's. */
interface StageInit<S> extends Partial<Omit<SourceInit, "inputs" | "open" | "kind">> {
  readonly kind: string;
  /** The function that it calls. */
  readonly traced?: Traced;
  /** What a pass begins with. Default: nothing is its own. */
  readonly begin?: () => S;
  readonly next: (pass: Pass<S>) => Promise<Item>;
}

/** A stage over one input. */
export function stageOver<S extends object>(
  input: Source,
  { traced, begin, next, ...init }: StageInit<S>,
): Source {
  // Without anything of its own a pass stands where its input does.
  const isBare = traced === undefined && begin === undefined;
  const source: Source = makeSource({
    ...sameAs(input),
    // Those that it makes itself may be held by others.
    isFresh: init.specs === undefined && input.isFresh,
    ...init,
    open(place, state?: State): Elements {
      const saved = (isBare ? { input: state } : state) as Saved | undefined;
      const elements = input.open(place, saved?.input);
      const caller = traced && new Caller(traced, source, place, saved?.number);
      const pass: Pass<S> = {
        input: elements,
        own: (saved === undefined || isBare ? begin?.() : ownOf(saved)) as S,
        place,
        call: (element) => caller!.call(element),
        fail: (error) => new Failure(functionError(error, source.name, place)),
      };
      return {
        next: () => next(pass),
        save: async () => {
          if (isBare) return await elements.save();
          const counted = caller && { number: caller.given };
          return { ...copied(pass.own as Own) as Own, ...counted, input: await elements.save() };
        },
        close: () => elements.close(),
      };
    },
  });
  return source;
}

function ownOf({ input: _input, number: _number, ...own }: Saved): Own {
  return copied(own) as Own;
}

/** The same values in lists that nobody else changes. */
function copied(state: State): State {
  if (Array.isArray(state)) return state.map(copied);
  if (!isPlainObject(state)) return state;
  return Object.fromEntries(
    Object.entries(state).map(([key, value]) => [key, copied(value as State)]),
  );
}

/** What elements are counted by. */
const ELEMENT = "element";

/** Calls a traced function, and numbers the elements, from which what is random in it comes. */
export class Caller {
  readonly #counts: DrawCounts;
  readonly #traced: Traced;
  readonly #source: Source;
  readonly #place: Place;

  constructor(traced: Traced, source: Source, place: Place, from?: number) {
    this.#counts = drawsOf(place);
    if (from !== undefined) this.#counts.drawn(ELEMENT, from);
    this.#traced = traced;
    this.#source = source;
    this.#place = place;
  }

  /** The next element's number. */
  number(): number {
    return this.#counts.next(ELEMENT);
  }
  /** How many were numbered. */
  get given(): number {
    return this.#counts.drawn(ELEMENT);
  }

  async call(item: Outcome, number?: number): Promise<Outcome> {
    if (item instanceof Failure) return item;
    try {
      return await this.#traced.run(item, this.#place, number ?? this.number());
    } catch (error) {
      return new Failure(functionError(error, this.#source.name, this.#place));
    }
  }
}
