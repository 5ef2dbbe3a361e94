/**
 * Differences between platforms: environment variables, where the runtime has and permits them, and frames of a page.
 */

/** The part of Deno's API that is used here; browser types lack it. */
interface DenoEnvironment {
  readonly permissions: { querySync(what: { name: "env"; variable: string }): { state: string } };
  readonly env: { get(name: string): string | undefined };
}

/** Returns the variable's value; undefined if it is not set, or if Deno would have to ask for permission. */
export function environment(name: string): string | undefined {
  const deno = (globalThis as { Deno?: DenoEnvironment }).Deno;
  if (!deno) {
    return (globalThis as { process?: { env?: Record<string, string> } }).process?.env?.[name];
  }
  return deno.permissions.querySync({ name: "env", variable: name }).state === "granted"
    ? deno.env.get(name)
    : undefined;
}

/**
 * Resolves when the page draws its next frame; without a page, after the waiting tasks have run. Await it in long loops
 * to keep a page alive. Follows TensorFlow.js `tf.nextFrame`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * for (let step = 0; step < 3; step++) {
 *   console.log(`step ${step}`); // step …
 *   await tf.nextFrame();
 * }
 * ```
 */
export function nextFrame(): Promise<void> {
  const { requestAnimationFrame } = globalThis as {
    requestAnimationFrame?: (callback: () => void) => unknown;
  };
  return new Promise((resolve) => {
    if (requestAnimationFrame) requestAnimationFrame(() => resolve());
    else setTimeout(resolve, 0);
  });
}
