/** Files of packages. */

/** Writes files by their names into a folder. */
export async function writeFiles(
  folder: string,
  files: ReadonlyMap<string, string>,
): Promise<void> {
  for (const [name, text] of files) {
    const path = `${folder}/${name}`;
    await Deno.mkdir(path.slice(0, path.lastIndexOf("/")), { recursive: true });
    await Deno.writeTextFile(path, text);
  }
}

/** A value as the text of a file. */
export function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
