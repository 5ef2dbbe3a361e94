/**
 * Runs the examples in doc comments, in the README and in docs/ as tests. They import the published names, as a user would,
 * and work without JSR like the other tests.
 *
 * `deno test --doc` loads the library anew for each example. Here the examples of a folder stand in one module, each in a
 * function of its own below the imports that they share. `deno task ok check` checks their types.
 *
 * An example says in a comment behind `console.log(…);` which line that prints. The line is compared with it, up to white space;
 * `…` in the comment stands for any text.
 *
 * @module
 */

import { run } from "./command.ts";
import { prepareWebGpu } from "./environment.ts";
import { enterRoot, exists, list } from "./files.ts";
import { chooseImports } from "./jsr.ts";

/** A fence of a block, with what stands before each of its lines, and its language. */
const FENCE = /^([ *]*)```(\w*)(.*)$/;

/** Languages of examples. */
const LANGUAGES = ["ts", "typescript", "tsx", "js", "javascript", "jsx"];

/** An import at the beginning of a line, over several lines where it has many names. */
const IMPORT = /^import\s+(?:([^"']*?)\s+from\s+)?["']([^"']+)["'];?[^\n]*$/gm;

/** The head of each module: `printed(text)` prints as `console.log` does, and compares. */
const PRINTED = `
import { assertEquals as equal, assertMatch as match } from "@std/assert";

function printed(wanted: string): (...values: unknown[]) => void {
  return (...values) => {
    console.log(...values);
    const line = values
      .map((value) => typeof value === "string" ? value : Deno.inspect(value, { colors: false }))
      .join(" ").replace(/\\s+/g, " ").replace(/([[{(]) /g, "$1").replace(/ ([\\]})])/g, "$1");
    if (!wanted.includes("…")) return equal(line, wanted);
    const escaped = wanted.split("…").map((part) => part.replace(/[.*+?^\${}()|[\\]\\\\]/g, "\\\\$&"));
    match(line, new RegExp("^" + escaped.join(".*") + "$"));
  };
}
`;

/**
 * Number of names in a folder's path by which examples share a module, which loads the library anew for half a second. Below `src/tfjs`
 * one more: two libraries that stand for TensorFlow.js do not share a global scope.
 */
const depthOf = (file: string): number => file.startsWith("src/tfjs/") ? 3 : 2;

/** The folder of the modules that are made, ignored by git. */
export const EXAMPLES = "doc_examples";

/** A block of code in a file. */
export interface Block {
  /** File and line, such as `src/a.ts:12`. */
  readonly place: string;
  readonly text: string;
  /** False where it is no program, or says that it is not run by itself. */
  readonly isRun: boolean;
}

/** An example: where it stands, what it imports and its other lines. */
export interface Example {
  /** File and line, such as `src/a.ts:12`. */
  readonly place: string;
  /** Imports by the name that the example gives them; those for effect alone have their own text as a name. */
  readonly imports: ReadonlyMap<string, string>;
  readonly body: string;
}

/** Examples whose imports agree, and so can share a module. */
interface Group {
  readonly folder: string;
  readonly imports: Map<string, string>;
  readonly examples: Example[];
}

async function main(args: readonly string[]): Promise<number> {
  enterRoot();
  prepareWebGpu();
  const files = await writeExamples(args);
  if (files.length === 0) {
    console.log("There are no examples to test");
    return 0;
  }
  const imports = await chooseImports();
  const flags = ["test", "-A", "--no-check", "--parallel", ...imports.args];
  return (await run(Deno.execPath(), [...flags, ...files])).code;
}

/** Writes the examples of files, or of all documents and sources, as modules of tests, and gives these. */
export async function writeExamples(sources: readonly string[] = []): Promise<string[]> {
  const all = ["mod.ts", ...list("src", ".ts"), "README.md", ...list("docs", ".md")];
  const groups = grouped((sources.length > 0 ? sources : all).filter((file) => exists(file)));
  if (exists(EXAMPLES)) await Deno.remove(EXAMPLES, { recursive: true });
  await Deno.mkdir(EXAMPLES);
  return groups.map((group, i) => {
    const name = `${group.folder}_${i}_test.ts`.replace(/^_/, "").replaceAll("/", "_");
    Deno.writeTextFileSync(`${EXAMPLES}/${name}`, moduleText(group));
    return `${EXAMPLES}/${name}`;
  });
}

/** The examples of files, those of a folder together where their imports agree. */
function grouped(files: readonly string[]): Group[] {
  const groups: Group[] = [];
  for (const file of files) {
    const folder = file.split("/").slice(0, -1).slice(0, depthOf(file)).join("/");
    for (const example of examplesOf(file)) {
      let group = groups.find((group) => group.folder === folder && agrees(group, example));
      if (group === undefined) {
        group = { folder, imports: new Map(), examples: [] };
        groups.push(group);
      }
      for (const [name, text] of example.imports) group.imports.set(name, text);
      group.examples.push(example);
    }
  }
  return groups;
}

function agrees(group: Group, example: Example): boolean {
  return [...example.imports].every(([name, text]) => (group.imports.get(name) ?? text) === text);
}

/** Reads the examples of a file. */
export function examplesOf(file: string): Example[] {
  return blocksOf(file).filter(({ isRun }) => isRun)
    .map(({ place, text }) => ({ place, ...parted(text) }));
}

/** Reads all blocks of a file. */
export function blocksOf(file: string): Block[] {
  const blocks: Block[] = [];
  const lines = Deno.readTextFileSync(file).split("\n");
  for (let i = 0; i < lines.length; i++) {
    const fence = FENCE.exec(lines[i]!);
    if (fence === null) continue;
    const start = i + 1;
    const [, prefix, language, more] = fence as unknown as [string, string, string, string];
    do i++; while (i < lines.length && !lines[i]!.startsWith(`${prefix}\`\`\``));
    const text = lines.slice(start, i).map((line) => line.slice(prefix.length)).join("\n");
    const isRun = LANGUAGES.includes(language) && !/\bignore\b/.test(more);
    blocks.push({ place: `${file}:${start}`, text, isRun });
  }
  return blocks;
}

/** Parts an example's text into its imports and the lines that follow them. */
function parted(text: string): Pick<Example, "imports" | "body"> {
  const imports = new Map<string, string>();
  const body = text.replace(IMPORT, (_, clause: string | undefined, from: string) => {
    for (const [name, text] of bindings(clause, from)) imports.set(name, text);
    return "";
  });
  return { imports, body: comparing(body) };
}

/** Makes calls of `console.log` with a comment behind them compare what they print with it. */
function comparing(body: string): string {
  let text = "";
  let from = 0;
  for (const { index, 0: call } of body.matchAll(/\bconsole\.log\(/g)) {
    const end = closing(body, index + call.length);
    const comment = /^\);? *\/\/ (.*)/.exec(body.slice(end));
    if (comment === null) continue;
    const wanted = comment[1]!.trim().replace(/\s+/g, " ").replace(/([[{(]) /g, "$1")
      .replace(/ ([\]})])/g, "$1");
    text += `${body.slice(from, index)}printed(${JSON.stringify(wanted)})(`;
    from = index + call.length;
  }
  return text + body.slice(from);
}

/** Index of the parenthesis that closes one before `from`. */
function closing(text: string, from: number): number {
  let depth = 1;
  let quote = "";
  for (let i = from; i < text.length; i++) {
    const c = text[i]!;
    if (quote !== "") {
      if (c === "\\") i++;
      else if (c === quote) quote = "";
    } else if (c === '"' || c === "'" || c === "`") quote = c;
    else if ("([{".includes(c)) depth++;
    else if (")]}".includes(c) && --depth === 0) return i;
  }
  return text.length;
}

/** An import of each of a clause's names by itself. */
function bindings(clause: string | undefined, from: string): [string, string][] {
  const source = `from ${JSON.stringify(from)};`;
  if (clause === undefined) return [[from, `import ${JSON.stringify(from)};`]];
  const named = /\{([^}]*)\}/.exec(clause);
  const isType = clause.startsWith("type ");
  const whole = clause.replace(/\{[^}]*\}/, "").split(",").map((part) => part.trim())
    .filter((part) => part !== "" && part !== "type")
    .map((part): [string, string] => [part.split(" ").at(-1)!, `import ${part} ${source}`]);
  const parts = (named?.[1] ?? "").split(",").map((part) => part.trim()).filter((part) =>
    part !== ""
  )
    .map((part): [string, string] => [
      part.split(" ").at(-1)!,
      `import { ${isType ? "type " : ""}${part} } ${source}`,
    ]);
  return [...whole, ...parts];
}

function moduleText({ imports, examples }: Group): string {
  const tests = examples.map(({ place, body }) =>
    `Deno.test(${JSON.stringify(place)}, async () => {\n${body}\n});\n`
  );
  return `${[...new Set(imports.values())].join("\n")}\n${PRINTED}\n${tests.join("\n")}`;
}

if (import.meta.main) Deno.exit(await main(Deno.args));
