/**
 * Packages from npm that tools and tests load on demand, and the folders in which these lie once Deno has fetched them.
 *
 * They are imported through computed specifiers, so that type-checking the repository neither fetches them nor reads
 * their types. The versions are those of import_map.json; what serves development tools alone is named here.
 *
 * @module
 */

const OWN_VERSIONS: Readonly<Record<string, string>> = {
  "@tensorflow-models/mobilenet": "npm:@tensorflow-models/mobilenet@2.1.1",
  "@tensorflow/tfjs": "npm:@tensorflow/tfjs@4.22.0",
  "@tensorflow/tfjs-backend-wasm": "npm:@tensorflow/tfjs-backend-wasm@4.22.0",
  "@tensorflow/tfjs-vis": "npm:@tensorflow/tfjs-vis@1.5.1",
  "@tensorflow/tfjs-backend-webgl": "npm:@tensorflow/tfjs-backend-webgl@4.22.0",
  "acorn": "npm:acorn@8.15.0",
  "linkedom": "npm:linkedom@0.18.12",
};

function specifierOf(name: string, path: string): string {
  return (OWN_VERSIONS[name] ?? name) + path;
}

/** Imports a package, or a file of it (`path` such as "/lib/x.js"), fetching it into Deno's cache the first time. */
export async function importNpm<T>(name: string, path = ""): Promise<T> {
  return await import(specifierOf(name, path)) as T;
}

/** The folder a package lies in, for reading its files. */
export async function npmFolder(name: string): Promise<URL> {
  const manifest = specifierOf(name, "/package.json");
  // Importing the manifest first makes Deno fetch the package, so that it can be resolved to a file.
  await import(manifest, { with: { type: "json" } });
  return new URL(".", import.meta.resolve(manifest));
}

/** The folder that a package is installed in, given its name or its specifier. Rejects where it cannot be fetched. */
export async function packageFolder(name: string): Promise<URL> {
  // Deno resolves a package to a file only after it was imported. One that is made for browsers may fail here, which does no harm.
  await import(name).catch(() => {});
  // Not every package exports its package.json, so it is looked for above the entry point.
  for (let folder = new URL(".", import.meta.resolve(name)); folder.pathname !== "/";) {
    const found = await Deno.stat(new URL("package.json", folder)).catch(() => null);
    if (found?.isFile) return folder;
    folder = new URL("../", folder);
  }
  throw new Error(`Cannot find the folder of package "${name}"`);
}
