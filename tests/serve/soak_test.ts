/** The soak's judgement of memory, its choice of attacks, and the kinds of its phases. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import { attacksOn } from "../../bench/hostile/attacks.ts";
import { growthOf, isFlat } from "../../bench/hostile/memory.ts";
import { kindOf, kindOfTime } from "../../bench/hostile/phases.ts";

const minutes = (mib: (i: number) => number): readonly number[] =>
  Array.from({ length: 30 }, (_, i) => mib(i));
/** Up and down by as much as `most`, without a trend. */
const waves = (i: number, most: number): number => most * [0, 1, -1, 0.5, -0.5][i % 5]!;

for (
  const [name, mib, wanted] of [
    ["stays", () => 300, true],
    ["warms up in the first third", (i: number) => Math.min(i, 10) * 100, true],
    ["goes up and down by a fifth", (i: number) => 1200 + waves(i, 240), true],
    ["shrinks", (i: number) => 900 - 10 * i, true],
    ["grows by a tenth in all", (i: number) => 300 + i, true],
    ["grows by 3 % a minute", (i: number) => 300 + 9 * i, false],
    [
      "grows by 3 % a minute, up and down",
      (i: number) => 300 + 9 * i + waves(i, 30),
      false,
    ],
    ["jumps late by a half", (i: number) => i < 20 ? 300 : 450, false],
  ] as const
) {
  Deno.test(`memory that ${name} is ${wanted ? "" : "not "}flat`, () => {
    assertEquals(isFlat(minutes(mib)), wanted);
  });
}

Deno.test("growth is that of the line through the last two thirds", () => {
  const { line, least } = growthOf(minutes((i) => i < 10 ? 0 : 100 + i));
  assert(Math.abs(line - 19 / 119.5) < 1e-12 && Math.abs(least - line) < 1e-6, `${line} ${least}`);
});

Deno.test("attacksOn() finds attacks by servers and by parts of their names", () => {
  const names = (servers: readonly string[], text: string): readonly string[] =>
    attacksOn(servers, text).map(([name]) => name);
  assertEquals(names(["serve"], "objects"), ["millions of objects"]);
  assertEquals(names(["server"], "endless loop"), [
    "an endless loop of a session",
    "an endless loop whose time is over",
  ]);
  assertEquals(names(["dispatcher", "worker"], "datasets"), ["datasets that cannot be read"]);
  assert(names(["server"], "").every((name) => attacksOn(["serve", "server"], name).length > 0));
  assert(names(["serve", "server", "dispatcher", "worker"], "").length > 35);
  const error = assertThrows(() => attacksOn(["server"], "objects"), RangeError);
  assert(
    error.message.startsWith('Cannot attack by "objects": wanted a part of a name, such as "'),
  );
});

Deno.test("phases are calm and hostile by turns, and loaded ones come third where they are wanted", () => {
  const phases = { start: 1000, phaseMs: 10_000 }, starts = [0, 1000, 11_000, 21_000, 31_000];
  assertEquals(starts.map((at) => kindOf(phases, at)), [
    "calm",
    "calm",
    "hostile",
    "calm",
    "hostile",
  ]);
  assertEquals(starts.map((at) => kindOf({ ...phases, hasLoaded: true }, at)), [
    "calm",
    "calm",
    "hostile",
    "loaded",
    "calm",
  ]);
});

Deno.test("a time is hostile where a part of it is, and of no kind in the wake and between two kinds", () => {
  const phases = { start: 0, phaseMs: 10_000, hasLoaded: true };
  const kinds = [[5000, 5001], [9999, 10_001], [19_999, 20_001], [20_001, 20_002], [21_999, 22_000]]
    .map(([from, to]) => kindOfTime(phases, from!, to!));
  assertEquals(kinds, ["calm", "hostile", "hostile", null, null]);
  assertEquals(kindOfTime(phases, 22_000, 22_001), "loaded");
  assertEquals(kindOfTime(phases, 29_999, 30_001), null);
  assertEquals(kindOfTime(phases, 32_001, 32_002), "calm");
});
