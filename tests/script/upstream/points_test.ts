/** The table of mended points in README.md: each names a test that is there, and is told to run in pages only where they can. */
import { assert } from "@std/assert";
import { read } from "../../../tools/files.ts";
import { portableTests } from "../../browser/bundle.ts";

const TESTS = /`([\w./]+_test\.ts)`: ?([^|]*?) *(?=\||$)/g;

Deno.test("each mended point of script ops has its tests, in pages where the table says so", () => {
  const text = read("tests/script/README.md"), portable = new Set(portableTests([""]));
  const [, table] = /## Points that were mended[^]*?\n((?:\|.*\n)+)/.exec(text)!;
  const rows = table!.trim().split("\n").slice(2);
  assert(rows.length > 20, `${rows.length} rows`);
  for (const row of rows) {
    const tests = [...row.matchAll(TESTS)];
    assert(tests.length > 0, row);
    for (const [, file, name] of tests) {
      const path = new URL(file!, "file:///tests/script/").pathname.slice(1);
      assert(/(test|testAwaited|testOnDevices|testOnGpu|gpuTest)\(/i.test(read(path)), path);
      const names = read(path).matchAll(/["`](?:[^"`\n\\]|\\.)*["`]/g);
      assert(
        [...names].some(([quoted]) => quoted.slice(1).startsWith(name!)),
        `${path}: "${name}"`,
      );
    }
    const [, , , where] = row.split("|").map((cell) => cell.trim());
    const path = new URL(tests[0]![1]!, "file:///tests/script/").pathname.slice(1);
    if (/^page/.test(where!)) assert(portable.has(path), `${path} runs in no page`);
  }
});
