// File URL to path and back, from the runtime's own node:url (no dependency for two functions).

import { fileURLToPath, pathToFileURL } from "node:url";

/** The path of a file URL. */
export function fromFileUrl(url: URL): string {
  return fileURLToPath(url);
}

/** The file URL of an absolute path. */
export function toFileUrl(path: string): URL {
  return pathToFileURL(path);
}
