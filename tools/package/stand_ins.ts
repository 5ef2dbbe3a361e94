/** Packages that stand in the place of others, by npm's `overrides`: files that lead to Weft's. */

import { readConfig, ROOT } from "../files.ts";
import { SUBPATHS } from "../tfjs_core.ts";
import { json, writeFiles } from "./write_files.ts";

/** Writes the package that stands in the place of `@tensorflow/tfjs-core` into an empty folder: files that lead to Weft's. */
export async function buildTfjsCore(folder: string): Promise<void> {
  const { name, version, license } = readConfig();
  const files = new Map<string, string>();
  for (const subpath of ["dist/index", ...Object.keys(SUBPATHS)]) {
    const target = subpath === "dist/index" ? "" : `/${subpath}`;
    files.set(`${subpath}.js`, `export * from "${name}/tfjs-core${target}";\n`);
    files.set(`${subpath}.d.ts`, `export * from "${name}/tfjs-core${target}";\n`);
  }
  // Node finds the names that a CommonJS package hands on only where they are spelled out.
  const all = await import(new URL(SUBPATHS["dist/index"]!, ROOT).href);
  const names = Object.keys(all).map((key) => `exports.${key} = all.${key};\n`);
  files.set("dist/index.cjs", `const all = require("${name}/tfjs-core");\n${names.join("")}`);
  files.set(
    "package.json",
    json({
      name: "@weft/tfjs-core",
      version,
      description: "Stands in the place of @tensorflow/tfjs-core, over Weft.",
      license,
      type: "module",
      main: "./dist/index.cjs",
      types: "./dist/index.d.ts",
      exports: {
        ".": {
          types: "./dist/index.d.ts",
          require: "./dist/index.cjs",
          default: "./dist/index.js",
        },
        "./dist/*.js": { types: "./dist/*.d.ts", default: "./dist/*.js" },
        "./dist/*": { types: "./dist/*.d.ts", default: "./dist/*.js" },
        "./package.json": "./package.json",
      },
      sideEffects: true,
      // The last two are TensorFlow.js's, whose other packages find them through it.
      dependencies: { [name]: `^${version}`, "long": "4.0.0", "seedrandom": "^3.0.5" },
    }),
  );
  await writeFiles(folder, files);
}

/** Subpaths of onnxruntime's packages that programs import; all of them are one module. */
const ORT_SUBPATHS = ["./all", "./jspi", "./wasm", "./webgl", "./webgpu"];

/** Name and version of a package that stands in the place of another. */
export interface StandIn {
  /** Default: `@weft/ort`. */
  readonly name?: string;
  /** Default: Weft's. */
  readonly version?: string;
}

/**
 * Writes the package that stands in the place of `onnxruntime-web`, `-node` and `-common` into an empty folder: files that
 * lead to Weft's.
 */
export async function buildOrt(folder: string, standIn: StandIn = {}): Promise<void> {
  const { name, version, license } = readConfig(), target = `${name}/ort`;
  const text = `export * from "${target}";\nexport { default } from "${target}";\n`;
  const ort = await import(new URL("src/ort/mod.ts", ROOT).href);
  // Node finds the names that a CommonJS package hands on only where they are spelled out.
  const names = Object.keys(ort).map((key) => `exports.${key} = ort.${key};\n`).join("");
  const entry = { types: "./index.d.ts", require: "./index.cjs", default: "./index.js" };
  const manifest = {
    name: standIn.name ?? "@weft/ort",
    version: standIn.version ?? version,
    description: "Stands in the place of onnxruntime-web, -node and -common, over Weft.",
    license,
    type: "module",
    main: "./index.cjs",
    types: "./index.d.ts",
    exports: Object.fromEntries([
      ...[".", ...ORT_SUBPATHS].map((path) => [path, entry]),
      ["./package.json", "./package.json"],
    ]),
    sideEffects: true,
    dependencies: {
      [name]: `^${version}`,
      "@bufbuild/protobuf": `^${readConfig().imports["@bufbuild/protobuf"]!.split("@").at(-1)}`,
    },
  };
  await writeFiles(
    folder,
    new Map([
      ["index.js", text],
      ["index.d.ts", text],
      ["index.cjs", `const ort = require("${target}");\n${names}`],
      ["package.json", json(manifest)],
    ]),
  );
}
