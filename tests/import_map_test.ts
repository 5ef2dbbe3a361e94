/**
 * tests/npm_only/import_map.json must lead every name to where deno.json leads it, only `@std` to
 * our own stand-ins. `--import-map` replaces the imports of deno.json, so the two are written twice.
 */

import { assert, assertEquals } from "@std/assert";
import { exists, list, read, readConfig, ROOT } from "../tools/files.ts";
import { NPM_ONLY_IMPORT_MAP } from "../tools/jsr.ts";

type Imports = Readonly<Record<string, string>>;

const config = readConfig();
const real: Imports = config.imports;
const npmOnly: Imports = JSON.parse(read(NPM_ONLY_IMPORT_MAP)).imports;

Deno.test("the npm-only import map has the npm packages of deno.json", () => {
  const packages = Object.entries(real).filter(([, target]) => target.startsWith("npm:"));
  // In deno.json a package's name covers its subpaths too; an import map has to say so.
  const expected = packages.flatMap(([name, target]) => [
    [name, target],
    [`${name}/`, `${target.replace("npm:", "npm:/")}/`],
  ]);
  const actual = Object.entries(npmOnly).filter(([, target]) => target.startsWith("npm:"));
  assertEquals(Object.fromEntries(actual), Object.fromEntries(expected));
});

Deno.test("the npm-only import map leads our own names to the same files", () => {
  const base = new URL(NPM_ONLY_IMPORT_MAP, ROOT);
  const own = Object.entries(real).filter(([, target]) => target.startsWith("./"));
  for (const [name, target] of own) {
    assertEquals(npmOnly[name] && new URL(npmOnly[name], base).href, new URL(target, ROOT).href);
  }
});

Deno.test("the npm-only import map has no other names than deno.json", () => {
  const owners = Object.keys(real);
  const strangers = Object.keys(npmOnly).filter((name) =>
    !owners.some((owner) => name === owner || name.startsWith(`${owner}/`))
  );
  assertEquals(strangers, []);
});

Deno.test("every entry point can be imported by its published name", () => {
  for (const [path, target] of Object.entries(config.exports)) {
    assertEquals(real[`${config.name}${path.slice(1)}`], target);
  }
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
