/**
 * Turns of the days in CI's tests. Each day runs every test of the CPU and a third of those that need an adapter; a tenth of the tests with
 * random or exhaustive cases tries all of them, and a tenth of the folders meets SwiftShader instead of Mesa's adapter. Parts of the slowest
 * lists take turns besides (`ofTheDay` of tests/effort.ts). Thirty days see all.
 *
 * @module
 */

import { list } from "../files.ts";

/** Files and folders of tests that try all their cases (tests/effort.ts), by the last digit of the day. */
export const THOROUGH: readonly (readonly string[])[] = [
  ["tests/combinations/joined_test.ts"],
  ["tests/combinations/half_test.ts", "tests/ort/pages_test.ts"],
  ["tests/browser", "tests/hostile"],
  ["tests/ops"],
  ["tests/programs", "tests/script"],
  ["tests/devices", "tests/tfjs_core/vis_browser_test.ts", "tests/gpu_bench_test.ts"],
  ["tests/graph"],
  ["tests/passes", "tests/serve"],
  ["tests/examples", "tests/node"],
  ["tests/site", "tests/weight_test.ts", "tests/package_globals_test.ts"],
];

/** Patterns of the names of tests, for `--filter`: those that end with "gpu]", by the number of characters before that, divided by three. */
const THIRDS = ["^(...)*gpu\\]$", "^.(...)*gpu\\]$", "^..(...)*gpu\\]$"];
const OTHERS = "[^\\]]$|[^u]\\]$|[^p]u\\]$|[^g]pu\\]$";

/** Tests of a day, in three runs that share no file. */
export interface TestDay {
  /** Files of which all cases are tried. */
  readonly thorough: readonly string[];
  /** Files that run on SwiftShader. */
  readonly swiftshader: readonly string[];
  /** All other files. */
  readonly usual: readonly string[];
  /** The pattern of the names of tests that the usual files run. */
  readonly filter: string;
}

/** Returns the tests of a day, counted from 1970. */
export function testsOfDay(day: number): TestDay {
  const files = list("tests", "_test.ts");
  const parts = THOROUGH[day % 10];
  const isThorough = (file: string) =>
    parts.some((part) => file === part || file.startsWith(`${part}/`));
  const inFolders = files.map((file) => file.split("/")).filter(({ length }) => length > 2);
  const folders = [...new Set(inFolders.map(([, folder]) => folder))];
  const isFolder = (file: string) => folders.indexOf(file.split("/")[1]) % 10 === day % 10;
  const thorough = files.filter(isThorough);
  const swiftshader = files.filter((file) => isFolder(file) && !isThorough(file));
  const usual = files.filter((file) => !isThorough(file) && !isFolder(file));
  return { thorough, swiftshader, usual, filter: `/${THIRDS[day % 3]}|${OTHERS}/` };
}
