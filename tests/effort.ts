/**
 * The effort of the tests. Every behaviour is tested either way: `deno task test` draws few random cases and takes some
 * of the exhaustive ones, `deno task test --thorough` tries all. CI does so for a tenth of these tests a day.
 */

/**
 * Number of the day in runs of all tests, where parts of the slowest lists take turns; null where files are named, or under a bare
 * `deno test`: these try every item.
 */
const DAY: number | null = Number(Deno.env.get("WEFT_TEST_DAY") ?? NaN) || null;

/** True to try all cases. */
export const THOROUGH: boolean = Deno.env.get("WEFT_TEST_EFFORT") === "thorough";

/** Returns the number of cases: usually the first, the second with all cases. */
export function effort(usual: number, thorough: number): number {
  return THOROUGH ? thorough : usual;
}

/** Some of a list's items as a rule, evenly spread from its first on; all of them where all is to be tried. */
export function some<T>(items: readonly T[], usual: number): readonly T[] {
  if (THOROUGH || items.length <= usual) return items;
  return Array.from({ length: usual }, (_, i) => items[Math.floor(i * items.length / usual)]!);
}

/**
 * True where an item, by its place in a list, belongs to the part of the day. Parts take turns every third day, so that each of them meets
 * all thirds of the tests that want an adapter (tools/structure/test_days.ts): with at most ten parts, thirty days see all.
 */
export function isOfTheDay(place: number, parts: number, day: number | null = DAY): boolean {
  return THOROUGH || day === null || place % parts === Math.floor(day / 3) % parts;
}

/** One of some parts of a list, by {@linkcode isOfTheDay}. */
export function ofTheDay<T>(items: readonly T[], parts: number): readonly T[] {
  return items.filter((_, i) => isOfTheDay(i, parts));
}

/** Takes one of a list's items as a rule, another each time, so that all have their turn over many calls; else all of them. */
export class Turns {
  #turn = 0;

  /** The items whose turn it is. */
  of<T>(items: readonly T[]): readonly T[] {
    return THOROUGH ? items : items.slice(this.#turn++ % items.length).slice(0, 1);
  }
}
