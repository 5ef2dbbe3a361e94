/** `deno task mutate`: the mutants it finds, the counters it puts in, the order it tries them in, and how it judges. */

import { assert, assertEquals } from "@std/assert";
import { exists, read } from "../tools/files.ts";
import { instrument } from "../tools/mutate/instrument.ts";
import { applyMutant, judge } from "../tools/mutate/judge.ts";
import { findMutants, keyOf, type MutantKey } from "../tools/mutate/mutants.ts";
import { type Learnt, nameOf } from "../tools/mutate/near_runner.ts";
import { order, readDiff } from "../tools/mutate/sample.ts";
import { withSwitches } from "../tools/mutate/switches.ts";
import type { KnownTest } from "../tools/mutate/coverage.ts";

/** The mutants of a source as texts. */
function mutantsOf(source: string): string[] {
  return findMutants("a.ts", source).map(({ original, mutated }) => `${original} -> ${mutated}`);
}

Deno.test("findMutants() changes conditions, bounds, operators, constants, calls and statements", () => {
  const cases: Record<string, string[]> = {
    "if (a) b();": ["a -> !(a)", "b(); -> ;"],
    "function f(a) { if (!a) return 1; }": ["if (!a) return 1; -> ", "!a -> a", "1 -> 0"],
    "x = a < b;": ["x = a < b; -> ;", "< -> <="],
    "x = a === b ? c : d;": ["x = a === b ? c : d; -> ;", "a === b -> !(a === b)"],
    "let x = a !== b;": ["!== -> ==="],
    "let x = a && b || c ?? d;": ["a && b || c ?? d -> a && b || c", "&& -> ||", "|| -> &&"],
    "let x = a + b * 2;": ["+ -> -", "* -> /", "2 -> 3"],
    "let x = `${a}` + 'b' + c;": [],
    "let x = -a, y = 0n, z = true;": ["-a -> a", "0n -> 1n", "true -> false"],
    "for (let i = 0; i < n; i++);": ["0 -> 1", "< -> <=", "i++ -> i--"],
    "let x = f(a, b.c, 'd');": ["f(a, b.c, 'd') -> f(b.c, a, 'd')"],
    "let x = f(a, a), y = f(a, 'b');": [],
    "let x = tf.add(a, b), y = mergeShapes(a, b);": [],
    "const MOST_ROWS = 4096, MOST = 100;": ["100 -> 101"],
    "let x = a.slice().map(f);": ["a.slice() -> a"],
    "while (go);": ["go -> !(go)"],
  };
  for (const [source, wanted] of Object.entries(cases)) {
    assertEquals(mutantsOf(source), wanted, source);
  }
});

Deno.test("findMutants() leaves types, imports, messages of errors, super() and keys of options alone", () => {
  const source = `import { a } from "./1.ts";
    type T = [1, true]; interface I { x: 2; }
    class C extends D { constructor() { super(a); } }
    const KEYS: OptionKeys<T> = { a: true }; const check = optionCheck<T>("f", { b: true });
    function f(x: 3 | -1): x is 3 { throw new Error(x + 1, a < b); }`;
  assertEquals(mutantsOf(source), []);
});

Deno.test("a mutant knows its place", () => {
  const source = "// one\n  let x = 1;\n";
  const [mutant] = findMutants("src/a.ts", source);
  assertEquals(mutant, {
    ...{ file: "src/a.ts", line: 2, start: 17, end: 18 },
    ...{ original: "1", mutated: "0", text: "let x = 1;", nth: 1 },
  });
  assertEquals(applyMutant(source, mutant), "// one\n  let x = 0;\n");
});

Deno.test("mutants that read alike are told apart, in one line and in two", () => {
  const alike = findMutants("a.ts", "if (a === 1 || b === 1) c();\nif (a === 1 || b === 1) c();")
    .filter(({ original }) => original === "1");
  assertEquals(alike.map(({ nth, line }) => [nth, line]), [[1, 1], [2, 1], [3, 2], [4, 2]]);
  assertEquals(new Set(alike.map(keyOf)).size, 4);
  const { nth: _, ...unnumbered } = alike[0]!;
  assertEquals(keyOf(unnumbered), keyOf(alike[0]!));
});

Deno.test("instrument() counts what is executed, and changes nothing else", async () => {
  const source = `
    export function f(a: number, b = a + 1): number | string {
      const g = (x: number) => x * 2;
      const pick = a > 0 && b > 100 ? "both" : "one";
      if (a > 5) return pick; else if (a === 5) return g(a);
      for (let i = 0; i < 2; i++) b += i;
      outer: for (;;) { for (;;) break outer; }
      switch (a) { case 1: return "first"; default: return b; }
    }
    export class C { readonly x = f(1); constructor(readonly y = 3) { this.y; } }
    export const o = { m: () => ({ n: 1 }) };`;
  const { text, ranges } = instrument(source, 10);
  const { f, C, o } = await import(`data:text/typescript,${encodeURIComponent(text)}`);
  assertEquals([f(1), f(2), f(5), f(6, 101), new C().x, o.m().n], [
    "first",
    4,
    10,
    "both",
    "first",
    1,
  ]);

  // Everything runs again, so that the counters can be told apart.
  const counters = (globalThis as unknown as { __weftCounters: Uint8Array }).__weftCounters;
  const executed = (run: () => unknown): string[] => {
    counters.fill(0);
    run();
    return ranges.map(([start, end]) => source.slice(start, end)).filter((_, i) =>
      counters[10 + i]
    );
  };
  const seen = executed(() => f(6, 0));
  for (const place of ["return pick;", "b > 100", '"one"']) assert(seen.includes(place), place);
  for (const place of ['"both"', "x * 2", "a + 1", "b += i;", 'return "first";']) {
    assert(!seen.includes(place), place);
    assert(ranges.some(([start, end]) => source.slice(start, end) === place), place);
  }
  assert(executed(() => f(5)).includes("x * 2"));
  assert(executed(() => f(1)).includes("b += i;"));
  assert(executed(() => new C()).includes("f(1)"));
});

Deno.test("order() is decided by the seed and the lines' texts, changed lines first", () => {
  const lines = Array.from({ length: 40 }, (_, i) => `f(${i + 10});`);
  const mutants = findMutants("a.ts", lines.join("\n"));
  const texts = (seed: number, from = mutants, changed = new Map<string, Set<number>>()) =>
    order(from, seed, changed).map(({ text, mutated }) => text + mutated);
  assertEquals(texts(1), texts(1));
  assertEquals(texts(1).toSorted(), texts(2).toSorted());
  assert(texts(1).join() !== texts(2).join());
  // Lines that come and go leave the others in their order.
  const fewer = findMutants("a.ts", ["let zero;", ...lines.slice(5)].join("\n"));
  const gone = new Set(lines.slice(0, 5));
  assertEquals(texts(1, fewer), texts(1).filter((text) => !gone.has(text.slice(0, 6))));
  const changed = order(mutants, 1, new Map([["a.ts", new Set([3, 7])]]));
  assertEquals(changed.slice(0, 4).map(({ line }) => line).toSorted(), [3, 3, 7, 7]);
});

Deno.test("a process of mutants says which file it cannot load and in which test it ended", async () => {
  const folder = await Deno.makeTempDir();
  try {
    const named = (title: string): string => nameOf(`file://${folder}/a_test.ts`, title);
    const none: Learnt = { usual: {}, reached: {} };
    const run = async (
      text: string,
      { leftOut = [], learnt = none, fromStart = false }: {
        leftOut?: readonly string[];
        learnt?: Learnt;
        fromStart?: boolean;
      } = {},
    ): Promise<string[]> => {
      await Deno.writeTextFile(`${folder}/a_test.ts`, text);
      const task = {
        ...{ files: [`file://${folder}/a_test.ts`], mutants: fromStart ? [0] : [] },
        ...{ fromStart, tests: null },
        ...{ leftOut, learnt, budgetMs: 1e3 },
      };
      await Deno.writeTextFile(`${folder}/task.json`, JSON.stringify(task));
      const { stdout } = await new Deno.Command(Deno.execPath(), {
        args: ["run", "-A", "--no-check", "--no-lock", "--no-config"]
          .concat("tools/mutate/near_runner.ts", `${folder}/task.json`),
      }).output();
      const lines = new TextDecoder().decode(stdout).trim().split("\n");
      return lines.map((line) => JSON.parse(line.slice(1))).map(({ kind, name, error }) =>
        [kind, name?.split(": ").at(-1) ?? error].filter(Boolean).join(" ")
      );
    };
    const ends = `Deno.test("ends", () => Deno.exit(3)); Deno.test("passes", () => {});`;
    assertEquals(await run("throw new Error('broken')"), ["loading", "unloadable Error: broken"]);
    assertEquals(await run(ends), ["loading", "loaded", "testing ends"]);
    const rest = ["loading", "loaded", "testing passes", "test passes", "ready"];
    assertEquals(await run(ends, { leftOut: [named("ends")] }), rest);
    // What an earlier process learnt is not asked again.
    const learnt = { usual: { [named("passes")]: 1 }, reached: {} };
    assertEquals(await run(ends, { leftOut: [named("ends")], learnt }), [
      "loading",
      "loaded",
      "ready",
    ]);
    // A mutant of its own is shown to the quickest first.
    const two = `Deno.test("slow", () => {}); Deno.test("quick", () => { throw 1; });`;
    const times = { usual: { [named("slow")]: 9, [named("quick")]: 1 }, reached: {} };
    assertEquals(await run(two, { learnt: times, fromStart: true }), [
      "loading",
      "loaded",
      "testing quick",
      "tried",
    ]);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("readDiff() gives the lines that a diff adds", () => {
  const diff = `diff --git a/src/a.ts b/src/a.ts
--- a/src/a.ts
+++ b/src/a.ts
@@ -3 +3,2 @@ function f() {
-x
+y
+z
@@ -9,2 +10,0 @@
-gone
@@ -20 +19 @@
--- a/src/b.ts
+++ b/src/b.ts
@@ -0,0 +1 @@
+new`;
  assertEquals([...readDiff(diff)].map(([file, lines]) => [file, ...lines]), [
    ["src/a.ts", 3, 4, 19],
    ["src/b.ts", 1],
  ]);
});

Deno.test("judge() shows what is most about a file first, within a budget, and believes what the source itself does not do", async () => {
  const source = "let x = 1;";
  const [mutant] = findMutants("src/a.ts", source);
  const test = (
    file: string,
    name: string,
    ms: number,
    more: Partial<KnownTest> = {},
  ): KnownTest => {
    return { file, name, ms, device: "cpu", share: 0.1, ...more };
  };
  const tests = [
    test("a_test.ts", "a1", 1),
    test("b_test.ts", "b1", 2),
    test("a_test.ts", "a2", 50, { share: 0.9 }),
    test("a_test.ts", "gpu [webgpu]", 60, { device: "webgpu" }),
    test("b_test.ts", "slow", 900, { share: 0.5 }),
    test("c_test.ts", "too slow", 9000, { share: 0.8 }),
  ];
  const all = [
    "cpu a_test.ts: a2,a1",
    "cpu b_test.ts: b1",
    "cpu b_test.ts: slow",
    "webgpu a_test.ts: gpu [webgpu]",
  ];
  // Tests that fail with the mutant and without it, those that hang, and what is seen of it.
  const cases: { fails?: string; plainly?: string; hangs?: string; slow?: boolean }[] = [
    { fails: "a2" },
    { fails: "slow" },
    {},
    { fails: "b1", plainly: "b1" },
    { hangs: "slow" },
    { hangs: "slow", slow: true },
  ];
  const seen = [];
  for (const { fails = "-", plainly = "-", hangs = "-", slow = false } of cases) {
    const shown: string[] = [];
    let text = source;
    const workspace = {
      write: (_: string, written: string) => void (text = written),
      test: (
        files: readonly string[],
        { device, request }: { device: string; request: { tests: unknown } },
      ) => {
        const names = Object.values(request.tests as Record<string, string[]>).flat();
        const isPlain = text === source;
        shown.push(`${isPlain ? "plain " : ""}${device} ${files}: ${names}`);
        const failed = names.includes(isPlain ? plainly : fails) ? fails : null;
        const hung = names.includes(hangs) && (!isPlain || slow);
        return Promise.resolve({ passed: !failed && !hung, hung, failed, output: "" });
      },
    };
    const { status, by } = await judge(mutant, { workspace, source, tests, budgetMs: 3000 });
    assertEquals(text, source);
    seen.push([status, by, ...shown]);
  }
  assertEquals(seen, [
    ["killed", "a2", all[0], "plain cpu a_test.ts: a2"],
    ["killed", "slow", ...all.slice(0, 3), "plain cpu b_test.ts: slow"],
    ["survived", null, ...all],
    [
      "survived",
      null,
      all[0],
      all[1],
      "plain cpu b_test.ts: b1",
      all[2],
      all[3],
    ],
    ["hung", null, ...all.slice(0, 3), "plain cpu b_test.ts: slow"],
    ["unclear", null, ...all.slice(0, 3), "plain cpu b_test.ts: slow"],
  ]);
  const workspace = { write: () => {}, test: () => Promise.reject(new Error("not asked")) };
  const { status } = await judge(mutant, { workspace, source, tests: [], budgetMs: 3000 });
  assertEquals(status, "unreached");
});

Deno.test("mutants that no test can notice are of lines that are there", () => {
  const listed: MutantKey[] = JSON.parse(read("tools/mutate/equivalent.json"));
  const files = new Set(listed.map(({ file }) => file).filter((file) => exists(file)));
  const there = new Set([...files].flatMap((file) => findMutants(file, read(file)).map(keyOf)));
  assertEquals(listed.filter((entry) => !there.has(keyOf(entry))), []);
  assertEquals(new Set(listed.map(keyOf)).size, listed.length);
});

Deno.test("withSwitches() gives each mutant's program when its switch is on, and the source's when none is", async () => {
  const source = `
    const table: { [key: number]: string } = { 1: "one", 2: "two" };
    export function f(a: number, list?: number[]): unknown[] {
      let n = 0;
      if (!list) return [a < 3 ? "few" : "many", table[a] ?? "none"];
      for (let i = 0; i < list.length; i++) n += list[i] * 2;
      if (n > 10) n -= 1; else n++;
      const odd = list?.slice(1).filter((v) => v % 2 === 1)?.map((v) => -v);
      if (a === 5) return [n];
      return [n, odd.slice().reverse(), a && n || 0, Math.atan2(n, a)];
    }`;
  const mutants = findMutants("a.ts", source), asked = new Set<number>();
  const load = (text: string): Promise<{ f: (...args: unknown[]) => unknown }> =>
    import(`data:text/typescript,${encodeURIComponent(text)}`);
  const results = ({ f }: { f: (...args: unknown[]) => unknown }): unknown[] =>
    [[1], [2], [3], [9], [0, [1, 2, 3]], [5, [4]], [2, []], [7, [9, 1, 2]]].map((args) => {
      try {
        return f(...args);
      } catch (error) {
        return String(error);
      }
    });
  const numbers = mutants.map((_, i) => i),
    all = await load(withSwitches(source, mutants, numbers));
  // deno-lint-ignore no-explicit-any
  const global = globalThis as any, before = global.__weftSwitch;
  try {
    assertEquals(results(all), results(await load(source)));
    for (const [i, mutant] of mutants.entries()) {
      // A loop without an end tells nothing here, nor does what is done while the module is loaded.
      if (/i\+\+|n \+=/.test(mutant.original) || mutant.text.startsWith("const table")) continue;
      global.__weftSwitch = (n: number) => (asked.add(n), n === i);
      const have = results(all);
      global.__weftSwitch = undefined;
      const want = results(await load(`${applyMutant(source, mutant)}\n// ${i}`));
      assertEquals(have, want, `${mutant.original} -> ${mutant.mutated}`);
    }
  } finally {
    global.__weftSwitch = before;
  }
  assert(asked.size > 25, `${asked.size} places`);
});
