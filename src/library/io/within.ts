/** Files that a model names: they lie in the model's own folder, or in folders that the caller allows. */
import { PermissionDeniedError } from "../../engine/core/errors.ts";
import { pathOf } from "./files.ts";

/** Returns true for a URL that is no path of this machine; paths may begin with the letter of a drive. */
export function isRemote(source: string): boolean {
  return /^[a-z][a-z\d+.-]+:/i.test(source) && !/^file:/i.test(source);
}

/** Returns the folder of a path or a URL, with a slash at its end; empty for the current one. */
export function folderOf(source: string): string {
  if (isRemote(source)) return /^https?:/i.test(source) ? new URL(".", source).href : source;
  const path = pathOf(source);
  return path.slice(0, Math.max(path.lastIndexOf("/"), path.lastIndexOf("\\")) + 1);
}

/**
 * Returns a path or URL that a model names, if it lies in one of the folders by its name. Throws `PermissionDeniedError` for any
 * other.
 */
export function fileWithin(file: string, folders: readonly string[]): string {
  const isAllowed = /^data:/i.test(file) ||
    folders.some((folder) =>
      isRemote(file)
        ? isRemote(folder) && isUnderUrl(new URL(file), new URL(folder))
        : !isRemote(folder) && isUnderPath(file, folder)
    );
  if (isAllowed) return file;
  throw new PermissionDeniedError(
    `Cannot read ${file.slice(0, 200)}: a model names it, and it is not in ${
      folders.map((folder) => folder || "the model's folder").join(" or ")
    }; allow its folder by alsoFrom`,
  );
}

function isUnderUrl(url: URL, root: URL): boolean {
  const folder = root.pathname.endsWith("/") ? root.pathname : `${root.pathname}/`;
  return url.origin === root.origin && url.origin !== "null" &&
    `${url.pathname}/`.startsWith(folder);
}

/** Returns true for a path that leads into a folder; links are not followed. */
function isUnderPath(path: string, folder: string): boolean {
  const place = steps(path), root = steps(folder);
  return place.startsWith(root) && !place.startsWith("../", root.length);
}

/** Returns a path with a slash after each step, without steps that lead nowhere or back. */
function steps(path: string): string {
  const text = pathOf(path), isWhole = /^([\\/]|[a-z]:)/i.test(text), out: string[] = [];
  for (const step of text.split(/[\\/]/)) {
    if (step === "" || step === ".") continue;
    if (step !== "..") out.push(step);
    else if (out.length > 0 && out.at(-1) !== "..") out.pop();
    else if (!isWhole) out.push(step);
  }
  return (isWhole ? "/" : "./") + out.map((step) => `${step}/`).join("");
}

/** Attribute of ops that read and write files: the folders, a line each, in which a graph from the network may do so. */
export const WITHIN = '_within: string = ""';

/** Returns the path or URL of a file that such an op names. Throws as {@linkcode fileWithin} does. */
export function fileOfOp(file: string, within: unknown): string {
  return within === "" || within === undefined
    ? file
    : fileWithin(file, String(within).split("\n"));
}
