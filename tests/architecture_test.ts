/**
 * The import law of the house, and what else every file under src/ keeps to. The law is read from
 * what `deno info --json` says, so nothing has to be declared twice.
 */

import { assert, assertEquals } from "@std/assert";
import {
  findCycles,
  type Import,
  isLocal,
  type ModuleGraph,
  reachable,
  readModuleGraph,
} from "../tools/module_graph.ts";
import { categoryOf } from "../tools/categories.ts";
import { AREAS, mayImport, roomOf, withTable } from "../tools/structure/areas.ts";
import { entryPoints, exists, list, read } from "../tools/files.ts";
import { generate, TARGET as MODULES } from "../tools/modules.ts";

const GENERATED = /_(generated|pb)\.ts$/;

const sources = list("src", ".ts");
let cached: Promise<ModuleGraph> | undefined;

/** The graph of every entry point and every file under src/, unused ones included. */
function moduleGraph(): Promise<ModuleGraph> {
  return cached ??= readModuleGraph([...new Set([...entryPoints(), ...sources])]);
}

Deno.test("the top of the repository holds what belongs there", () => {
  const known =
    /^(bench|docs|examples|shaders|src|tests|tools|\.\w+|[A-Z_]+\.md|LICENSE|CITATION\.cff|(deno|import_map)\.json|deno\.lock|mod\.ts)$/;
  const { success, stdout } = new Deno.Command("git", { args: ["ls-files", "-z"] }).outputSync();
  if (!success) return; // An unpacked archive has no list of its files.
  const tops = new Set(new TextDecoder().decode(stdout).split("\0").map((f) => f.split("/")[0]));
  report("These files were written by a mistake", [...tops].filter((f) => f && !known.test(f)));
});

Deno.test("every module loads", async () => {
  const { errors } = await moduleGraph();
  report("These modules cannot be loaded", [...errors].map(([file, error]) => `${file}: ${error}`));
});

Deno.test("src/ keeps the import law", async () => {
  const violations: string[] = [], seen = new Set<string>();
  for (const [file, edges] of (await moduleGraph()).imports) {
    if (!file.startsWith("src/")) continue;
    const room = roomOf(file);
    if (room === null) {
      violations.push(`${file}: the law knows no such room`);
      continue;
    }
    seen.add(room);
    for (const { target } of edges.filter(({ target }) => isLocal(target))) {
      const other = roomOf(target);
      if (other !== null && !mayImport(room, other)) violations.push(`${file} imports ${target}`);
    }
  }
  report("These imports break the law of tools/structure/areas.ts", violations);
  const rooms = Object.entries(AREAS).flatMap(([area, { rooms }]) =>
    Object.keys(rooms).map((room) => `${area}/${room}`)
  );
  report("These rooms are empty", rooms.filter((room) => !seen.has(room)));
});

Deno.test("ARCHITECTURE.md shows the areas and their law as they are", () => {
  const squeeze = (text: string) => text.replaceAll(/ +/g, " ").replaceAll(/-{3,}/g, "---");
  const text = read("ARCHITECTURE.md");
  assert(squeeze(withTable(text)) === squeeze(text), 'Run "deno task areas"');
});

Deno.test("every folder of src/ has a category, under which the package lists what it exports", () => {
  for (const file of sources) if (!GENERATED.test(file)) categoryOf(file);
});

Deno.test("each area of src/ has a README of at most 60 lines", () => {
  const bad = Object.keys(AREAS).filter((area) => {
    const file = `src/${area}/README.md`;
    return !exists(file, "isFile") || read(file).split("\n").length > 61;
  });
  report("These areas have none, or a longer one", bad);
});

Deno.test("READMEs of areas name files that exist", () => {
  const missing = Object.keys(AREAS).flatMap((area) => {
    const rooms = Object.keys(AREAS[area].rooms).map((room) => `src/${area}/${room}`);
    const lines = read(`src/${area}/README.md`).split("\n");
    return lines.flatMap((line) => {
      // The first cell of a table's row is the room of its files.
      const room = /^\| `([\w/]+)\/` /.exec(line)?.[1];
      const places = [`src/${area}/${room ?? ""}`, `src/${area}`, ...rooms, "."];
      return [...line.matchAll(/`([\w/]+\.ts)`/g)].map(([, path]) => path)
        .filter((path) => !places.some((place) => exists(`${place}/${path}`, "isFile")))
        .map((path) => `src/${area}/README.md: ${path}`);
    });
  });
  report("These files are named and not there", missing);
});

Deno.test("src/ has no import cycles", async () => {
  // Two files may know each other's types, and `tf.compat.v2` is the entry itself: nothing runs too early by that.
  const counts = (edge: Import): boolean => !edge.typeOnly && edge.target !== "mod.ts";
  const cycles = findCycles(await moduleGraph(), counts);
  report("These files import each other", cycles.map((cycle) => [...cycle, cycle[0]].join(" -> ")));
});

Deno.test("src/modules_generated.ts imports all that mod.ts loads", async () => {
  const isFresh = read(MODULES) === generate(await moduleGraph());
  report("This list must be written anew", isFresh ? [] : [`${MODULES}: run "deno task modules"`]);
});

/**
 * Kernel files that ops may import before there is a GPU: host loops, and shapes and layouts common to both devices.
 */
const SHARED_KERNELS = new RegExp(
  `/kernels/(?:host/|kernel_table|dispatches|\\w+/(?:\\w*layout|\\w*geometry|shape|task|map|pieces|bound_exprs|threefry|broadcast|taps|half_problem)\\.ts)`,
);

Deno.test("mod.ts loads no GPU kernel before a GPU is asked for", () => {
  const found = [...read(MODULES).matchAll(/^import "(.*)";$/gm)].map(([, file]) => file)
    .filter((file) =>
      /webgpu_device|scalar\/wgsl\.ts/.test(file) ||
      file.includes("/kernels/") && !SHARED_KERNELS.test(file)
    );
  report("These files belong to the device", found);
});

/** The most seams, and the most mutable variables of modules outside of kernels. */
const MOST_SEAMS = 8, MOST_LETS = 25;

Deno.test("ARCHITECTURE.md lists the seams, their places and their providers", () => {
  const seams: string[] = [], providers = new Map<string, string[]>();
  for (const file of sources) {
    const text = read(file), place = file.slice("src/".length);
    for (const [, name] of text.matchAll(/^export const (\w+): Seam</gm)) {
      seams.push(`${name} ${place}`);
    }
    for (const [, name] of text.matchAll(/^(\w+)\.provide\(/gm)) {
      providers.set(name, [...providers.get(name) ?? [], place]);
    }
  }
  const found = seams.map((seam) => `${seam} ${providers.get(seam.split(" ")[0])?.join()}`);
  const row = /^\| `(\w+)`\s+\| `([\w/.]+)`\s+\| `([\w/.]+)`\s+\|/gm;
  const section = read("ARCHITECTURE.md").split("\n## Seams\n")[1].split("\n## ")[0];
  const listed = [...section.matchAll(row)].map((cells) => cells.slice(1).join(" "));
  assertEquals(listed.sort(), found.sort());
  assert(seams.length <= MOST_SEAMS, `${seams.length} seams`);
});

/** Tables that users or TensorFlow.js's API add to by name, and switches of TensorFlow.js's semantics. */
const OPEN_TABLES =
  /^(registerImageCodec|register(Save|Load)Router|registerCoreFlags|registerWeftBackend)\(|^(ENV\.platformName|reads\.asTensorFlowJs|scope\._tfengine|Serializable\.prototype\.getClassName) \??\??= /;

Deno.test("parts are connected by seams alone", () => {
  const found = sources.filter((file) => !GENERATED.test(file)).flatMap((file) =>
    [
      ...read(file).matchAll(
        /^(?:(?:set|bring|install|register|connect)[A-Z]\w*\(|\w+(?:\.\w+)+ \??\??= )/gm,
      ),
    ]
      .map(([text]) => text)
      .filter((text) => !OPEN_TABLES.test(text))
      .map((text) => `${file}: ${text}`)
  );
  report("These modules connect parts in another way when they are loaded", found);
});

Deno.test("modules outside of kernels have few mutable variables", () => {
  const found = sources.filter((file) => !GENERATED.test(file) && !file.includes("/kernels/"))
    .flatMap((file) =>
      [...read(file).matchAll(/^(?:export )?let (\w+)/gm)].map(([, name]) => `${file}: ${name}`)
    );
  assert(found.length <= MOST_LETS, `${found.length} variables:\n  ${found.join("\n  ")}`);
});

Deno.test("mod.ts reaches no package", async () => {
  const found = reachable(await moduleGraph(), "mod.ts")
    // Node's built-in modules may be imported dynamically on use, but not statically.
    .filter(([, { target, dynamic }]) =>
      !isLocal(target) && !(dynamic && target.startsWith("node:"))
    )
    .map(([file, { target }]) => `${file} imports ${target}`);
  report("mod.ts must run anywhere without packages", found);
});

Deno.test({
  name: "mod.ts holds nothing but imports and exports",
  ignore: !exists("mod.ts"),
  fn() {
    const logic = statements(read("mod.ts")).filter((text) =>
      !/^(import\b|export\s*(type\s*)?[{*])/.test(text)
    );
    report("mod.ts holds other statements", logic.map((text) => text.split("\n")[0]));
  },
});

Deno.test("every file under src/ opens by saying what it is for", () => {
  const bad = sources.filter((file) => {
    const opening = /^(?:#!.*)?\s*(?:\/\*[^]*?\*\/|(?:\/\/.*\n\s*)+)/.exec(read(file))?.[0] ?? "";
    return !GENERATED.test(file) && opening.length < 30;
  });
  report("These files do not open with a comment that says what they are for", bad);
});

Deno.test("tests change neither the process's environment nor its working directory", () => {
  // Files of tests run in threads of one process, which share both: see tests/environment.ts.
  const shared = /\bDeno\.(?:chdir|env\.(?:set|delete)|umask)\(/;
  const found = list("tests", ".ts").filter((file) =>
    statements(read(file)).some((statement) => shared.test(statement))
  );
  report("These change what other files of tests share", found);
});

Deno.test("statements() splits a module and drops its comments", () => {
  const text =
    `// a; b\n/** c; */ export * from "./x;y.ts";\nexport { a, b } from "z";\nlet c = 1;`;
  assertEquals(statements(text), [
    'export * from "./x;y.ts"',
    'export { a, b } from "z"',
    "let c = 1",
  ]);
});

/** Fails with one line for each violation. */
function report(title: string, violations: readonly string[]): void {
  assert(violations.length === 0, `${title}:\n  ${violations.join("\n  ")}`);
}

function statements(text: string): string[] {
  const tokens = /\/\/.*|\/\*[^]*?\*\/|"[^"\n]*"|'[^'\n]*'|;/g;
  const marked = text.replace(
    tokens,
    (token) => token === ";" ? "\0" : token[0] === "/" ? "" : token,
  );
  return marked.split("\0").map((statement) => statement.trim()).filter((statement) => statement);
}
