/** Searching the reference. */

/** A name: what to write, its kind, its place, its first sentence. */
export type Entry = readonly [name: string, kind: string, place: string, about: string];

/** The entries that have all words, best first: the name itself, names that begin so, names that have them, sentences that do. */
export function search(entries: readonly Entry[], text: string): Entry[] {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const ranked: [rank: number, entry: Entry][] = [];
  for (const entry of entries) {
    const name = entry[0].toLowerCase(), own = name.split(/[. ]/).at(-1)!;
    const about = entry[3].toLowerCase();
    const ranks = words.map((word) => {
      if (own === word || name === word) return 0;
      if (own.startsWith(word)) return 1;
      if (name.includes(word)) return 2;
      return about.includes(word) ? 3 : Infinity;
    });
    const rank = Math.max(...ranks);
    // Shorter names, and the main entry's, are meant more often.
    if (rank < Infinity) {
      ranked.push([rank + name.length / 1000 + (name.startsWith("tf.") ? 0 : 0.5), entry]);
    }
  }
  return ranked.sort(([a], [b]) => a - b).map(([, entry]) => entry);
}
