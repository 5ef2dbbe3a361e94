/**
 * Files of tests that run together: a group shares one copy of the library and its devices, so that modules are loaded,
 * and kernels compiled, once for all of them.
 *
 * @module
 */

import { read, ROOT } from "../files.ts";

/** Files of one group: more of them would leave one processor alone with the last group. */
const MOST = 10;

/** A line of a file that needs the library or the process for itself: `// Runs alone: the reason`. */
const ALONE = /^\/\/ Runs alone: \S/m;

/** A group of files of tests. */
export interface TestGroup {
  /** Name of the group's own file. */
  readonly name: string;
  readonly files: readonly string[];
}

/** Groups files of tests by the folder that they stand in, at most so many together. */
export function groupTests(
  tests: readonly string[],
  most: number = MOST,
): { groups: TestGroup[]; alone: string[] } {
  const alone: string[] = [];
  const byFolder = new Map<string, string[]>();
  for (const file of tests) {
    const [, of] = file.split("/");
    if (of.endsWith(".ts") || ALONE.test(read(file))) alone.push(file);
    else byFolder.set(of, [...byFolder.get(of) ?? [], file]);
  }
  const groups: TestGroup[] = [];
  for (const [of, files] of byFolder) {
    const count = Math.ceil(files.length / most), each = Math.ceil(files.length / count);
    for (let i = 0; i < count; i++) {
      groups.push({ name: `${of}_${i + 1}_test.ts`, files: files.slice(i * each, (i + 1) * each) });
    }
  }
  return { groups, alone };
}

/** Writes the files of groups of these tests into a folder and returns the paths of what is to run. */
export async function writeTestGroups(
  tests: readonly string[],
  into: string,
  most?: number,
): Promise<string[]> {
  const { groups, alone } = groupTests(tests, most);
  for (const { name, files } of groups) {
    const text = files.map((file) => `import ${JSON.stringify(new URL(file, ROOT).href)};\n`);
    await Deno.writeTextFile(`${into}/${name}`, text.join(""));
  }
  return [...groups.map(({ name }) => `${into}/${name}`), ...alone];
}
