/** Stages over one input, as most are: their position is the input's, with values of their own. */
import { isPlainObject } from "../../engine/core/nest.ts";
import type { Element } from "./element.ts";
import {
  type Elements,
  Failure,
  type Item,
  makeSource,
  type Many,
  type Outcome,
  type Place,
  sameAs,
  type Source,
  type SourceInit,
  Stacked,
  type State,
} from "./source.ts";
import type { DrawCounts } from "../../engine/ops/random/state.ts";
import { stacked } from "./parts/stacked.ts";
import { drawsOf, functionError, type Traced } from "./trace.ts";

/** Plain values that a pass changes as it goes. */
type Own = { [key: string]: State };

/** Position of a pass: its own values, its input's position, and the number of elements its function got. */
type Saved = Own & { readonly input?: State; readonly number?: number };

/** One pass of a stage. */
interface Pass<S> {
  /** The input's pass. */
  readonly input: Elements;
  /** The pass's own values. */
  readonly own: S;
  readonly place: Place;
  /** Calls the stage's function with an element, or with what stands for one. */
  readonly call: (element: Element) => Promise<Outcome>;
  /** Calls it with several elements, whose calls of scripts that take batches become one. */
  readonly callAll: (items: readonly Outcome[]) => Promise<readonly Outcome[]>;
  /** Calls it with several elements, side by side where that computes the same. */
  readonly callStacked: (items: Many) => Promise<Many>;
  /** Makes the failure of an element for which the stage's function failed. */
  readonly fail: (error: unknown) => Failure;
}

/** Contents of a stage over one input. Omitted properties of its elements are the input's. */
interface StageInit<S> extends Partial<Omit<SourceInit, "inputs" | "open" | "kind">> {
  readonly kind: string;
  /** The function of the stage. */
  readonly traced?: Traced;
  /** Returns a pass's initial values. Default: none. */
  readonly begin?: () => S;
  readonly next: (pass: Pass<S>) => Promise<Item>;
  /** Gives several at once, where that saves calls. */
  readonly many?: ((pass: Pass<S>, n: number) => Promise<Many>) | undefined;
}

/** Makes a stage over one input. */
export function stageOver<S extends object>(
  input: Source,
  { traced, begin, next, many, ...init }: StageInit<S>,
): Source {
  // A stage without values of its own has its input's position.
  const isBare = traced === undefined && begin === undefined;
  const source: Source = makeSource({
    ...sameAs(input),
    // Elements that the stage makes itself may have other owners.
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
        callAll: (items) => caller!.callAll(items),
        callStacked: (items) => caller!.callStacked(items),
        fail: (error) => new Failure(functionError(error, source.name, place)),
      };
      return {
        next: () => next(pass),
        ...(many && { many: (n: number) => many(pass, n) }),
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

/** Copies the lists and records of a state. */
function copied(state: State): State {
  if (Array.isArray(state)) return state.map(copied);
  if (!isPlainObject(state)) return state;
  return Object.fromEntries(
    Object.entries(state).map(([key, value]) => [key, copied(value as State)]),
  );
}

/** The counter of elements. */
const ELEMENT = "element";

/** Calls a traced function, and numbers the elements, from which its random ops draw. */
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

  /** Returns the next element's number. */
  number(): number {
    return this.#counts.next(ELEMENT);
  }
  /** Number of elements so far. */
  get given(): number {
    return this.#counts.drawn(ELEMENT);
  }

  /** Calls the function with several elements together. Where that fails, all of them do. */
  async callAll(items: readonly Outcome[]): Promise<readonly Outcome[]> {
    const elements = items.filter((item): item is Element => !(item instanceof Failure));
    let outcomes: readonly Outcome[];
    try {
      const numbers = elements.map(() => this.number());
      outcomes = await this.#traced.runAll(elements, this.#place, numbers);
    } catch (error) {
      const failure = new Failure(functionError(error, this.#source.name, this.#place));
      outcomes = elements.map(() => failure);
    }
    let at = 0;
    return items.map((item) => item instanceof Failure ? item : outcomes[at++]);
  }

  /** Calls the function once for several elements side by side, or for one after the other where that fails. */
  async callStacked(items: Many): Promise<Many> {
    const elements = stacked(items);
    if (elements !== null) {
      try {
        const results = await this.#traced.runStacked!(elements, this.#place);
        for (let i = 0; i < elements.length; i++) this.number();
        return results;
      } catch {
        // Each fails by itself.
      }
    }
    const outcomes: Outcome[] = [];
    for (const item of items instanceof Stacked ? items.each() : items) {
      outcomes.push(await this.call(item));
    }
    return outcomes;
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
