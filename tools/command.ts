/**
 * Running other programs. Every tool goes through here, so that each of them finds the Deno that
 * is running now (there may be none on the PATH: `npx deno task test` is a supported way in).
 *
 * @module
 */

/** The exit status of a program, and its two outputs. */
export interface CommandResult {
  /** Exit status; 128 + the signal's number when a signal ended it, 127 when it could not start. */
  readonly code: number;
  /** The signal that ended the program, or null. */
  readonly signal: string | null;
  /** Standard output as text; empty when it went straight to the terminal. */
  readonly stdout: string;
  /** Standard error as text; empty when it went straight to the terminal. */
  readonly stderr: string;
}

/** Options of {@linkcode run} and {@linkcode capture}. */
export interface CommandOptions {
  /** Environment variables added to ours. */
  readonly env?: Record<string, string>;
  /** Its working folder. Default: ours. */
  readonly cwd?: string;
  /** Kill the program after so many milliseconds. */
  readonly timeoutMs?: number;
}

/** Runs a program with our own terminal as its outputs. */
export function run(
  program: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  return start(program, args, options, "inherit");
}

/** Runs a program and returns what it wrote, without colors: tests compare its lines. */
export function capture(
  program: string,
  args: readonly string[],
  options: CommandOptions = {},
): Promise<CommandResult> {
  return start(program, args, { ...options, env: { NO_COLOR: "1", ...options.env } }, "piped");
}

async function start(
  program: string,
  args: readonly string[],
  { env = {}, cwd, timeoutMs }: CommandOptions,
  output: "inherit" | "piped",
): Promise<CommandResult> {
  const command = new Deno.Command(program, {
    args: [...args],
    env,
    ...(cwd === undefined ? {} : { cwd }),
    stdin: "null",
    stdout: output,
    stderr: output,
    ...(timeoutMs === undefined ? {} : { signal: AbortSignal.timeout(timeoutMs) }),
  });
  try {
    const child = command.spawn();
    const [status, stdout, stderr] = await Promise.all([
      child.status,
      output === "piped" ? new Response(child.stdout).text() : "",
      output === "piped" ? new Response(child.stderr).text() : "",
    ]);
    return { code: status.code, signal: status.signal, stdout, stderr };
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return { code: 127, signal: null, stdout: "", stderr: `Cannot find the program "${program}"` };
  }
}
