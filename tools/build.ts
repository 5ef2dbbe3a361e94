/**
 * `deno task build`: writes dist/, the package as it is published to JSR and npm: each entry point one file of JavaScript over
 * files that they share, since a process looks up one file in less time than hundreds, with declarations beside them.
 *
 * `deno task build --check` then asks Deno whether it could be published.
 *
 * Nothing but the files for pages without modules is minified: stack texts stay readable, and a start would not be faster for it.
 *
 * @module
 */

import { build, type BuildOptions, type Plugin, stop } from "esbuild";
import { capture, run } from "./command.ts";
import { runTask } from "./dev/help.ts";
import { type Config, enterRoot, read, readConfig, ROOT } from "./files.ts";
import { commonJs } from "./package/common_js.ts";
import { globalScripts } from "./package/global_script.ts";
import { moduleTree, placeOf, TREE, withSideEffects } from "./package/module_tree.ts";
import { buildOrt, buildTfjsCore } from "./package/stand_ins.ts";
import { json, writeFiles } from "./package/write_files.ts";
import { SUBPATHS } from "./tfjs_core.ts";

/** Where `deno task build` puts the package. */
const FOLDER = "dist";

/** Where it puts the package that npm's `overrides` may put in the place of `@tensorflow/tfjs-core`. */
const TFJS_CORE_FOLDER = "out/tfjs-core";

/** Folder of the package that may stand in the place of onnxruntime's. */
const ORT_FOLDER = "out/ort";

/** The folder of declarations in the package. */
const TYPES = "types";

/** The folder of the same declarations for programs that `require`: TypeScript tells by a folder what its files declare. */
const COMMON_TYPES = "types-cjs";

/** The language level of the JavaScript files: that of the oldest supported Node. */
const TARGET = "node20";

/** Packages that some entries import, and that users of these entries install. */
const PEERS = [
  "@bufbuild/protobuf",
  "@cwasm/jpeg-turbo",
  "@tensorflow/tfjs-core",
  "jpeg-js",
  "numpy-ts",
];

/** Files that go into the package as they are. */
const COPIED = ["README.md", "LICENSE"];

/** Search terms for the registry. */
const KEYWORDS = [
  ...["tensorflow", "tensor", "webgpu", "wasm", "machine-learning", "deep-learning", "autodiff"],
  ...["graph", "py_function", "numpy", "deno", "tfjs", "gpu"],
];

/** An entry of the package. */
interface Entry {
  /** Its name among the exports: `./numpy`. */
  readonly name: string;
  /** The module it is made of: `src/entries/numpy/mod.ts`. */
  readonly source: string;
  /** Its file, without an ending: `numpy`. */
  readonly file: string;
}

/** Parts of {@linkcode buildPackage} that may be left out. */
export interface PackageOptions {
  /** Make declarations. Default: true. */
  readonly types?: boolean;
}

/** Writes the package into an empty folder, given by its path. */
export async function buildPackage(
  folder: string,
  { types = true }: PackageOptions = {},
): Promise<void> {
  const config = readConfig();
  const named = Object.entries(config.exports).map(([name, path]) => ({
    name,
    source: path.slice("./".length),
    file: name === "." ? "mod" : name.slice("./".length),
  }));
  const subpaths = subpathEntries(named);
  const entries = [...named, ...subpaths];
  const files = new Map(COPIED.map((file) => [file, read(file)]));
  const made = await code([...named, MODULES, COMMAND]);
  for (const [name, text] of made.files) files.set(name, text);
  for (const [name, text] of await subpathFiles(subpaths)) files.set(name, text);
  if (types) await addTypes(entries, files);
  files.set("deno.json", json(denoConfig(config, named)));
  files.set(
    "package.json",
    json(
      npmManifest(config, {
        entries,
        sideEffects: withSideEffects(made.modules, {
          sources: entries.map(({ source }) => source),
          files: [...entries, MODULES].map(({ file }) => file),
        }),
        repository: await repositoryFields(),
      }),
    ),
  );
  await writeFiles(folder, files);
}

/** The module that subpaths of TensorFlow.js's core lead to. */
const MODULES: Entry = {
  name: "./tfjs-core/modules",
  source: "src/tfjs/core/modules.ts",
  file: "tfjs-core-modules",
};

/** The command `weft` of npm's package. */
const COMMAND: Entry = {
  name: "./command",
  source: "src/onnx/command.ts",
  file: "command",
};

/** Entries that cannot be required: the codecs of images wait for a permission while they are loaded, which only modules can. */
const MODULES_ONLY = new Set([MODULES.file, COMMAND.file, "image"]);

/** The subpaths of TensorFlow.js's core as entries of npm's package; some of them share a file. */
function subpathEntries(named: readonly Entry[]): Entry[] {
  const files = new Map(named.map(({ source, file }) => [source, file]));
  return Object.entries(SUBPATHS).map(([subpath, source]) => ({
    name: `./tfjs-core/${subpath}`,
    source,
    file: files.get(source) ?? `tfjs-core-${moduleName(source)}`,
  }));
}

/** The name that {@linkcode MODULES} has for a module. */
function moduleName(source: string): string {
  return source.replace("src/tfjs/core/", "").replace(/(\/mod)?\.ts$/, "").replaceAll("/", "_");
}

/** The files of subpaths, which take their names out of {@linkcode MODULES}: chunks of their own would scatter the others. */
async function subpathFiles(entries: readonly Entry[]): Promise<[string, string][]> {
  // Computed, so that this tool type-checks apart from the library.
  const modules = await import(new URL(MODULES.source, ROOT).href);
  const own = new Map(
    entries.filter(({ file }) => file.startsWith("tfjs-core-"))
      .map(({ file, source }) => [file, moduleName(source)]),
  );
  return [...own].map(([file, name]) => {
    const names = Object.keys(modules[name]).join(", ");
    return [
      `${file}.js`,
      `import { ${name} } from "./${MODULES.file}.js";\nexport const { ${names} } = ${name};\n`,
    ];
  });
}

/**
 * The files of JavaScript: one for each entry, those they share, and what is loaded only when it is asked for; then one for each of
 * the modules that they are made of.
 */
async function code(
  entries: readonly Entry[],
): Promise<{ files: [string, string][]; modules: string[] }> {
  try {
    const { outputFiles, metafile } = await build({
      ...COMMON,
      entryPoints: Object.fromEntries(entries.map(({ file, source }) => [file, source])),
      outdir: "/",
      splitting: true,
      packages: "external",
      // src/engine/core/throwing/user_stack.ts knows the library's own files by their names.
      chunkNames: "weft-[name]-[hash]",
      plugins: [WORKER],
      // Debuggers show the sources; programs that import the package load none of them.
      sourcemap: "linked",
      sourcesContent: true,
      metafile: true,
    });
    const modules = Object.keys(metafile.inputs);
    const required = entries.filter(({ file }) => !MODULES_ONLY.has(file));
    const files = outputFiles.map(({ path, text }): [string, string] => [
      path.replace(/^.*[/\\]/, ""),
      path.endsWith(".js") ? withClassNames(text) : text,
    ]);
    return {
      files: [
        ...files,
        ...(await commonJs(required, { ...COMMON, plugins: [WORKER] }))
          .map(([name, text]): [string, string] => [name, withClassNames(text)]),
        ...await globalScripts({ ...COMMON, plugins: [WORKER] }),
        ...await moduleTree(modules, { ...COMMON, plugins: [WORKER] }),
      ],
      modules,
    };
  } finally {
    await stop();
  }
}

/**
 * Gives classes their own names: esbuild calls a class that names itself `_Graph` inside, which consoles would show. On the line of
 * its head, so that source maps stay right.
 */
function withClassNames(text: string): string {
  return text.replaceAll(
    /^ *(?:var )?\w+ = class (_(\w+))(.*) \{$/gm,
    (line, _, name) =>
      `${line} static { Object.defineProperty(this, "name", { value: "${name}", configurable: true }); }`,
  );
}

const COMMON = {
  absWorkingDir: decodeURIComponent(ROOT.pathname),
  bundle: true,
  format: "esm",
  target: TARGET,
  write: false,
} satisfies BuildOptions;

/** Puts the code of script workers where src/engine/script/workers/worker_code.ts names its file: no bundler has to know of it. */
const WORKER: Plugin = {
  name: "worker",
  setup({ onLoad }) {
    onLoad({ filter: /[/\\]engine[/\\]script[/\\]workers[/\\]worker_code\.ts$/ }, async () => {
      const { outputFiles } = await build({
        ...COMMON,
        entryPoints: ["src/engine/script/workers/worker_main.ts"],
        minifyWhitespace: true,
        minifySyntax: true,
        // The name in stack texts, where the whole code would stand else.
        footer: { js: "//# sourceURL=weft_worker.js" },
      });
      const text = JSON.stringify(outputFiles[0]!.text);
      return { contents: `export const workerCode = () => ${text};`, loader: "js" };
    });
  },
};

/** Adds declarations, and to each entry a line that leads Deno and JSR to its own. */
async function addTypes(entries: readonly Entry[], files: Map<string, string>): Promise<void> {
  // TypeScript takes a while to load, and measurements need no declarations.
  const { declarations } = await import("./declarations.ts");
  const sources = [...new Set(entries.map(({ source }) => source))];
  for (const [path, text] of declarations(sources)) {
    files.set(`${TYPES}/${path}`, text);
    files.set(`${COMMON_TYPES}/${path}`, text);
  }
  files.set(`${COMMON_TYPES}/package.json`, json({ type: "commonjs" }));
  const own = entries.filter((entry, i) => entries.findIndex((e) => e.file === entry.file) === i);
  for (const entry of own) {
    const name = `${entry.file}.js`;
    files.set(name, `// @ts-self-types="${typesOf(entry)}"\n${files.get(name)}`);
  }
}

function typesOf({ source }: Entry, folder = TYPES): string {
  return `./${folder}/${source.replace(/\.ts$/, ".d.ts")}`;
}

function denoConfig({ name, version, license, imports }: Config, entries: readonly Entry[]) {
  return {
    name,
    version,
    license,
    exports: Object.fromEntries(entries.map(({ name, file }) => [name, `./${file}.js`])),
    imports: Object.fromEntries(PEERS.map((name) => [name, imports[name]])),
    // A package.json beside it would have packages looked for in a node_modules folder.
    nodeModulesDir: "none",
    // The folder is ignored by git, and would be by `deno publish`.
    publish: { exclude: ["!**/*", TREE, COMMON_TYPES, "*.cjs", "*.min.js"] },
  };
}

/** Where the sources are, as git knows it; nothing where no server has them. */
async function repositoryFields(): Promise<Readonly<Record<string, unknown>>> {
  const { code, stdout } = await capture("git", ["remote", "get-url", "origin"]);
  const [, host, path] = /^(?:https:\/\/|git@)([\w.-]+)[/:](.+?)(?:\.git)?\s*$/.exec(stdout) ?? [];
  if (code !== 0 || path === undefined) return {};
  const home = `https://${host}/${path}`;
  return {
    homepage: `${home}#readme`,
    repository: { type: "git", url: `git+${home}.git` },
    bugs: { url: `${home}/issues` },
  };
}

function npmManifest(
  { name, version, license, imports }: Config,
  { entries, sideEffects, repository }: {
    entries: readonly Entry[];
    sideEffects: readonly string[];
    repository: Readonly<Record<string, unknown>>;
  },
) {
  return {
    name,
    version,
    description: firstSentence(read(entries[0]!.source)),
    license,
    keywords: KEYWORDS,
    ...repository,
    type: "module",
    bin: { weft: `./${COMMAND.file}.js` },
    exports: Object.fromEntries(
      entries.map((entry) => {
        // Bundlers know this condition; Deno, Node and pages do not, and load few files.
        const module = `./${placeOf(entry.source)}`;
        return [entry.name, {
          ...(!/^(tfjs-core-|image$)/.test(entry.file) && {
            require: {
              types: typesOf(entry, COMMON_TYPES),
              module,
              default: `./${entry.file}.cjs`,
            },
          }),
          types: typesOf(entry),
          module,
          default: `./${entry.file}.js`,
        }];
      }),
    ),
    // CDNs serve it to pages without modules.
    unpkg: "./weft.min.js",
    jsdelivr: "./weft.min.js",
    // Compilers that resolve as Node 10 did, TypeScript's default for CommonJS, read no exports.
    main: `./${entries[0]!.file}.cjs`,
    types: typesOf(entries[0]!),
    typesVersions: {
      "*": Object.fromEntries(
        entries.slice(1).map((entry) => [entry.name.slice("./".length), [typesOf(entry)]]),
      ),
    },
    sideEffects,
    engines: { node: ">=20" },
    peerDependencies: Object.fromEntries(
      PEERS.map((name) => [name, `^${imports[name]!.split("@").at(-1)}`]),
    ),
    peerDependenciesMeta: Object.fromEntries(PEERS.map((name) => [name, { optional: true }])),
  };
}

/** The first line of a module's comment. */
function firstSentence(source: string): string {
  return /^\/\*\*\n \* (.*)$/m.exec(source)?.[1] ?? "";
}

async function main(args: readonly string[]): Promise<number> {
  enterRoot();
  await Deno.remove(FOLDER, { recursive: true }).catch(() => {});
  await buildPackage(FOLDER);
  await Deno.remove(TFJS_CORE_FOLDER, { recursive: true }).catch(() => {});
  await buildTfjsCore(TFJS_CORE_FOLDER);
  await Deno.remove(ORT_FOLDER, { recursive: true }).catch(() => {});
  await buildOrt(ORT_FOLDER);
  console.log(`${FOLDER}, ${TFJS_CORE_FOLDER}, ${ORT_FOLDER}: written`);
  if (!args.includes("--check")) return 0;
  Deno.chdir(FOLDER);
  return (await run(Deno.execPath(), ["publish", "--dry-run", "--allow-dirty"])).code;
}

if (import.meta.main) await runTask(import.meta.url, main);
