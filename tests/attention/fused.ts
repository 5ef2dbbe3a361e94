/** Plans in which attentions of any size are one op, and so are their gradients. */
import { attentionOptions } from "../../src/engine/graph/passes/attention.ts";

/** Sets the pass's options to join whatever it finds, on both devices, until it is disposed. */
export function fuseAll(): Disposable {
  const before = { ...attentionOptions };
  Object.assign(attentionOptions, { leastOnCpu: 0, storedInGradients: [Infinity, Infinity] });
  return { [Symbol.dispose]: () => void Object.assign(attentionOptions, before) };
}
