/**
 * The package that `deno task build` makes, used as after an installation: in Deno, in Node, in a bundle, from
 * TypeScript.
 */

import { assert, assertEquals, assertMatch, assertStringIncludes } from "@std/assert";
import { build, stop } from "esbuild";
import ts from "typescript";
import { findChromium, type PageFile, runPage } from "../tools/browser.ts";
import { capture } from "../tools/command.ts";
import { read, readConfig, ROOT } from "../tools/files.ts";
import { findNode } from "../tools/node.ts";
import { HAS_WEBGPU } from "./devices.ts";
import { putPackage } from "./built.ts";

const config = readConfig();
const node = await findNode(), chromium = await findChromium();
/** The package's modules by the names they are imported by, and the sources these are made of. */
const entries = Object.entries(config.exports).map(([name, source]) => ({
  name: `${config.name}${name.slice(1)}`,
  file: `${name === "." ? "mod" : name.slice(2)}.js`,
  source: new URL(source, ROOT),
}));

/** Ends what hangs. */
const TIMEOUT_MS = 300_000;

/** A folder with the installed package, and no config of Weft's. */
let home = "";

Deno.test.beforeAll(async () => {
  home = await Deno.realPath(await Deno.makeTempDir({ prefix: "weft_package_" }));
  await putPackage(`${home}/package`);
  await Deno.mkdir(`${home}/node_modules/@weft`, { recursive: true });
  await Deno.symlink(`${home}/package`, `${home}/node_modules/@weft/weft`, { type: "dir" });
  const names = entries.map(({ name, file }) => [name, `./package/${file}`]);
  const peers = [
    "@bufbuild/protobuf",
    "@cwasm/jpeg-turbo",
    "@tensorflow/tfjs-core",
    "jpeg-js",
    "numpy-ts",
  ].map((name) => [name, config.imports[name]]);
  await write(
    "import_map.json",
    JSON.stringify({ imports: Object.fromEntries([...names, ...peers]) }),
  );
});

Deno.test.afterAll(() => Deno.remove(home, { recursive: true }));

async function write(name: string, text: string): Promise<string> {
  await Deno.writeTextFile(`${home}/${name}`, text);
  return `${home}/${name}`;
}

/** Runs a program with what it is allowed; gives what it wrote. */
async function inDeno(code: string, ...flags: string[]): Promise<string> {
  const file = await write("main.js", code);
  const common = ["--no-config", "--no-prompt", "--import-map", `${home}/import_map.json`];
  return await run(Deno.execPath(), ["run", ...common, ...flags, file]);
}

async function run(program: string, args: string[]): Promise<string> {
  const { code, stdout, stderr } = await capture(program, args, { timeoutMs: TIMEOUT_MS });
  assertEquals(code, 0, stderr);
  return stdout.trim();
}

const COMPUTE = `
  const x = tf.tensor([[1, 2], [3, 4]]);
  const y = tf.softmax(tf.matMul(x, [[0, 1], [1, 0]]));
  console.log((await y.data()).map((v) => Math.round(v * 1e4)).join(" "));`;
const COMPUTED = "7311 2689 7311 2689";

const WORKER = `
  const twice = (x) => x.map((v) => 2 * v);
  const z = await tf.numpyFunctionAsync(twice, [tf.tensor([1, 2])], "float32", { worker: true });
  console.log((await z.data()).join(" "));`;
const WORKED = "2 4";

/** Has use for two workers beside this thread, counts how many are started, and gives them work. */
const THREADS = `
  let started = 0;
  const real = process.getBuiltinModule;
  process.getBuiltinModule = (name) => {
    if (name !== "node:worker_threads") return real(name);
    return { Worker: class extends real(name).Worker {
      constructor(...args) {
        super(...args);
        started++;
      }
    } };
  };
  Object.defineProperty(navigator, "hardwareConcurrency", { value: 3 });
  const a = tf.fill([300, 300], 0.5);
  for (let i = 0; i < 300; i++) tf.matMul(a, a).dispose();
  console.log((await tf.matMul(a, a).data())[7], started > 0);`;

const IMPORT = `import * as tf from "@weft/weft";\n`;
const ON_CPU = `${IMPORT}await tf.setBackend("cpu");`;

Deno.test("the package computes in Deno with no permission but to read", async () => {
  assertEquals(await inDeno(ON_CPU + COMPUTE, `--allow-read=${home}`), COMPUTED);
});

Deno.test("the package starts threads, and workers for scripts, in Deno", async () => {
  assertEquals(await inDeno(ON_CPU + WORKER + THREADS, "--allow-read"), `${WORKED}\n75 true`);
});

Deno.test("the package runs scripts in Web Workers where there are no others", async () => {
  const hidden = `process.getBuiltinModule = undefined;\nconst tf = await import("@weft/weft");`;
  assertEquals(await inDeno(hidden + WORKER), WORKED);
});

Deno.test({
  name: "the package computes on a GPU in Deno [webgpu]",
  ignore: !HAS_WEBGPU,
  async fn() {
    const code = `${IMPORT}await tf.setBackend("webgpu");${COMPUTE}
      console.log(tf.getBackend());\nDeno.exit(0);`;
    assertEquals(await inDeno(code), `${COMPUTED}\nwebgpu`);
  },
});

Deno.test({
  name: "the package computes in Node, and starts workers for scripts [node]",
  ignore: node === null,
  async fn() {
    const file = await write("main.mjs", ON_CPU + COMPUTE + WORKER);
    assertEquals(await run(node!, [file]), `${COMPUTED}\n${WORKED}`);
  },
});

Deno.test({
  name: "a bundle that holds the package computes in Node, and starts workers for scripts [node]",
  ignore: node === null,
  async fn() {
    const entry = await write("app.js", ON_CPU + COMPUTE + WORKER);
    const outfile = `${home}/bundle.mjs`;
    try {
      await build({
        entryPoints: [entry],
        outfile,
        bundle: true,
        format: "esm",
        logLevel: "error",
      });
    } finally {
      await stop();
    }
    await Deno.rename(`${home}/node_modules`, `${home}/hidden`);
    try {
      assertEquals(await run(node!, [outfile]), `${COMPUTED}\n${WORKED}`);
    } finally {
      await Deno.rename(`${home}/hidden`, `${home}/node_modules`);
    }
  },
});

Deno.test("errors from the package show the user's lines and not its own", async () => {
  const code = `${ON_CPU}
    const fail = () => {
      throw new TypeError("no");
    };
    const graph = new tf.Graph();
    const ys = graph.asDefault(() =>
      [false, true].map((worker) => tf.numpyFunction(fail, [], "float32", { worker }))
    );
    const session = new tf.Session({ graph });
    for (const y of ys) console.log(await session.run(y).catch((error) => error.message));`;
  const text = await inDeno(code);
  assertEquals(text.match(/^TypeError: no$/gm)?.length, 4, text);
  // Where it was thrown and where each op was made.
  assertMatch(text, /main\.js:4[^]*main\.js:8[^]*main\.js:8/);
  assert(!/weft-chunk|weft_worker/.test(text), text);
});

/** Mistakes in eager code; gives the name of each whose stack does not begin in the program, or shows the library's files. */
const MISTAKES = `
  const [a, b] = [tf.ones([2, 3]), tf.ones([4, 5])];
  const mistakes = {
    matMul: () => tf.matMul(a, b),
    reshape: () => tf.reshape(a, [7]),
    softmax: () => tf.softmax(a, 9),
    grad: () => tf.grad((x) => tf.concat([x, b], 0))(a),
    method: () => a.square().matMul(b),
    argument: () => tf.add(null, 1),
    index: () => tf.tensor([1, 2]).ndarraySync()[2],
  };
  const wrong = Object.entries(mistakes).flatMap(([name, mistake]) => {
    try {
      mistake();
      return name + ": no error";
    } catch ({ name: type, message, stack, cause }) {
      const [head, first, ...rest] = stack.split("\\n");
      const isRight = head === type + ": " + message && /main\\.m?js/.test(first) &&
        !/weft-chunk/.test(rest.join()) && cause === undefined;
      return isRight ? [] : [name + ": " + stack];
    }
  });`;

Deno.test("eager errors from the package begin at the user's line in Deno", async () => {
  assertEquals(await inDeno(`${ON_CPU}${MISTAKES}\nconsole.log(wrong.join());`), "");
});

Deno.test({
  name: "eager errors from the package begin at the user's line in Node [node]",
  ignore: node === null,
  async fn() {
    const file = await write("main.mjs", `${ON_CPU}${MISTAKES}\nconsole.log(wrong.join());`);
    assertEquals(await run(node!, [file]), "");
  },
});

Deno.test({
  name: "eager errors from the package begin at the user's line in a page",
  ignore: chromium === null,
  async fn() {
    const type = "text/javascript", files = new Map<string, PageFile>();
    for await (const { name } of Deno.readDir(`${home}/package`)) {
      if (!name.endsWith(".js")) continue;
      files.set(`/package/${name}`, {
        type,
        body: await Deno.readTextFile(`${home}/package/${name}`),
      });
    }
    const send =
      'const send = (m) => fetch("/message", { method: "POST", body: JSON.stringify(m) });';
    const code = `${ON_CPU}${MISTAKES}\n${send}\nawait send(wrong);\nawait send(null);`;
    files.set("/main.js", {
      type,
      body: code.replace("@weft/weft", `./package/${entries[0].file}`),
    });
    const page = '<!doctype html><script type="module" src="/main.js"></script>';
    files.set("/", { type: "text/html", body: page });
    const told: unknown[] = [];
    await runPage(chromium!, { files, isolated: true }, (m) => told.push(m));
    assertEquals(told, [[]]);
  },
});

Deno.test("the package exports what its sources export, and classes keep their names", async () => {
  for (const { file, source } of entries) {
    const built = await import(`file://${home}/package/${file}`), own = await import(source.href);
    assertEquals(Object.keys(built).sort(), Object.keys(own).sort(), file);
    for (const [name, value] of Object.entries(own)) {
      if (typeof value === "function" && /^class\b/.test(String(value))) {
        assertEquals(built[name].name, (value as { name: string }).name);
      }
    }
  }
});

Deno.test("the package loads the GPU's code only when a GPU is asked for", async () => {
  const args = ["info", "--json", "--no-config", `${home}/package/mod.js`];
  const { modules } = JSON.parse(await run(Deno.execPath(), args)) as {
    modules: {
      specifier: string;
      dependencies?: { code?: { specifier: string }; isDynamic?: boolean }[];
    }[];
  };
  const imports = new Map(modules.map((module) => [module.specifier, module.dependencies ?? []]));
  const loaded = new Set([`file://${home}/package/mod.js`]);
  for (const file of loaded) {
    for (const { code, isDynamic } of imports.get(file) ?? []) {
      if (code && !isDynamic) loaded.add(code.specifier);
    }
  }
  const holders = modules.map(({ specifier }) => specifier)
    .filter((file) => /\bclass WebGpuDevice\b/.test(read(file)));
  assertEquals(holders.map((file) => loaded.has(file)), [false]);
});

Deno.test("the package has maps to its sources", () => {
  const found = new Set<string>();
  for (const { name } of Deno.readDirSync(`${home}/package`)) {
    if (!name.endsWith(".js.map")) continue;
    const code = read(`${home}/package/${name.slice(0, -".map".length)}`);
    assertStringIncludes(code, `//# sourceMappingURL=${name}\n`);
    const { sources, sourcesContent } = JSON.parse(read(`${home}/package/${name}`));
    assertEquals(sourcesContent.length, sources.length);
    for (const source of sources) found.add(source.replace(/^.*\/src\//, ""));
  }
  for (const source of ["engine/core/tensor.ts", "engine/devices/webgpu/webgpu_device.ts"]) {
    assert(found.has(source), source);
  }
});

Deno.test("the package refers to no file that a bundler would have to find", () => {
  const found = [...Deno.readDirSync(`${home}/package`)].map(({ name }) => name)
    .filter((name) => name.endsWith(".js"))
    .filter((name) => /\(\s*"\.[^"]*",\s*import\.meta\.url/.test(read(`${home}/package/${name}`)));
  assertEquals(found, []);
});

/** Right and wrong uses: where types were lost, nothing would be wrong with the wrong ones. */
const CONSUMER = `
  import * as tf from "@weft/weft";
  import { opCheck, type OpSample } from "@weft/weft/testing";

  using x: tf.Tensor = tf.tensor([[1, 2], [3, 4]]);
  export const y: tf.Tensor = tf.softmax(x.matMul(x));
  export const body = (a: tf.NdArray): tf.NdArray => a.map((v) => 2 * (v as number));
  export const z = tf.numpyFunction(body, [x], "float32");
  export const samples: OpSample[] = [{ inputs: [{ shape: [2, 3] }] }];
  export const report = await opCheck("Relu", samples);
  export const optimizer = tf.train.adam(0.1);
  export const isOp: boolean = new Error() instanceof tf.errors.OpError;
  // @ts-expect-error A rank is a number.
  export const rank: string = y.rank;
  // @ts-expect-error There is no such function.
  tf.matMull(x, x);
  // @ts-expect-error There is no such dtype.
  tf.cast(x, "float31");
  // @ts-expect-error A sample has inputs.
  export const none: OpSample = {};
`;

Deno.test("TypeScript in Deno knows the package's types", async () => {
  const more = `
    import { type NDArray, np, numpyFunction } from "@weft/weft/numpy";
    import { fromTfjs, type TfjsTensor } from "@weft/weft/tfjs";
    export const sinh = numpyFunction((a: NDArray) => np.sinh(a), [x], "float32");
    // @ts-expect-error It is a tensor of TensorFlow.js.
    fromTfjs("text");
    export const back = (t: TfjsTensor): tf.Tensor => fromTfjs(t);`;
  const file = await write("consumer.ts", CONSUMER + more);
  await run(Deno.execPath(), [
    ...["check", "--quiet", "--no-config", "--import-map", `${home}/import_map.json`],
    file,
  ]);
});

function diagnose(program: ts.Program): string[] {
  return ts.getPreEmitDiagnostics(program).map(({ file, messageText }) =>
    `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`
  );
}

Deno.test("TypeScript knows the package's types for Node and for bundlers", async () => {
  const file = await write("consumer.mts", CONSUMER);
  const { ESNext, NodeNext } = ts.ModuleKind;
  for (const [module, resolution] of [[NodeNext, "NodeNext"], [ESNext, "Bundler"]] as const) {
    const program = ts.createProgram([file], {
      module,
      moduleResolution: ts.ModuleResolutionKind[resolution],
      target: ts.ScriptTarget.ESNext,
      strict: true,
      exactOptionalPropertyTypes: true,
      noEmit: true,
      types: [],
      skipLibCheck: true, // They are checked in package_types_test.ts.
    });
    assertEquals(diagnose(program), []);
  }
});

Deno.test("the package declares what its sources declare", () => {
  const pairs = entries.map(({ source }) => {
    const path = decodeURIComponent(source.pathname);
    const inside = source.href.slice(ROOT.href.length).replace(/\.ts$/, ".d.ts");
    return [path, `${home}/package/types/${inside}`] as const;
  });
  const program = ts.createProgram(pairs.flat(), {
    target: ts.ScriptTarget.ESNext,
    module: ts.ModuleKind.ESNext,
    moduleResolution: ts.ModuleResolutionKind.Bundler,
    allowImportingTsExtensions: true,
    noEmit: true,
    types: [],
  });
  const checker = program.getTypeChecker();
  function names(path: string): string[] {
    const module = checker.getSymbolAtLocation(program.getSourceFile(path)!)!;
    return checker.getExportsOfModule(module).map((symbol) => {
      const isAlias = symbol.flags & ts.SymbolFlags.Alias;
      const { declarations } = isAlias ? checker.getAliasedSymbol(symbol) : symbol;
      return declarations ? symbol.name : `${symbol.name}, which leads nowhere`;
    }).sort();
  }
  /** Names that documentation would list nowhere. */
  function withoutCategory(path: string): string[] {
    const module = checker.getSymbolAtLocation(program.getSourceFile(path)!)!;
    return checker.getExportsOfModule(module).filter((symbol) => {
      const isAlias = symbol.flags & ts.SymbolFlags.Alias;
      const named = isAlias ? checker.getAliasedSymbol(symbol) : symbol;
      // A namespace is a list of its own.
      if (named.flags & ts.SymbolFlags.ValueModule) return false;
      // The default export of ./ort is all of its names.
      if (symbol.name === "default") return false;
      return !named.getJsDocTags(checker).some(({ name }) => name === "category");
    }).map(({ name }) => name);
  }
  for (const [source, built] of pairs) {
    assert(names(source).length > 0, source);
    assertEquals(names(built), names(source), built);
    assertEquals(withoutCategory(built), [], built);
  }
});
