/** Paths that match patterns. */
import { NotFoundError } from "../../../engine/core/errors.ts";
import { matchFiles } from "../../io/file_system.ts";
import { scalarString, STRINGS } from "./files.ts";
import { type Elements, Failure, type Item, makeSource, type Source } from "../source.ts";

type ListState = { readonly last: string | null };

/** Lists the paths that match patterns, sorted. */
export function listSource(patterns: readonly string[]): Source {
  return makeSource({
    kind: "ListFiles",
    ...STRINGS,
    size: null,
    open(_, state?: ListState): Elements {
      let last = state?.last ?? null;
      let left: string[] | null = null;
      return {
        async next(): Promise<Item> {
          if (left === null) {
            const found = await Promise.all(patterns.map(matchFiles));
            left = [...new Set(found.flat())].sort();
            if (left.length === 0) {
              const error = new NotFoundError(`No files matched pattern: ${patterns.join(", ")}`, {
                op: "ListFilesDataset",
              });
              return new Failure(error);
            }
            // Files that appear or vanish during the pass do not change the paths already given.
            const from = last;
            if (from !== null) left = left.filter((path) => path > from);
          }
          const path = left.shift();
          if (path === undefined) return null;
          last = path;
          return [scalarString(path)];
        },
        save: (): ListState => ({ last }),
        close: () => {},
      };
    },
  });
}
