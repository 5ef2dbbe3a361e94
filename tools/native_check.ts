/**
 * Checks types with TypeScript's native compiler, in a tenth of the time that `deno check` takes. It knows neither Deno nor its
 * cache: it is told where the packages lie there, and what Deno's globals are. What it says is for a quick look; `deno check`,
 * which `deno task ok` asks, has the last word.
 *
 * @module
 */

import { capture, type CommandResult, run } from "./command.ts";
import { exists, list, read, readConfig } from "./files.ts";
import { NPM_ONLY_IMPORT_MAP } from "./jsr.ts";

/** The compiler as a package: a preview, so its version is named. */
const COMPILER = "npm:@typescript/native-preview@7.0.0-dev.20260707.2/tsgo";

/** The types of Deno's Node API: timers, `node:` modules. */
const NODE_TYPES = "@types/node@24.10.1";

/** The folder of the files that the compiler reads. */
const FOLDER = ".cache/native_check";

/** Folders and files whose types are checked. */
const CHECKED = ["mod.ts", "src", "tests", "tools"];

/** Checks the library, its tests and tools. Null where the compiler is not in Deno's cache, nor could be fetched. */
export async function nativeCheck(): Promise<CommandResult | null> {
  const wanted = [COMPILER, `npm:${NODE_TYPES}`, ...packagesImported()];
  const { code } = await capture(Deno.execPath(), ["cache", "--no-config", ...wanted]);
  if (code !== 0) return null;
  await Deno.mkdir(FOLDER, { recursive: true });
  const types = await capture(Deno.execPath(), ["types"]);
  await Deno.writeTextFile(`${FOLDER}/deno.d.ts`, types.stdout);
  await Deno.writeTextFile(`${FOLDER}/tsconfig.json`, JSON.stringify(await tsConfig(), null, 2));
  return await run(Deno.execPath(), ["run", "-A", "--no-config", COMPILER, "-p", FOLDER]);
}

/** The packages that files to check import. */
function packagesImported(): string[] {
  const text = CHECKED.flatMap((folder) => list(folder, ".ts")).map(read).join("\n");
  return Object.entries(readConfig().imports)
    .filter(([name, target]) => target.startsWith("npm:") && text.includes(`from "${name}"`))
    .map(([, target]) => target);
}

async function tsConfig(): Promise<object> {
  const config = JSON.parse(await Deno.readTextFile("deno.json"));
  const folders = await packageFolders();
  return {
    compilerOptions: {
      ...config.compilerOptions,
      isolatedDeclarations: false,
      target: "esnext",
      module: "esnext",
      moduleResolution: "bundler",
      allowImportingTsExtensions: true,
      resolveJsonModule: true,
      noEmit: true,
      skipLibCheck: true,
      lib: ["esnext"],
      types: [],
      paths: await paths(folders),
    },
    files: ["deno.d.ts", `${folderOf(NODE_TYPES, folders)}/index.d.ts`],
    include: CHECKED.map((path) => `../../${path}`),
  };
}

/** Targets of bare names: our own and `@std` as the npm-only import map says, packages to Deno's cache. */
async function paths(folders: readonly string[]): Promise<Record<string, string[]>> {
  const { imports } = JSON.parse(await Deno.readTextFile(NPM_ONLY_IMPORT_MAP)) as {
    imports: Record<string, string>;
  };
  const found: Record<string, string[]> = {};
  for (const [name, target] of Object.entries({ ...readConfig().imports, ...imports })) {
    if (target.startsWith(".")) found[name] = [`../../tests/npm_only/${target}`];
    const folder = target.startsWith("npm:")
      ? folderOf(target.slice("npm:".length), folders)
      : null;
    if (folder === null || name.endsWith("/")) continue;
    found[name] = [folder];
    for (const [path, file] of await exportsOf(folder)) found[`${name}${path}`] = [file];
  }
  return found;
}

/** The file of each path that a package exports: `paths` goes past its package.json. */
async function exportsOf(folder: string): Promise<[path: string, file: string][]> {
  const { exports = {} } = JSON.parse(await Deno.readTextFile(`${folder}/package.json`));
  const fileOf = (entry: unknown): string | null => {
    if (typeof entry === "string") return entry;
    const { types, import: module } = (entry ?? {}) as Record<string, unknown>;
    return types === undefined && module === undefined ? null : fileOf(types ?? module);
  };
  return Object.entries(exports).flatMap(([path, entry]): [string, string][] => {
    const file = path.startsWith(".") && !path.includes("*") ? fileOf(entry) : null;
    // Without its ending, a module's declarations are found beside it.
    const module = file?.replace(/^\.\//, "").replace(/(?<!\.d)\.[cm]?js$/, "");
    return module === undefined ? [] : [[path.slice(1), `${folder}/${module}`]];
  });
}

/** The folders of Deno's cache that hold packages, one a registry. */
async function packageFolders(): Promise<string[]> {
  const { stdout } = await capture(Deno.execPath(), ["info", "--json"]);
  const { npmCache } = JSON.parse(stdout) as { npmCache: string };
  return [...Deno.readDirSync(npmCache)].map(({ name }) => `${npmCache}/${name}`);
}

/** Returns the folder of a package such as `esbuild@0.28.2`, or null. */
function folderOf(name: string, folders: readonly string[]): string | null {
  const path = name.replace(/(?!^)@/, "/");
  return folders.map((folder) => `${folder}/${path}`)
    .find((folder) => exists(`file://${folder}`, "isDirectory")) ?? null;
}
