/** The library asks for nothing that Node 20 does not have. The tests do, and bring it along: they would not notice. */

import { assertEquals } from "@std/assert";
import { list, read } from "../../tools/files.ts";

/** Parts of the language since Node 21 or 22, methods of iterators among them. */
const LATER = [
  /\bPromise\.(withResolvers|try)\b/,
  /\b(Map|Object)\.groupBy\b/,
  /\bArray\.fromAsync\b/,
  /\bRegExp\.escape\b/,
  /\.(symmetricDifference|isSubsetOf|isSupersetOf|isDisjointFrom)\(/,
  /\.(keys|values|entries)\(\)\.(map|filter|flatMap|take|drop|toArray|some|every|find|reduce|forEach)\(/,
  /\bIterator\.from\b/,
  /\bimport\.meta\.(dirname|filename)\b/,
];

Deno.test("sources name no part of the language that Node 20 lacks", () => {
  const found = list("src", ".ts").flatMap((file) =>
    read(file).split("\n").flatMap((line, i) => {
      const code = line.replace(/^\s*(\*|\/\/|\/\*\*).*/, "");
      return LATER.some((later) => later.test(code)) ? [`${file}:${i + 1}: ${line.trim()}`] : [];
    })
  );
  assertEquals(found, []);
});
