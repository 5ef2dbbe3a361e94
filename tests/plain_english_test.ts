/** Comments are plain English: they begin with their subject and name buffers, owners and callbacks, not persons. */

import { assertEquals } from "@std/assert";
import { list, read } from "../tools/files.ts";
import { riddlesIn } from "../tools/structure/prose.ts";

const GENERATED = /_(generated|pb)\.ts$/;

Deno.test("no comment in src/ is a riddle", () => {
  const found = ["mod.ts", ...list("src", ".ts")].filter((file) => !GENERATED.test(file))
    .flatMap((file) => riddlesIn(read(file)).map((comment) => `${file}: ${comment}`));
  assertEquals(found, [], 'Begin with the subject: "Returns …", "True where …", "Number of …"');
});

Deno.test("riddlesIn() finds question words and persons in comments, not in code", () => {
  const text = [
    "/** What a buffer holds. */",
    "/**",
    " * Whether it is there.",
    " */",
    "/** Whatever fits. */",
    "/** Bytes that nobody reads. */",
    "// Who asks gets it.",
    "/** Reads `whoever()`. */",
    'const who = "/** How it goes. */";',
  ].join("\n");
  assertEquals(riddlesIn(text), [
    "/** What a buffer holds. */",
    "/** Whether it is there. */",
    "/** Bytes that nobody reads. */",
    "// Who asks gets it.",
  ]);
});
