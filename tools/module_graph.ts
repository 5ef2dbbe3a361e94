/**
 * The import graph of this repository, as `deno info --json` sees it.
 *
 * @module
 */

import { capture } from "./command.ts";
import { ROOT } from "./files.ts";

/** One import of one file. */
export interface Import {
  /** Path from the repository's root, or a specifier like `npm:…` for what is not a file of it. */
  readonly target: string;
  /** True for an import that vanishes when types are erased. */
  readonly typeOnly: boolean;
  /** True for an `import()` expression. */
  readonly dynamic: boolean;
}

/** The imports of the requested files and of all that they import. */
export interface ModuleGraph {
  /** The imports of each file, by its path from the repository's root. */
  readonly imports: ReadonlyMap<string, readonly Import[]>;
  /** Files that cannot be loaded or parsed, with the reason. */
  readonly errors: ReadonlyMap<string, string>;
}

interface InfoDependency {
  specifier: string;
  code?: { specifier?: string };
  type?: { specifier?: string };
  isDynamic?: boolean;
}

interface InfoModule {
  specifier: string;
  error?: string;
  dependencies?: InfoDependency[];
}

/**
 * Reads the graph below some files of the repository, given as paths from its root. Flags may name another import map.
 */
export async function readModuleGraph(
  files: readonly string[],
  flags: readonly string[] = [],
): Promise<ModuleGraph> {
  // `deno info` takes one root, so a file that imports all the others is made for it.
  const root = await Deno.makeTempFile({ prefix: "weft-graph-", suffix: ".ts" });
  const lines = files.map((file) => `import ${JSON.stringify(new URL(file, ROOT).href)};\n`);
  await Deno.writeTextFile(root, lines.join(""));
  try {
    const config = new URL("deno.json", ROOT).pathname;
    const args = ["info", "--json", "--config", config, ...flags, root];
    const { code, stdout, stderr } = await capture(Deno.execPath(), args);
    if (code !== 0) throw new Error(`Cannot read the module graph: ${stderr}`);
    return toGraph(JSON.parse(stdout).modules);
  } finally {
    await Deno.remove(root);
  }
}

function toGraph(modules: readonly InfoModule[]): ModuleGraph {
  const imports = new Map<string, Import[]>();
  const errors = new Map<string, string>();
  for (const { specifier, error, dependencies = [] } of modules) {
    const file = localPath(specifier);
    if (error !== undefined) errors.set(file, error.split("\n")[0]);
    if (!isLocal(file)) continue;
    imports.set(file, dependencies.map((dependency) => toImport(dependency)));
  }
  return { imports, errors };
}

function toImport({ specifier, code, type, isDynamic }: InfoDependency): Import {
  const target = code?.specifier ?? type?.specifier ?? specifier;
  return { target: localPath(target), typeOnly: code === undefined, dynamic: isDynamic ?? false };
}

function localPath(specifier: string): string {
  return specifier.startsWith(ROOT.href) ? specifier.slice(ROOT.href.length) : specifier;
}

/** True for a file of this repository, false for a package. */
export function isLocal(target: string): boolean {
  return !/^[a-z]+:/.test(target);
}

/** All imports that can be reached from a file, as pairs of importing file and import. */
export function reachable(graph: ModuleGraph, start: string): [string, Import][] {
  const seen = new Set([start]);
  const found: [string, Import][] = [];
  for (const file of seen) {
    for (const edge of graph.imports.get(file) ?? []) {
      found.push([file, edge]);
      seen.add(edge.target);
    }
  }
  return found;
}

/**
 * Finds import cycles: one shortest cycle through each file that lies on one, without repeats.
 *
 * @param counts Which imports count.
 */
export function findCycles(graph: ModuleGraph, counts: (edge: Import) => boolean): string[][] {
  const cycles = new Map<string, string[]>();
  for (const start of graph.imports.keys()) {
    const cycle = shortestCycle(graph, start, counts);
    if (cycle !== null) cycles.set([...cycle].sort().join(), cycle);
  }
  return [...cycles.values()];
}

function shortestCycle(
  graph: ModuleGraph,
  start: string,
  counts: (edge: Import) => boolean,
): string[] | null {
  const cameFrom = new Map<string, string>();
  const queue = [start];
  for (const file of queue) {
    for (const edge of graph.imports.get(file) ?? []) {
      if (!counts(edge) || cameFrom.has(edge.target)) continue;
      cameFrom.set(edge.target, file);
      if (edge.target === start) return pathTo(start, cameFrom);
      queue.push(edge.target);
    }
  }
  return null;
}

function pathTo(start: string, cameFrom: ReadonlyMap<string, string>): string[] {
  const path: string[] = [];
  let file = start;
  do {
    file = cameFrom.get(file)!;
    path.unshift(file);
  } while (file !== start);
  return path;
}
