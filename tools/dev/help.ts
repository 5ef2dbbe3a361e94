/**
 * Help of tasks: a program's first comment is what `--help` prints, and an argument that it does not know is told of in a line.
 *
 * @module
 */

import { fileURLToPath } from "node:url";

/** The comment that a program begins with, without its marks. */
export function usageOf(text: string): string {
  const [comment] = /^(?:\/\*\*[^]*?\*\/|(?:\/\/.*\n)+)/.exec(text.replace(/^#!.*\n/, "")) ?? [""];
  return comment
    .replaceAll(/^(?:\/\*\*| \*\/| ?\*|\/\/) ?/gm, "")
    .replace(/ \*\/$/, "")
    .replace(/^@module$/m, "")
    .trim();
}

/** True where arguments ask for help. */
export function asksHelp(args: readonly string[]): boolean {
  return args.some((arg) => arg === "--help" || arg === "-h");
}

/** Prints the usage of a program, given by its URL, and ends the process where its arguments ask for help. */
export function answerHelp(url: string, args: readonly string[] = Deno.args): void {
  if (!asksHelp(args)) return;
  console.log(usageOf(Deno.readTextFileSync(fileURLToPath(url))));
  Deno.exit(0);
}

/** Runs a program as its process: its help, its status, and 2 with one line for an argument that it does not know. */
export async function runTask(
  url: string,
  main: (args: string[]) => Promise<number>,
): Promise<never> {
  answerHelp(url);
  try {
    Deno.exit(await main(Deno.args));
  } catch (error) {
    const { code, message } = error as { code?: string; message: string };
    if (!code?.startsWith("ERR_PARSE_ARGS")) throw error;
    console.error(`${message.split(". To specify")[0]}; --help tells of them`);
    Deno.exit(2);
  }
}
