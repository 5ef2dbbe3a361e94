/**
 * State of graphs in sessions: each session has its own values of variables, tables and accumulators. Follows
 * TensorFlow's `ResourceMgr` of a direct session.
 */
import type { NodeState } from "../../core/contract/host_op.ts";

/** An object that a session keeps until it is closed. */
interface Releasable {
  release(): void;
}

export class SessionState {
  readonly #own = new Map<NodeState, NodeState>();
  readonly #kept = new Map<object, Releasable>();

  /** Returns the session's own state for that of a graph; state of eager code is shared and returned as it is. */
  of<S extends NodeState>(state: S): S {
    if (!state.ofGraph) return state;
    let own = this.#own.get(state) as S | undefined;
    if (own === undefined) this.#own.set(state, own = state.fork());
    return own;
  }

  /** Returns the value for this key, made at the first call. */
  keep<T extends Releasable>(key: object, make: () => T): T {
    let kept = this.#kept.get(key) as T | undefined;
    if (kept === undefined) this.#kept.set(key, kept = make());
    return kept;
  }

  dispose(): void {
    for (const kept of this.#kept.values()) kept.release();
    for (const own of this.#own.values()) own.dispose();
    this.#kept.clear();
    this.#own.clear();
  }
}
