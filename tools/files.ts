/**
 * The files of this repository. Tools name them by their paths from its root, with slashes.
 *
 * @module
 */

/** The repository's root directory as a file URL ending in a slash. */
export const ROOT: URL = new URL("../", import.meta.url);

/** Makes the repository's root the current directory, so that a tool may be started anywhere. */
export function enterRoot(): void {
  Deno.chdir(ROOT);
}

/** True where a file or folder exists at a path, of `kind` if given. */
export function exists(path: string, kind?: "isFile" | "isDirectory"): boolean {
  try {
    const info = Deno.statSync(new URL(path, ROOT));
    return kind === undefined || info[kind];
  } catch {
    return false;
  }
}

/** The text of a file. */
export function read(path: string): string {
  return Deno.readTextFileSync(new URL(path, ROOT));
}

/** All files below a folder with a given ending, sorted; none where there is no such folder. */
export function list(folder: string, ending: string): string[] {
  if (!exists(folder, "isDirectory")) return [];
  const found: string[] = [];
  for (const { name, isDirectory } of Deno.readDirSync(new URL(folder, ROOT))) {
    if (isDirectory) found.push(...list(`${folder}/${name}`, ending));
    else if (name.endsWith(ending)) found.push(`${folder}/${name}`);
  }
  return found.sort();
}

/** Where bare names lead: the file that deno.json names. */
export const IMPORT_MAP = "import_map.json";

/** The parts of deno.json that tools read, and the imports of its import map. */
export interface Config {
  readonly name: string;
  readonly version: string;
  readonly license: string;
  readonly exports: Readonly<Record<string, string>>;
  readonly imports: Readonly<Record<string, string>>;
}

/** Reads deno.json and the import map. */
export function readConfig(): Config {
  return { ...JSON.parse(read("deno.json")), ...JSON.parse(read(IMPORT_MAP)) };
}

/** The public entry points, mod.ts first. */
export function entryPoints(): string[] {
  return Object.values(readConfig().exports).map((path) => path.replace(/^\.\//, ""));
}
