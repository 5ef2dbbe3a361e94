/**
 * The npm packages of the pages: the systems that Weft is timed beside, and a trained network.
 *
 * @module
 */

import type { Plugin } from "esbuild";
import { createRequire, isBuiltin } from "node:module";
import { fromFileUrl } from "../paths.ts";
import { packageFolder } from "../npm.ts";

/** Packages whose modules are found by their names. */
const SYSTEMS = /^(@tensorflow\/tfjs-(?:core|backend-\w+)|@jax-js\/jax)(\/.*)?$/;

/** The package by which files of models are read; Deno resolves its modules to files after they were imported. */
const PROTOBUF = /^@bufbuild\/protobuf(\/.*)?$/;

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
    onResolve({ filter: /^[^./@]/ }, ({ path, importer, kind }) => {
      if (kind === "entry-point") return undefined;
      // What TensorFlow.js asks Node for.
      if (isBuiltin(path) || path === "node-fetch") return { path, namespace: "nothing" };
      return { path: createRequire(importer).resolve(path) };
    });
    onLoad({ filter: /./, namespace: "nothing" }, () => ({ contents: "" }));
  },
};

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
