/**
 * Changes of the source files below some folders, for the tools that watch them.
 *
 * @module
 */

/** Milliseconds without a change after which the tests start: an editor writes several files at once. */
const SETTLE = 150;

/** Files that a watched change may be in. Generated ones are left out, as the tool itself writes them. */
const WATCHED = /(?<!_generated|\.expanded)\.(ts|wgsl|json)$/;

/** Yields the paths that changed, all changes of a moment together; those made while the consumer works come with the next. */
export async function* changes(
  folders: string[],
  settle: number = SETTLE,
): AsyncGenerator<string[]> {
  const watcher = Deno.watchFs(folders);
  const events = watcher[Symbol.asyncIterator]();
  const root = `${Deno.cwd()}/`;
  const paths = new Set<string>();
  let next = events.next();
  try {
    while (true) {
      let timer: ReturnType<typeof setTimeout> | undefined;
      const quiet = new Promise<"quiet">((resolve) => {
        if (paths.size > 0) timer = setTimeout(() => resolve("quiet"), settle);
      });
      const event = await Promise.race([next, quiet]);
      clearTimeout(timer);
      if (event === "quiet") {
        yield [...paths].sort();
        paths.clear();
        continue;
      }
      if (event.done) return;
      next = events.next();
      if (event.value.kind === "access") continue;
      for (const path of event.value.paths) {
        if (WATCHED.test(path)) paths.add(path.replace(root, ""));
      }
    }
  } finally {
    watcher.close();
  }
}
