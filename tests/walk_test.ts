/** The program that ARCHITECTURE.md follows: its printed forms there are those of today. */

import { assertEquals } from "@std/assert";
import { read } from "../tools/files.ts";
import { walk, withWalk } from "../tools/structure/walk.ts";
import { testOnGpu } from "./devices.ts";

testOnGpu("ARCHITECTURE.md shows the stages of a program as they are printed", async () => {
  const texts = await walk();
  assertEquals(texts?.result, [10, 0, 20, 10, 0, 20]);
  const document = read("ARCHITECTURE.md");
  assertEquals(document, withWalk(document, texts!), 'Run "deno task walk"');
});
