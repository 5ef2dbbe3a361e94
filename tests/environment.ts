/** Variables of the environment for one file of tests: the others run in threads of the same process, whose environment is theirs too. */

import { stub } from "@std/testing/mock";

/** Gives `Deno.env.get()` of this thread other values, undefined for a variable that is not set, until it is disposed. */
export function withVariables(values: Readonly<Record<string, string | undefined>>): Disposable {
  const { env } = Deno, get = env.get.bind(env);
  return stub(env, "get", (name: string) => name in values ? values[name] : get(name));
}
