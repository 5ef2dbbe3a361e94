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
import { entryPoints, exists, list, read } from "../tools/files.ts";
import { generate, TARGET as MODULES } from "../tools/modules.ts";

/** The folders (or single files) under src/ below the public entries, lowest first. */
const BELOW = [
  ...["shaders_generated", "core", "kernels", "ops", "graph", "portable", "devices", "autodiff"],
  ...[
    "runtime",
    "script",
    "data",
    "display",
    "train",
    "io",
    "debugging",
    "graph_model",
    "compat_v1",
  ],
] as const;

/** What each part of src/ may import beside itself. */
const LAW: Readonly<Record<string, readonly string[]>> = {
  shaders_generated: [],
  core: ["shaders_generated"],
  kernels: ["core", "shaders_generated"],
  ops: ["core", "kernels"],
  graph: ["core"],
  portable: ["core", "ops", "graph"],
  devices: ["core", "kernels", "shaders_generated"],
  autodiff: ["core", "ops"],
  script: ["core", "ops", "autodiff", "graph", "runtime"],
  runtime: ["core", "kernels", "ops", "graph", "autodiff", "devices"],
  display: ["core", "ops", "graph", "runtime", "data", "io"],
  data: ["core", "ops", "autodiff", "runtime", "script", "io"],
  train: ["core", "ops", "autodiff", "runtime", "script", "io"],
  io: ["core", "ops", "autodiff", "runtime", "script"],
  debugging: ["core", "ops", "graph", "runtime", "script"],
  graph_model: ["core", "ops", "graph", "runtime", "io"],
  compat_v1: ["core", "ops", "graph", "autodiff", "runtime", "script", "io", "mod"],
  testing: BELOW,
  distribute: [...BELOW, "tf", "mod"],
  custom_ops: BELOW,
  serve: [...BELOW, "tf", "mod"],
  tf: [...BELOW, "mod"],
  eager: BELOW,
  tfjs: [...BELOW, "mod", "tfjs_core"],
  tfjs_core: [...BELOW, "mod"],
  numpy: [...BELOW, "mod"],
  image: ["core", "io"],
  modules_generated: BELOW,
  mod: [...BELOW, "modules_generated"],
};

const GENERATED = /_(generated|pb)\.ts$/;

const sources = list("src", ".ts");
let cached: Promise<ModuleGraph> | undefined;

/** The graph of every entry point and every file under src/, also of those nobody imports. */
function moduleGraph(): Promise<ModuleGraph> {
  return cached ??= readModuleGraph([...new Set([...entryPoints(), ...sources])]);
}

Deno.test("every module loads", async () => {
  const { errors } = await moduleGraph();
  report("These modules cannot be loaded", [...errors].map(([file, error]) => `${file}: ${error}`));
});

Deno.test("src/ keeps the import law", async () => {
  const violations: string[] = [];
  for (const [file, edges] of (await moduleGraph()).imports) {
    const part = partOf(file);
    if (part === null) continue;
    if (!(part in LAW)) {
      violations.push(`${file}: the law knows no part "${part}"`);
      continue;
    }
    for (const { target } of edges) {
      const other = partOf(target);
      if (!isLocal(target) || other === part) continue;
      if (other !== null && LAW[part].includes(other)) continue;
      const wanted = LAW[part].join(", ") || "nothing else";
      violations.push(`${file} imports ${target}: ${part} may import ${wanted}`);
    }
  }
  report("These imports break the law", violations);
});

/** What each folder of src/cluster/ may import of the others: each is built on the wire alone. */
const DISTRIBUTE: Readonly<Record<string, readonly string[]>> = {
  wire: [],
  data_service: ["wire"],
  server: ["wire"],
  session: ["wire"],
};

Deno.test("the folders of src/cluster/ keep their own law", async () => {
  const folderOf = (file: string) => /^src\/distribute\/(\w+)\//.exec(file)?.[1];
  const violations: string[] = [], seen = new Set<string>();
  for (const [file, edges] of (await moduleGraph()).imports) {
    const folder = folderOf(file);
    if (folder === undefined) continue;
    seen.add(folder);
    for (const { target } of edges) {
      const other = folderOf(target);
      if (other === undefined || other === folder || DISTRIBUTE[folder]?.includes(other)) continue;
      violations.push(`${file} imports ${target}`);
    }
  }
  report("These imports break the law", violations);
  assertEquals([...seen].sort(), Object.keys(DISTRIBUTE).sort());
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

/** What ops need of kernels before there is a GPU: host loops, and shapes and layouts that both devices share. */
const SHARED_KERNELS = new RegExp(
  `/kernels/(?:host/|gpu_kernels|dispatches|\\w+/(?:\\w*layout|geometry|shape|task|map|pieces|fill|join|number|warp|threefry|broadcast|taps)\\.ts)`,
);

Deno.test("mod.ts loads no GPU kernel before a GPU is asked for", () => {
  const found = [...read(MODULES).matchAll(/^import "(.*)";$/gm)].map(([, file]) => file)
    .filter((file) =>
      /webgpu_device|scalar\/wgsl\.ts/.test(file) ||
      file.includes("/kernels/") && !SHARED_KERNELS.test(file)
    );
  report("These files belong to the device", found);
});

Deno.test("mod.ts reaches no package", async () => {
  const found = reachable(await moduleGraph(), "mod.ts")
    // Node's built-in modules may be asked for where they are wanted, but not by everybody.
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
    const opening = /^\s*(?:\/\*[^]*?\*\/|(?:\/\/.*\n\s*)+)/.exec(read(file))?.[0] ?? "";
    return !GENERATED.test(file) && opening.length < 30;
  });
  report("These files do not open with a comment that says what they are for", bad);
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

/** The part of the house that a file belongs to, or null outside of src/ and mod.ts. */
function partOf(file: string): string | null {
  return file === "mod.ts" ? "mod" : /^src\/(\w+)(?:\/|\.ts$)/.exec(file)?.[1] ?? null;
}

function statements(text: string): string[] {
  const tokens = /\/\/.*|\/\*[^]*?\*\/|"[^"\n]*"|'[^'\n]*'|;/g;
  const marked = text.replace(
    tokens,
    (token) => token === ";" ? "\0" : token[0] === "/" ? "" : token,
  );
  return marked.split("\0").map((statement) => statement.trim()).filter((statement) => statement);
}
