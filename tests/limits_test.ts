/** Files stay short, folders few enough to read, and ops known by name in few places. See tools/limits.ts. */

import { assertEquals } from "@std/assert";
import { registeredOpNames } from "@weft/weft/testing";
import { list, read } from "../tools/files.ts";
import { grown, measure, readListed, readSources, type Sizes } from "../tools/limits.ts";

const sizes = async () => measure(new Set(registeredOpNames()), await readSources());

Deno.test("files, folders and lists of ops are no longer than they may be", async () => {
  const found = grown(await sizes(), readListed());
  assertEquals(found, [], "Make them smaller, or see tools/limits.ts");
});

Deno.test("nothing but src/engine/ops/, patterns of passes and file formats keeps a list of ops", async () => {
  assertEquals(readListed().ops, {}, "There is no exception");
  const { ops } = await sizes();
  const naming = Object.keys(ops).filter((file) =>
    /^src\/engine\/(devices|kernels|runtime\/(plan|eager))\//.test(file) && ops[file] > 0
  );
  assertEquals(naming, [], "They read what an op means");
});

Deno.test("grown() names what is beyond the limits and beyond its exception", () => {
  const none: Sizes = { lines: {}, files: {}, ops: {}, reach: {}, riddles: {} };
  const now: Sizes = {
    lines: { "a.ts": 401, "b.ts": 400 },
    files: { src: 31 },
    ops: { "c.ts": 3 },
    reach: { "train": 1 },
    riddles: { tools: 1 },
  };
  assertEquals(grown(now, none), [
    "a.ts: 401 lines, at most 400",
    "src: 31 files, at most 30",
    "c.ts: 3 ops by name, at most 2",
    "train: 1 files of the engine, at most 0",
    "tools: 1 riddles, at most 0",
  ]);
  const listed: Sizes = {
    lines: { "a.ts": 401 },
    files: { src: 40 },
    ops: { "c.ts": 2 },
    reach: { train: 1 },
    riddles: { tools: 2 },
  };
  assertEquals(grown(now, listed), ["c.ts: 3 ops by name, at most 2"]);
});

Deno.test("a guide is read in five minutes: at most 150 lines", () => {
  const long = list("docs", ".md").filter((file) => read(file).trimEnd().split("\n").length > 150);
  assertEquals(long, []);
});
