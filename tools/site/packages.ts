/**
 * The npm packages of the pages: the systems that Weft is timed beside, and a trained network.
 *
 * @module
 */

import type { Plugin } from "esbuild";
import { createRequire, isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { fromFileUrl } from "../paths.ts";
import { ROOT } from "../files.ts";
import { packageFolder } from "../npm.ts";

/** Packages whose modules are found by their names. */
const SYSTEMS = /^(@tensorflow\/tfjs-(?:core|backend-\w+)|@jax-js\/jax)(\/.*)?$/;

/** The package by which files of models are read; Deno resolves its modules to files after they were imported. */
const PROTOBUF = /^@bufbuild\/protobuf(\/.*)?$/;

/** Packages of the editor, and those that they are made of. */
const EDITOR =
  /^(@codemirror|@lezer|@marijn|@jridgewell)\/[\w-]+$|^(style-mod|w3c-keyname|crelt|sucrase|lines-and-columns)$/;

/** Finds modules of packages, in the form for browsers. */
export const PACKAGES: Plugin = {
  name: "packages",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: SYSTEMS }, async ({ path }) => {
      const [, name, subpath] = SYSTEMS.exec(path)!;
      const folder = await packageFolder(name!);
      const file = subpath ? `.${subpath.replace(/\.js$/, "")}.js` : JSON.parse(
        await Deno.readTextFile(new URL("package.json", folder)),
      ).module;
      return { path: fromFileUrl(new URL(file, folder)) };
    });
    onResolve({ filter: PROTOBUF }, async ({ path }) => {
      await import(path);
      return { path: fromFileUrl(new URL(import.meta.resolve(path))) };
    });
    onResolve({ filter: EDITOR }, async ({ path, importer }) => {
      const isOurs = importer.startsWith(decodeURIComponent(ROOT.pathname));
      const file = isOurs
        ? fromFileUrl(new URL("package.json", await packageFolder(path)))
        : createRequire(importer).resolve(path);
      return { path: await moduleBeside(file) };
    });
    onResolve({ filter: /^[^./@]/ }, ({ path, importer, kind }) => {
      if (kind === "entry-point") return undefined;
      // What TensorFlow.js asks Node for.
      if (isBuiltin(path) || path === "node-fetch") return { path, namespace: "nothing" };
      return { path: createRequire(importer).resolve(path) };
    });
    onLoad({ filter: /./, namespace: "nothing" }, () => ({ contents: "" }));
  },
};

/** The module, of which a bundler takes what is used, of the package that a file is in. */
async function moduleBeside(file: string): Promise<string> {
  for (let folder = dirname(file); folder !== dirname(folder); folder = dirname(folder)) {
    const text = await Deno.readTextFile(join(folder, "package.json")).catch(() => null);
    if (text === null) continue;
    const { name, module, main = "index.js" } = JSON.parse(text) as Record<string, string>;
    // Folders within packages may have one that says nothing but the kind of their modules.
    if (name !== undefined) return join(folder, module ?? main);
  }
  throw new Error(`Cannot find the package of ${file}`);
}

/** Copies the WebAssembly of TensorFlow.js. */
export async function copyWasm(folder: string): Promise<void> {
  const from = new URL("wasm-out/", await packageFolder("@tensorflow/tfjs-backend-wasm"));
  await Deno.mkdir(`${folder}/tfjs`, { recursive: true });
  for (const kind of ["", "-simd", "-threaded-simd"]) {
    const file = `tfjs-backend-wasm${kind}.wasm`;
    await Deno.copyFile(new URL(file, from), `${folder}/tfjs/${file}`);
  }
}

/** Holds BlazeFace, which finds faces in half a megabyte (Bazarevsky and others, 2019, arXiv:1907.05047), as a graph model. */
const HUMAN = "npm:@vladmandic/human@3.3.6";

/** Copies the network that finds faces. */
export async function copyFaceModel(folder: string): Promise<void> {
  const from = new URL("models/", await packageFolder(HUMAN));
  await Deno.mkdir(`${folder}/models`, { recursive: true });
  for (const file of ["blazeface.json", "blazeface.bin"]) {
    await Deno.copyFile(new URL(file, from), `${folder}/models/${file}`);
  }
}
