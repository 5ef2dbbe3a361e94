/** Commands of entries: their help, and one line for a user's mistake. */

/** The used parts of `Deno` and of Node's `process`: the library's types know browsers only. */
const { Deno: deno, process } = globalThis as unknown as {
  readonly Deno?: { readonly args: readonly string[]; exit(code: number): never };
  readonly process: { readonly argv: readonly string[]; exit(code: number): never };
};

/** Returns the arguments of the program. */
export const programArguments = (): readonly string[] => deno?.args ?? process.argv.slice(2);

/**
 * Runs a command and ends the process: with 0 and the usage where `--help` is asked for, with the code that `main` gives, with 2 and one
 * line where it throws.
 */
export async function runMain(
  usage: string,
  main: (args: readonly string[]) => Promise<number>,
): Promise<void> {
  const args = programArguments(), exit = (code: number): never => (deno ?? process).exit(code);
  if (args.some((arg) => arg === "--help" || arg === "-h")) {
    console.log(usage);
    exit(0);
  }
  let code = 2;
  try {
    code = await main(args);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    console.error(message.split("\n")[0]);
  }
  exit(code);
}
