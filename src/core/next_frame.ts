/**
 * nextFrame: room for a page to draw, or for other tasks where there is no page.
 * May import nothing.
 */

/**
 * Resolves when the page draws its next frame; where there is no page, once tasks that wait have run. Await it in long loops to keep a
 * page alive. Follows TensorFlow.js `tf.nextFrame`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * for (let step = 0; step < 3; step++) {
 *   // … train …
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
