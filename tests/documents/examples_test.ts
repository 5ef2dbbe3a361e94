/** Examples of the reference show what they compute: each prints, and the line that it says is compared with what it prints (`deno task doc-test`). */

import { assert, assertEquals } from "@std/assert";
import { blocksOf } from "../../tools/doc_test.ts";
import { list } from "../../tools/files.ts";

const BLOCKS = ["mod.ts", ...list("src", ".ts")].flatMap((file) => blocksOf(file))
  .filter(({ isRun }) => isRun);

Deno.test("every example of the reference prints", () => {
  assert(BLOCKS.length > 800, `${BLOCKS.length} examples`);
  const silent = BLOCKS.filter(({ text }) => !/\bconsole\.\w+\(|\.print\(/.test(text));
  assertEquals(silent.map(({ place }) => place), []);
});

Deno.test("no example of the reference asserts", () => {
  const asserting = BLOCKS.filter(({ text }) => text.includes("@std/assert"));
  assertEquals(asserting.map(({ place }) => place), []);
});
