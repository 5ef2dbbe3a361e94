/**
 * The entry of the library as bundlers read it, in three modules: `whole.js` does and exports all of it; `graphs.js` has the names
 * that can make graphs, and brings the whole; the entry itself has all other names, and connects what needs no graph. A page
 * that names nothing of the second has neither graphs nor the ops that only they find.
 *
 * @module
 */

/** Modules of a page without graphs that are imported for their effects. */
const EFFECTS = ["src/engine/runtime/install_values.js", "src/library/display/inspect.js"];

/** An import of the entry: `* as name` or a list of names in braces. */
const IMPORT = /^import (?:\* as (\w+)|\{([^}]*)\}) from "(\..+)";$/gm;

/** A list of exports of the entry, and what it exports of a module as a whole. */
const EXPORTS = /^export \{([^}]*)\};$/gm, STAR = /^export \* from "(\..+)";$/gm;

/** Knowledge of modules, by their paths beside the entry. */
export interface Modules {
  /** True where a module makes graphs or loads one that does. */
  readonly makesGraphs: (path: string) => boolean;
  readonly namesOf: (path: string) => readonly string[];
}

/**
 * Splits the text of the entry. Bundlers follow a name to the module that has it, past all that lies between. A constant of
 * `graphs.js`'s own keeps this module, and with it what the whole does.
 */
export function splitEntry(
  text: string,
  { makesGraphs, namesOf }: Modules,
): { readonly values: string; readonly graphs: string } {
  const exported = new Map([...text.matchAll(EXPORTS)].flatMap(([, names]) => pairsOf(names!)));
  const values = EFFECTS.map((path) => `import "./${path}";`), graphs: string[] = [];
  for (const [, space, names = "", path] of text.matchAll(IMPORT)) {
    const own = space === undefined ? pairsOf(names) : [["*", space] as const];
    const pairs = own.filter(([, local]) => exported.has(local));
    if (makesGraphs(path!)) graphs.push(...pairs.map(([, local]) => exported.get(local)!));
    else if (pairs.length > 0) {
      const list = pairs.map(([name, local]) => `${name} as ${exported.get(local)}`).join(", ");
      values.push(`export ${space === undefined ? `{ ${list} }` : list} from "${path}";`);
    }
  }
  for (const [line, path] of text.matchAll(STAR)) {
    if (makesGraphs(path!)) graphs.push(...namesOf(path!));
    else values.push(line);
  }
  values.push(`export { ${graphs.join(", ")} } from "./graphs.js";\n`);
  // Some names are words of the language, and no constant may have these.
  return {
    values: values.join("\n"),
    graphs: [
      `import { ${graphs.map((name, i) => `${name} as w${i}`).join(", ")} } from "./whole.js";`,
      ...graphs.map((_, i) => `const g${i} = w${i};`),
      `export { ${graphs.map((name, i) => `g${i} as ${name}`).join(", ")} };\n`,
    ].join("\n"),
  };
}

/** The names of a list, each with what it is called outside. */
function pairsOf(names: string): (readonly [string, string])[] {
  return names.split(",").map((name) => name.trim().split(" as ")).filter(([name]) => name !== "")
    .map(([name, as = name]) => [name!, as!]);
}

/** A module with its source and what it loads. */
export interface Source {
  readonly place: string;
  readonly text: string;
  readonly reached: ReadonlySet<string>;
}

/** Ops that code of values looks up for graphs alone. */
const IN_GRAPHS = ["PrintV2", "StringFormat"];

/** The modules of values in which something is found without an import: what others are given, and ops looked up by a name. */
export function foundByValues(modules: readonly Source[]): string[] {
  const found = new Set(modules.filter(({ text }) => /^\w+\.provide\(/m.test(text)));
  const definers = modules.filter(({ text }) => /\bdefine[A-Z]\w*\(/.test(text));
  for (const { text, reached } of modules) {
    for (const [, op] of text.matchAll(/\blookupOp\("(\w+)"\)/g)) {
      if (IN_GRAPHS.includes(op!)) continue;
      const named = new RegExp(`(?:\\bname: |(?<!\\blookupOp)\\(\\s*)"${op}"`);
      for (const definer of definers) {
        if (!reached.has(definer.place) && named.test(definer.text)) found.add(definer);
      }
    }
  }
  return [...found].map(({ place }) => place);
}
