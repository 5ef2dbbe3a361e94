/**
 * `deno task lock`: writes deno.lock, which holds each package that this repository asks npm for to its bytes. The build and CI
 * refuse what is not in it.
 *
 * deno.json says `"lock": false`, because Deno would note what JSR sends as well: the file would change where JSR answers, and
 * could not be checked where it does not.
 *
 * @module
 */

import { run } from "./command.ts";
import { answerHelp } from "./dev/help.ts";
import { enterRoot, list, read, readConfig } from "./files.ts";

/** The lock file. */
export const LOCK = "deno.lock";

/** Arguments that make Deno refuse packages that are not in the lock file. */
export const FROZEN: readonly string[] = ["--lock", LOCK, "--frozen"];

/** {@linkcode FROZEN} where `WEFT_FROZEN=1` asks for it, as CI does. */
export function frozenArgs(): readonly string[] {
  return Deno.env.get("WEFT_FROZEN") === "1" ? FROZEN : [];
}

/** All packages that our files import, by the import map or by their full names. */
function packages(): string[] {
  const texts = ["tests", "tools", "bench", "examples"].flatMap((folder) => list(folder, ".ts"))
    .map(read);
  const full = texts.flatMap((text) => [...text.matchAll(/"(npm:(?:@[\w-]+\/)?[\w-]+@[\w.-]+)/g)])
    .map(([, name]) => name);
  return [...new Set([...Object.values(readConfig().imports), ...full])]
    .filter((name) => name.startsWith("npm:") && !name.startsWith("npm:/"));
}

if (import.meta.main) {
  answerHelp(import.meta.url);
  enterRoot();
  await Deno.remove(LOCK).catch(() => {});
  const args = ["cache", "--quiet", "--lock", LOCK, "--frozen=false", ...packages()];
  Deno.exit((await run(Deno.execPath(), args)).code);
}
