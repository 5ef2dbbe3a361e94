/** The tests that this folder's README names are there. */
import { assert, assertEquals } from "@std/assert";

const root = new URL("../../", import.meta.url);
const rows = Deno.readTextFileSync(new URL("README.md", import.meta.url)).split("\n")
  .filter((line) => /^\| \d/.test(line))
  .map((line) => line.split("|").map((cell) => cell.trim()));

Deno.test("each point has rows, in their order, and each row has tests", () => {
  const points = rows.map(([, point]) => Number(point!.split(":")[0]));
  assertEquals(points, points.toSorted((a, b) => a - b));
  assertEquals([...new Set(points)], [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);
  for (const [, , once, tests] of rows) assert(/`tests\/\S+_test\.ts` "/.test(tests!), once);
});

Deno.test("the tests of the table stand in their files", () => {
  let count = 0;
  for (const [, , , tests] of rows) {
    for (const part of tests!.split("; ")) {
      const [, file] = /^`(tests\/\S+)`/.exec(part) ?? [];
      if (file === undefined) {
        assert(/^`deno task fuzz/.test(part), part);
        continue;
      }
      const text = Deno.readTextFileSync(new URL(file, root));
      const names = [...part.matchAll(/"([^"]+)"/g)].map(([, name]) => name!);
      assert(names.length > 0, part);
      for (const name of names) assert(text.includes(name), `${file} has no test "${name}"`);
      count += names.length;
    }
  }
  assert(count > 40, `${count} tests`);
});
