/**
 * Environment variables, where the runtime has them and may be asked.
 * May import nothing.
 */

/** What we use of Deno; browsers do not know its types. */
interface DenoEnvironment {
  readonly permissions: { querySync(what: { name: "env"; variable: string }): { state: string } };
  readonly env: { get(name: string): string | undefined };
}

/** The variable's value; undefined where it is not set, or Deno would have to ask for permission. */
export function environment(name: string): string | undefined {
  const deno = (globalThis as { Deno?: DenoEnvironment }).Deno;
  if (!deno) {
    return (globalThis as { process?: { env?: Record<string, string> } }).process?.env?.[name];
  }
  return deno.permissions.querySync({ name: "env", variable: name }).state === "granted"
    ? deno.env.get(name)
    : undefined;
}
