/**
 * Declarations of the WGSL functions that a kernel calls, taken from a file of shaders/.
 */
import type { WgslFunction } from "../../../shaders_generated.ts";

/** Declarations of these functions and of what they call, in an order that every compiler takes. */
export function wgslFunctions(
  library: Readonly<Record<string, WgslFunction>>,
  names: Iterable<string>,
): string {
  const used = new Set<string>();
  const use = (name: string): void => {
    if (used.has(name)) return;
    used.add(name);
    library[name].needs.forEach(use);
  };
  for (const name of names) use(name);
  return Object.keys(library).filter((name) => used.has(name)).map((name) => library[name].text)
    .join("\n");
}
