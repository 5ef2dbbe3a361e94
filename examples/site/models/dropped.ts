/** Files of models that are dropped anywhere on a page, those of folders too, or picked from lists. */
/// <reference lib="dom" />

import { byId } from "../page.ts";
import type { ModelFile } from "./models_messages.ts";

async function read(file: File, path: string): Promise<ModelFile> {
  return { path, bytes: new Uint8Array(await file.arrayBuffer()) };
}

async function entriesOf(entry: FileSystemEntry): Promise<ModelFile[]> {
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) =>
      (entry as FileSystemFileEntry).file(resolve, reject)
    );
    return [await read(file, entry.fullPath.slice(1))];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader(), found: ModelFile[] = [];
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject)
    );
    if (some.length === 0) return found;
    for (const one of some) found.push(...await entriesOf(one));
  }
}

/** Calls `take` with the files that are dropped, and a picture if one is among them, or picked in `#files` and `#folder`. */
export function takeFiles(
  take: (files: readonly ModelFile[], picture?: File) => void | Promise<void>,
): void {
  addEventListener("dragover", (event) => event.preventDefault());
  addEventListener("drop", async (event) => {
    event.preventDefault();
    const { items, files } = event.dataTransfer!;
    const picture = [...files].find(({ type }) => type.startsWith("image/"));
    const found = [...items].filter(({ kind }) => kind === "file").map((item) => {
      // What is no file of a disk has no entry.
      const entry = item.webkitGetAsEntry(), alone = item.getAsFile();
      return entry !== null
        ? entriesOf(entry)
        : Promise.all(alone ? [read(alone, alone.name)] : []);
    });
    await take((await Promise.all(found)).flat(), picture);
  });
  for (const id of ["files", "folder"]) {
    const picker = byId<HTMLInputElement>(id);
    picker.onchange = async () => {
      await take(
        await Promise.all([...picker.files!].map((f) => read(f, f.webkitRelativePath || f.name))),
      );
    };
  }
}
