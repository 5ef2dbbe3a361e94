/** cache: elements kept from the first complete pass, in memory. */
import type { Element } from "./element.ts";
import {
  counted,
  type Elements,
  Failure,
  makeSource,
  type Place,
  sameAs,
  type Source,
  type State,
} from "./source.ts";

/** State of a cache: the position in the kept elements, or the state of the input whose elements may fill it. */
type CacheState = {
  readonly kept?: readonly Element[];
  readonly at?: number;
  readonly input?: State;
};

/** Keeps the elements of the first complete pass, so that later ones need not compute them. */
export function cacheSource(input: Source): Source {
  let kept: readonly Element[] | undefined;
  return makeSource({
    kind: "Cache",
    ...sameAs(input),
    isFresh: false,
    settings: { stage: "Cache" },
    open(place: Place, state?: CacheState): Elements {
      if (state?.kept) kept = state.kept;
      if (kept) return reading(kept, state?.at ?? 0);
      // A resumed pass lacks the earlier elements: the next pass fills the cache.
      const seen: Element[] | null = state ? null : [];
      const elements = input.open(place, state?.input);
      return {
        async next() {
          const item = await elements.next();
          if (item === null) kept ??= seen ?? undefined;
          else if (!(item instanceof Failure)) seen?.push(item);
          return item;
        },
        save: async () => ({ input: await elements.save() }),
        close: () => elements.close(),
      };
    },
  });
}

function reading(kept: readonly Element[], from: number): Elements {
  const elements = counted(kept.length, from, (i) => kept[i]);
  return { ...elements, save: (): CacheState => ({ kept, at: elements.save() }) };
}
