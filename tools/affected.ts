/**
 * Which tests a change concerns. All tests import `mod.ts`, and so every file of the library: what tells them apart is which of
 * its names they use. A test is as far from a changed file as there are imports from the files of those names to it.
 *
 * @module
 */

import type { ModuleGraph } from "./module_graph.ts";

/** Files that import everything, so that a way through them says nothing. */
const HUBS = [
  ...[
    "mod.ts",
    "src/modules_generated.ts",
    "src/engine/kernels/common_kernels.ts",
    "src/engine/kernels/window_kernels.ts",
  ],
  ...["src/engine/ops/functions.ts", "src/entries/eager/mod.ts"],
];

/** Words in the names of files that say nothing of their subjects. */
const GENERIC = /^(test|gpu|cpu|wgsl|kernel|kernels|ops|op|mod|random|plan|plans|run|graph)$/;

/** The distance of a file that no import leads to, and the number of imports that a common subject outweighs. */
const FAR = 50, NEARER = 3;

/** Which files the names of a module lead to: `add` to `src/engine/ops/pointwise/arithmetic.ts`. */
export function exportsOf(text: string, read: (file: string) => string): Map<string, string> {
  const found = new Map<string, string>();
  for (const [, from] of text.matchAll(/export \* from "\.\/([^"]+)"/g)) {
    const defined = /^export (?:async )?(?:function|const|class) (\w+)/gm;
    for (const [, name] of read(from).matchAll(defined)) found.set(name, from);
  }
  for (const [, names, from] of text.matchAll(/export (?:type )?\{([^}]*)\} from "\.\/([^"]+)"/g)) {
    for (const name of names.split(",")) {
      const exported = name.trim().split(/\s+/).at(-1)!;
      if (exported !== "") found.set(exported, from);
    }
  }
  for (const [, name, from] of text.matchAll(/export \* as (\w+) from "\.\/([^"]+)"/g)) {
    found.set(name, from);
  }
  return found;
}

/** The names of the library that a test uses: `tf.add`, `import { add }`. */
export function namesUsed(text: string): string[] {
  const members = [...text.matchAll(/\btf\.(\w+)/g)].map(([, name]) => name);
  const imported = [...text.matchAll(/import \{([^}]*)\} from "@weft\/weft"/g)]
    .flatMap(([, names]) => names.split(",").map((name) => name.trim().split(/\s+/).at(-1)!));
  return [...new Set([...members, ...imported])].filter((name) => name !== "");
}

/** The inputs of {@linkcode affected}. */
export interface Sources {
  /** The imports of the library and its tests. */
  readonly graph: ModuleGraph;
  /** The text of `mod.ts`, and what it exports by the file. */
  readonly entry: string;
  /** Reads a test. */
  readonly read: (file: string) => string;
}

/** The tests that changed files concern, nearest first. */
export function affected(changed: readonly string[], { graph, entry, read }: Sources): string[] {
  const homes = exportsOf(entry, read), importers = new Map<string, Set<string>>();
  const add = (target: string, file: string) => {
    const list = importers.get(target);
    if (list === undefined) importers.set(target, new Set([file]));
    else list.add(file);
  };
  for (const [file, edges] of graph.imports) {
    if (HUBS.includes(file)) continue;
    for (const { target, typeOnly } of edges) if (!typeOnly) add(target, file);
    if (!file.startsWith("tests/")) continue;
    for (const name of namesUsed(read(file))) {
      const home = homes.get(name);
      if (home !== undefined) add(home, file);
    }
  }
  const distance = new Map(changed.map((file) => [file, 0]));
  for (const [file, far] of distance) {
    for (const importer of importers.get(file) ?? []) {
      if (!distance.has(importer)) distance.set(importer, far + 1);
    }
  }
  // A kernel is far from its tests, but has the name of its family as they do.
  const isAkin = (file: string): boolean => changed.some((other) => shareSubject(file, other));
  const rank = (file: string): number => (distance.get(file) ?? FAR) - (isAkin(file) ? NEARER : 0);
  return [...graph.imports.keys()]
    .filter((file) => file.endsWith("_test.ts") && (distance.has(file) || isAkin(file)))
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1));
}

/**
 * True where two files have a word in common, in their names or in a kernel's family: `conv` of
 * `src/engine/kernels/conv/plan.ts`.
 */
export function shareSubject(a: string, b: string): boolean {
  const words = wordsOf(a);
  return wordsOf(b).some((word) => words.includes(word));
}

function wordsOf(file: string): string[] {
  const parts = file.split("/").slice(file.startsWith("src/engine/kernels/") ? -2 : -1);
  const words = parts.join("_").replace(/\.\w+$/, "").split("_");
  return words.filter((word) => word.length > 2 && !GENERIC.test(word));
}

/** The ops that a file of `src/engine/ops/` defines. */
export function opsDefined(text: string): string[] {
  const names = text.matchAll(/^ {2}name: "(\w+)"|\bdefine\w+\("(\w+)"/gm);
  return [...names].map(([, a, b]) => a ?? b);
}
