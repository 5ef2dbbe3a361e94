/**
 * The effort of the tests. Every behaviour is tested either way: `deno task test` draws few random cases and takes some
 * of the exhaustive ones, `deno task test --thorough` tries all. CI does so for a tenth of these tests a day.
 */

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

/** Takes one of a list's items as a rule, another each time, so that all have their turn over many calls; else all of them. */
export class Turns {
  #turn = 0;

  /** The items whose turn it is. */
  of<T>(items: readonly T[]): readonly T[] {
    return THOROUGH ? items : items.slice(this.#turn++ % items.length).slice(0, 1);
  }
}
