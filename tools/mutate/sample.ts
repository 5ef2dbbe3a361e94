/**
 * Chooses which mutants are tried: a sample that a seed decides, those on changed lines first.
 *
 * @module
 */

import { capture } from "../command.ts";
import { keyOf, type Mutant } from "./mutants.ts";

/** Lines of each file that a change touched. */
export type ChangedLines = ReadonlyMap<string, ReadonlySet<number>>;

/**
 * The mutants in the order in which they are tried. A mutant's rank depends on the seed and on its line's text, so that one seed
 * gives mostly the same mutants while the sources change.
 */
export function order(mutants: readonly Mutant[], seed: number, changed: ChangedLines): Mutant[] {
  const ranked = mutants.map((mutant) => {
    const isChanged = changed.get(mutant.file)?.has(mutant.line) ?? false;
    return { mutant, isChanged, rank: hash(`${seed}\0${keyOf(mutant)}`) };
  });
  ranked.sort((a, b) => Number(b.isChanged) - Number(a.isChanged) || a.rank - b.rank);
  return ranked.map(({ mutant }) => mutant);
}

/** The lines that differ from a commit, or none where no commit is named. */
export async function changedLines(since: string | undefined): Promise<ChangedLines> {
  const changed = new Map<string, Set<number>>();
  if (since === undefined) return changed;
  const { code, stdout, stderr } = await capture("git", [
    "diff",
    "--unified=0",
    since,
    "--",
    "src",
  ]);
  if (code !== 0) throw new Error(`Cannot tell what changed since "${since}": ${stderr.trim()}`);
  return readDiff(stdout);
}

/** Reads what `git diff --unified=0` says. */
export function readDiff(diff: string): ChangedLines {
  const changed = new Map<string, Set<number>>();
  let lines = new Set<number>();
  for (const line of diff.split("\n")) {
    const file = /^\+\+\+ b\/(.*)$/.exec(line);
    if (file) changed.set(file[1], lines = new Set());
    const hunk = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (!hunk) continue;
    for (let i = 0; i < Number(hunk[2] ?? 1); i++) lines.add(Number(hunk[1]) + i);
  }
  return changed;
}

/** FNV-1a, with a last mixing: keys that differ in their ends only must not lie together. */
function hash(text: string): number {
  let h = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193);
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
