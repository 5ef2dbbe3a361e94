/** What tests of pages ask Chromium for beside what Playwright offers by name. */

import { delimiter } from "node:path";
import { exists } from "../../tools/files.ts";

/** Where a program is, given its name or its path. */
export function pathOf(name: string): string {
  const folders = (Deno.env.get("PATH") ?? "").split(delimiter);
  const paths = name.includes("/") ? [name] : folders.map((folder) => `${folder}/${name}`);
  const path = paths.find((path) => exists(path, "isFile"));
  if (path === undefined) throw new Error(`Cannot find ${name}`);
  return path;
}
