/**
 * tests/npm_only/import_map.json must lead every name to where import_map.json leads it, only `@std` to our own stand-ins. A
 * map given by `--import-map` replaces the other, so the two are written twice.
 */

import { assert, assertEquals } from "@std/assert";
import { exists, IMPORT_MAP, list, read, readConfig, ROOT } from "../tools/files.ts";
import { NPM_ONLY_IMPORT_MAP } from "../tools/jsr.ts";

type Imports = Readonly<Record<string, string>>;

const config = readConfig();
const real = config.imports;
const npmOnly: Imports = JSON.parse(read(NPM_ONLY_IMPORT_MAP)).imports;

/** Returns a map's names without `@std`, with its files as URLs. */
function others(imports: Imports, map: string): Imports {
  const base = new URL(map, ROOT);
  return Object.fromEntries(
    Object.entries(imports).filter(([name]) => !name.startsWith("@std/"))
      .map((
        [name, target],
      ) => [name, target.startsWith(".") ? new URL(target, base).href : target]),
  );
}

Deno.test("both import maps lead every name but @std to the same place", () => {
  assertEquals(others(npmOnly, NPM_ONLY_IMPORT_MAP), others(real, IMPORT_MAP));
});

Deno.test("an import map leads a package's subpaths where it leads the package", () => {
  const packages = Object.entries(real).filter(([name, target]) =>
    /^(npm|jsr):/.test(target) && !name.endsWith("/")
  );
  for (const [name, target] of packages) {
    assertEquals(real[`${name}/`], `${target.replace(":", ":/")}/`);
  }
});

Deno.test("every entry point can be imported by its published name", () => {
  for (const [path, target] of Object.entries(config.exports)) {
    assertEquals(real[`${config.name}${path.slice(1)}`], target);
  }
});

Deno.test('deno.json names no package, for "deno task" would fetch it whatever the task', () => {
  const { imports, importMap } = JSON.parse(read("deno.json"));
  assertEquals({ imports, importMap }, { imports: undefined, importMap: `./${IMPORT_MAP}` });
});

Deno.test("every @std module that our files import has a stand-in", () => {
  const base = new URL(NPM_ONLY_IMPORT_MAP, ROOT);
  for (const folder of ["src", "tests", "tools", "examples", "bench"]) {
    for (const file of list(folder, ".ts")) {
      for (const [, name] of read(file).matchAll(/from "(@std\/[^"]+)"/g)) {
        const target = npmOnly[name];
        assert(target && exists(new URL(target, base).href), `${file} imports "${name}"`);
      }
    }
  }
});
