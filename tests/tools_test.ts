/** The tools that other tests rely on: what they read out of other programs' words. */

import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { affected, opsDefined } from "../tools/affected.ts";
import { changes } from "../tools/dev/changes.ts";
import { capture } from "../tools/command.ts";
import { generate as generateModules } from "../tools/modules.ts";
import { documentsOf, importersOf } from "../tools/dev/nearest.ts";
import { generate } from "../tools/shaders.ts";
import { usageOf } from "../tools/dev/help.ts";
import { list, read } from "../tools/files.ts";
import { isOfTheDay, THOROUGH as THOROUGH_EFFORT } from "./effort.ts";
import { testsOfDay, THOROUGH } from "../tools/structure/test_days.ts";
import { groupTests } from "../tools/structure/test_groups.ts";
import { TestOutput } from "../tools/test_output.ts";

function readOutput(text: string): TestOutput {
  const output = new TestOutput();
  for (const line of text.split("\n")) output.line(line);
  return output;
}

Deno.test("TestOutput reads the summary", () => {
  const cases = {
    "ok | 3 passed | 0 failed (2ms)": [3, 0, 0],
    "ok | 3 passed (2 steps) | 0 failed | 4 ignored | 13 filtered out (1s)": [3, 0, 4],
    "FAILED | 1 passed (1 step) | 2 failed (1 step) | 10 ignored (3 steps) (64ms)": [1, 2, 10],
    "\x1b[31mFAILED\x1b[0m | 0 passed | 12 failed \x1b[38;5;245m(1m3s)\x1b[0m": [0, 12, 0],
  };
  for (const [line, [passed, failed, skipped]] of Object.entries(cases)) {
    assertEquals(readOutput(line).counts, { passed, failed, skipped });
  }
  assertEquals(readOutput("running 1 test from ./a_test.ts\nok | nothing").counts, null);
});

Deno.test("TestOutput names the skipped tests but not their steps", () => {
  const output = readOutput(
    "running 2 tests from ./tests/a_test.ts\na ... ok (1ms)\nb ... c [webgpu] ... ignored (0ms)\n" +
      "  step ... ignored (0ms)\nrunning 1 test from ./tests/b_test.ts\nd ... ignored (0ms)\n" +
      "./tests/c_test.ts => e => f ... ignored (0ms)",
  );
  assertEquals(output.skipped, [
    { file: "./tests/a_test.ts", name: "b ... c [webgpu]" },
    { file: "./tests/b_test.ts", name: "d" },
    { file: "./tests/c_test.ts", name: "e => f" },
  ]);
});

Deno.test("TestOutput copies what it reads, also when it comes in pieces", async () => {
  const text = "rünning\nok | 1 passed | 0 failed (1ms)";
  const bytes = new TextEncoder().encode(text);
  const pieces = new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  const copied: number[] = [];
  const output = new TestOutput();
  await output.tee(pieces, {
    write: (bytes) => Promise.resolve((copied.push(...bytes), bytes.length)),
  });
  assertEquals(copied, [...bytes]);
  assertEquals(output.counts, { passed: 1, failed: 0, skipped: 0 });
});

Deno.test("generate() makes an importable module of the functions of any shaders", async () => {
  const source =
    "// `a` ${b} \\ \u2028\n\n// f\nfn f() {}\r\nfn g() -> i32 {\n  // fn h()\n  f();\n}\n";
  const made = {
    f: { needs: [], text: "fn f() {}" },
    g: { needs: ["f"], text: "fn g() -> i32 {\nf();\n}" },
  };
  for (const shaders of [[], [["shaders/mat-mul/tiled.wgsl", source]]] as [string, string][][]) {
    const module = await import(`data:text/typescript,${encodeURIComponent(generate(shaders))}`);
    assertEquals({ ...module }, shaders.length === 0 ? {} : { MAT_MUL_TILED_WGSL: made });
  }
});

Deno.test("generate() refuses two shaders with one name, and what is no function", () => {
  const shaders: [string, string][] = [["shaders/a_b.wgsl", ""], ["shaders/a/b.wgsl", ""]];
  assertThrows(() => generate(shaders), Error, "shaders/a_b.wgsl has that name");
  assertThrows(() => generate([["shaders/a.wgsl", "var x = 1;"]]), Error, "into functions");
  const turned = "fn f() { g(); }\nfn g() {}\n";
  assertThrows(() => generate([["shaders/a.wgsl", turned]]), Error, "must stand before it");
});

Deno.test("generate() lists what mod.ts loads, each module after those it imports", () => {
  const file = { typeOnly: false, dynamic: false };
  const imports = new Map([
    ["mod.ts", [
      { ...file, target: "src/modules_generated.ts" },
      { ...file, target: "src/b.ts" },
      { ...file, target: "src/types.ts", typeOnly: true },
      { ...file, target: "src/late.ts", dynamic: true },
    ]],
    ["src/modules_generated.ts", [{ ...file, target: "src/deleted.ts" }]],
    ["src/b.ts", [{ ...file, target: "src/engine/core/a.ts" }]],
  ]);
  const lines = generateModules({ imports, errors: new Map() }).split("\n");
  assertEquals(lines.filter((line) => line !== "" && !line.startsWith("//")), [
    'import "./engine/core/a.ts";',
    'import "./b.ts";',
  ]);
});

Deno.test("affected() finds the tests of a change by the names they use, nearest first", () => {
  const to = (...targets: string[]) =>
    targets.map((target) => ({ target, typeOnly: false, dynamic: false }));
  const imports = new Map([
    ["mod.ts", to("src/engine/ops/rows/softmax.ts", "src/engine/ops/add.ts")],
    ["src/engine/ops/rows/softmax.ts", to("src/engine/core/op.ts")],
    ["src/engine/ops/add.ts", to("src/engine/core/op.ts")],
    ["src/engine/core/op.ts", to()],
    ["src/engine/kernels/rows/softmax.ts", to()],
    ["tests/helpers.ts", to("mod.ts")],
    ["tests/softmax_test.ts", to("mod.ts")],
    ["tests/session_test.ts", to("mod.ts", "tests/helpers.ts")],
    ["tests/op_test.ts", to("src/engine/core/op.ts")],
  ]);
  const texts: Record<string, string> = {
    "src/engine/ops/rows/softmax.ts": "export function softmax(x: TensorLike): Tensor {}",
    "tests/softmax_test.ts": "tf.softmax(x)",
    "tests/session_test.ts": 'import { type X, add } from "@weft/weft";',
  };
  const entry =
    'export * from "./src/engine/ops/rows/softmax.ts";\nexport { add } from "./src/engine/ops/add.ts";';
  const sources = {
    graph: { imports, errors: new Map() },
    entry,
    read: (file: string) => texts[file] ?? "",
  };
  const cases: Record<string, string[]> = {
    "src/engine/ops/rows/softmax.ts": ["softmax"],
    "src/engine/ops/add.ts": ["session"],
    "src/engine/core/op.ts": ["op", "session", "softmax"],
    "src/engine/kernels/rows/softmax.ts": ["softmax"],
    "tests/helpers.ts": ["session"],
    "tests/softmax_test.ts": ["softmax"],
  };
  for (const [file, tests] of Object.entries(cases)) {
    assertEquals(affected([file], sources), tests.map((name) => `tests/${name}_test.ts`), file);
  }
});

Deno.test("opsDefined() reads the names of ops", () => {
  const text =
    'const A = defineOp({\n  name: "A",\n});\nexport const B: OpDef = definePointwise("B", ([x]) => x);';
  assertEquals(opsDefined(text), ["A", "B"]);
});

Deno.test("importersOf() and documentsOf() name the files that use a file", () => {
  const edge = { target: "src/b.ts", typeOnly: true, dynamic: false };
  const imports = new Map([["src/c.ts", []], ["src/a.ts", [edge]]]);
  assertEquals(importersOf("src/b.ts", { imports, errors: new Map() }), ["src/a.ts"]);
  const documents = documentsOf("src/engine/autodiff/tape.ts");
  assertEquals(documents.every((place) => /\.md:\d+$/.test(place)), true, `${documents}`);
});

Deno.test("changes() yields the source files that change, and none that tools write", async () => {
  const folder = await Deno.makeTempDir();
  const found = changes([folder], 1);
  const seen = new Set<string>();
  let next = found.next();
  for (const name of ["d_generated.ts", "c.txt", "a.wgsl", "b.ts"]) {
    Deno.writeTextFileSync(`${folder}/${name}`, name);
  }
  while (seen.size < 2) {
    for (const path of (await next).value as string[]) seen.add(path.split("/").at(-1)!);
    next = found.next();
  }
  assertEquals([...seen].sort(), ["a.wgsl", "b.ts"]);
  Deno.writeTextFileSync(`${folder}/e.ts`, "");
  await next;
  await found.return(undefined);
  await Deno.remove(folder, { recursive: true });
});

Deno.test("deno task kernel prints and times the kernels of a call", async () => {
  const call = async (...args: string[]) => {
    const flags = ["run", "-A", "--no-check", "--quiet", "tools/dev/kernel.ts"];
    return await capture(Deno.execPath(), [...flags, ...args]);
  };
  const { code, stdout, stderr } = await call("add", "2x3", "3", "--device=cpu");
  assertEquals(code, 0, stderr);
  assertMatch(stdout, /AddV2 by "simd" on \/device:CPU:0: float32\[2,3\], float32\[3\]/);
  assertMatch(stdout, /µs a call/);
  const wrong = await call("nosuch", "2");
  assertEquals(wrong.code, 2);
  assertMatch(wrong.stderr, /Cannot call "nosuch": tf has no function of that name/);
});

Deno.test("groupTests() takes each file of tests once, and at most ten of a folder together", () => {
  const { groups, alone } = groupTests(list("tests", "_test.ts"));
  const files = [...groups.flatMap((group) => group.files), ...alone];
  assertEquals(files.toSorted(), list("tests", "_test.ts"));
  for (const { name, files } of groups) {
    const folders = new Set(files.map((file) => file.split("/")[1]));
    assertEquals([folders.size, files.length <= 10], [1, true], name);
  }
  assertEquals(alone.includes("tests/display/display_test.ts"), true);
});

Deno.test("isOfTheDay() gives each place all of three days within thirty, and every day where no day is told", () => {
  for (const parts of [2, 3, 10]) {
    for (let place = 0; place < 12; place++) {
      const days = Array.from({ length: 30 }, (_, i) => 20_001 + i)
        .filter((day) => isOfTheDay(place, parts, day));
      assertEquals(new Set(days.map((day) => day % 3)), new Set([0, 1, 2]), `${place} of ${parts}`);
      assert(THOROUGH_EFFORT || days.length <= 30 / parts + 3, `${place} of ${parts}: ${days}`);
      assert(isOfTheDay(place, parts, null));
    }
  }
});

Deno.test("testsOfDay() takes each file once a day, and each test of an adapter on one of three days", () => {
  const all = list("tests", "_test.ts");
  const names = [
    "adds",
    "adds [cpu]",
    "adds [webgpu]",
    "adds a [webgpu]",
    "a b [chromium, webgpu]",
  ];
  const onSwiftShader = new Set<string>(), thorough = new Set<string>();
  const turns = new Map(names.map((name) => [name, 0]));
  for (let day = 20_000; day < 20_030; day++) {
    const of = testsOfDay(day);
    assertEquals([...of.usual, ...of.thorough, ...of.swiftshader].toSorted(), all);
    for (const file of of.swiftshader) onSwiftShader.add(file);
    for (const file of of.thorough) thorough.add(file);
    const filter = new RegExp(of.filter.slice(1, -1));
    for (const name of names) if (filter.test(name)) turns.set(name, turns.get(name)! + 1);
  }
  assertEquals([...turns.values()], [30, 30, 10, 10, 10]);
  const inFolders = all.filter((file) => file.split("/").length > 2);
  assertEquals(
    [...onSwiftShader.union(thorough)].filter((file) => inFolders.includes(file)).toSorted(),
    inFolders,
  );
  for (const part of THOROUGH.flat()) assert(all.some((file) => file.startsWith(part)), part);
});

Deno.test("usageOf() gives the comment that a program begins with", () => {
  const usage = "Does it.\n\n    task --all   all of it";
  const block =
    "/**\n * Does it.\n *\n *     task --all   all of it\n *\n * @module\n */\n\nx();\n";
  assertEquals(usageOf(block), usage);
  assertEquals(usageOf("#!/usr/bin/env deno\n/** Does it. */\nx(); /** y */"), "Does it.");
  assertEquals(usageOf("// Does it.\n//\n//     task --all   all of it\n\n// x\n"), usage);
  assertEquals(usageOf("x();\n"), "");
});

Deno.test("every task answers --help by the comment of its program", () => {
  const silent = Object.entries(JSON.parse(read("deno.json")).tasks).filter(([, task]) => {
    const { command } = task as { command: string };
    const text = read(command.split(" ").at(-1)!);
    const answers = command.includes("tools/run.ts") ||
      /(?:runTask|answerHelp)\(import\.meta\.url/.test(text);
    return !answers || !/\w/.test(usageOf(text));
  });
  assertEquals(silent.map(([name]) => name), []);
});

Deno.test("programs that try at random say how they are called, and refuse other arguments in a line", async () => {
  const ask = (...args: string[]) =>
    capture(Deno.execPath(), ["run", "-A", "tools/fuzz.ts", "programs", ...args]);
  const help = await ask("--help");
  assertEquals([help.code, help.stdout.split(":")[0]], [0, "`deno task fuzz programs`"]);
  const refused = await ask("--nonsense");
  assertEquals(refused.code, 2);
  assertMatch(
    refused.stderr.trim(),
    /^(?:Warning.*\n)?Unknown option '--nonsense'; --help tells of them$/,
  );
});
