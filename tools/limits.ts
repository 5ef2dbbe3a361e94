/**
 * Limits that keep the house readable: lines of a file, files in a folder, ops that a file outside of `src/engine/ops/` knows by name, and
 * files of the engine that its satellites reach into, and comments that are riddles. What is beyond the limits today stands in tests/limits.json with its number, which may shrink and not grow.
 *
 * `deno task limits` writes smaller numbers where something has shrunk. `--accept` writes larger ones too: for a merge of work
 * that began before, or with a reason to tell in the commit.
 *
 * @module
 */

import { answerHelp } from "./dev/help.ts";
import { enterRoot, entryPoints, list, read } from "./files.ts";
import { type ModuleGraph, readModuleGraph } from "./module_graph.ts";
import { riddlesIn } from "./structure/prose.ts";
import { AREAS, roomOf } from "./structure/areas.ts";

/** Where exceptions stand. */
export const LISTED = "tests/limits.json";

/** Numbers by the file or folder that they are of. */
export type Numbers = Readonly<Record<string, number>>;

/** The measured sizes. */
export interface Sizes {
  /** Lines of a file; examples in its comments, which the reference shows, are not counted. */
  readonly lines: Numbers;
  /** Files in a folder, those in its folders not counted. */
  readonly files: Numbers;
  /** Different ops that a file of `src/` names that neither defines ops nor is one of the tables. */
  readonly ops: Numbers;
  /** Files of the engine that a room of another area imports: its face is as small as these numbers. */
  readonly reach: Numbers;
  /** Comments of a folder and its folders that tools/structure/prose.ts finds; `src/` has none. */
  readonly riddles: Numbers;
}

/** The limits without an exception: every file may name a few ops, such as `Const`. */
export const LIMITS: Readonly<Record<keyof Sizes, number>> = {
  lines: 400,
  files: 30,
  ops: 2,
  reach: 0,
  riddles: 0,
};

/** Files that may name many ops: passes with patterns, rules of vmap, op names in files of TensorFlow, Keras and ONNX, and TensorFlow.js's kernels. */
const TABLES =
  /^src\/(engine\/graph\/passes\/(attention(_gradient)?|causal|strides|casts|filters|rewrite|turns|views)|engine\/batching\/rules(_\w+)?|tensorflow\/(graph|graph_def)(\/rules)?\/\w+|tensorflow\/files\/save(r_nodes|d_variables)|onnx\/(ops|edit|write(\/ops)?)\/\w+|tfjs\/keras\/operations|tfjs\/layers\/keras_masks|tfjs\/core\/kernel(s\/\w+|_names))\.ts$/;

/** The list of the engine's public types: no inside of it. */
const TYPES = "src/engine/types.ts";

/** Files that define ops, which may name them, and checks of ops. */
const DEFINITIONS = /^src\/(engine\/ops|tensorflow\/ops|library\/testing)\/|_ops\.ts$/;

/** Folders that are measured. */
const FOLDERS = ["src", "tests", "tools", "bench", "examples"];

const GENERATED = /_(generated|pb)\.ts$/;

/** Measures what there is, given the names of all ops and the imports of all files under `src/`. */
export function measure(ops: ReadonlySet<string>, graph: ModuleGraph): Sizes {
  const files = ["mod.ts", ...FOLDERS.flatMap((folder) => list(folder, ".ts"))]
    .filter((file) => !GENERATED.test(file));
  const texts = files.map((file): [string, string] => [file, read(file)]);
  const folders = Map.groupBy(files, (file) => file.slice(0, Math.max(0, file.lastIndexOf("/"))));
  return {
    lines: Object.fromEntries(texts.map(([file, text]) => [file, linesOf(text)])),
    files: Object.fromEntries([...folders].map(([folder, list]) => [folder, list.length])),
    ops: Object.fromEntries(
      texts.filter(([file]) =>
        file.startsWith("src/") && !DEFINITIONS.test(file) && !TABLES.test(file)
      )
        .map(([file, text]) => [file, opsNamed(text, ops)]),
    ),
    reach: reachOf(graph),
    riddles: riddlesOf(texts),
  };
}

/** An example in a comment, with the empty line above it. */
const EXAMPLE = /^(?: *\*\n)? *\* @example.*\n *\* ```[^]*?^ *\* ```\n/gm;

function linesOf(text: string): number {
  return text.replaceAll(EXAMPLE, "").split("\n").length - 1;
}

function riddlesOf(texts: readonly (readonly [string, string])[]): Numbers {
  const folders = Map.groupBy(
    texts,
    ([file]) => file.split("/").slice(0, -1).slice(0, 2).join("/"),
  );
  return Object.fromEntries(
    [...folders].map(([folder, files]) => [
      folder,
      files.reduce((n, [, text]) => n + riddlesIn(text).length, 0),
    ]),
  );
}

function reachOf({ imports }: ModuleGraph): Numbers {
  const reached = new Map<string, Set<string>>();
  for (const [file, edges] of imports) {
    const room = roomOf(file), area = room?.split("/")[0] ?? "";
    if (room === null || area === "engine" || !Object.hasOwn(AREAS, area)) continue;
    const files = edges.map((edge) => edge.target)
      .filter((to) => to.startsWith("src/engine/") && to !== TYPES);
    reached.set(room, (reached.get(room) ?? new Set()).union(new Set(files)));
  }
  return Object.fromEntries([...reached].map(([room, files]) => [room, files.size]));
}

/** The graph that `measure` wants. */
export function readSources(): Promise<ModuleGraph> {
  return readModuleGraph([...new Set([...entryPoints(), ...list("src", ".ts")])]);
}

/** Counts the ops that a text names in its literals. */
function opsNamed(text: string, ops: ReadonlySet<string>): number {
  const code = text.replaceAll(/\/\*[^]*?\*\/|^\s*\/\/.*$/gm, "");
  const names = [...code.matchAll(/"([\w|]+)"|[{,\n]\s*(\w+):/g)]
    .flatMap(([, literal, key]) => literal?.split("|") ?? [key]);
  return new Set(names.filter((name) => ops.has(name))).size;
}

const UNITS: Readonly<Record<keyof Sizes, string>> = {
  lines: "lines",
  files: "files",
  ops: "ops by name",
  reach: "files of the engine",
  riddles: "riddles",
};

/** The exceptions as they stand. */
export function readListed(): Sizes {
  return JSON.parse(read(LISTED));
}

/** Returns the numbers beyond the limits and their exceptions. */
export function grown(now: Sizes, listed: Sizes): string[] {
  return (Object.keys(LIMITS) as (keyof Sizes)[]).flatMap((kind) =>
    Object.entries(now[kind])
      .filter(([name, n]) => n > Math.max(LIMITS[kind], listed[kind][name] ?? 0))
      .map(([name, n]) =>
        `${name}: ${n} ${UNITS[kind]}, at most ${listed[kind][name] ?? LIMITS[kind]}`
      )
  );
}

/** The exceptions to write: all that are beyond the limits now, or of those listed what has shrunk. */
function exceptions(now: Sizes, listed: Sizes, accept: boolean): Sizes {
  const of = (kind: keyof Sizes): Numbers =>
    Object.fromEntries(
      Object.entries(now[kind])
        .map(([name, n]): [string, number] => [
          name,
          accept ? n : Math.min(n, listed[kind][name] ?? 0),
        ])
        .filter(([, n]) => n > LIMITS[kind])
        .sort(([a], [b]) => (a < b ? -1 : 1)),
    );
  return {
    lines: of("lines"),
    files: of("files"),
    ops: of("ops"),
    reach: of("reach"),
    riddles: of("riddles"),
  };
}

if (import.meta.main) {
  answerHelp(import.meta.url);
  enterRoot();
  const { registeredOpNames } = await import("../src/library/testing/mod.ts");
  const now = measure(new Set(registeredOpNames()), await readSources());
  const made = exceptions(now, readListed(), Deno.args.includes("--accept"));
  await Deno.writeTextFile(LISTED, `${JSON.stringify(made, null, 2)}\n`);
  for (const text of grown(now, made)) console.log(text);
}
