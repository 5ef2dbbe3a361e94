/**
 * The default session, which `t.eval()` and `op.run()` ask.
 */
import { evaluator, type Tensor } from "../../core/tensor.ts";
import { ValueError } from "../../core/errors.ts";
import type { Session } from "./session.ts";

/** Sessions that are the default, innermost last. */
const defaults: Session[] = [];

/** Makes a session the default of `t.eval()` and `op.run()`; what it returns ends that. */
export function enterDefaultSession(session: Session): () => void {
  defaults.push(session);
  return () => {
    const i = defaults.lastIndexOf(session);
    if (i >= 0) defaults.splice(i, 1);
  };
}

/** The default session, or null. */
export function defaultSession(): Session | null {
  return defaults.at(-1) ?? null;
}

evaluator.run = (fetch, feeds, given) => {
  const session = (given ?? defaultSession()) as Session | null;
  const { graph } = fetch;
  if (session === null) {
    throw new ValueError(
      `Cannot evaluate ${fetch}: No default session is registered. Use \`session.asDefault()\` or pass an explicit session`,
    );
  }
  if (session.graph !== graph) {
    throw new ValueError(
      `Cannot use the ${
        given ? "given" : "default"
      } session to evaluate ${fetch}: its graph is different from the session's graph`,
    );
  }
  return session.run(fetch as Tensor, feeds === undefined ? {} : { feeds });
};
