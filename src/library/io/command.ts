/** Commands of entries: their help, and one line for a user's mistake. */

/** The used part of `Deno`: the library's types know browsers only. */
interface DenoRuntime {
  readonly args: readonly string[];
  exit(code: number): never;
}

/**
 * Runs a command and ends the process: with 0 and the usage where `--help` is asked for, with the code that `main` gives, with 2 and one
 * line where it throws.
 */
export async function runMain(
  usage: string,
  main: (args: readonly string[]) => Promise<number>,
): Promise<void> {
  const { Deno: deno } = globalThis as unknown as { readonly Deno: DenoRuntime };
  if (deno.args.some((arg) => arg === "--help" || arg === "-h")) {
    console.log(usage);
    deno.exit(0);
  }
  let code = 2;
  try {
    code = await main(deno.args);
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    console.error(message.split("\n")[0]);
  }
  deno.exit(code);
}
