/** The default session of `t.eval()` and `op.run()`. */
import type { GraphNode } from "../../core/graph_node.ts";
import type { EvalFeeds, SessionLike, Tensor } from "../../core/tensor.ts";
import { ValueError } from "../../core/errors.ts";
import type { SessionState } from "./session_state.ts";

/** A session for code that is not given one. */
export interface DefaultSession extends SessionLike {
  /** Its values of the graph's variables. */
  readonly state: SessionState;
  run(fetch: Tensor, options?: { readonly feeds?: EvalFeeds }): Promise<unknown>;
}

/** Stack of default sessions, innermost last. */
const defaults: DefaultSession[] = [];

/** Makes a session the default of `t.eval()` and `op.run()`; the returned function ends that. */
export function enterDefaultSession(session: DefaultSession): () => void {
  defaults.push(session);
  return () => {
    const i = defaults.lastIndexOf(session);
    if (i >= 0) defaults.splice(i, 1);
  };
}

/** The default session, or null. */
export function defaultSession(): DefaultSession | null {
  return defaults.at(-1) ?? null;
}

/** Runs a fetch in the given session or in the default one. Throws `ValueError` where there is none, or one of another graph. */
export function evaluate(
  fetch: Tensor | GraphNode,
  feeds?: EvalFeeds,
  given?: SessionLike,
): Promise<unknown> {
  const session = (given ?? defaultSession()) as DefaultSession | null;
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
}
