/**
 * Where packages of npm lie once Deno has fetched them.
 *
 * @module
 */

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
