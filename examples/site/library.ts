/** Parts of the library that programs of the playground load when they name something of theirs. */

/** Parts: files, and names that they export. */
export const PARTS: Readonly<Record<string, readonly string[]>> = {
  weft_data: ["data", "io"],
  weft_graphs: ["importGraphDef", "loadGraphModel"],
  weft_more: [
    ...["browser", "debugging", "image", "linalg", "lookup", "ragged", "signal", "sparse"],
    ...["experimental", "nn", "quantization", "random", "sets", "string", "strings"],
    ...[
      "associativeScan",
      "dynamicPartition",
      "dynamicSlice",
      "dynamicStitch",
      "dynamicUpdateSlice",
      "editDistance",
      "extractPatches",
      "extractVolumePatches",
      "fingerprint",
      "foriLoop",
      "histogramFixedWidth",
      "histogramFixedWidthBins",
    ],
    ...["raggedFillEmptyRows", "reverseSequence", "sequenceMask"],
  ],
  weft_train: [
    ...[
      "metrics",
      "train",
      "Optimizer",
      "AdadeltaOptimizer",
      "AdagradOptimizer",
      "AdamaxOptimizer",
    ],
    ...["AdamOptimizer", "AdamWOptimizer", "MomentumOptimizer", "RMSPropOptimizer", "SGDOptimizer"],
  ],
  weft_v1: ["compat", "contrib"],
};

/** Imports of the library: bindings, and the names of a list. */
const IMPORT =
  /\b(?:import|export)\s*([\w$*\s,]*?)(?:\{([^}]*)\}\s*)?\bfrom\s*["']@weft\/weft["']/g;

/**
 * Files of the library that a program needs: those of the parts that it names. All where names may be computed: the library is
 * imported while the program runs, exported whole, or used otherwise than by a dot and a name.
 */
export function neededParts(code: string): string[] {
  const files = Object.keys(PARTS), names = namesOf(code);
  return names === null ? files : files.filter((file) => PARTS[file]!.some((n) => names.has(n)));
}

/** Names that a program uses of the library, or null where they cannot be known. */
function namesOf(code: string): Set<string> | null {
  if (/\bimport\s*\(/.test(code)) return null;
  const names = new Set<string>(), spaces: (string | undefined)[] = [];
  const rest = code.replaceAll(IMPORT, (_, whole: string, list = "") => {
    for (const item of list.split(",")) names.add(item.trim().split(/\s+as\s+/)[0]);
    const space = /\*(?:\s*as\s+([\w$]+))?/.exec(whole);
    if (space !== null) spaces.push(space[1]);
    return "";
  });
  for (const space of spaces) {
    if (space === undefined) return null;
    for (const [, name] of rest.matchAll(usesOf(space))) {
      if (name === undefined) return null;
      names.add(name);
    }
  }
  return names;
}

/** Finds the uses of a variable, and names behind its dot. */
function usesOf(variable: string): RegExp {
  const name = variable.replaceAll("$", "\\$");
  return new RegExp(`(?<![\\w$])${name}(?![\\w$])(?:\\s*\\??\\.\\s*([\\w$]+))?`, "g");
}
