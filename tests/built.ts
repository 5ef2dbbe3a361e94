/**
 * Builds that take seconds, such as the package: made once for all files of tests of a run, in the folder that
 * tools/test.ts names by `WEFT_TEST_BUILT`, and for a single file where there is none. `WEFT_TEST_PACKAGE` names a folder that
 * `deno task build` has just written, as CI does before its tests.
 */

import { buildPackage, type PackageOptions } from "../tools/build.ts";

const shared = Deno.env.get("WEFT_TEST_BUILT");
const home = shared ?? await Deno.makeTempDir({ prefix: "weft-built-" });
if (shared === undefined) {
  addEventListener("unload", () => Deno.removeSync(home, { recursive: true }));
}

/**
 * Writes the package into a folder, as {@linkcode buildPackage} does. Where several files of tests share what is built, all get the one with
 * declarations, as it is published; a single file that needs none does not wait for them.
 */
export async function putPackage(
  folder: string,
  { types = true }: PackageOptions = {},
): Promise<void> {
  copyFolder(await builtPackage({ types }), folder);
}

/** Returns a folder with the package, which must stay as it is: see {@linkcode putPackage}. */
export async function builtPackage({ types = true }: PackageOptions = {}): Promise<string> {
  const options = { types: types || shared !== undefined };
  const given = Deno.env.get("WEFT_TEST_PACKAGE");
  return given ?? await builtOnce("package", (path) => buildPackage(path, options));
}

/** Returns a folder of this run, which the first caller fills and the others wait for. Its files must stay as they are. */
export async function builtOnce(
  name: string,
  fill: (folder: string) => Promise<void>,
): Promise<string> {
  const folder = `${home}/${name}`, part = `${folder}.part`;
  using lock = await Deno.open(`${folder}.lock`, { create: true, write: true });
  await lock.lock(true);
  if (await Deno.stat(folder).then(() => true, () => false)) return folder;
  await Deno.remove(part, { recursive: true }).catch(() => {});
  await Deno.mkdir(part);
  await fill(part);
  await Deno.rename(part, folder);
  return folder;
}

function copyFolder(from: string, to: string): void {
  Deno.mkdirSync(to, { recursive: true });
  for (const { name, isDirectory } of Deno.readDirSync(from)) {
    if (isDirectory) copyFolder(`${from}/${name}`, `${to}/${name}`);
    else Deno.copyFileSync(`${from}/${name}`, `${to}/${name}`);
  }
}
