/**
 * Runs scripts in Node.
 *
 * @module
 */

import { capture } from "./command.ts";

/** The oldest Node that Weft runs in. */
const OLDEST = 20;
/** Ends what hangs. All tests take half a minute; a slow machine may take ten times that. */
const TIMEOUT_MS = 900_000;

/** Code that works without compiling text also works with it; Deno and pages compile text. */
const FLAGS = ["--disallow-code-generation-from-strings"];

/** The program that is Node 20 or later, or null where there is none. `WEFT_NODE` names another one. */
export async function findNode(): Promise<string | null> {
  const name = Deno.env.get("WEFT_NODE") ?? "node";
  const { code, stdout } = await capture(name, ["--version"], { timeoutMs: 120_000 });
  return code === 0 && Number(/^v(\d+)/.exec(stdout)?.[1]) >= OLDEST ? name : null;
}

/** Runs main.mjs with arguments and returns its messages. Throws where Node ends with an error. */
export type StartNode = (args: readonly string[]) => Promise<unknown[]>;

/**
 * Puts files into a folder and hands out what runs main.mjs, one of them. Messages are the lines it
 * writes that begin with `mark` and go on with JSON.
 *
 * @param node What {@linkcode findNode} found.
 */
export async function inNode<R>(
  node: string,
  files: ReadonlyMap<string, string>,
  mark: string,
  fn: (start: StartNode) => Promise<R>,
): Promise<R> {
  const folder = await Deno.makeTempDir({ prefix: "weft-node-" });
  try {
    for (const [name, text] of files) await Deno.writeTextFile(`${folder}/${name}`, text);
    return await fn(async (args) => {
      const { code, stdout, stderr } = await capture(node, [
        ...FLAGS,
        `${folder}/main.mjs`,
        ...args,
      ], {
        timeoutMs: TIMEOUT_MS,
      });
      if (code !== 0) throw new Error(`Node ended with status ${code} (${args}): ${stderr}`);
      const lines = stdout.split("\n").filter((line) => line.startsWith(mark));
      return lines.map((line) => JSON.parse(line.slice(mark.length)));
    });
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
