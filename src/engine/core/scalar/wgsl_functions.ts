/** Declarations of the WGSL functions that a kernel calls, from a file of shaders/. */
import type { WgslFunction } from "../../../shaders_generated.ts";

/** Returns the declarations of these functions and their callees, in an order that every compiler accepts. */
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
