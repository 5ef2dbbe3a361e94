/** The documents about the house: short, and true about where files stand. */

import { assert, assertEquals } from "@std/assert";
import { exists, list, read } from "../../tools/files.ts";

const READMES = list("src", ".md").filter((file) => file.endsWith("/README.md"));

Deno.test("READMEs, ARCHITECTURE.md and CONTRIBUTING.md are short enough to read", () => {
  const most = new Map([
    ...READMES.map((file) => [file, 60] as const),
    ["ARCHITECTURE.md", 300] as const,
    ["CONTRIBUTING.md", 150] as const,
  ]);
  assert(READMES.length > 8);
  const long = [...most].flatMap(([file, lines]) => {
    const found = read(file).trimEnd().split("\n").length;
    return found > lines ? [`${file}: ${found} lines, at most ${lines}`] : [];
  });
  assertEquals(long, []);
});

// tests/architecture_test.ts holds the READMEs of areas to more.
Deno.test("files that these documents name by their paths are there", () => {
  const files = list("src", ".ts");
  const isThere = (name: string): boolean =>
    exists(name) || files.some((file) => file.endsWith(`/${name}`));
  const missing = [...READMES, "ARCHITECTURE.md", "CONTRIBUTING.md"].flatMap((file) => {
    const prose = read(file).replaceAll(/```.*?```/gs, "");
    return [...prose.matchAll(/`([a-z][\w.-]*(?:\/[\w.-]+)+\.\w+)`/g)].flatMap(([, name]) =>
      isThere(name) ? [] : [`${file}: ${name}`]
    );
  });
  assertEquals(missing, []);
});

Deno.test("guides make tapes that end where they were made", () => {
  // A tape that nothing ends goes on recording until it is collected.
  const written = [
    ...[...list("docs", ".md"), ...list("examples", ".ts"), "README.md"].map((file) =>
      [file, read(file)] as const
    ),
    ...list("src", ".ts").map((file) =>
      [file, read(file).split("\n").filter((line) => /^\s*\*/.test(line)).join("\n")] as const
    ),
  ];
  const made = written.flatMap(([file, text]) =>
    text.split("\n").filter((line) => /new (tf\.)?GradientTape\(/.test(line)).map((line) =>
      `${file}: ${line.trim()}`
    )
  );
  assert(made.length > 4, String(made));
  assertEquals(made.filter((line) => !/\busing \w+ = new /.test(line)), []);
});
